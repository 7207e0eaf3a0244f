"""A request is made to fit what its provider takes, over the whole conversation."""

from __future__ import annotations

from itertools import pairwise

from msgspec import Raw

from agi.context.media import FULL, Showing
from agi.media.kept import Kept
from agi.media.pictures import Bounds
from agi.models.base import ModelRequest
from agi.models.media import ANYTHING, NOTHING, MediaLimits, limits_of
from agi.protocol.messages import Message
from agi.protocol.parts import (
    Audio,
    File,
    Image,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
)
from agi.testing.files import broken_png, noise, pdf, picture, sound

LIMITS = MediaLimits(picture=Bounds(100, 100_000), pdf=True, total=200_000, count=4)


def said(*parts, role="user", at=0) -> Message:
    return Message(id=f"m{at}", role=role, parts=parts, created_at="", status="complete")


def image(ref: str) -> Image:
    return Image(ref=ref, mime_type="image/png")


def shown(files: dict[str, bytes], *messages: Message, limits: MediaLimits = LIMITS) -> ModelRequest:
    return Showing(limits, files.get, Kept()).fitted(ModelRequest(system="", messages=messages))


def texts(request: ModelRequest) -> list[str]:
    return [part.text for message in request.messages for part in message.parts if isinstance(part, Text)]


def test_a_picture_is_sent_in_a_form_every_provider_takes():
    """Whatever was attached; its part says what is sent, under the ref it always had."""
    request = shown({"a": picture("BMP", (300, 30))}, said(image("a")))
    assert request.messages[0].parts == (Image(ref="a", mime_type="image/png"),)
    assert request.files["a"].startswith(b"\x89PNG")


def test_a_model_that_takes_text_only_is_told_what_it_misses():
    """One note a file; text is text for everybody."""
    files = {"i.png": picture(size=(8, 6)), "s.wav": sound(), "d.pdf": pdf(), "n.md": b"# notes\n"}
    parts = (
        image("i.png"),
        Audio(ref="s.wav", mime_type="audio/wav"),
        File(ref="d.pdf", mime_type="application/pdf", name="docs/d.pdf"),
        File(ref="n.md", mime_type="text/markdown"),
    )
    request = shown(files, said(*parts), limits=NOTHING)

    seen, heard, read, text = texts(request)
    assert seen.startswith("[image i.png (8×6, ")
    assert seen.endswith("was attached; this model cannot see images]")
    assert "cannot hear audio" in heard
    assert read.startswith("[PDF docs/d.pdf (")
    assert text == "[file n.md]\n```\n# notes\n```"
    assert request.files == {}


def test_what_cannot_be_shown_is_spoken_of_with_the_reason():
    """A damaged picture, a locked PDF, a file that is gone, one of no kind, a sound of another kind."""
    files = {"a.png": broken_png(), "b.pdf": pdf(locked=True), "c.bin": b"\0\1", "d.ogg": b"OggS\0\2" + b"\0" * 9}
    parts = (image("a.png"), File(ref="b.pdf", mime_type="application/pdf"), image("gone.png"))
    more = (File(ref="c.bin", mime_type="application/x-c"), Audio(ref="d.ogg", mime_type="audio/ogg"))
    limits = limits_of("chat", own=False, model="m")

    damaged, locked, gone, unknown, other = texts(shown(files, said(*parts, *more), limits=limits))

    assert "cannot be decoded" in damaged
    assert "password" in locked
    assert gone == "[gone.png was attached; its file is not there any more]"
    assert "cannot be given such a file" in unknown
    assert "wav, mpeg" in other


def test_what_is_declared_wrongly_is_sent_as_what_it_is():
    """The bytes count, also for what was stored long ago."""
    files = {"a": picture("JPEG"), "b": b"<html>oops</html>"}
    request = shown(files, said(File(ref="a", mime_type="application/pdf"), File(ref="b", mime_type="application/pdf")))
    assert request.messages[0].parts[0] == File(ref="a", mime_type="image/jpeg")
    assert "<html>oops</html>" in texts(request)[0]


def test_office_documents_go_where_they_are_taken():
    """As what their sender says they are; nobody else can tell."""
    word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    files, part = {"a.docx": b"PK\3\4rest"}, File(ref="a.docx", mime_type=word)
    assert shown(files, said(part), limits=ANYTHING).files == files
    assert shown(files, said(part)).files == {}


def test_when_a_request_is_full_the_older_half_goes_at_once():
    """And stays as it is for many calls: what a provider has cached holds until then."""
    files = {f"{at}.png": picture(seed=at) for at in range(12)}
    messages = [said(image(f"{at}.png"), at=at) for at in range(12)]
    kept = [tuple(shown(files, *messages[: n + 1]).files) for n in range(12)]

    assert all(len(one) <= LIMITS.count for one in kept)
    assert all(f"{n}.png" in one for n, one in enumerate(kept))
    changes = sum(not set(before) <= set(after) for before, after in pairwise(kept))
    assert changes == 3
    assert FULL in texts(shown(files, *messages))[0]


def test_bytes_count_over_the_whole_request_as_often_as_they_are_sent():
    """One file shown five times is sent five times."""
    data = noise("JPEG", (100, 100))
    request = shown({"a": data}, *(said(image("a"), at=at) for at in range(30)), limits=ANYTHING)
    size = len(request.files["a"])
    tight = MediaLimits(picture=Bounds(3_072, 100_000), total=size * 5, count=100)

    fitted = shown({"a": data}, *(said(image("a"), at=at) for at in range(30)), limits=tight)

    sent = sum(isinstance(part, Image) for message in fitted.messages for part in message.parts)
    assert 2 <= sent <= 5
    assert isinstance(fitted.messages[-1].parts[0], Image)


def test_one_file_that_is_too_large_alone_does_not_push_out_the_rest():
    """It is spoken of; the others are shown."""
    files = {"big.pdf": pdf() + b"\0" * 300_000, "a.png": picture()}
    request = shown(files, said(image("a.png"), File(ref="big.pdf", mime_type="application/pdf")))
    assert set(request.files) == {"a.png"}
    assert "larger than all that this provider takes" in texts(request)[0]


def test_twenty_calls_read_and_encode_each_file_once_and_send_the_same():
    """Byte for byte."""
    files, reads = {"a.png": noise(size=(90, 90))}, []

    def read(ref: str) -> bytes | None:
        reads.append(ref)
        return files.get(ref)

    showing, request = Showing(LIMITS, read, Kept()), ModelRequest(system="", messages=(said(image("a.png")),))
    first = showing.fitted(request)
    assert all(showing.fitted(request) == first for _ in range(20))
    assert reads == ["a.png"]
    assert Showing(LIMITS, files.get, Kept()).fitted(request) == first


def test_where_a_result_takes_only_text_its_pictures_follow_the_step():
    """After the last result of the step, since nothing may stand between them."""
    calls = [ToolCallPart(content=ToolCallContent(id=one, name="read_file", args=Raw(b"{}"))) for one in "ab"]

    def result(call: str) -> Message:
        parts = (Text(text=f"{call}.png:"), image(f"{call}.png"))
        content = ToolResultContent(id=call, name="read_file", ok=True, parts=parts)
        return said(ToolResultPart(content=content), role="tool")

    messages = (said(Text(text="look")), said(*calls, role="assistant"), result("a"), result("b"))
    files = {"a.png": picture(), "b.png": picture(seed=9)}
    outside = shown(files, *messages, said(Text(text="?")), limits=limits_of("chat", own=True, model="m"))
    inside = shown(files, *messages, limits=limits_of("messages", own=True, model="m"))

    assert [message.role for message in outside.messages] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert [part.ref for part in outside.messages[4].parts if isinstance(part, Image)] == ["a.png", "b.png"]
    told = outside.messages[2].parts[0].content.parts
    assert [part.text for part in told][1].endswith("follows below]")
    assert [message.role for message in inside.messages] == ["user", "assistant", "tool", "tool"]
    assert isinstance(inside.messages[2].parts[0].content.parts[1], Image)
