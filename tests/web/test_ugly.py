"""What people and models really write: words without an end, other directions, names like code, tables on a phone."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Locator, Route, WebSocketRoute, expect
from tests.web.conftest import Opening, keep_screenshot
from tests.web.looking import look

from agi.errors import ModelError
from agi.testing.box import Daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")
ENDLESS = "Donaudampfschifffahrtsgesellschaft" * 12
ARABIC = "مرحبا بالعالم، هذا نص قصير."
TABLE = "| name | value | note |\n|---|---|---|\n| alpha | 1 | a rather long note that needs more than one line |\n"


async def lines(node: Locator) -> int:
    """How many lines its text takes."""
    script = """one => {
        const range = document.createRange();
        range.selectNodeContents(one);
        return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size;
    }"""
    return int(await node.evaluate(script))


async def starts_right(node: Locator) -> bool:
    """Whether its text begins at the right."""
    script = """one => {
        const range = document.createRange();
        range.selectNodeContents(one);
        const text = range.getBoundingClientRect(), box = one.getBoundingClientRect();
        return box.right - text.right < 24 && text.left - box.left > 100;
    }"""
    return bool(await node.evaluate(script))


async def test_a_name_without_an_end_leaves_room_for_how_it_stands(daemon: Daemon, opened: Opening) -> None:
    """In the head of the session, in the list and on the dashboard, where it has two lines."""
    daemon.model.says(ENDLESS)
    turn = await daemon.ask("go", session_id=await daemon.begin(title=f"<b>bold</b> {ENDLESS}"[:200]))
    await turn.answer()
    page = await opened(f"/s/{turn.session_id}")
    status = page.locator(".chat-head .status")
    await expect(status).to_have_text("✓ done")
    assert await status.evaluate(
        "one => one.getBoundingClientRect().right <= one.parentElement.getBoundingClientRect().right"
    )
    menu = await page.locator(".menu").bounding_box()
    assert menu is not None
    assert menu["x"] + menu["width"] > 1280 - 32
    await page.goto(f"{daemon.url}/#/dashboard")
    name = page.locator(".tree .name", has_text="<b>bold</b>")
    assert (await name.evaluate("one => one.getBoundingClientRect().height")) <= 2 * 24 + 1


async def test_every_paragraph_has_the_direction_it_is_written_in(daemon: Daemon, opened: Opening) -> None:
    """Of an answer, of a question and of a title; those beside it keep theirs."""
    daemon.model.says(f"{ARABIC}\n\nHello.\n")
    turn = await daemon.ask(ARABIC, session_id=await daemon.begin(title=ARABIC))
    await turn.answer()
    page = await opened(f"/s/{turn.session_id}")
    paragraphs = page.locator("article.assistant .prose p")
    await expect(paragraphs).to_have_count(2)

    assert await starts_right(paragraphs.first)
    assert not await starts_right(paragraphs.last)
    assert await starts_right(page.locator("article.user .said"))
    await keep_screenshot(page, "ugly-right-to-left")


async def test_words_in_a_table_stay_whole_on_a_phone(daemon: Daemon, opened: Opening, browser: Browser) -> None:
    """It scrolls by itself instead."""
    daemon.model.says(TABLE)
    turn = await daemon.ask("a table")
    await turn.answer()
    phone = await browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    try:
        page = await opened(f"/s/{turn.session_id}", within=phone)
        await expect(page.locator(".prose td").first).to_have_text("alpha")
        for cell in await page.locator(".prose th").all():
            assert await lines(cell) == 1
        assert await lines(page.locator(".prose td").first) == 1
        assert await look(page, "sideways") == []
    finally:
        await phone.close()


async def test_what_failed_offers_to_be_tried_again_without_being_pointed_at(daemon: Daemon, opened: Opening) -> None:
    """What is next to be done is seen; calls alone have no buttons beside them."""
    daemon.model.calls("read_file", path="nothing.txt").fails(ModelError("It is broken.", hint="Mend it."))
    turn = await daemon.ask("go")
    await turn.ended()
    page = await opened(f"/s/{turn.session_id}")
    actions = page.locator("article.user .turn-actions")

    await expect(actions).to_have_css("opacity", "1")
    await expect(actions.get_by_role("button", name="Answer this message again")).to_be_visible()
    await expect(page.locator("article.assistant .turn-actions")).to_have_count(0)


async def test_a_few_letters_of_an_id_find_nothing_and_enough_of_it_do(daemon: Daemon, opened: Opening) -> None:
    """Every id has most digits in it: what one types is meant for titles, unless it is long."""
    ids = [await daemon.begin(title=f"number {word}") for word in ("one", "two")]
    page = await opened("/")
    rows = page.locator("a.session")
    await expect(rows).to_have_count(2)
    few = next(ids[0][at : at + 2] for at in range(30, 5, -1) if ids[0][at : at + 2] not in str(daemon.workspace.path))
    await page.locator("#filter").fill(f"number {few}")
    await expect(page.get_by_text("Nothing fits.")).to_be_visible()
    await page.locator("#filter").fill(ids[0][-12:])
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("number one")


async def test_how_long_ago_it_was_goes_on_while_nothing_happens(daemon: Daemon, opened: Opening) -> None:
    """A quiet list does not say for hours that it was a second ago."""
    await daemon.begin(title="quiet")
    page = await opened("/")
    await expect(page.locator("a.session")).to_contain_text("quiet")
    await page.clock.install()
    await page.reload()
    await expect(page.locator("a.session")).to_contain_text("quiet")
    await page.clock.run_for(5 * 60_000)

    await expect(page.locator("a.session")).to_contain_text("5 min")


async def test_a_queue_leaves_room_for_the_question_on_a_phone(
    daemon: Daemon, opened: Opening, browser: Browser
) -> None:
    """What waits for a person comes before what waits in line."""
    daemon.model.calls("shell", command="touch made.txt").then_says("ok")
    turn = await daemon.ask("go")
    await turn.question()
    for number in range(4):
        await daemon.ask(f"then {number}", session_id=turn.session_id)
    phone = await browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    try:
        page = await opened(f"/s/{turn.session_id}", within=phone)
        await expect(page.locator(".queue li")).to_have_count(4)
        await expect(page.locator(".approval")).to_have_attribute("data-ready", "yes")
        await expect(page.get_by_role("button", name="For this workspace")).to_be_in_viewport(ratio=1)
    finally:
        await phone.close()
    await daemon.post(f"/v1/sessions/{turn.session_id}/cancel")


async def test_a_slow_line_is_told_by_words(daemon: Daemon, opened: Opening) -> None:
    """Where one waits for something, it says so; where nothing was said yet, too."""
    session_id = await daemon.begin(title="slow")
    page = await opened("/")
    let_through = asyncio.Event()

    async def slow(route: Route) -> None:
        await let_through.wait()
        await route.continue_()

    for path in ("**/web/js/chat.js", f"**/v1/sessions/{session_id}/messages?*", "**/v1/usage?*", "**/v1/health"):
        await page.route(path, slow)
    await page.evaluate("location.hash = '/dashboard'")
    await expect(page.get_by_text("Looking …")).to_have_count(2)
    await page.evaluate("to => { location.hash = to; }", f"/s/{session_id}")
    await expect(page.locator("#main")).to_have_text("Opening …")
    let_through.set()

    await expect(page.locator(".transcript")).to_have_text("Nothing was said yet.")


async def test_a_menu_opened_too_early_is_filled(daemon: Daemon, browser: Browser, opened: Opening) -> None:
    """Whoever opens it before the session is there finds in it what can be done as soon as it is."""
    session_id = await daemon.begin(title="slow")
    let_through = asyncio.Event()
    slow_line = await browser.new_context()

    def held(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        async def pass_on(message: str | bytes) -> None:
            await let_through.wait()
            socket.send(message)

        server.on_message(pass_on)

    try:
        await slow_line.route_web_socket("**/v1/streams", held)
        page = await opened(f"/s/{session_id}", within=slow_line)
        await page.locator(".menu summary").click()
        await expect(page.locator("details.menu")).to_have_attribute("open", "")
        assert await page.locator(".menu-list button").count() == 0
        let_through.set()

        await expect(page.get_by_role("button", name="Rename")).to_be_visible()
    finally:
        await slow_line.close()


async def test_who_waits_for_a_provider_is_among_those_that_run(daemon: Daemon, opened: Opening) -> None:
    """It goes on by itself; the list and the session say why it does not now."""
    daemon.model.fails(ModelError("Too many requests.", retryable=True, retry_after=600))
    turn = await daemon.ask("go", session_id=await daemon.begin(title="busy"))
    page = await opened(f"/s/{turn.session_id}")

    await expect(page.locator(".sessions .group").first).to_have_text("Running")
    await expect(page.locator("a.session")).to_contain_text("backing off")
    await expect(page.locator(".chat-head .status")).to_contain_text("backing off")
    await expect(page.locator(".note")).to_contain_text("scripted is busy")
    await daemon.post(f"/v1/sessions/{turn.session_id}/cancel")
    await turn.ended()
