"""Many tabs of one browser: each hears everything, also in the background, and ordinary requests get through."""

from __future__ import annotations

import asyncio
from asyncio import Event
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Locator, Page, expect
from tests.web.conftest import Opening, keep_screenshot, sign_in_url

from agi.models.scripted import Call, Say, Wait
from agi.testing.box import AskedTurn, Daemon, daemon_in_a_box

pytestmark = pytest.mark.asyncio(loop_scope="session")
TABS = 12
"""Twice as many as a browser has connections to one place."""
PATIENCE = 20_000
"""Milliseconds: so many tabs at once take their time on a busy machine."""


async def tabs_of(context: BrowserContext, daemon: Daemon, session_id: str) -> list[Page]:
    """So many tabs of a signed-in browser, all at one session."""
    first = await context.new_page()
    await first.goto(await sign_in_url(daemon, f"/s/{session_id}"))
    await expect(first.locator(".transcript")).to_have_attribute("data-ready", "yes", timeout=PATIENCE)
    tabs = [first, *[await context.new_page() for _ in range(TABS - 1)]]
    await asyncio.gather(*(tab.goto(first.url) for tab in tabs[1:]))
    await in_all(tabs, is_ready)
    return tabs


async def in_all(tabs: Sequence[Page], holds: Callable[[Page], Awaitable[None]]) -> None:
    """Wait until it holds in every tab."""
    await asyncio.gather(*(holds(tab) for tab in tabs))


async def is_ready(tab: Page) -> None:
    """The conversation is there."""
    await expect(tab.locator(".transcript")).to_have_attribute("data-ready", "yes", timeout=PATIENCE)


def answer(tab: Page) -> Locator:
    """What the agent said last."""
    return tab.locator("article.assistant").last


async def test_twelve_tabs_stay_in_step_through_everything(tmp_path: Path, context: BrowserContext) -> None:
    """Whatever happens in one happens in all, whichever is closed, whatever breaks, and over a restart."""
    async with daemon_in_a_box(tmp_path, trusted=True, auth="token") as daemon:
        session_id = await daemon.begin(title="many")
        tabs = await tabs_of(context, daemon, session_id)
        turn, gate = await a_question_is_in_all_of_them(daemon, tabs, session_id)
        await each_of_them_gets_ordinary_answers(tabs)
        await what_the_newest_allows_is_allowed_in_all(tabs)
        tabs = await nothing_is_lost_when_the_oldest_closes_and_every_connection_breaks(daemon, tabs, turn, gate)
        port = int(daemon.url.rpartition(":")[2])
    async with daemon_in_a_box(tmp_path, trusted=True, auth="token", port=port) as again:
        await a_restart_signs_all_of_them_out(tabs)
        await whoever_signs_in_in_one_has_all_of_them_back(again, context, tabs, session_id)


async def a_question_is_in_all_of_them(daemon: Daemon, tabs: list[Page], session_id: str) -> tuple[AskedTurn, Event]:
    """Also in those that nobody looks at."""
    gate = Event()
    daemon.model.plays(Call("shell", {"command": "touch made.txt"})).plays(Say("Going"), Wait(gate), Say(" on."))
    turn = await daemon.ask("do it", session_id=session_id)
    await in_all(tabs, lambda tab: expect(tab.locator(".approval")).to_be_visible(timeout=PATIENCE))
    return turn, gate


async def each_of_them_gets_ordinary_answers(tabs: list[Page]) -> None:
    """Twelve listen, and twelve ask at the same time."""
    asks = "import('/web/js/main.js').then(({ app }) => app.api.get('/v1/sessions')).then(told => told.sessions.length)"
    assert await asyncio.gather(*(tab.evaluate(asks) for tab in tabs)) == [1] * TABS


async def what_the_newest_allows_is_allowed_in_all(tabs: list[Page]) -> None:
    """The card goes everywhere, and the answer grows everywhere."""
    await tabs[-1].bring_to_front()
    await expect(tabs[-1].locator(".approval")).to_have_attribute("data-ready", "yes", timeout=PATIENCE)
    await tabs[-1].get_by_role("button", name="Allow once").click()
    await in_all(tabs, lambda tab: expect(answer(tab)).to_contain_text("Going", timeout=PATIENCE))
    await in_all(tabs, lambda tab: expect(tab.locator(".approval")).to_have_count(0, timeout=PATIENCE))


async def nothing_is_lost_when_the_oldest_closes_and_every_connection_breaks(
    daemon: Daemon, tabs: list[Page], turn: AskedTurn, gate: Event
) -> list[Page]:
    """In mid-sentence; those that are left have the same conversation, to the letter."""
    await tabs[0].close()
    daemon.drop_connections()
    gate.set()
    await turn.answer()
    left = tabs[1:]
    await in_all(left, lambda tab: expect(answer(tab)).to_contain_text("Going on.", timeout=PATIENCE))
    await in_all(left, lambda tab: expect(tab.locator("#strip")).to_be_hidden(timeout=PATIENCE))
    said = [[one.strip() for one in await tab.locator(".prose").all_text_contents()] for tab in left]
    assert said == [["do it", "Going on."]] * len(left)
    await keep_screenshot(left[-1], "twelve-tabs")
    return left


async def a_restart_signs_all_of_them_out(tabs: list[Page]) -> None:
    """As it does one tab."""
    await in_all(tabs, lambda tab: expect(tab.get_by_role("heading", name="Sign in")).to_be_visible(timeout=PATIENCE))


async def whoever_signs_in_in_one_has_all_of_them_back(
    daemon: Daemon, context: BrowserContext, tabs: list[Page], session_id: str
) -> None:
    """Where they were, and in step again."""
    again = await context.new_page()
    await again.goto(await sign_in_url(daemon, f"/s/{session_id}"))
    await in_all([again, *tabs], is_ready)
    daemon.model.says("Back again.")
    await (await daemon.ask("hello", session_id=session_id)).answer()
    await in_all([again, *tabs], lambda tab: expect(answer(tab)).to_contain_text("Back again.", timeout=PATIENCE))


async def test_an_event_that_was_left_out_is_noticed_and_made_good(daemon: Daemon, opened: Opening) -> None:
    """Numbers are dense: the page that is missing one asks for everything anew."""
    session_id = await daemon.begin(title="gaps")
    page = await opened("/")
    await expect(page.locator(".sessions")).to_contain_text("gaps")
    await page.evaluate(
        """async () => {
            const { Following } = await import("/web/js/following.js");
            const follow = Following.prototype.follow;
            let lost = 0;
            window.asked = [];
            Following.prototype.follow = function (session, on, cursor) {
                window.asked.push(cursor);
                const most = (type, ...told) => { if (type !== "message_added" || lost++) on(type, ...told); };
                return follow.call(this, session, session ? most : on, cursor);
            };
        }"""
    )
    await page.evaluate("id => { location.hash = `/s/${id}`; }", session_id)
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
    assert await page.evaluate("window.asked") == ["1@0"]
    daemon.model.says("Heard.")
    await (await daemon.ask("do you hear me?", session_id=session_id)).answer()

    await expect(answer(page)).to_contain_text("Heard.")
    await expect(page.locator("article.user")).to_contain_text("do you hear me?")
    assert await page.evaluate("window.asked") == ["1@0", "1@0"]


async def test_signing_out_in_one_tab_signs_out_the_others(daemon: Daemon, opened: Opening) -> None:
    """At once: the key is gone from the browser."""
    session_id = await daemon.begin(title="over")
    one, two = await opened(f"/s/{session_id}"), await opened(f"/s/{session_id}")
    await expect(two.locator(".transcript")).to_have_attribute("data-ready", "yes")
    await one.bring_to_front()
    await one.locator(".menu summary").click()
    await one.get_by_role("button", name="Sign out").click()

    for tab in (one, two):
        await expect(tab.get_by_role("heading", name="Sign in")).to_be_visible()
        await expect(tab.locator("#list")).to_be_hidden()
