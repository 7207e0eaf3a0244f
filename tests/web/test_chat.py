"""A session on the page: said, answered, watched, stopped, in step with others and after a broken connection."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import BrowserContext, Page, Route, expect
from tests.web.conftest import Opening, keep_screenshot

from agi.models.scripted import Call, Say, Wait
from agi.testing.box import Daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def say(page: Page, text: str) -> None:
    """Write and send, as a person would."""
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")


async def test_a_question_is_asked_and_answered(daemon: Daemon, opened: Opening) -> None:
    """From an empty page to a rendered answer."""
    daemon.model.says("# Two things\n\nA **bold** word and `code`.\n\n```python\nprint('hi')\n```\n")
    page = await opened("/new")
    await say(page, "What is there?")

    await expect(page.get_by_role("heading", name="Two things")).to_be_visible()
    await expect(page.locator("article.user .said")).to_have_text("What is there?")
    assert await page.locator("article.assistant strong").inner_text() == "bold"
    daemon.model.says("And more.")
    await say(page, "More?")
    await expect(page.locator("#polite")).to_have_text("Answer finished")
    await keep_screenshot(page, "answer")


async def test_shift_enter_is_a_new_line_and_a_draft_outlives_the_page(daemon: Daemon, opened: Opening) -> None:
    """Nothing that was typed is lost by looking elsewhere."""
    session_id = await daemon.begin(title="drafts")
    page = await opened(f"/s/{session_id}")
    box = page.get_by_label("Message", exact=True)
    await box.press_sequentially("one")
    await page.keyboard.press("Shift+Enter")
    await box.press_sequentially("two")
    await page.reload()

    await expect(page.get_by_label("Message", exact=True)).to_have_value("one\ntwo")
    assert (await daemon.get(f"/v1/sessions/{session_id}/messages")).json()["messages"] == []


async def test_a_call_is_a_card_that_opens_itself_when_it_fails(daemon: Daemon, opened: Opening) -> None:
    """What went well takes a line; what went wrong is in view."""
    daemon.workspace.write("notes.txt", "remember the milk\n")
    daemon.model.calls("read_file", path="notes.txt").calls("read_file", path="gone.txt").then_says("Done.")
    page = await opened("/new")
    await say(page, "look")
    await expect(page.locator("article.assistant").last).to_contain_text("Done.")
    good, bad = page.locator("details.call").first, page.locator("details.call").nth(1)

    await expect(good).to_have_attribute("data-state", "done")
    assert await good.get_attribute("open") is None
    await expect(bad).to_have_attribute("data-state", "failed")
    await expect(bad.locator(".error")).to_be_visible()
    await good.locator("summary").click()
    await expect(good).to_contain_text("remember the milk")


async def test_two_tabs_stay_in_step(daemon: Daemon, opened: Opening) -> None:
    """What one says the other shows, and says that it came from elsewhere."""
    session_id = await daemon.begin(title="shared")
    daemon.model.says("Hello both.")
    one, two = await opened(f"/s/{session_id}"), await opened(f"/s/{session_id}")
    await expect(two.locator(".transcript")).to_have_attribute("data-ready", "yes")
    await say(one, "hello")

    for page in (one, two):
        await expect(page.locator("article.assistant")).to_contain_text("Hello both.")
    await expect(two.locator("article.user")).to_contain_text("from another tab")
    await expect(one.locator("article.user")).not_to_contain_text("from another tab")


async def test_a_broken_connection_is_said_and_nothing_is_lost(
    daemon: Daemon, opened: Opening, context: BrowserContext
) -> None:
    """The page says since when, keeps what is typed, and goes on exactly where it was."""
    session_id = await daemon.begin(title="broken")
    page = await opened(f"/s/{session_id}")
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
    await context.set_offline(True)
    daemon.drop_connections()
    await expect(page.locator("#strip")).to_contain_text("Disconnected since")
    daemon.model.says("While you were away.")
    await (await daemon.ask("go on", session_id=session_id)).answer()
    await context.set_offline(False)

    await expect(page.locator("article.assistant")).to_have_count(1)
    await expect(page.locator("article.assistant")).to_contain_text("While you were away.")
    await expect(page.locator("#strip")).to_be_hidden()
    opened.problems.clear()  # type: ignore[attr-defined]  # the browser itself logs failed requests


async def test_that_nobody_answers_is_said_until_somebody_does(
    daemon: Daemon, opened: Opening, context: BrowserContext
) -> None:
    """What was to be sent waits in the box; the complaint goes when the connection is back."""
    page = await opened(f"/s/{await daemon.begin(title='away')}")
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
    await context.set_offline(True)
    daemon.drop_connections()
    await expect(page.locator("#strip")).to_be_visible()
    await say(page, "are you there?")
    await expect(page.locator(".composer .error")).to_contain_text("The daemon does not answer.")
    await context.set_offline(False)

    await expect(page.locator("#strip")).to_be_hidden(timeout=15_000)
    await expect(page.locator(".composer .error")).to_have_count(0)
    await expect(page.get_by_label("Message", exact=True)).to_have_value("are you there?")
    opened.problems.clear()  # type: ignore[attr-defined]  # the browser itself logs failed requests


async def test_who_did_what_is_shown(daemon: Daemon, opened: Opening) -> None:
    """A message from a terminal and an answer given there are told apart from one's own, also after a reload."""
    session_id = await daemon.begin(title="shared")
    daemon.model.calls("shell", command="true").then_says("Done.")
    page = await opened(f"/s/{session_id}")
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
    turn = await daemon.ask("from afar", session_id=session_id, client="tui")
    await turn.deny(client="tui")
    await turn.ended()

    await expect(page.locator("article.user")).to_contain_text("from tui")
    await expect(page.locator("p.note")).to_contain_text("shell refused in tui")
    await page.reload()
    await expect(page.locator("article.user")).to_contain_text("from tui")


async def test_two_messages_said_quickly_are_both_sent_in_their_order(daemon: Daemon, opened: Opening) -> None:
    """On a slow line: the box is empty at once, and what is said while the first is on its way follows it."""
    session_id = await daemon.begin(title="quick")
    daemon.model.says("One.").says("Two.")
    page = await opened(f"/s/{session_id}")
    on_its_way, let_through = asyncio.Event(), asyncio.Event()

    async def slow(route: Route) -> None:
        on_its_way.set()
        await let_through.wait()
        await route.continue_()

    await page.route(f"**/v1/sessions/{session_id}/messages", slow)
    await say(page, "the first")
    await on_its_way.wait()
    await expect(page.get_by_label("Message", exact=True)).to_have_value("")
    await expect(page.locator("#hint")).to_have_text("Sending …")
    await say(page, "the second")
    let_through.set()

    await expect(page.locator("article.user .said")).to_have_text(["the first", "the second"])
    await expect(page.get_by_label("Message", exact=True)).to_have_value("")
    await expect(page.locator("article.assistant").last).to_contain_text("Two.")


async def test_what_could_not_be_sent_comes_back_before_what_was_written_since(daemon: Daemon, opened: Opening) -> None:
    """Nothing is lost and nothing is sent out of order; the draft outlives the page."""
    session_id = await daemon.begin(title="lost")
    page = await opened(f"/s/{session_id}")
    on_its_way, let_fail = asyncio.Event(), asyncio.Event()

    async def broken(route: Route) -> None:
        on_its_way.set()
        await let_fail.wait()
        await route.abort()

    await page.route(f"**/v1/sessions/{session_id}/messages", broken)
    await say(page, "the first")
    await on_its_way.wait()
    await say(page, "the second")
    let_fail.set()

    await expect(page.locator(".composer .error")).to_contain_text("The daemon does not answer.")
    await expect(page.get_by_label("Message", exact=True)).to_have_value("the first\n\nthe second")
    await page.reload()
    await expect(page.get_by_label("Message", exact=True)).to_have_value("the first\n\nthe second")
    opened.problems.clear()  # type: ignore[attr-defined]  # the browser itself logs what it could not reach


async def test_whoever_opens_it_later_sees_what_happened_too(daemon: Daemon, opened: Opening) -> None:
    """Who answered what, what the checks found, how long calls took: as in a tab that was there."""
    daemon.workspace.write("Makefile", "test:\n\ttrue\n")
    write = {"path": "a.txt", "content": "a"}
    daemon.model.calls("shell", command="echo hi").calls("write_file", **write).calls("shell", command="echo no")
    daemon.model.says("Done.").says("Once more.")
    turn = await daemon.ask("go")
    page = await opened(f"/s/{turn.session_id}")
    for _ in range(2):
        await turn.approve(client="tui")
        await turn.question()
    await turn.deny(client="tui", reason="enough")
    await turn.answer()
    await expect(page.locator(".badge-verified")).to_be_visible()
    rows = ".note, details.call > summary, .prose"
    seen = [" ".join((await one.inner_text()).split()) for one in await page.locator(rows).all()]
    assert any("shell allowed in tui" in one for one in seen)
    assert any("shell refused in tui: enough" in one for one in seen)
    assert any("verification passed: make test" in one for one in seen)
    assert any(one.startswith("■ not run: shell echo no") for one in seen)

    later = await opened(f"/s/{turn.session_id}")
    await expect(later.locator(".badge-verified")).to_be_visible()
    assert [" ".join((await one.inner_text()).split()) for one in await later.locator(rows).all()] == seen
    await expect(later.locator("details.call .outcome").first).to_have_text(re.compile(r"^exit 0 · \d+\.\d s$"))


async def test_a_command_that_runs_is_seen_running_with_what_it_said(daemon: Daemon, opened: Opening) -> None:
    """Also by whoever comes while it does; nothing of it twice."""
    command = "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; while [ ! -e end ]; do sleep 0.05; done"
    daemon.model.calls("shell", command=command).then_says("Over.")
    turn = await daemon.ask("go")
    await turn.approve()
    page = await opened(f"/s/{turn.session_id}")
    live = page.locator("details.call[data-state=running] pre.live")
    await expect(live).to_have_text("one\n")
    await page.reload()
    await expect(live).to_have_text("one\n")
    (daemon.workspace.path / "go").touch()
    await expect(live).to_have_text("one\ntwo\n")
    (daemon.workspace.path / "end").touch()

    assert await turn.answer() == "Over."
    await expect(page.locator("details.call")).to_have_attribute("data-state", "done")


async def test_a_turn_that_is_canceled_does_not_say_so_for_every_question(daemon: Daemon, opened: Opening) -> None:
    """Its end says it once."""
    daemon.model.plays(*[Call("shell", {"command": f"touch {number}"}) for number in range(5)])
    turn = await daemon.ask("go")
    page = await opened(f"/s/{turn.session_id}")
    await expect(page.locator(".approval")).to_have_count(5)
    await page.get_by_role("button", name="Stop").click()

    await expect(page.locator("article.assistant footer")).to_contain_text("canceled")
    await expect(page.locator(".approval")).to_have_count(0)
    await expect(page.locator(".note")).to_have_count(0)


async def test_what_was_said_is_found_from_the_list(daemon: Daemon, opened: Opening) -> None:
    """By words that no title has, with the place marked; a click leads there."""
    session_id = await daemon.begin(title="kitchen")
    daemon.model.says("The marmalade is on the second shelf.")
    await (await daemon.ask("where is it?", session_id=session_id)).answer()
    page = await opened("/new")
    await page.get_by_label("Search sessions").fill("marmalade")

    await expect(page.locator("#list mark")).to_have_text("marmalade")
    await page.locator("#list mark").click()
    await expect(page.locator("article.assistant")).to_contain_text("second shelf")


async def test_a_message_can_interrupt(daemon: Daemon, opened: Opening) -> None:
    """What runs is stopped, and the message answered at once, before anything that waits."""
    gate = asyncio.Event()
    daemon.model.plays(Say("This takes"), Wait(gate)).says("At once.")
    page = await opened("/new")
    await say(page, "a long job")
    await expect(page.locator("article.assistant")).to_contain_text("This takes")
    await page.get_by_label("Message", exact=True).fill("no, this")
    await page.get_by_role("button", name="Interrupt").click()

    await expect(page.locator("article.assistant").last).to_contain_text("At once.")


@pytest.mark.parametrize("name", ["..%2F..%2Fv1%2Finbox", "sess_1", f"sess_{'0' * 32}%2Fcancel", "%2e%2e"])
async def test_what_is_no_session_is_not_asked_for(daemon: Daemon, opened: Opening, name: str) -> None:
    """An address is written by anybody: only what can be a session's id becomes part of a request."""
    page = await opened("/new")
    await expect(page.get_by_label("Agent")).not_to_be_empty()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.evaluate("to => { location.hash = `/s/${to}`; }", name)

    await expect(page.locator("#main")).to_contain_text("There is no session by that name.")
    assert [one for one in asked if "/v1/" in one] == []
