"""What can be done with a running or finished turn: stop, queue, steer, retry, fork, take back, attach, export."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.async_api import FilePayload, Page, expect
from tests.web.conftest import Opening, keep_screenshot

from agi.errors import ModelError
from agi.models.scripted import Call, Say, Wait
from agi.testing.box import ENDINGS, AskedTurn, Daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def running(daemon: Daemon, opened: Opening, gate: asyncio.Event) -> tuple[Page, AskedTurn]:
    """A turn that is in the middle of an answer, on the page."""
    daemon.workspace.write("notes.txt", "milk\n")
    daemon.model.plays(Say("Thinking about it"), Wait(gate), Call("read_file", {"path": "notes.txt"}))
    turn = await daemon.ask("begin")
    page = await opened(f"/s/{turn.session_id}")
    await expect(page.locator("article.assistant")).to_contain_text("Thinking about it")
    return page, turn


async def test_a_running_turn_is_stopped_by_escape_twice(daemon: Daemon, opened: Opening) -> None:
    """Once warns, twice stops; the page says what became of it."""
    page, turn = await running(daemon, opened, asyncio.Event())
    await page.keyboard.press("Escape")
    await expect(page.locator("#hint")).to_have_text("Esc again to stop")
    await page.keyboard.press("Escape")

    await expect(page.locator("article.assistant footer")).to_contain_text("canceled")
    assert (await turn.ended())["type"] == "turn_canceled"
    await expect(page.get_by_role("button", name="Send")).to_be_visible()


@pytest.mark.parametrize("is_reloaded", [False, True])
async def test_stopping_stops_what_runs_and_keeps_what_waits(
    daemon: Daemon, opened: Opening, *, is_reloaded: bool
) -> None:
    """The session's last turn is the one in line, and not the one that is meant; nor when the page came later."""
    page, turn = await running(daemon, opened, asyncio.Event())
    await page.get_by_label("Message", exact=True).fill("and then this")
    await page.keyboard.press("Enter")
    await expect(page.locator(".queue li")).to_contain_text("and then this")
    if is_reloaded:
        await page.reload()
        await expect(page.locator(".queue li")).to_contain_text("and then this")
    daemon.model.says("This, then.")
    await page.get_by_role("button", name="Stop").click()

    assert (await turn.ended())["type"] == "turn_canceled"
    await expect(page.locator("article.assistant").last).to_contain_text("This, then.")
    await expect(page.get_by_role("button", name="Send")).to_be_visible()  # words are shown before their turn is over
    ends = [one["type"] for one in await daemon.history(turn.session_id) if one["type"] in ENDINGS]
    assert ends == ["turn_canceled", "turn_completed"]


async def test_a_message_that_waits_keeps_its_file_when_its_words_change(daemon: Daemon, opened: Opening) -> None:
    """Only the text is in the field; the file is named beside it."""
    page, turn = await running(daemon, opened, asyncio.Event())
    path = f"/v1/sessions/{turn.session_id}"
    text = base64.b64encode(b"remember the milk\n").decode()
    stored = (
        await daemon.post(f"{path}/attachments", {"filename": "notes.txt", "mime_type": "text/plain", "data": text})
    ).json()
    file = {"type": "file", "ref": stored["ref"], "mime_type": stored["mime_type"], "name": "notes.txt"}
    await daemon.post(f"{path}/messages", {"parts": [{"type": "text", "text": "read it"}, file]})
    await page.locator(".queue li").get_by_role("button", name="Edit").click()
    box = page.get_by_label("The message that waits")
    await expect(box).to_have_value("read it")
    await expect(page.locator(".queue li")).to_contain_text("with notes.txt")
    await box.fill("read it aloud")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator(".queue li .said-short")).to_have_text("read it aloud [notes.txt]")

    (waiting,) = (await daemon.get(f"{path}/queue")).json()["queue"]
    assert [part.get("text", part.get("ref")) for part in waiting["parts"]] == ["read it aloud", stored["ref"]]


async def test_what_is_said_meanwhile_waits_in_line_and_can_be_edited_and_dropped(
    daemon: Daemon, opened: Opening
) -> None:
    """Enter queues; the row is everybody's."""
    gate = asyncio.Event()
    page, turn = await running(daemon, opened, gate)
    box = page.get_by_label("Message", exact=True)
    for text in ("also the README", "never mind"):
        await box.fill(text)
        await page.keyboard.press("Enter")
        await expect(box).to_have_value("")
    rows = page.locator(".queue li")
    await expect(rows).to_have_count(2)
    await keep_screenshot(page, "queue")
    await rows.nth(1).get_by_role("button", name="Drop").click()
    await expect(rows).to_have_count(1)
    await rows.first.get_by_role("button", name="Edit").click()
    await page.get_by_label("The message that waits").fill("also the changelog")
    await page.get_by_role("button", name="Save").click()
    await expect(rows.first).to_contain_text("also the changelog")
    daemon.model.says("First.").says("Second.")
    gate.set()
    await turn.answer()

    await expect(page.locator("article.user .said").last).to_have_text("also the changelog")
    await expect(page.locator("article.assistant").last).to_contain_text("Second.")
    await expect(rows).to_have_count(0)


async def test_steering_is_taken_up_by_the_running_turn(daemon: Daemon, opened: Opening) -> None:
    """Ctrl+S: it stands in the conversation where it was taken up, within the same turn."""
    gate = asyncio.Event()
    page, turn = await running(daemon, opened, gate)
    await page.get_by_label("Message", exact=True).fill("use the other file")
    await page.keyboard.press("Control+s")
    await expect(page.locator(".queue li")).to_contain_text("steers at the next step")
    daemon.model.says("As you say.")
    gate.set()

    assert await turn.answer() == "As you say."
    await expect(page.locator(".queue li")).to_have_count(0)
    await expect(page.locator("article.user .said").last).to_have_text("use the other file")


async def test_a_failure_says_what_to_do_and_can_be_tried_again(daemon: Daemon, opened: Opening) -> None:
    """The error with its hint, and a button; the answer then stands below."""
    daemon.model.fails(ModelError("The key is not accepted.", hint="Run `agi setup`.")).says("Now it works.")
    turn = await daemon.ask("hello")
    await turn.ended()
    page = await opened(f"/s/{turn.session_id}")
    await expect(page.get_by_text("The key is not accepted.").first).to_be_visible()
    await page.get_by_role("button", name="Answer this message again").click()

    await expect(page.locator("article.assistant").last).to_contain_text("Now it works.")


async def test_a_fork_is_another_session_without_that_message(daemon: Daemon, opened: Opening) -> None:
    """The page goes there."""
    daemon.model.says("One.").says("Two.")
    turn = await daemon.ask("first")
    await turn.answer()
    await (await daemon.ask("second", session_id=turn.session_id)).answer()
    page = await opened(f"/s/{turn.session_id}")
    await page.get_by_role("button", name="Fork before this message").last.click()
    await expect(page).not_to_have_url(f"{daemon.url}/#/s/{turn.session_id}")

    await expect(page.locator("article.assistant")).to_have_count(1)
    await expect(page.locator("article.assistant")).to_contain_text("One.")


async def test_a_change_is_taken_back_after_it_was_shown(daemon: Daemon, opened: Opening) -> None:
    """Which files, which lines, how many messages; only then it happens."""
    daemon.model.calls("write_file", path="a.txt", content="after\n").then_says("Written.")
    turn = await daemon.ask("write it")
    await turn.approve()
    await turn.answer()
    page = await opened(f"/s/{turn.session_id}")
    await page.get_by_role("button", name="Take back this turn").click()
    dialog = page.locator("#dialog")
    await expect(dialog).to_contain_text("1 file would be as before; 4 messages would no longer count")
    await expect(dialog).to_contain_text("a.txt")
    assert daemon.workspace.read("a.txt") == "after\n"
    await dialog.get_by_role("button", name="Both").click()

    await expect(page.locator("article.reverted").first).to_be_visible()
    assert not (daemon.workspace.path / "a.txt").exists()


async def test_what_is_taken_back_is_the_turn_of_the_message_one_chose(daemon: Daemon, opened: Opening) -> None:
    """By its answer as by its question: that turn and what followed it, shown first; what came before stays."""
    session_id = await daemon.begin(title="three files")
    for name in ("first", "second", "third"):
        daemon.model.calls("write_file", path=f"{name}.txt", content=f"{name}\n").then_says(f"Wrote the {name}.")
        turn = await daemon.ask(f"write the {name}", session_id=session_id)
        await turn.approve()
        await turn.answer()
    page = await opened(f"/s/{session_id}")
    middle = page.locator("article.assistant", has_text="Wrote the second.")
    await middle.get_by_role("button", name="Take back the turn of this answer").click()
    dialog = page.locator("#dialog")
    await expect(dialog).to_contain_text("write the second")
    await expect(dialog.locator("summary")).to_have_text([re.compile("second.txt"), re.compile("third.txt")])
    await keep_screenshot(page, "taking-back-the-middle")
    await dialog.get_by_role("button", name="Both").click()

    await expect(page.locator("article.reverted .said")).to_have_text(["write the second", "write the third"])
    assert [(daemon.workspace.path / f"{name}.txt").exists() for name in ("first", "second", "third")] == [
        *(True, False, False)
    ]


async def test_a_picture_is_attached_by_pasting_and_goes_with_the_message(daemon: Daemon, opened: Opening) -> None:
    """Shown small before it is sent, and in the conversation after."""
    made = io.BytesIO()
    Image.new("RGB", (20, 20), "teal").save(made, "PNG")
    session_id = await daemon.begin(title="pictures")
    daemon.model.says("A teal square.")
    page = await opened(f"/s/{session_id}")
    await page.get_by_label("Message", exact=True).fill("what is this?")
    await page.evaluate(
        """bytes => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], "square.png", {type: "image/png"}));
            const paste = new ClipboardEvent("paste", {clipboardData: data, bubbles: true});
            document.getElementById("message").dispatchEvent(paste);
        }""",
        list(made.getvalue()),
    )
    await expect(page.locator(".chip[data-state=stored] img")).to_be_visible()
    await page.keyboard.press("Enter")

    await expect(page.locator("article.assistant")).to_contain_text("A teal square.")
    await expect(page.locator("article.user img")).to_have_js_property("naturalWidth", 20)
    address = await page.locator("article.user img").get_attribute("src")
    shows = (
        "url => new Promise(done => { const i = new Image(); i.onload = i.onerror = e => done(e.type); i.src = url; })"
    )
    assert await page.evaluate(shows, address) == "load"
    await page.evaluate("location.hash = '/'")
    await expect(page.locator("article.user")).to_have_count(0)
    assert await page.evaluate(shows, address) == "error"  # nothing is kept of what is not shown any more
    opened.problems.clear()  # type: ignore[attr-defined]  # the browser itself logs what it could not load


async def test_a_file_that_went_with_a_message_can_be_had_back(daemon: Daemon, opened: Opening, tmp_path: Path) -> None:
    """By whoever reads the conversation, as it was."""
    session_id = await daemon.begin(title="files")
    daemon.model.says("Read.")
    page = await opened(f"/s/{session_id}")
    given = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"all of it"}
    await page.locator("input[type=file]").set_input_files([given])  # type: ignore[list-item]
    await expect(page.locator(".chip[data-state=stored]")).to_have_count(1)
    await page.get_by_label("Message", exact=True).fill("look")
    await page.keyboard.press("Enter")
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Save notes.txt").click()
    await (await download.value).save_as(tmp_path / "back.txt")

    assert (tmp_path / "back.txt").read_bytes() == b"all of it"


async def test_all_files_that_are_chosen_at_once_go_with_the_message(daemon: Daemon, opened: Opening) -> None:
    """Also those after the first, whose turn to be stored comes later."""
    session_id = await daemon.begin(title="files")
    daemon.model.says("Three.")
    page = await opened(f"/s/{session_id}")
    await page.get_by_label("Message", exact=True).fill("how many?")
    names = ["one.txt", "two.txt", "three.txt"]
    files: list[FilePayload] = [{"name": name, "mimeType": "text/plain", "buffer": name.encode()} for name in names]
    await page.locator("input[type=file]").set_input_files(files)
    await expect(page.locator(".attachments .chip[data-state=stored]")).to_have_count(3)
    await page.get_by_label("Message", exact=True).press("Enter")
    await expect(page.locator("article.assistant")).to_contain_text("Three.")

    parts = (await daemon.get(f"/v1/sessions/{session_id}/messages")).json()["messages"][0]["parts"]
    assert [part.get("name") for part in parts[1:]] == names


@pytest.mark.parametrize("width", [1280, 320])
async def test_the_words_of_the_menu_can_be_read(daemon: Daemon, opened: Opening, width: int) -> None:
    """All of each, within the window."""
    session_id = await daemon.begin(title="menu")
    page = await opened(f"/s/{session_id}")
    await expect(page.get_by_role("heading", name="menu", level=1)).to_be_visible()
    await page.set_viewport_size({"width": width, "height": 800})
    await page.locator(".menu summary").click()
    menu = page.locator(".menu-list")
    await expect(menu.get_by_role("button", name="Make shorter (compact)")).to_be_visible()

    box = await menu.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    cut = "list => [...list.querySelectorAll('button')].filter(one => one.scrollWidth > list.clientWidth)"
    assert await menu.evaluate(f"list => ({cut})(list).map(one => one.textContent)") == []


async def test_a_session_is_renamed_by_enter(daemon: Daemon, opened: Opening) -> None:
    """As one writes a name anywhere."""
    page = await opened(f"/s/{await daemon.begin(title='before')}")
    await page.locator(".menu summary").click()
    await page.get_by_role("button", name="Rename").click()
    await page.keyboard.type("after")
    await page.keyboard.press("Enter")

    await expect(page.locator("h1.title")).to_have_text("after")
    await expect(page.locator("a.session .name")).to_have_text("after")
    await expect(page.locator("#dialog")).to_be_hidden()


async def test_a_session_is_exported_as_the_daemon_writes_it(daemon: Daemon, opened: Opening, tmp_path: Path) -> None:
    """There is one exporter; the page saves its file. (A cassette says when it was made.)"""
    daemon.model.says("Done.")
    turn = await daemon.ask("do it")
    await turn.answer()
    page = await opened(f"/s/{turn.session_id}")
    await expect(page.locator("article.assistant")).to_contain_text("Done.")
    kinds = {"markdown": ("Markdown", "md"), "ndjson": ("events", "ndjson"), "cassette": ("a cassette", "agi-cassette")}
    for format, (name, ending) in kinds.items():
        await page.locator(".menu summary").click()
        async with page.expect_download() as download:
            await page.get_by_role("button", name=f"Export as {name}").click()
        saved = await download.value
        await saved.save_as(tmp_path / ending)
        told = await daemon.get(f"/v1/sessions/{turn.session_id}/export?format={format}")
        lines = (tmp_path / ending).read_bytes().splitlines()

        assert saved.suggested_filename == f"{turn.session_id}.{ending}"
        assert len(lines) > 3
        assert lines[1:-1] == told.body.splitlines()[1:-1]


async def test_the_conversation_is_exported(daemon: Daemon, opened: Opening, tmp_path: Path) -> None:
    """As JSON, with every message."""
    daemon.model.says("Done.")
    turn = await daemon.ask("do it")
    await turn.answer()
    page = await opened(f"/s/{turn.session_id}")
    await expect(page.locator("article.assistant")).to_contain_text("Done.")
    await page.locator(".menu summary").click()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Export as JSON").click()
    await (await download.value).save_as(tmp_path / "exported.json")

    told = json.loads((tmp_path / "exported.json").read_text())
    assert [message["role"] for message in told["messages"]] == ["user", "assistant"]
