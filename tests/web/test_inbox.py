"""The inbox in a real browser: every question in one place, answered once, for exactly what was shown."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import expect
from tests.web.conftest import Opening, keep_screenshot

from agi.testing.box import Daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")
LINES = "".join(f"line {number}\n" for number in range(40))


async def test_questions_of_several_sessions_are_answered_from_one_place(daemon: Daemon, opened: Opening) -> None:
    """The exact command, its risk, and each answer where it belongs."""
    daemon.model.calls("shell", command="rm -rf build").then_calls("write_file", path="a.txt", content="x\n")
    first = await daemon.ask("clean", session_id=await daemon.begin(title="first"))
    await first.question()
    second = await daemon.ask("write", session_id=await daemon.begin(title="second"))
    await second.question()
    page = await opened("/inbox")
    await expect(page.get_by_role("heading", name="Inbox: 2 waiting for you")).to_be_visible()
    cards = page.get_by_role("article")
    await expect(cards).to_have_count(2)
    await expect(cards.nth(0)).to_contain_text("rm -rf build")
    await expect(cards.nth(0)).to_contain_text("high risk")
    await expect(cards.nth(1)).to_contain_text("+x")
    await keep_screenshot(page, "inbox")

    daemon.model.says("written").says("not cleaned")
    await expect(cards.nth(1)).to_have_attribute("data-ready", "yes")
    await cards.nth(1).get_by_role("button", name="Allow once").click()
    await expect(cards).to_have_count(1)
    assert await second.answer() == "written"
    assert daemon.workspace.read("a.txt") == "x\n"
    await cards.nth(0).get_by_role("button", name="Deny").click()
    await cards.nth(0).get_by_role("button", name="Deny").click()
    await expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    await first.ended()
    assert [one["type"] for one in await daemon.history(first.session_id)].count("approval_denied") == 1


async def test_a_click_that_comes_too_early_answers_nothing(daemon: Daemon, opened: Opening) -> None:
    """A card that has just appeared under the pointer is not what was meant."""
    page = await opened("/inbox")
    await expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    early = """() => { window.early = new Promise((done) => new MutationObserver((_, self) => {
        const button = document.querySelector('.approval .answers button');
        if (button) { self.disconnect(); button.click(); done(button.closest('.approval').dataset.ready); }
    }).observe(document.body, { childList: true, subtree: true })); }"""
    await page.evaluate(early)  # it watches before anybody asks
    daemon.model.calls("shell", command="rm -rf build").then_says("ok")
    turn = await daemon.ask("clean")

    assert await page.evaluate("window.early") == "no"
    await expect(page.get_by_role("article")).to_have_attribute("data-ready", "yes")
    assert len((await daemon.get("/v1/inbox")).json()["items"]) == 1
    await turn.deny()
    await expect(page.get_by_role("article")).to_have_count(0)


async def test_only_the_hunks_that_are_ticked_are_made(daemon: Daemon, opened: Opening) -> None:
    """And the whole change can be read with both sides next to each other."""
    daemon.workspace.write("a.txt", LINES)
    daemon.model.calls("edit", path="a.txt", old_text="9\n", new_text="nine\n", replace_all=True).then_says("ok")
    turn = await daemon.ask("count in words")
    await turn.question()
    page = await opened("/inbox")
    await page.get_by_role("button", name="Side by side").click()
    dialog = page.get_by_role("dialog", name="Before and after")
    await expect(dialog.locator("[data-hunk]")).to_have_count(4)
    await expect(dialog.locator("td.add").first).to_contain_text("+line nine")
    await keep_screenshot(page, "inbox-side-by-side")
    await dialog.get_by_role("button", name="Close").click()
    card = page.get_by_role("article")
    for n in (0, 2, 3):
        await card.get_by_role("checkbox").nth(n).uncheck()
    await card.locator(".exact .end").scroll_into_view_if_needed()
    await expect(card).to_have_attribute("data-ready", "yes")
    await card.get_by_role("button", name="Allow once").click()

    assert await turn.answer() == "ok"
    assert daemon.workspace.read("a.txt") == LINES.replace("line 19\n", "line 1nine\n")


async def test_proposed_steps_are_answered_here_too(daemon: Daemon, opened: Opening) -> None:
    """A preflight waits like any question."""
    plan = {"steps": [{"description": "Write the notes.", "toolName": "write_file", "target": "notes.txt"}]}
    daemon.model.says(json.dumps(plan))
    turn = await daemon.ask("take notes", preflight=True)
    page = await opened("/inbox")
    card = page.get_by_role("article", name="Proposed steps")
    await expect(card).to_contain_text("write_file")
    await expect(card).to_have_attribute("data-ready", "yes")
    daemon.model.says("fine")
    await card.get_by_role("button", name="Go ahead").click()

    assert await turn.answer() == "fine"
    await expect(page.get_by_text("Nothing waits for you.")).to_be_visible()


async def test_what_is_answered_elsewhere_leaves_the_page(daemon: Daemon, opened: Opening) -> None:
    """Two clients, one answer; and a keyboard is enough to give it."""
    daemon.model.calls("shell", command="rm -rf build").then_says("ok")
    turn = await daemon.ask("clean")
    await turn.question()
    one, two = await opened("/inbox"), await opened("/inbox")
    await expect(one.get_by_role("article")).to_have_count(1)
    await expect(two.get_by_role("article")).to_have_attribute("data-ready", "yes")
    await two.get_by_role("article").get_by_role("button", name="Allow once").focus()
    await two.keyboard.press("Enter")

    await turn.ended()
    for page in (one, two):
        await expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
