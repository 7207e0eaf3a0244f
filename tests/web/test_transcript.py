"""A long conversation on the page: opens at its end, holds a window of it, and stays where one looks."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Page, expect
from tests.web.conftest import Opening

from agi.models.scripted import Say, Wait
from agi.protocol import events as ev
from agi.protocol.ids import new_id
from agi.protocol.messages import Message
from agi.protocol.parts import Text
from agi.testing.box import Daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")
FIRST_ROW = """() => {
    const top = document.querySelector(".transcript").getBoundingClientRect().top;
    const row = [...document.querySelectorAll("[data-row]")].find(one => one.getBoundingClientRect().bottom > top);
    return [row.innerText.split("\\n").at(-1), Math.round(row.getBoundingClientRect().top)];
}"""


async def long_session(daemon: Daemon, count: int) -> str:
    """A session in which `count` messages were said."""
    session_id = await daemon.begin(title="long")

    def said(number: int) -> ev.EventData:
        part = Text(text=f"Message {number}: and **so on**.", id=new_id("part"))
        role = "assistant" if number % 2 else "user"
        fields = {"id": new_id("msg"), "parts": (part,), "created_at": "2026-01-01T00:00:00Z", "status": "complete"}
        one = Message(role=role, **fields)  # type: ignore[arg-type]
        return ev.ModelOutputCompleted(message=one) if number % 2 else ev.MessageAdded(message=one, run=False)

    await daemon.harness.log.append(session_id, [(None, said(number)) for number in range(count)])
    return session_id


async def scroll(page: Page, by: int) -> None:
    """Turn the wheel over the conversation."""
    await page.mouse.move(700, 400)
    await page.mouse.wheel(0, by)


async def test_it_opens_at_the_end_and_holds_a_window(daemon: Daemon, opened: Opening) -> None:
    """All can be reached by scrolling back, and never more than 300 are on the page."""
    session_id = await long_session(daemon, 900)
    page = await opened(f"/s/{session_id}")
    await expect(page.get_by_text("Message 899: and so on.")).to_be_in_viewport()
    assert await page.locator("[data-row]").count() <= 60

    seen = 0
    for _ in range(200):
        await scroll(page, -4000)
        await page.evaluate("() => new Promise(requestAnimationFrame)")
        seen = max(seen, await page.locator("[data-row]").count())
        if await page.get_by_text("Message 0:").count():
            break
    await expect(page.get_by_text("Message 0: and **so on**.")).to_be_attached()
    assert seen <= 300
    await page.locator(".pill").click()
    await expect(page.get_by_text("Message 899: and so on.")).to_be_in_viewport()


async def test_what_the_model_is_told_of_the_workspace_unfolds(daemon: Daemon, opened: Opening) -> None:
    """A map stands there as one line, and whole for whoever opens it."""
    session_id = await daemon.begin(title="mapped")
    told = Message(
        id=new_id("msg"),
        role="user",
        parts=(Text(text="A map of the repository.\n\ncart.py\n  1: def total", id=new_id("part")),),
        created_at="2026-01-01T00:00:00Z",
        status="complete",
        origin="context",
    )
    await daemon.harness.log.append(session_id, [(None, ev.MessageAdded(message=told, run=False))])
    page = await opened(f"/s/{session_id}")

    folded = page.get_by_text("Told the model about the workspace · 4 lines")
    await expect(folded).to_be_visible()
    await expect(page.get_by_text("def total")).to_be_hidden()

    await folded.click()

    await expect(page.get_by_text("def total")).to_be_visible()


async def test_whoever_looks_back_stays_there_while_it_goes_on(daemon: Daemon, opened: Opening) -> None:
    """The line one reads does not move; a button says that there is more, and leads to it."""
    session_id = await long_session(daemon, 200)
    page = await opened(f"/s/{session_id}")
    await expect(page.get_by_text("Message 199: and so on.")).to_be_in_viewport()
    await scroll(page, -1500)
    await expect(page.locator(".pill")).to_be_visible()
    before = await page.evaluate(FIRST_ROW)
    daemon.model.says("New words.\n\n" * 40, 7)
    await (await daemon.ask("go on", session_id=session_id)).answer()
    await expect(page.locator(".pill")).to_contain_text("new")

    assert await page.evaluate(FIRST_ROW) == before
    await page.locator(".pill").click()
    await expect(page.get_by_text("New words.").last).to_be_in_viewport()


async def test_text_is_shown_as_it_comes_and_finished_blocks_are_rendered(daemon: Daemon, opened: Opening) -> None:
    """Before the turn is over: what is whole is HTML, what is open is text."""
    gate = asyncio.Event()
    daemon.model.plays(Say("# Head 🎉\n\nA paragraph with 🎉 in it.\n\nOpen **wor"), Wait(gate), Say("d** done."))
    session_id = await daemon.begin(title="streaming")
    page = await opened(f"/s/{session_id}")
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
    turn = await daemon.ask("write", session_id=session_id)
    await expect(page.locator("article.assistant .closed h3")).to_have_text("Head 🎉")
    await expect(page.locator("article.assistant .open")).to_have_text("Open **wor")
    await page.reload()  # in the middle of it
    await expect(page.locator("article.assistant")).to_contain_text("Open **wor")
    gate.set()
    await turn.answer()

    await expect(page.locator("article.assistant strong")).to_have_text("word")
    assert (await page.locator("article.assistant .prose").inner_text()).split() == (
        ["Head", "🎉", "A", "paragraph", "with", "🎉", "in", "it.", "Open", "word", "done."]
    )


async def test_keys_go_from_turn_to_turn(daemon: Daemon, opened: Opening) -> None:
    """`k` and `j` outside of fields move the focus by messages."""
    session_id = await long_session(daemon, 20)
    page = await opened(f"/s/{session_id}")
    await expect(page.get_by_text("Message 19: and so on.")).to_be_in_viewport()
    await page.locator(".transcript").focus()
    await page.keyboard.press("k")

    assert await page.evaluate("document.activeElement.tagName") == "ARTICLE"
