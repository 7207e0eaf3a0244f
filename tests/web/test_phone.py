"""The page in a hand: 360 × 740, touch; a question is read whole before it is answered, and never by accident."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect
from tests.web.conftest import Opening, keep_screenshot
from tests.web.looking import look, nameless

from agi.testing.box import AskedTurn, Daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")
LONG = (
    "set -e\n" + "".join(f"echo step {number} of what this command does\n" for number in range(60)) + "touch made.txt"
)


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser) -> AsyncIterator[BrowserContext]:
    """A phone."""
    made = await browser.new_context(
        viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, device_scale_factor=2
    )
    made.set_default_timeout(10_000)
    yield made
    await made.close()


async def asking(daemon: Daemon, command: str) -> AskedTurn:
    """Somebody asks to run this."""
    daemon.model.calls("shell", command=command).then_says("So be it.")
    turn = await daemon.ask("Publish the notes")
    await turn.question()
    return turn


async def still_waits(daemon: Daemon, turn: AskedTurn) -> bool:
    """Whether nobody has answered."""
    return bool((await daemon.get(f"/v1/sessions/{turn.session_id}")).json()["pending_approvals"])


async def test_from_the_list_to_the_question_to_the_answer(
    daemon: Daemon, opened: Opening, phone: BrowserContext
) -> None:
    """The list says who waits; one tap shows the session and the whole command, above the buttons; a thumb answers."""
    turn = await asking(daemon, LONG)
    page = await opened("/", within=phone)
    row = page.locator("a.session")
    await expect(row).to_contain_text("waiting for you")
    await expect(page.locator("#main")).to_be_hidden()
    assert await look(page, "small", 44) == []
    await keep_screenshot(page, "phone-list")
    await row.tap()
    card = page.locator(".approval")
    await expect(card).to_be_visible()
    await expect(page.locator("#list")).to_be_hidden()
    assert await card.locator(".exact pre").inner_text() == LONG
    allow = card.get_by_role("button", name="Allow once")
    tops = [await one.evaluate("node => node.getBoundingClientRect().top") for one in (card.locator(".end"), allow)]
    assert tops[0] <= tops[1], "the command comes before the buttons"
    assert await card.evaluate("node => node.contains(document.activeElement)") is False
    assert await page.locator(":checked, [aria-checked=true], [aria-selected=true]").count() == 0
    await expect(card).to_have_attribute("data-ready", "no")
    await allow.dispatch_event("click")
    assert await still_waits(daemon, turn)

    await card.locator(".exact .end").scroll_into_view_if_needed()
    await expect(card).to_have_attribute("data-ready", "yes")
    await allow.scroll_into_view_if_needed()
    for button in await card.get_by_role("button").all():
        assert await button.evaluate("node => node.offsetWidth") >= 280, "the whole width"
    assert await look(page, "small", 44) == []
    assert await look(page, "sideways") == []
    assert await nameless(page) == []
    await keep_screenshot(page, "phone-approval")
    await allow.tap()
    assert await turn.answer() == "So be it."
    assert (daemon.workspace.path / "made.txt").exists()
    await page.get_by_role("link", name="All sessions", exact=True).tap()
    await expect(row).to_contain_text("done")


async def test_taps_and_keys_in_the_first_half_second_do_nothing(
    daemon: Daemon, opened: Opening, phone: BrowserContext
) -> None:
    """Whatever hits the buttons as they appear is not an answer, neither yes nor no; time itself is held for this."""
    turn = await asking(daemon, "touch made.txt")
    page = await opened("/", within=phone)
    await expect(page.locator("a.session")).to_be_visible()
    await page.clock.install()
    await page.clock.pause_at(await page.evaluate("Date.now() + 1000"))
    await page.evaluate("id => { location.hash = `/s/${id}`; }", turn.session_id)
    await page.clock.run_for(100)
    card = page.locator(".approval")
    await expect(card).to_be_visible()
    await expect(card.locator(".end")).to_be_in_viewport()
    for _ in range(2):
        for button in await card.locator(".answers button").all():
            await button.dispatch_event("click")
            await button.press("Enter")
            await button.press("Space")
        await page.clock.run_for(150)
    assert await still_waits(daemon, turn)
    assert await card.get_attribute("data-ready") == "no"
    await page.clock.resume()
    await expect(card).to_have_attribute("data-ready", "yes")
    assert await still_waits(daemon, turn)
    await turn.deny()


async def test_enter_is_a_new_line_and_the_button_sends(daemon: Daemon, opened: Opening, phone: BrowserContext) -> None:
    """On a touch screen nothing is sent before somebody taps the button."""
    daemon.model.says("Both lines.")
    page = await opened("/new", within=phone)
    box = page.get_by_label("Message", exact=True)
    await box.tap()
    await page.keyboard.type("one")
    await page.keyboard.press("Enter")
    await page.keyboard.type("two")
    await expect(box).to_have_value("one\ntwo")
    await page.get_by_role("button", name="Send").tap()

    await expect(page.locator("article.assistant")).to_contain_text("Both lines.")
    await expect(page.locator("article.user .said")).to_have_text("one\ntwo")
    await expect(page.get_by_role("navigation", name="Places")).to_be_visible()
    assert await look(page, "small", 44) == []
    await keep_screenshot(page, "phone-session")


async def test_the_desk_sees_what_the_phone_answers(
    daemon: Daemon, opened: Opening, phone: BrowserContext, context: BrowserContext
) -> None:
    """The same question in two places, answered in one; the other closes it and says where it was answered."""
    turn = await asking(daemon, "touch made.txt")
    desk: Page = await opened(f"/s/{turn.session_id}", within=context)
    hand: Page = await opened("/inbox", within=phone)
    await expect(desk.locator(".approval")).to_be_visible()
    await expect(hand.locator(".approval")).to_have_attribute("data-ready", "yes")
    await hand.get_by_role("button", name="Allow once").tap()

    await expect(desk.locator(".note").first).to_contain_text("shell allowed elsewhere")
    for page in (desk, hand):
        await expect(page.locator(".approval")).to_have_count(0)
    await expect(hand.locator("#main")).to_contain_text("Nothing waits for you.")
    assert await turn.answer() == "So be it."
