"""Why the page is quick: little is sent, little is on it, only what grows is drawn, and nothing is asked for twice.

How quick it is in milliseconds is measured by `python -m bench web`; here are the facts that make it so.
"""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import BrowserContext, Page, Request, expect
from tests.web.conftest import Opening
from tests.web.looking import look
from tests.web.test_transcript import long_session

from agi.models.scripted import Say, Wait
from agi.testing.box import Daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")
MESSAGES = 10_000


def told(page: Page) -> list[str]:
    """Every request from now on."""
    asked: list[str] = []

    def heard(request: Request) -> None:
        asked.append(f"{request.method} {request.url}")

    page.on("request", heard)
    return asked


async def test_all_of_it_is_less_than_100_kb_and_comes_from_the_daemon(
    daemon: Daemon, opened: Opening, context: BrowserContext
) -> None:
    """Every place there is, with what it asks for, in bytes on the wire; looked at again it costs next to nothing."""
    daemon.model.says("# Head\n\nAn answer.")
    turn = await daemon.ask("hello")
    await turn.answer()
    sizes: list[float] = []
    page = await opened("/")
    cdp = await context.new_cdp_session(page)
    await cdp.send("Network.enable")
    cdp.on("Network.loadingFinished", lambda done: sizes.append(done["encodedDataLength"]))
    asked = told(page)
    await page.reload()
    for place in ("/new", f"/s/{turn.session_id}", "/inbox", "/dashboard", "/resources"):
        await page.evaluate("to => { location.hash = to; }", place)
        await expect(page.locator("#main h1").first).to_be_visible()
    await expect(page.locator("#connection")).to_contain_text("connected")

    assert len(asked) > 20
    assert 10_000 < sum(sizes) < 100_000
    assert [one for one in asked if not one.split()[1].startswith((daemon.url + "/", "blob:" + daemon.url))] == []


async def test_ten_thousand_messages_are_a_window_of_at_most_three_hundred(daemon: Daemon, opened: Opening) -> None:
    """From the end to the beginning, at every moment; and the first message is the first of ten thousand."""
    session_id = await long_session(daemon, MESSAGES)
    page = await opened(f"/s/{session_id}")
    await expect(page.get_by_text(f"Message {MESSAGES - 1}: and so on.")).to_be_in_viewport()
    assert await page.locator("[data-row]").count() <= 60
    seen = await look(page, "rewind")

    await expect(page.get_by_text("Message 0: and **so on**.")).to_be_in_viewport()
    assert 60 < seen["most"] <= 300
    assert seen["placed"]


async def test_while_words_arrive_nothing_but_the_open_text_is_touched(daemon: Daemon, opened: Opening) -> None:
    """A thousand pieces, twenty finished blocks; not one change elsewhere in the conversation, and few drawings."""
    begun, all_said = asyncio.Event(), asyncio.Event()
    text = "".join(f"Paragraph {number} has a few words in it, and **some** are bold.\n\n" for number in range(100))
    daemon.model.plays(Say("Here it comes.\n\n"), Wait(begun), Say(text, 6), Say("The end."), Wait(all_said))
    session_id = await daemon.begin(title="streams")
    page = await opened(f"/s/{session_id}")
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
    turn = await daemon.ask("go", session_id=session_id)
    await expect(page.locator("article.assistant .closed")).to_contain_text("Here it comes.")
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    await look(page, "watch")
    begun.set()
    await expect(page.locator("article.assistant .open")).to_have_text("The end.")

    assert await page.evaluate("window.outside") == []
    assert 0 < await page.evaluate("window.drawn") < len(text) // 6
    all_said.set()
    await turn.answer()


async def test_a_page_at_rest_asks_for_nothing(daemon: Daemon, opened: Opening) -> None:
    """Two streams stay open; in the half minute that follows (of the page's own clock) there is not one request."""
    daemon.model.says("Done.")
    turn = await daemon.ask("hello")
    await turn.answer()
    for place in (f"/s/{turn.session_id}", "/dashboard", "/inbox", "/resources"):
        page = await opened("/")
        await page.clock.install()
        await page.reload()
        await page.evaluate("to => { location.hash = to; }", place)
        await expect(page.locator("#main h1").first).to_be_visible()
        await expect(page.locator("#connection")).to_contain_text("connected")
        await page.clock.run_for(5000)
        await page.wait_for_load_state("load")
        await quiet(page)
        asked = told(page)
        await page.clock.run_for(30_000)
        await quiet(page)
        assert [one for one in asked if not one.endswith("icon.svg")] == [], place
        await page.close()


async def quiet(page: Page) -> None:
    """All that was asked for so far is there."""
    await page.evaluate(
        "async () => { for (let n = 0; n < 3; n++) await fetch('/web/icon.svg', {cache: 'force-cache'}); }"
    )
