"""The page for everybody: read aloud, by keyboard alone, in light and dark, enlarged, narrow, without motion."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.web.conftest import Opening, keep_screenshot
from tests.web.looking import landmarks, look, name, nameless, role, tree

from agi.errors import ModelError
from agi.models.scripted import Say, Think, Wait
from agi.server.page import FOLDER
from agi.testing.box import Daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")
PLACES = ("/", "/new", "/s/{busy}", "/s/{failed}", "/inbox", "/dashboard", "/resources")
ANSWER = (
    "# Head\n\nA **word**, `code`, [a link](https://example.com/).\n\n```python\ndef f(x: int) -> str:  # why\n"
    "    return 'text'\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)
CHANGE = "".join(f"line {number}\n" for number in range(30))


@pytest_asyncio.fixture(loop_scope="session")
async def lived_in(daemon: Daemon) -> AsyncIterator[dict[str, str]]:
    """Sessions in every state that looks different: answered, asking, failed, with messages in line."""
    daemon.workspace.write("notes.txt", CHANGE)
    daemon.model.says("Never mind.").fails(ModelError("The key is not accepted.", hint="Run `agi setup`."))
    taken_back = await daemon.ask("forget this")
    await taken_back.answer()
    revert = {"to": taken_back.id, "what": "conversation"}
    assert (await daemon.post(f"/v1/sessions/{taken_back.session_id}/revert", revert)).status < 300
    await (await daemon.ask("hello", session_id=taken_back.session_id)).ended()
    daemon.model.says(ANSWER).calls("read_file", path="gone.txt")
    daemon.model.calls("edit", path="notes.txt", old_text="9\n", new_text="nine\n", replace_all=True).then_says(
        "So be it."
    )
    answered = await daemon.ask("What is there, and a-very-long-word-that-does-not-break" + "x" * 80 + "?")
    await answered.answer()
    asking = await daemon.ask("count in words", session_id=answered.session_id)
    await asking.question()
    await daemon.ask("and then the README", session_id=answered.session_id)
    yield {"busy": answered.session_id, "failed": taken_back.session_id}


async def settled(page: Page, place: str) -> None:
    """Go there and wait until it is drawn."""
    await page.evaluate("to => { location.hash = to; }", place)
    await page.wait_for_function("to => location.hash === `#${to}`", arg=place)
    if place.startswith("/s/"):
        await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
        await expect(page.locator("article.user").first).to_be_attached()
    elif place == "/inbox":
        await expect(page.locator(".approval")).to_be_visible()
    elif place == "/dashboard":
        await expect(page.locator(".bars, table").first).to_be_attached()
    elif place in ("/new", "/resources"):
        await expect(page.locator("#main h1")).to_be_visible()
    else:
        await expect(page.locator(".session").first).to_be_attached()


async def test_everything_has_a_name_and_every_place_its_regions(
    daemon: Daemon, opened: Opening, lived_in: dict[str, str]
) -> None:
    """Whatever can be acted on says what it is; main, navigation and the list can be jumped to; one first heading."""
    page = await opened("/")
    for place in PLACES:
        await settled(page, place.format(**lived_in))
        assert await nameless(page) == [], place
        assert await landmarks(page) == {"main", "navigation", "complementary", "banner"}, place
        assert await page.locator("main h1").count() == (0 if place == "/" else 1), place
        assert await look(page, "misplaced") == [], place
    await page.get_by_role("button", name="Keys and help").click()
    await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert await nameless(page) == []


async def test_a_turn_is_an_article_with_a_heading_and_its_place_among_all(
    daemon: Daemon, opened: Opening, lived_in: dict[str, str]
) -> None:
    """One can go from turn to turn by heading, and hears which of how many it is, also after a row was drawn again."""
    page = await opened(f"/s/{lived_in['failed']}")
    await page.get_by_role("button", name="Answer this message again").click()
    await expect(page.locator("article.assistant").last).to_contain_text("So be it.")
    await expect(page.get_by_role("button", name="Send")).to_be_visible()
    rows = page.locator("[role=feed] > *")
    count = await rows.count()
    told = [
        [await rows.nth(at).get_attribute(f"aria-{word}") for word in ("posinset", "setsize")] for at in range(count)
    ]

    assert told == [[str(at + 1), str(count)] for at in range(count)]
    assert await page.locator("[role=feed] > :not(article, [role=article])").count() == 0
    turns = page.locator("article.message:not(.follows)")
    for at in range(await turns.count()):
        assert await turns.nth(at).get_by_role("heading").count() >= 1


async def test_a_growing_answer_is_not_read_aloud_and_its_end_is_said_once(daemon: Daemon, opened: Opening) -> None:
    """The text is busy and not live; one polite region speaks, and says nothing while words arrive."""
    gate = asyncio.Event()
    daemon.model.plays(Say("Once upon"), Wait(gate), Say(" a time."))
    session_id = await daemon.begin(title="read aloud")
    page = await opened(f"/s/{session_id}")
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
    await look(page, "listen", "#polite")
    turn = await daemon.ask("tell", session_id=session_id)
    growing = page.locator("article.assistant .prose")
    await expect(growing).to_contain_text("Once upon")

    assert await growing.get_attribute("aria-busy") == "true"
    assert await growing.evaluate(
        "node => node.closest('[aria-live], [role=status], [role=alert], [role=log]') === null"
    )
    assert await page.evaluate("window.heard") == []
    gate.set()
    await turn.answer()
    await expect(page.locator("#polite")).to_have_text("Answer finished")
    assert await growing.get_attribute("aria-busy") is None
    assert await page.evaluate("window.heard") == ["Answer finished"]


async def test_a_question_is_announced_once_and_moves_nothing(daemon: Daemon, opened: Opening) -> None:
    """It is said at once, by an alert, without taking the focus, and not again for whatever else changes."""
    session_id = await daemon.begin(title="asks")
    page = await opened(f"/s/{session_id}")
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
    await look(page, "listen", "#alert")
    await page.get_by_label("Message", exact=True).focus()
    daemon.model.calls("shell", command="touch made.txt").then_says("ok")
    turn = await daemon.ask("do it", session_id=session_id)
    await expect(page.locator(".approval")).to_have_attribute("data-ready", "yes")
    await daemon.ask("something else later", session_id=session_id)
    await expect(page.locator(".queue li")).to_have_count(1)

    assert [one for one in await tree(page) if role(one) == "alert"], "there is an alert in the tree"
    assert await page.evaluate("window.heard") == ["The agent asks to use shell. medium risk."]
    await expect(page.get_by_label("Message", exact=True)).to_be_focused()
    await turn.deny()


async def test_a_lost_connection_is_said_once_however_long_it_lasts(daemon: Daemon, opened: Opening) -> None:
    """The seconds that count down are for the eye."""
    page = await opened("/")
    await expect(page.locator(".sessions")).to_contain_text("No sessions yet")
    await look(page, "listen", "[role=status], [role=alert], [aria-live]")
    await look(page, "lose")
    await expect(page.locator("#strip")).to_contain_text("Disconnected since")
    await expect(page.locator("#strip")).to_contain_text("Retrying in")
    await page.evaluate("window.app.api.heard()")

    heard = await page.evaluate("window.heard")
    assert [re.sub(r"\d\d:\d\d.*", "…", one) for one in heard] == ["Disconnected since …", "Connected again"]


async def test_keys_alone_carry_a_session_from_beginning_to_end(daemon: Daemon, opened: Opening) -> None:
    """New, ask, look into a card, answer a question, stop, retry, fork: without a pointer; the focus is always seen."""
    daemon.workspace.write("notes.txt", "milk\n")
    gate = asyncio.Event()
    daemon.model.calls("read_file", path="notes.txt").calls("shell", command="touch made.txt").then_says("Done.")
    daemon.model.plays(Say("Working on it"), Wait(gate))
    daemon.model.says("Again, then.")
    page = await opened("/")
    await expect(page.locator(".sessions")).to_contain_text("No sessions yet")
    await page.keyboard.press("n")
    await expect(page.get_by_label("Message", exact=True)).to_be_focused()
    await page.keyboard.type("look and do")
    await page.keyboard.press("Enter")
    await expect(page.locator(".approval")).to_have_attribute("data-ready", "yes")
    await page.keyboard.press("Control+y")
    await tab_to(page, "Allow once")
    await page.keyboard.press("Enter")
    await expect(page.locator("article.assistant").last).to_contain_text("Done.")
    assert (daemon.workspace.path / "made.txt").exists()
    await expect(page.get_by_label("Message", exact=True)).to_be_focused()

    await tab_to(page, "read_file", backwards=True)
    await page.keyboard.press("Enter")
    await expect(page.locator("details.call").first).to_contain_text("milk")
    await tab_to(page, "Message")
    await page.keyboard.type("and more")
    await page.keyboard.press("Enter")
    await expect(page.locator("article.assistant").last).to_contain_text("Working on it")
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.press("Escape")
    await expect(page.locator("article.assistant footer")).to_contain_text("canceled")
    await tab_to(page, "Answer this message again", backwards=True)
    await page.keyboard.press("Enter")
    await expect(page.locator("article.assistant").last).to_contain_text("Again, then.")
    await tab_to(page, "More", backwards=True)
    await page.keyboard.press("Enter")
    await tab_to(page, "Rename")
    await page.keyboard.press("Enter")
    await page.keyboard.type("By keys")
    await page.keyboard.press("Escape")
    assert await focused(page) == "More"
    await page.keyboard.press("Enter")
    await tab_to(page, "Fork")
    before = page.url
    await page.keyboard.press("Enter")
    await page.wait_for_function("before => location.href !== before", arg=before)
    await expect(page.locator("article.assistant").last).to_contain_text("Again, then.")
    await page.keyboard.press("Control+k")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")


async def focused(page: Page) -> str:
    """What has the focus, by its name."""
    return str((await look(page, "focus"))["name"])


async def tab_to(page: Page, wanted: str, *, backwards: bool = False) -> None:
    """Press Tab until it has the focus; where the focus goes it can be seen."""
    seen = []
    for _ in range(60):
        await page.keyboard.press("Shift+Tab" if backwards else "Tab")
        here = await look(page, "focus")
        if wanted in here["name"] and len(here["name"]) < len(wanted) + 60:
            assert here["outline"] >= 2, f"{here} has the focus and does not show it"
            return
        seen.append(here["name"][:30])
    raise AssertionError(f"{wanted!r} is not reached by Tab: {seen}")


async def test_the_first_key_leads_past_everything(daemon: Daemon, opened: Opening, lived_in: dict[str, str]) -> None:
    """Tab shows links to the conversation and to the sessions; they go there."""
    page = await opened("/dashboard")
    await settled(page, "/dashboard")
    await page.keyboard.press("Tab")
    assert await focused(page) == "To the conversation"
    await expect(page.locator(".skip").first).to_be_in_viewport()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()


async def test_a_change_elsewhere_does_not_take_the_focus_from_the_list(daemon: Daemon, opened: Opening) -> None:
    """Whoever walks through the sessions stays where they are while others are at work."""
    first, second = await daemon.begin(title="first"), await daemon.begin(title="second")
    page = await opened("/")
    link = page.locator(f"a[href='#/s/{first}']")
    await link.focus()
    daemon.model.says("Hello.")
    await (await daemon.ask("hello", session_id=second)).answer()
    await expect(page.locator(f"a[href='#/s/{second}']")).to_contain_text("done")

    await expect(link).to_be_focused()


async def test_what_somebody_opened_stays_open_while_the_turn_goes_on(daemon: Daemon, opened: Opening) -> None:
    """Reasoning that was unfolded stays unfolded, and the focus on it, when the answer follows."""
    gate = asyncio.Event()
    daemon.model.plays(Think("Let me see."), Wait(gate), Say("Here."))
    turn = await daemon.ask("think")
    page = await opened(f"/s/{turn.session_id}")
    summary = page.locator("details.reasoning summary")
    await summary.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("details.reasoning")).to_have_attribute("open", "")
    gate.set()
    await turn.answer()
    await expect(page.locator("article.assistant")).to_contain_text("Here.")

    await expect(page.locator("details.reasoning")).to_have_attribute("open", "")
    await expect(page.locator("details.reasoning")).to_contain_text("Let me see.")
    await expect(summary).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_all_that_is_written_can_be_read(
    daemon: Daemon, opened: Opening, lived_in: dict[str, str], browser: Browser, scheme: str
) -> None:
    """Every text that is on screen, in every place, has 4.5 : 1 on what is really behind it."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    try:
        page = await opened("/", within=context)
        for place in PLACES:
            await settled(page, place.format(**lived_in))
            assert await look(page, "faint") == [], place
            await keep_screenshot(
                page, f"{scheme}-{place.split('/')[1] or 'list'}{'-failed' if 'failed' in place else ''}"
            )
    finally:
        await context.close()


def stylesheets() -> dict[str, str]:
    """The page's own."""
    return {file.name: file.read_text() for file in (FOLDER / "css").glob("*.css")}


def tokens(scheme: str) -> dict[str, str]:
    """The page's own colours, from its own file."""
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", stylesheets()["tokens.css"])
    return {word: light if scheme == "light" else dark for word, light, dark in found}


def contrast(one: str, other: str) -> float:
    """As WCAG computes it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_ink_has_contrast_on_every_ground(scheme: str) -> None:
    """Inks on all four grounds, text on selections and changes, what is written on filled colours; edges 3 : 1."""
    colour = tokens(scheme)
    grounds = ("bg", "surface", "raised", "code")
    inks = ("text", "muted", "faint", "accent", "wait", "ok", "bad", "agent")
    pairs = [*itertools.product(inks, grounds)]
    pairs += [("text", ground) for ground in ("sel", "add", "add-word", "del", "del-word")]
    pairs += [("on-accent", "accent"), ("bg", "wait"), ("bg", "bad")]
    edges = [*itertools.product(("edge", "accent"), grounds)]

    assert len(colour) == 20
    weak = {pair: round(contrast(colour[pair[0]], colour[pair[1]]), 2) for pair in pairs}
    assert {pair: found for pair, found in weak.items() if found < 4.5} == {}
    weak = {pair: round(contrast(colour[pair[0]], colour[pair[1]]), 2) for pair in edges}
    assert {pair: found for pair, found in weak.items() if found < 3} == {}


async def test_no_colour_is_written_outside_of_the_tokens() -> None:
    """So that the computation above is about all of the page."""
    for file, text in stylesheets().items():
        if file != "tokens.css":
            assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[;\s])|\b(?:hsl|oklch|lab)a?\(", text) == [], file


@pytest.mark.parametrize(("width", "zoom"), [(320, 1), (640, 2)], ids=["320 px", "200 %"])
async def test_nothing_is_cut_off_or_scrolls_sideways(
    daemon: Daemon, opened: Opening, lived_in: dict[str, str], browser: Browser, width: int, zoom: int
) -> None:
    """Narrow or enlarged, every place fits; what is wide by nature scrolls by itself."""
    context = await browser.new_context(viewport={"width": width, "height": 640}, device_scale_factor=zoom)
    try:
        page = await opened("/", within=context)
        for place in PLACES:
            await settled(page, place.format(**lived_in))
            assert await look(page, "sideways") == [], place
            await keep_screenshot(
                page, f"narrow-{width}-{place.split('/')[1] or 'list'}{'-failed' if 'failed' in place else ''}"
            )
    finally:
        await context.close()


async def test_it_works_without_motion_and_in_forced_colours(
    daemon: Daemon, opened: Opening, lived_in: dict[str, str], browser: Browser
) -> None:
    """Nothing moves for those who asked for it; states and edges are still there in the colours one chose oneself."""
    context = await browser.new_context(
        reduced_motion="reduce", forced_colors="active", viewport={"width": 1280, "height": 800}
    )
    try:
        page = await opened(f"/s/{lived_in['busy']}", within=context)
        await expect(page.locator(".approval")).to_be_visible()
        assert await look(page, "moving") == []
        for label in ("Allow once", "Queue", "Stop"):
            border = await page.get_by_role("button", name=label).evaluate("n => getComputedStyle(n).borderTopWidth")
            assert border != "0px", label
        await expect(page.locator(".approval .status")).to_contain_text("waiting for you")
        await keep_screenshot(page, "forced-colours")
    finally:
        await context.close()


async def test_the_words_of_names_are_no_symbols_alone(
    daemon: Daemon, opened: Opening, lived_in: dict[str, str]
) -> None:
    """A name is a word: nobody is told “×” or “⋯”."""
    page = await opened(f"/s/{lived_in['busy']}")
    await expect(page.locator(".queue li")).to_have_count(1)
    names = [name(node) for node in await tree(page) if role(node) in ("button", "link", "DisclosureTriangle")]
    assert [one for one in names if not re.search(r"\w{2}", one)] == []
