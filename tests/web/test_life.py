"""The whole life of a session on the page; two tabs in step; a connection that breaks in mid-sentence."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.async_api import BrowserContext, Page, expect
from tests.web.conftest import Opening, keep_screenshot
from tests.web.looking import look

from agi.errors import ModelError
from agi.models.scripted import Call, Fail, Say, Wait
from agi.testing.box import AskedTurn, Daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")
BEFORE = "def total(items):\n    return sum(items)\n"
CHANGE = {
    "path": "cart.py",
    "old_text": "(items):\n    return sum(items)",
    "new_text": "(items, fee=0):\n    return sum(items) + fee",
}


async def say(page: Page, text: str, key: str = "Enter") -> None:
    """Write and send."""
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press(key)


def picture() -> list[int]:
    """A small one."""
    made = io.BytesIO()
    Image.new("RGB", (24, 24), "orange").save(made, "PNG")
    return list(made.getvalue())


async def messages(daemon: Daemon, session_id: str) -> list[dict[str, Any]]:
    """What the log says was said."""
    found: list[dict[str, Any]] = (await daemon.get(f"/v1/sessions/{session_id}/messages")).json()["messages"]
    return found


async def test_the_whole_life_of_a_session(
    daemon: Daemon, opened: Opening, context: BrowserContext, tmp_path: Path
) -> None:
    """One session in one browser; each step goes on where the one before it ended. Nobody but the daemon is asked."""
    asked_for: list[str] = []
    context.on("request", lambda request: asked_for.append(request.url))
    page = await opened("/new")

    await a_change_is_shown_allowed_and_verified(daemon, page)
    gate = await a_picture_is_dropped_and_looked_at(daemon, page)
    await what_is_said_meanwhile_waits_in_line_or_steers(page)
    await both_are_taken_up_in_their_order(daemon, page, gate)
    await the_turn_that_runs_is_stopped(page)
    await what_was_stopped_is_tried_again_until_it_is_answered(daemon, page)
    await the_conversation_is_saved_as_markdown(page, tmp_path)
    await a_fork_ends_before_the_message_it_was_made_at(page)
    await the_conversation_is_made_shorter(daemon, page)
    await the_first_turn_is_taken_back_with_its_files(daemon, page)
    assert [url for url in asked_for if not url.startswith((f"{daemon.url}/", f"blob:{daemon.url}/"))] == []


async def a_change_is_shown_allowed_and_verified(daemon: Daemon, page: Page) -> None:
    """A call that only reads runs; one that changes is shown as a diff first, and checked afterwards."""
    daemon.workspace.write("cart.py", BEFORE)
    daemon.workspace.write("Makefile", "test:\n\tpython3 -c 'import cart; assert cart.total([1], 2) == 3'\n")
    daemon.model.calls("read_file", path="cart.py").calls("edit", **CHANGE).then_says("The total includes the **fee**.")
    await say(page, "Make the total include a fee")
    card = page.locator("details.call").first
    await expect(card).to_contain_text("read_file")
    await expect(card).to_have_attribute("data-state", "done")
    question = page.locator(".approval")
    await expect(question).to_contain_text("edit")
    await expect(question.locator(".diff .del").first).to_contain_text("-def total(items):")
    await expect(question.locator(".diff .add").first).to_contain_text("+def total(items, fee=0):")
    await expect(question).to_have_attribute("data-ready", "yes")
    await keep_screenshot(page, "life-1-question")
    await question.get_by_role("button", name="Allow once").click()
    await expect(page.locator("article.assistant strong")).to_have_text("fee")
    await expect(page.locator(".badge-verified")).to_have_text("✓ verified")
    await keep_screenshot(page, "life-2-verified")
    assert "fee=0" in daemon.workspace.read("cart.py")


async def a_picture_is_dropped_and_looked_at(daemon: Daemon, page: Page) -> asyncio.Event:
    """It goes with the message, and is seen in the conversation; the turn goes on until the gate is opened."""
    gate = asyncio.Event()
    daemon.model.plays(Say("An orange basket."), Wait(gate), Call("read_file", {"path": "cart.py"}))
    await look(page, "drop", picture())
    await expect(page.locator(".chip[data-state=stored] img")).to_be_visible()
    await say(page, "What is in the picture?")
    await expect(page.locator("article.user img.thumb")).to_have_js_property("naturalWidth", 24)
    await expect(page.locator("article.assistant").last).to_contain_text("An orange basket.")
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    return gate


async def what_is_said_meanwhile_waits_in_line_or_steers(page: Page) -> None:
    """Enter puts it in line; Ctrl+S gives it to the turn that runs."""
    await say(page, "then update the README")
    await expect(page.locator(".queue li")).to_contain_text("queued")
    await expect(page.locator(".queue li")).to_contain_text("then update the README")
    await say(page, "name its colour too", "Control+s")
    await expect(page.locator(".queue li")).to_have_count(2)
    await expect(page.locator(".queue")).to_contain_text("steers at the next step")
    await keep_screenshot(page, "life-3-queue")


async def both_are_taken_up_in_their_order(daemon: Daemon, page: Page, gate: asyncio.Event) -> None:
    """What steers first, then what waits."""
    daemon.model.says("It is orange.").plays(Say("Updating the"), Wait(asyncio.Event()))
    gate.set()
    await expect(page.get_by_text("It is orange.")).to_be_visible()
    await expect(page.locator("article.assistant").last).to_contain_text("Updating the")
    said = [await one.inner_text() for one in await page.locator("article.user .said").all()]
    assert said[-2:] == ["name its colour too", "then update the README"]


async def the_turn_that_runs_is_stopped(page: Page) -> None:
    """In mid-sentence."""
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator("article.assistant footer").last).to_contain_text("canceled")


async def what_was_stopped_is_tried_again_until_it_is_answered(daemon: Daemon, page: Page) -> None:
    """Once it fails and says what to do; then it works."""
    failure = ModelError("The provider is on fire.", hint="Wait a little.")
    daemon.model.plays(Fail(failure)).says("The README is up to date.")
    retry = page.get_by_role("button", name="Answer this message again")
    await retry.last.click()
    await expect(page.locator(".error", has_text="The provider is on fire.").last).to_contain_text("Wait a little.")
    await retry.last.click()
    await expect(page.get_by_text("The README is up to date.")).to_be_visible()
    await expect(page.get_by_role("button", name="Send")).to_be_visible()


async def the_conversation_is_saved_as_markdown(page: Page, folder: Path) -> None:
    """From the first word to the last."""
    async with page.expect_download() as download:
        await page.locator(".menu summary").click()
        await page.get_by_role("button", name="Export as Markdown").click()
    await (await download.value).save_as(folder / "exported.md")
    exported = (folder / "exported.md").read_text()
    assert "Make the total include a fee" in exported
    assert "The README is up to date." in exported


async def a_fork_ends_before_the_message_it_was_made_at(page: Page) -> None:
    """It is another session; one goes back to the first as to any page."""
    here = page.url
    await page.get_by_role("button", name="Fork before this message").last.click()
    await expect(page).not_to_have_url(here)
    await expect(page.locator("article.user .said").last).to_have_text("name its colour too")
    await page.go_back()
    await expect(page.get_by_text("The README is up to date.")).to_be_visible()


async def the_conversation_is_made_shorter(daemon: Daemon, page: Page) -> None:
    """And says so."""
    daemon.model.says("## Goal\nA fee in the total.\n## Done\nAll.")
    await page.locator(".menu summary").click()
    await page.get_by_role("button", name="Make shorter").click()
    await expect(page.locator(".note").last).to_contain_text("shorter")


async def the_first_turn_is_taken_back_with_its_files(daemon: Daemon, page: Page) -> None:
    """After a preview, which changes nothing."""
    await page.get_by_role("button", name="Take back this turn").first.click()
    dialog = page.locator("#dialog")
    await expect(dialog).to_contain_text("cart.py")
    await keep_screenshot(page, "life-4-taking-back")
    assert "fee=0" in daemon.workspace.read("cart.py")
    await dialog.get_by_role("button", name="Both").click()
    await expect(page.locator("article.reverted").first).to_be_visible()
    assert daemon.workspace.read("cart.py") == BEFORE


async def test_two_tabs_stay_in_step_and_say_who_did_what(daemon: Daemon, opened: Opening) -> None:
    """Words, queue, questions and answers are the same in both; each knows which were its own."""
    session_id = await daemon.begin(title="shared")
    one, two = await opened(f"/s/{session_id}"), await opened(f"/s/{session_id}")
    await expect(two.locator(".transcript")).to_have_attribute("data-ready", "yes")
    daemon.model.calls("shell", command="touch made.txt").then_says("Hello both.").says("And the second.")
    await say(one, "hello")
    await expect(two.locator("article.user")).to_contain_text("from another tab")
    await expect(one.locator("article.user")).not_to_contain_text("from another tab")
    await expect(two.locator(".approval")).to_be_visible()
    await say(two, "and then?")
    for page in (one, two):
        await expect(page.locator(".queue li")).to_contain_text("and then?")
    await expect(two.locator(".approval")).to_have_attribute("data-ready", "yes")
    await two.get_by_role("button", name="Allow once").click()
    await expect(two.locator(".note").first).to_contain_text("shell allowed here")
    await expect(one.locator(".note").first).to_contain_text("shell allowed elsewhere")
    for page in (one, two):
        await expect(page.locator("article.assistant").last).to_contain_text("And the second.")
        await expect(page.locator(".queue li")).to_have_count(0)
    texts = [await page.locator(".prose").all_inner_texts() for page in (one, two)]
    assert texts[0] == texts[1]
    await expect(one.locator("article.user").last).to_contain_text("from another tab")


@pytest.mark.parametrize("how", ["the sockets are cut", "the network is gone"])
async def test_an_answer_that_breaks_off_goes_on_exactly_where_it_was(
    daemon: Daemon, opened: Opening, context: BrowserContext, how: str
) -> None:
    """In mid-sentence; what is on the page in the end is what the log holds, nothing twice and nothing missing."""
    gates = [asyncio.Event() for _ in range(3)]
    words = [" ".join(f"{part}{number}🎉" for number in range(60)) + " " for part in ("a", "b", "c", "d")]
    steps = [
        Say(words[0], 7),
        Wait(gates[0]),
        Say(words[1], 5),
        Wait(gates[1]),
        Say(words[2] + "\n\n", 3),
        Wait(gates[2]),
        Say(words[3], 11),
    ]
    daemon.model.plays(*steps)
    turn = await daemon.ask("count")
    page = await opened(f"/s/{turn.session_id}")
    box = page.get_by_label("Message", exact=True)
    await expect(page.locator("article.assistant")).to_contain_text("a59🎉")
    await box.fill("half a thou")
    if how == "the network is gone":
        await context.set_offline(True)
        daemon.drop_connections()
        gates[0].set()
        await expect(page.locator("#strip")).to_contain_text("Your text is kept")
        gates[1].set()
        await context.set_offline(False)
    else:
        for gate in gates[:2]:
            daemon.drop_connections()
            gate.set()
            await expect(page.locator("article.assistant")).to_contain_text("c59🎉" if gate is gates[1] else "b59🎉")
    await expect(page.locator("article.assistant")).to_contain_text("c59🎉")
    await expect(page.locator("#strip")).to_be_hidden()
    gates[2].set()
    answer = await turn.answer()

    await expect(page.locator("article.assistant .prose:not([aria-busy]) p")).to_have_count(2)
    assert await look(page, "answer") == " ".join(answer.split())
    assert await page.locator("article.assistant").count() == 1
    await expect(box).to_have_value("half a thou")
    log = await messages(daemon, turn.session_id)
    assert json.dumps(log[-1]["parts"][0]["text"]) == json.dumps(answer)
    opened.problems.clear()  # type: ignore[attr-defined]  # the browser itself logs what it could not reach


async def test_what_failed_twice_can_be_tried_a_third_time_after_coming_back(daemon: Daemon, opened: Opening) -> None:
    """Whoever opens the page later sees how the last try ended, and its button asks for that one."""
    for _ in range(2):
        daemon.model.fails(ModelError("The provider is on fire.", hint="Wait a little."))
    turn = await daemon.ask("hello")
    await turn.ended()
    again = (await daemon.post(f"/v1/sessions/{turn.session_id}/turns/{turn.id}/retry")).json()
    await AskedTurn(daemon, turn.session_id, again["turn_id"]).ended()
    daemon.model.says("Third time lucky.")
    page = await opened(f"/s/{turn.session_id}")
    await page.get_by_role("button", name="Answer this message again").click()

    await expect(page.locator("article.assistant").last).to_contain_text("Third time lucky.")
    await expect(page.get_by_role("button", name="Answer this message again")).to_have_count(0)
