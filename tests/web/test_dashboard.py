"""The dashboard in a real browser: everything at a glance, live, on a phone too, and no price that is made up."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, expect
from tests.web.conftest import Opening, keep_screenshot, sign_in_url

from agi.models.scripted import Call, Say, Wait
from agi.protocol.events import UsageRecorded
from agi.protocol.messages import Usage
from agi.testing.box import Daemon, daemon_in_a_box

pytestmark = pytest.mark.asyncio(loop_scope="session")
LEAD = "---\nname: lead\ntools: [read_file]\npermissions: [agent-draft]\n---\nYou lead.\n"
TOO_WIDE = """[...document.querySelectorAll('main *')].filter(
    (node) => node.getBoundingClientRect().right > 360.5 && !node.closest('.scroll, .unseen'))"""
WRITER = "---\nname: writer\ntools: [write_file]\n---\nYou write.\n"


async def used(daemon: Daemon, session: str, cost: float | None, model: str = "m") -> None:
    usage = Usage(input_tokens=1200, output_tokens=300, requests=1, cost_usd=cost)
    event = UsageRecorded(message_id="", provider="p", model=model, usage=usage)
    await daemon.harness.log.append(session, [(None, event)])


async def test_a_session_is_seen_as_it_begins_runs_and_ends(daemon: Daemon, opened: Opening) -> None:
    """Without asking again: the stream of the list moves the page."""
    page = await opened("/dashboard")
    await expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
    await expect(page.get_by_text("No sessions yet. Begin one.")).to_be_visible()
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("done"))
    session = await daemon.begin(title="Checkout total")
    turn = await daemon.ask("go", session_id=session)
    tree = page.get_by_role("list", name="Sessions in")
    await expect(tree.get_by_text("running")).to_be_visible()
    gate.set()
    await turn.ended()

    await expect(tree.get_by_text("done")).to_be_visible()
    await tree.get_by_role("link", name="Checkout total").click()
    await expect(page).to_have_url(f"{daemon.url}/#/s/{session}")


async def test_money_is_told_as_far_as_it_is_known(daemon: Daemon, opened: Opening) -> None:
    """What has no price is a question mark beside what has one; the charts say all of it in words and as a table."""
    first, second = await daemon.begin(title="one"), await daemon.begin(title="two")
    await used(daemon, first, 0.5)
    await used(daemon, second, None, "free-of-price")
    page = await opened("/dashboard")

    usage = page.locator("section", has=page.get_by_role("heading", name="Usage"))
    await expect(usage.get_by_role("definition").first).to_have_text("$0.50 + ?")
    await expect(usage.get_by_text("The price of 1 of 2 requests is not known.")).to_be_visible()
    by_model = page.get_by_role("region", name="Usage by model")
    await expect(by_model.get_by_role("row", name="free-of-price · p ?")).to_be_visible()
    widths = [float(str(await bar.get_attribute("width"))) for bar in await by_model.locator(".share .bar").all()]
    assert sorted(widths) == [0, 100]
    chart = page.get_by_role("img", name="Cost by day, the last 30 days")
    await expect(chart).to_be_visible()
    assert "The highest is" in str(await chart.locator("desc").text_content())
    await expect(page.locator(".most").first).to_contain_text("most: $0.50 + ?")
    await used(daemon, second, 0.25)
    await expect(usage.get_by_role("definition").first).to_have_text("$0.75 + ?")
    await page.get_by_role("button", name="7 days").click()
    await expect(page.get_by_role("img", name="Cost by day, the last 7 days")).to_be_visible()
    await expect(page.get_by_role("button", name="7 days")).to_be_focused()


async def test_workers_stand_below_whom_they_work_for(tmp_path: Path, context: BrowserContext) -> None:
    """A tree of lists, with what waits for a person; whoever goes to the one at the top finds the question there."""
    roles = tmp_path / "project" / ".agi" / "roles"
    roles.mkdir(parents=True)
    (roles / "lead.md").write_text(LEAD)
    (roles / "writer.md").write_text(WRITER)

    def decide(request: Any) -> list[Any]:
        told = [part.content.parts[0].text for one in request.messages if one.role == "tool" for part in one.parts]
        if "You write." in request.system:
            return [Say("done")] if told else [Call("write_file", {"path": "a.txt", "content": "x"})]
        if not told:
            return [Call("draft_agent", {"role": "writer", "prompt": "write"})]
        return [Call("await_agent", json.loads(told[0]))]

    config = {"defaultProvider": "scripted", "verify": {"autoVerify": False}}
    async with daemon_in_a_box(tmp_path, config=config, trusted=True, auth="token") as daemon:
        daemon.model._decide = decide
        root = (await daemon.post("/v1/sessions", {"agent": "lead", "title": "the lead"})).json()["id"]
        page = await context.new_page()
        await page.goto(await sign_in_url(daemon, "/dashboard"))
        await daemon.post(f"/v1/sessions/{root}/messages", {"content": "go", "wait": False})
        nested = page.get_by_role("list", name="Sessions in").get_by_role("listitem").get_by_role("listitem")
        await expect(nested).to_contain_text("writer")
        await expect(nested).to_contain_text("waiting for you")
        await keep_screenshot(page, "dashboard-workers")
        await page.get_by_role("link", name="the lead").last.click()
        question = page.locator(".chat .approval")
        await expect(question).to_contain_text("writer wants to use write_file")
        await expect(page.locator(".chat-head .status")).to_contain_text("waiting for you")
        await daemon.post(f"/v1/sessions/{root}/cancel", {"scope": "children"})
        await page.close()


async def test_health_names_sandbox_daemon_and_who_answers(daemon: Daemon, opened: Opening) -> None:
    """As the daemon says it."""
    told = (await daemon.get("/v1/health")).json()
    page = await opened("/dashboard")
    health = page.get_by_role("list", name="Health")

    await expect(health).to_contain_text(f"Daemon {told['version']}")
    await expect(health).to_contain_text(told["sandbox"]["rung"])
    await expect(health).to_contain_text("script · scripted")


@pytest.mark.threat("T36")
async def test_where_nothing_holds_commands_the_page_says_so(daemon: Daemon, opened: Opening, no_sandbox: None) -> None:
    """As a failure, with why."""
    page = await opened("/dashboard")

    health = page.get_by_role("list", name="Health").get_by_role("listitem").filter(has_text="Sandbox")
    await expect(health.locator("[data-kind=failed]")).to_contain_text("none, network on")
    await expect(page.get_by_text("commands run without a sandbox: they can do what you can")).to_be_visible()


async def test_numbers_stay_whole_on_a_phone(daemon: Daemon, opened: Opening) -> None:
    """A table that is too wide scrolls by itself."""
    await used(daemon, await daemon.begin(title="A session with a name"), 123.45, "a-model-with-a-long-name")
    page = await opened("/dashboard")
    await page.set_viewport_size({"width": 360, "height": 740})
    cells = page.get_by_role("region", name="Usage by session").locator("td, thead th")
    await expect(cells.first).to_be_visible()

    heights = await cells.evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
    assert max(heights) < 2 * 24 + 8
    assert await cells.evaluate_all("all => all.every(one => one.scrollWidth <= one.clientWidth + 1)")


@pytest.mark.parametrize("place", ["/dashboard", "/inbox", "/resources"])
async def test_nothing_is_wider_than_a_phone(daemon: Daemon, opened: Opening, place: str) -> None:
    """At 360 pixels one scrolls down only."""
    session = await daemon.begin(title="A title that is rather long for so small a screen, and goes on")
    await used(daemon, session, 0.123)
    daemon.model.calls("shell", command="rm -rf " + "a-very-long-name/" * 20).then_says("ok")
    turn = await daemon.ask("go", session_id=session)
    await turn.question()
    page = await opened(place)
    await page.set_viewport_size({"width": 360, "height": 740})
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.locator(".view .card").first).to_be_visible()
    await keep_screenshot(page, f"phone{place.replace('/', '-')}")

    sizes = await page.evaluate("[...document.querySelectorAll('html, main, .view')].map((one) => one.scrollWidth)")
    assert max(sizes) <= 360, sizes
    assert await page.evaluate(f"{TOO_WIDE}.map((node) => node.outerHTML.slice(0, 100))") == []
    await turn.deny()
