"""The parts of a conversation as Gemini takes them: answers, results, and what a person sends."""

from __future__ import annotations

import msgspec
import pytest

from agi.models.gemini_parts import is_tool_name, write_answer, write_input, write_result
from agi.protocol.parts import (
    Audio,
    ErrorContent,
    ErrorPart,
    File,
    Image,
    Reasoning,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
)

MAKER = ("google", "gemini-3-pro")
SIG = "c2ln"
SKIP = "skip_thought_signature_validator"
PNG = Image(ref="attachments/x.png", mime_type="image/png")
WAV = Audio(ref="attachments/x.wav", mime_type="audio/wav")
PDF = File(ref="attachments/a.pdf", mime_type="application/pdf")
ZIP = File(ref="attachments/a.zip", mime_type="application/zip")
FILES = {part.ref: b"data" for part in (PNG, WAV, PDF, ZIP)}
DATA = "ZGF0YQ=="


def thought(text: str, signature: str = "", provider: str = "google", model: str = "gemini-3-pro") -> Reasoning:
    return Reasoning(text=text, provider=provider, model=model, signature=signature)


def a_call(id: str = "c1", name: str = "shell", args: bytes = b"{}") -> ToolCallPart:
    return ToolCallPart(content=ToolCallContent(id=id, name=name, args=msgspec.Raw(args)))


def called(id: str = "c1", name: str = "shell", args: object = None, **fields: object) -> dict[str, object]:
    return {"functionCall": {"id": id, "name": name, "args": args or {}}, **fields}


def plain(pieces: object) -> list[object]:
    return msgspec.json.decode(msgspec.json.encode(pieces))


def answered(*parts, is_new: bool = True) -> list[object]:
    return plain(write_answer(parts, MAKER, is_new=is_new))


def result(*parts, ok: bool = True, error: str = "", is_new: bool = True, name: str = "shell"):
    content = ToolResultContent(id="c1", name=name, ok=ok, parts=parts, error=error)
    written, after = write_result(content, FILES, is_new=is_new)
    return plain(written)["functionResponse"], plain(after)


def test_an_answer_goes_back_in_the_order_it_came():
    """Thoughts, words and calls; the signature before a call goes onto it."""
    assert answered(thought("hm", SIG), a_call(args=b'{"b": 1.0, "a":2}'), thought("so"), Text(text="done")) == [
        {"text": "hm", "thought": True},
        called(args={"b": 1.0, "a": 2}, thoughtSignature=SIG),
        {"text": "so", "thought": True},
        {"text": "done"},
    ]


def test_a_signature_goes_back_onto_exactly_what_it_signed():
    """The end of a text, a thought, a part without letters; never onto a neighbour."""
    assert answered(Text(text="Hello"), thought("", f"text2:{SIG}")) == [
        {"text": "Hel"},
        {"text": "lo", "thoughtSignature": SIG},
    ]
    assert answered(Text(text="Hello"), thought("", f"text5:{SIG}"), Text(text="!")) == [
        {"text": "Hello", "thoughtSignature": SIG},
        {"text": "!"},
    ]
    assert answered(thought("hm", f"text0:{SIG}"), a_call(), is_new=False) == [
        {"text": "hm", "thought": True},
        {"text": "", "thoughtSignature": SIG},
        called(),
    ]
    assert answered(thought("hm so", f"thought2:{SIG}")) == [
        {"text": "hm ", "thought": True},
        {"text": "so", "thought": True, "thoughtSignature": SIG},
    ]
    assert answered(thought("", f"thought0:{SIG}")) == [{"text": "", "thought": True, "thoughtSignature": SIG}]


def test_a_signature_that_lost_its_part_stands_alone():
    """Nothing is signed that was not."""
    alone = {"text": "", "thoughtSignature": SIG}

    assert answered(thought("", SIG)) == [alone]
    assert answered(thought("", SIG), thought("", SIG), Text(text="x")) == [
        alone,
        {"text": "x", "thoughtSignature": SIG},
    ]
    assert answered(a_call(), thought("", f"text9:{SIG}"), is_new=False) == [called(), alone]
    assert answered(Text(text="ab"), thought("", f"text9:{SIG}")) == [{"text": "ab", "thoughtSignature": SIG}]


@pytest.mark.parametrize("maker", [("google", "gemini-2.5-pro"), ("anthropic", "gemini-3-pro"), ("", "")])
def test_thoughts_of_others_are_not_sent(maker):
    """Neither their words nor their signatures."""
    parts = (thought("hm", SIG, *maker), Text(text="x"), thought("", f"text1:{SIG}", *maker), a_call())

    assert answered(*parts, is_new=False) == [{"text": "x"}, called()]


def test_a_first_call_that_nobody_signed_says_so_to_newer_models():
    """They refuse it otherwise; only the first call of a step has a signature, and older models want none."""
    assert answered(a_call("c1"), a_call("c2")) == [called("c1", thoughtSignature=SKIP), called("c2")]
    assert answered(thought("", SIG), a_call("c1"), a_call("c2")) == [called("c1", thoughtSignature=SIG), called("c2")]
    assert answered(a_call("c1"), is_new=False) == [called("c1")]


def test_a_signature_of_another_adapter_is_left_out():
    """One provider's name may have stood for another format before."""
    assert answered(thought("hm", '{"type":"thinking"}'), Text(text="x")) == [
        {"text": "hm", "thought": True},
        {"text": "x"},
    ]


@pytest.mark.parametrize(
    ("args", "sent"), [(b"", {}), (b'"{\\"comm"', {"arguments": '{"comm'}), (b"[1]", {"arguments": [1]}), (b" {} ", {})]
)
def test_arguments_are_always_an_object(args, sent):
    """What else a model wrote, here or at another provider, is shown to it inside one."""
    assert answered(a_call(args=args), is_new=False) == [called(args=sent)]


@pytest.mark.parametrize(
    ("name", "sent"), [("", "_"), ("fs read!", "_fs_read_"), ("1st", "_1st"), ("a.b:c-d", "a.b:c-d")]
)
def test_names_that_nobody_offered_are_made_fit(name, sent):
    """A call and its result stay a pair."""
    assert answered(a_call(name=name), is_new=False) == [called(name=sent)]
    assert result(name=name)[0]["name"] == sent
    assert is_tool_name(sent)


def test_empty_and_foreign_parts_are_left_out():
    """No part without content is sent."""
    assert answered(Text(text=""), ErrorPart(content=ErrorContent(message="broke")), thought("")) == []


def test_a_result_says_what_came_out_or_what_went_wrong():
    """Under the word for it, and never nothing."""
    assert result(Text(text="ä"), Text(text="b")) == (
        {"id": "c1", "name": "shell", "response": {"output": "ä\nb"}},
        [],
    )
    assert result(ok=False, error="denied")[0]["response"] == {"error": "denied"}
    assert result(Text(text="exit 1"), ok=False, error="failed")[0]["response"] == {"error": "exit 1"}
    assert result()[0]["response"] == {"output": "(no output)"}


def test_newer_models_are_shown_pictures_and_documents_inside_the_result():
    """There they belong; a sound has no place inside and comes after, by its name."""
    written, after = result(Text(text="see"), PNG, PDF, WAV)

    assert written["response"] == {"output": "see\n[attachment: attachments/x.wav, audio/wav]"}
    assert written["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": DATA}},
        {"inlineData": {"mimeType": "application/pdf", "data": DATA}},
    ]
    assert after == [
        {"text": "[attachment: attachments/x.wav, audio/wav]"},
        {"inlineData": {"mimeType": "audio/wav", "data": DATA}},
    ]
    assert result(PNG)[0]["response"] == {"output": "(see the media)"}


def test_older_models_are_shown_them_after_the_result():
    """Inside they would be refused."""
    written, after = result(PNG, is_new=False)

    assert written == {
        "id": "c1",
        "name": "shell",
        "response": {"output": "[attachment: attachments/x.png, image/png]"},
    }
    assert after[1] == {"inlineData": {"mimeType": "image/png", "data": DATA}}


def test_what_a_person_sends_is_sent_as_it_is():
    """Words, pictures, sounds, documents and text files."""
    notes = File(ref="attachments/a.md", mime_type="Text/Markdown; charset=utf-8")
    written = plain(write_input((Text(text="look"), PNG, WAV, PDF, notes, Text(text="")), {**FILES, notes.ref: b"# a"}))

    assert written == [
        {"text": "look"},
        {"inlineData": {"mimeType": "image/png", "data": DATA}},
        {"inlineData": {"mimeType": "audio/wav", "data": DATA}},
        {"inlineData": {"mimeType": "application/pdf", "data": DATA}},
        {"inlineData": {"mimeType": "text/plain", "data": "IyBh"}},
    ]


def test_files_that_are_missing_or_not_taken_are_named():
    """One that is gone, an archive, a kind of picture the provider refuses."""
    gone = Image(ref="attachments/gone.png", mime_type="image/png")
    gif = Image(ref="attachments/x.gif", mime_type="image/gif")
    written = plain(write_input((gone, ZIP, gif), {**FILES, gif.ref: b"GIF89a"}))

    assert written == [{"text": f"[attachment: {part.ref}, {part.mime_type}]"} for part in (gone, ZIP, gif)]
