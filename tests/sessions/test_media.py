"""Files in a conversation: every kind of bad one, and every wire format, with many turns after it."""

from __future__ import annotations

import asyncio
import base64
import json
from itertools import pairwise

import pytest

from agi.models.base import ModelRequest
from agi.protocol.commands import Compact, PostMessage
from agi.protocol.parts import File, Image, Text, ToolResultPart, plain_text
from agi.testing.adapters import APIS, provider_settings
from agi.testing.files import animation, bomb, broken_png, noise, pdf, picture, sound
from agi.testing.provider import ProviderServer, calls, fails, says

POISONS = {
    "noise read as a picture": bytes(range(256)) * 8,
    "a header and noise": broken_png(),
    "a page called pdf": b"<html>404 Not Found</html>",
    "a locked pdf": pdf(locked=True),
    "20,000 pixels": picture(size=(20_000, 40)),
    "a bomb": bomb(),
    "an animation": animation("GIF", 5),
    "a cut off jpeg": noise("JPEG", (200, 200))[:3_000],
    "an empty file": b"",
    "a heic": b"\0\0\0\x18ftypheic\0\0\0\0" + b"\0" * 40,
    "a tiff": picture("TIFF"),
    "half a utf-16": b"\xff\xfea",
}
MAGICS = {b"\x89PNG": "image/png", b"\xff\xd8\xff\xe0": "image/jpeg", b"%PDF": "application/pdf"}


def put_in(place, name: str, data: bytes) -> str:
    """Store a file past the door, as an older version or a tool may have."""
    folder = place.harness.session_folder(place.session_id) / "attachments"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return f"attachments/{name}"


async def show(place, *parts):
    posted = await place.harness.post_message(place.session_id, PostMessage(parts=[Text(text="look"), *parts]))
    return await place.ended(posted)


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


def media_of(body: object) -> list[bytes]:
    """Everything in a body that is a file in base64."""
    found = []
    for text in strings(body):
        data = text.partition(";base64,")[2] if text.startswith("data:") else text
        if len(data) > 60 and data.startswith(("iVBOR", "/9j/", "JVBER", "UklGR", "R0lGO")):
            found.append(base64.b64decode(data))
    return found


def strict(asked):
    """A provider that refuses whatever is not a whole picture of modest size, or a plain PDF; as real ones do."""
    import io

    from PIL import Image as pillow

    for data in media_of(asked.json):
        if data[8:12] == b"WAVE":
            continue
        if data.startswith(b"%PDF-"):
            if b"/Encrypt" in data:
                return fails(400, "The PDF is password protected.")
            continue
        try:
            opened = pillow.open(io.BytesIO(data))
            opened.load()
        except Exception:
            return fails(400, "Could not process image")
        if max(opened.size) > 8_000 or opened.format not in ("PNG", "JPEG"):
            return fails(400, "image dimensions exceed max allowed size")
    return says("seen")


@pytest.mark.parametrize("api", APIS)
async def test_no_bad_file_spoils_the_session(place, api):
    """Each of them is in the third turn; that turn and twenty more are answered, and nothing was ever refused."""
    async with ProviderServer(strict) as server:
        place.configure(json.dumps(provider_settings(server.url, api)))
        await place.ask("one")
        await place.ask("two")
        parts = []
        for number, data in enumerate(POISONS.values()):
            mime = "application/pdf" if number in (2, 3) else "image/png"
            ref = put_in(place, f"{number}.png", data)
            parts.append((File if mime == "application/pdf" else Image)(ref=ref, mime_type=mime))

        third = await show(place, *parts)
        later = [await place.ask("go on") for _ in range(20)]

        assert {turn.status for turn in (third, *later)} == {"completed"}
        assert len(server.requests) == 23
        sent = [media_of(asked.json) for asked in server.requests[2:]]
        assert len(sent[0]) == 2  # the wide picture, made smaller, and the first frame of the animation
        assert all(one == sent[0] for one in sent)
        assert not place.events("parts_withheld")


@pytest.mark.parametrize("api", APIS)
async def test_twenty_five_pictures_are_taken_and_stay_the_same_bytes(place, api):
    """Also where the rules change at the twenty-first; whatever was sent is a prefix of what is sent later."""
    async with ProviderServer(strict) as server:
        place.configure(json.dumps(provider_settings(server.url, api)))
        for at in range(0, 25, 5):
            refs = [put_in(place, f"{n}.png", noise("PNG", (2_400, 12), seed=n)) for n in range(at, at + 5)]
            turn = await show(place, *(Image(ref=ref, mime_type="image/png") for ref in refs))
            assert turn.status == "completed"

        sent = [media_of(asked.json) for asked in server.requests]
        assert [len(one) for one in sent] == [5, 10, 15, 20, 25]
        assert all(longer[: len(shorter)] == shorter for shorter, longer in pairwise(sent))


@pytest.mark.parametrize("api", APIS)
async def test_every_kind_that_a_format_knows_goes_over_the_wire(place, api):
    """Pictures and PDFs as bytes, text as text with its name, a sound where it is heard and a note where not."""
    async with ProviderServer(strict) as server:
        place.configure(json.dumps(provider_settings(server.url, api)))
        parts = []
        for name, data in (("a.webp", picture("WEBP")), ("b.pdf", pdf()), ("c.wav", sound()), ("d.md", b"# Notes\n")):
            added = await place.harness.add_attachment(place.session_id, name, "application/octet-stream", data)
            parts.append(File(ref=added.ref, mime_type=added.mime_type, name=f"files/{name}"))

        assert (await show(place, *parts)).status == "completed"

        body = server.requests[0].json
        kinds = [data[:4] for data in media_of(body)]
        hears = api in ("chat", "gemini")
        assert kinds == [b"\x89PNG", b"%PDF", *([b"RIFF"] if hears else [])]
        words = "\n".join(strings(body))
        assert "[file files/d.md]\n```\n# Notes\n```" in words
        assert ("audio files/c.wav" in words and "cannot hear audio" in words) is not hears


@pytest.mark.parametrize("api", APIS)
async def test_a_picture_that_a_tool_read_is_seen_in_every_format(place, api):
    """Inside its result where that is possible, else right behind it."""
    (place.project / "shot.png").write_bytes(picture(size=(40, 30)))
    script = [calls(("read_file", {"path": "shot.png"})), says("a blue shot"), says("still blue")]
    async with ProviderServer(script) as server:
        place.configure(json.dumps(provider_settings(server.url, api)))
        await place.ask("what is in shot.png?")
        await place.ask("sure?")

        assert place.answer() == "still blue"
        assert [len(media_of(asked.json)) for asked in server.requests] == [0, 1, 1]


async def test_a_model_whose_server_says_it_is_blind_gets_a_note_and_no_refusal(place):
    """The note stands in the conversation; nothing was sent that could be refused."""
    models = [{"id": "model-1", "architecture": {"input_modalities": ["text"]}, "context_length": 8192}]

    class Blind(ProviderServer):
        def _reply(self, asked, spoken):
            if asked.path == "/api/v0/models":
                return fails(404)
            reply = super()._reply(asked, spoken)
            if spoken is None and asked.path == "/v1/models":
                body = json.dumps({"object": "list", "data": models}).encode()
                return type(reply)(content_type="application/json", frames=(body,))
            return reply

    async with Blind(lambda asked: fails(400, "no vision") if media_of(asked.json) else says("ok")) as server:
        place.configure(json.dumps(provider_settings(server.url, "chat")))
        added = await place.harness.add_attachment(place.session_id, "shot.png", "image/png", picture(size=(80, 60)))

        turn = await show(place, Image(ref=added.ref, mime_type="image/png"))

        assert turn.status == "completed", turn.outcome
        (asked,) = server.requests
        assert any("[image shot.png (80×60, " in text and "cannot see images]" in text for text in strings(asked.json))


async def test_what_a_provider_refuses_all_the_same_is_still_left_out_by_itself(place):
    """Limits are what is known; the rest is learned from the refusal, and the ref is the one in the log."""

    def picky(asked):
        return fails(400, "messages.1.content.1: Could not process image") if media_of(asked.json) else says("ok")

    async with ProviderServer(picky) as server:
        place.configure(json.dumps(provider_settings(server.url, "chat")))
        added = await place.harness.add_attachment(place.session_id, "a.png", "image/png", noise())
        turn = await show(place, Image(ref=added.ref, mime_type="image/png"))
        later = [await place.ask("go on") for _ in range(3)]

    assert {one.status for one in (turn, *later)} == {"completed"}, turn.outcome
    assert [json.loads(event.raw)["ids"] for event in place.events("parts_withheld")] == [[added.ref]]


async def test_a_part_is_kept_as_what_its_bytes_are(place):
    """In the log too: a page called a picture is a file."""
    page = await place.harness.add_attachment(place.session_id, "x.png", "image/png", b"<html></html>")
    shot = await place.harness.add_attachment(place.session_id, "y.bin", "application/octet-stream", picture())
    place.model.says("ok")
    await show(
        place,
        Image(ref=page.ref, mime_type="image/png"),
        File(ref=shot.ref, mime_type="application/octet-stream", name="y"),
    )

    _, first, second = place.messages()[0].parts
    assert (type(first), first.mime_type) == (File, "text/html")
    assert (type(second), second.mime_type, second.name) == (Image, "image/png", "y")
    assert "said to be image/png" in page.note


async def test_pictures_are_encoded_beside_the_event_loop(place):
    """Whoever else is served is not kept waiting."""
    added = await place.harness.add_attachment(place.session_id, "a.png", "image/png", noise("PNG", (600, 600)))
    beats = 0

    async def beat():
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0)

    place.model.says("ok")
    pulse = asyncio.create_task(beat())
    await show(place, Image(ref=added.ref, mime_type="image/png"))
    pulse.cancel()
    assert beats > 100
    assert isinstance(place.model.requests[0], ModelRequest)


async def test_the_rest_of_a_long_text_can_be_read(place):
    """It is cut where it is told, and read_file shows any line of it."""
    lines = "".join(f"line {number}\n" for number in range(20_000))
    added = await place.harness.add_attachment(place.session_id, "log.txt", "text/plain", lines.encode())
    place.model.calls("read_file", path=added.ref, start_line=19_999).then_says("read")

    await show(place, File(ref=added.ref, mime_type="text/plain"))

    told = place.model.requests[0].messages[0].parts[1].text
    assert told.endswith(f"; read_file shows the rest of {added.ref}]")
    (result,) = place.model.requests[1].messages[-1].parts
    assert result.content.parts[0].text.startswith("line 19998\nline 19999\n")


async def test_a_picture_that_a_compaction_left_out_is_seen_again_when_it_is_recalled(place):
    """The record names the message; the picture itself comes back with it."""
    ref = put_in(place, "shot.png", picture(seed=7))
    place.model.says("A picture. " * 100)
    await show(place, Image(ref=ref, mime_type="image/png"), Text(text="words " * 200))
    shown = place.messages()[0].id
    for number in range(3):
        place.model.says(f"Answer {number}. " * 100)
        await place.ask(f"question {number} " + "words " * 100)
    place.model.says("Goal: look at pictures.")
    await place.harness.compact(place.session_id, Compact())
    place.model.calls("recall", id=shown).then_says("I see it again.")

    await place.ask("what was on it?")

    without, back = place.model.requests[-2:]
    assert not without.files
    assert shown in plain_text(without.messages[0].parts)
    (result,) = [part for one in back.messages for part in one.parts if isinstance(part, ToolResultPart)]
    assert [one.ref for one in result.content.parts if isinstance(one, Image)] == [ref]
    assert list(back.files) == [ref]
