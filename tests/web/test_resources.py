"""Resources in a real browser: registered, bound, talked to, watched, stopped, forgotten."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import expect
from tests.web.conftest import Opening, keep_screenshot

from agi.errors import ModelError
from agi.models.scripted import Fail, Say, Wait
from agi.testing.box import Daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_document_is_registered_bound_changed_and_forgotten(daemon: Daemon, opened: Opening) -> None:
    """By a form; what is wrong with it is said where it was typed."""
    daemon.workspace.write("rules.md", "Be kind.\n")
    rules = f"{daemon.workspace.path}/rules.md"
    page = await opened("/resources")
    await expect(page.get_by_role("region", name="Repositories").get_by_role("link", name="project")).to_be_visible()
    await page.get_by_label("Kind", exact=True).select_option("constitutions")
    await page.get_by_label("Name").fill("house")
    await page.get_by_label("Path").fill("/no/such/place")
    await page.get_by_label("Bound to repositories").fill("project")
    await page.get_by_role("button", name="Register").click()
    await expect(page.get_by_role("alert").filter(has_text="/no/such/place")).to_be_visible()
    opened.problems.clear()  # type: ignore[attr-defined]  # the browser notes every refusal
    await page.get_by_label("Path").fill(rules)
    await page.get_by_role("button", name="Register").click()

    await expect(page.get_by_role("heading", name="house", level=1)).to_be_visible()
    await expect(page.get_by_text("Bound to: project")).to_be_visible()
    assert (await daemon.get("/api/constitutions/house")).json()["repositories"] == ["project"]
    await page.get_by_text("Change", exact=True).click()
    await page.get_by_label("Title").fill("House rules")
    await page.get_by_label("Bound to repositories").fill("")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name="House rules", level=1)).to_be_visible()
    assert (await daemon.get("/api/constitutions/house")).json()["title"] == "House rules"
    await page.get_by_role("button", name="Forget it").click()
    await page.get_by_role("button", name="Forget", exact=True).click()
    await expect(page.get_by_role("region", name="Constitutions")).to_contain_text("None yet.")
    assert (await daemon.get("/api/constitutions/house")).status == 404


async def test_registering_does_not_put_one_in_the_place_of_another(daemon: Daemon, opened: Opening) -> None:
    """A name that is taken is told; changing a resource is done where it stands."""
    path = str(daemon.workspace.path)
    await daemon.call("PUT", "/api/knowledge/atlas", {"path": path, "title": "Atlas"})
    page = await opened("/resources/knowledge")
    await page.get_by_label("Name").fill("atlas")
    await page.get_by_label("Path").fill("/")
    await page.get_by_role("button", name="Register").click()
    await expect(page.get_by_role("alert").filter(has_text="named atlas already")).to_be_visible()

    kept = (await daemon.get("/api/knowledge/atlas")).json()
    assert (kept["path"], kept["title"]) == (path, "Atlas")


async def test_its_agent_is_talked_to_and_what_was_said_stays(daemon: Daemon, opened: Opening) -> None:
    """The answer comes, the session is listed, and markup in it is text."""
    daemon.workspace.write("rivers.md", "The river is long.\n")
    await daemon.call("PUT", "/api/knowledge/atlas", {"path": str(daemon.workspace.path), "title": "Atlas"})
    daemon.model.says("It is <b>long</b>.")
    page = await opened("/resources/knowledge/atlas")
    await expect(page.get_by_role("heading", name="Atlas", level=1)).to_be_visible()
    await page.get_by_label("Message").fill("How long is the river?")
    await page.get_by_role("button", name="Send").click()
    chat = page.get_by_role("list", name="Conversation")

    await expect(chat.get_by_text("It is <b>long</b>.")).to_be_visible()
    await expect(chat.get_by_role("listitem")).to_have_count(2)
    await expect(page.get_by_role("list", name="Sessions", exact=True).last.get_by_role("listitem")).to_have_count(1)
    await keep_screenshot(page, "resource")
    await page.reload()
    await page.get_by_role("button", name="How long is the river?").click()
    await expect(chat.get_by_text("It is <b>long</b>.")).to_be_visible()


async def test_its_agent_is_read_as_in_a_session(daemon: Daemon, opened: Opening) -> None:
    """Marks of Markdown are shown as what they mean, and what is code stays harmless."""
    daemon.model.says("It says **Knowledge**.\n\n```python\nprint(1)\n```\n\n<img src=x onerror=alert(1)>")
    page = await opened("/resources/repositories/project")
    await page.get_by_label("Message").fill("what does **it** say?")
    await page.get_by_role("button", name="Send").click()
    chat = page.get_by_role("list", name="Conversation")

    await expect(chat.locator("strong")).to_have_text("Knowledge")
    await expect(chat.locator("pre.code")).to_contain_text("print(1)")
    await expect(chat).to_contain_text("what does **it** say?")
    await expect(chat.locator("img")).to_have_count(0)


async def test_what_its_agent_could_not_answer_is_said_with_what_to_do(daemon: Daemon, opened: Opening) -> None:
    """While it is at work nothing waits for it, so nothing else is held up; how it ended is heard of."""
    await daemon.call("PUT", "/api/knowledge/atlas", {"path": str(daemon.workspace.path)})
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Fail(ModelError("The provider is on fire.", hint="Wait a little.")))
    page = await opened("/resources/knowledge/atlas")
    await page.get_by_label("Message").fill("How long is the river?")
    async with page.expect_response(lambda answer: answer.url.endswith("/agent")) as asked:
        await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("working since")).to_be_visible()
    assert (await asked.value).status == 202
    gate.set()

    await expect(page.get_by_role("alert").filter(has_text="The provider is on fire.")).to_contain_text(
        "Wait a little."
    )
    await expect(page.get_by_role("region", name="Chat").get_by_text("idle")).to_be_visible()


async def test_its_agent_is_seen_working_and_can_be_stopped(daemon: Daemon, opened: Opening) -> None:
    """Also from a second page; a stopped turn is over."""
    await daemon.call("PUT", "/api/knowledge/atlas", {"path": str(daemon.workspace.path)})
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("never"))
    page, other = await opened("/resources/knowledge/atlas"), await opened("/resources/knowledge/atlas")
    await page.get_by_label("Message").fill("think")
    await page.get_by_role("button", name="Send").click()
    await expect(other.get_by_text("working since")).to_be_visible()
    await other.get_by_role("button", name="Stop").click()

    for each in (page, other):
        await expect(each.get_by_role("region", name="Chat").get_by_text("idle")).to_be_visible()
    assert (await daemon.get("/api/knowledge/atlas/agent/status")).json()["processing"] is False


async def test_a_place_that_is_not_there_says_so(daemon: Daemon, opened: Opening) -> None:
    """With what to do."""
    page = await opened("/resources/weather")
    await expect(page.get_by_text("There is no such kind of resource.")).to_be_visible()


@pytest.mark.parametrize("place", ["constructor", "repositories/%2e%2e", "repositories/a%2Fagent"])
async def test_what_is_no_resource_is_not_asked_for(daemon: Daemon, opened: Opening, place: str) -> None:
    """Neither a kind there is not, nor a name that would lead to another address."""
    page = await opened("/resources")
    await expect(page.get_by_text("None yet.").first).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.evaluate("to => { location.hash = `/resources/${to}`; }", place)

    await expect(page.locator("#main")).to_contain_text("There is no such")
    assert [one for one in asked if "/api/" in one] == []
