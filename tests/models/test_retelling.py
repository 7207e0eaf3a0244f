"""What was written of a message is sent again: never other bytes than those of a request written anew."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from agi.models import anthropic_format, gemini_format, openai_chat_format, openai_responses_format
from agi.models.base import ModelRequest
from agi.models.retelling import Retelling
from agi.protocol.messages import Message
from agi.protocol.parts import (
    Audio,
    File,
    Image,
    Part,
    Reasoning,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
)

often = settings(derandomize=True, database=None, deadline=None, max_examples=150)

FILES = {"a.png": b"\x89PNG\r\n\x1a\nxx", "b.pdf": b"%PDF-1.7 x", "c.wav": b"RIFF0000WAVE", "d.md": b"# notes"}
MIME = {"png": "image/png", "pdf": "application/pdf", "wav": "audio/wav", "md": "text/markdown"}
SEALS = (
    "",
    "chat:reasoning_content",
    'chat:[{"type":"reasoning.text","text":"t/+=","index":0}]',
    '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA/+="}',
    '{"type":"message","phase":"commentary"}',
    '{"type":"thinking","signature":"EqQB+/=="}',
    "c2ln+/==",
    "thought1:dGhvdWdodA==",
)
MAKERS = (("tested", "m-1"), ("tested", "m-2"), ("other", "m-1"), ("tested", "gemini-2.5-flash"))
FORMATS = {
    "chat": (openai_chat_format.encode_request, {"limit_name": "max_tokens"}),
    "responses": (openai_responses_format.encode_request, {}),
    "messages": (anthropic_format.encode_request, {}),
    "gemini": (gemini_format.encode_request, {}),
}


def message(role: str, parts: list[Part]) -> Message:
    return Message(id="msg_1", role=role, parts=tuple(parts), created_at="", status="complete")


def file(ref: str) -> Part:
    kind = MIME[ref.partition(".")[2]]
    return {"image": Image, "audio": Audio}.get(kind.partition("/")[0], File)(ref=ref, mime_type=kind)


def call(id: str, written: str) -> ToolCallPart:
    return ToolCallPart(content=ToolCallContent(id=id, name="read.file!", args=Raw(written.encode())))


def result(id: str, shown: list[Part], ok: bool) -> ToolResultPart:
    error = "" if ok else "it failed"
    content = ToolResultContent(id=id, name="read.file!", ok=ok, parts=tuple(shown), error=error)
    return ToolResultPart(content=content)


TEXTS = st.builds(lambda text: Text(text=text), st.sampled_from(["", " ", "words", 'h\u00e9\u2028\U0001f600"\\']))
FILE_PARTS = st.builds(file, st.sampled_from(sorted(FILES)))
THOUGHTS = st.builds(
    lambda text, maker, seal: Reasoning(text=text, provider=maker[0], model=maker[1], signature=seal),
    st.sampled_from(["", "hm"]),
    st.sampled_from(MAKERS),
    st.sampled_from(SEALS),
)
CALLS = st.builds(call, st.sampled_from("123"), st.sampled_from(["{}", '{"a": 1}', "[1]", '"half {"']))
SHOWN = st.lists(TEXTS | TEXTS | FILE_PARTS, max_size=3)
RESULTS = st.builds(result, st.sampled_from("123"), SHOWN, st.booleans())
MESSAGES = st.one_of(
    st.builds(lambda parts: message("user", parts), SHOWN),
    st.builds(lambda parts: message("assistant", parts), st.lists(TEXTS | THOUGHTS | CALLS, max_size=4)),
    st.builds(lambda parts: message("tool", parts), st.lists(RESULTS, max_size=2)),
)
CHANGES = st.one_of(
    st.tuples(st.just("more"), st.lists(MESSAGES, max_size=3)),
    st.tuples(st.just("copy"), st.integers(0, 20)),
    st.tuples(st.just("other"), st.integers(0, 20), MESSAGES),
    st.tuples(st.just("drop"), st.integers(0, 20)),
    st.tuples(st.just("files"), st.sets(st.sampled_from(sorted(FILES)))),
    st.tuples(st.just("maker"), st.sampled_from(MAKERS)),
)


def changed(history: list[Message], change: tuple[Any, ...]) -> list[Message]:
    """The conversation after a change: more of it, a copy of a message, other parts in one, or one less."""
    kind, at = change[0], change[1]
    if kind == "more":
        return [*history, *at]
    if kind not in ("copy", "other", "drop") or at >= len(history):
        return history
    put = {
        "copy": lambda one: [replace(one)],
        "other": lambda one: [replace(one, role=change[2].role, parts=change[2].parts)],
        "drop": lambda one: [],
    }
    return [*history[:at], *put[kind](history[at]), *history[at + 1 :]]


@pytest.mark.parametrize("format", FORMATS)
@given(history=st.lists(MESSAGES, max_size=8), changes=st.lists(CHANGES, min_size=1, max_size=8))
@often
def test_what_is_known_changes_no_byte(format, history, changes):
    """However a conversation goes on, is changed or shown, and whoever is asked: as if nothing had been known."""
    encode, how = FORMATS[format]
    retelling, maker, files = Retelling(), MAKERS[0], dict(FILES)
    for change in [("more", []), *changes]:
        history = changed(history, change)
        maker = change[1] if change[0] == "maker" else maker
        files = {ref: FILES[ref] for ref in change[1]} if change[0] == "files" else files
        request = ModelRequest(system="be brief", messages=tuple(history), files=files)

        assert encode(*maker, request, retelling=retelling, **how) == encode(*maker, request, **how)
        assert encode(*maker, request, retelling=retelling, **how) == encode(*maker, request, **how)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("seal", SEALS)
def test_thoughts_that_were_kept_go_to_nobody_else(format, seal):
    """Another model of the provider, and another provider's model of that name, are not sent what was kept for one."""
    encode, how = FORMATS[format]
    thoughts = [Reasoning(text="hm", provider=one, model=name, signature=seal) for one, name in MAKERS]
    history = tuple(message("assistant", [thought, Text(text="so"), call("1", "{}")]) for thought in thoughts)
    request, retelling = ModelRequest(system="", messages=history), Retelling()
    for maker in (*MAKERS, *MAKERS[::-1]):
        assert encode(*maker, request, retelling=retelling, **how) == encode(*maker, request, **how)


@pytest.mark.parametrize("format", FORMATS)
def test_a_message_is_written_once(format, monkeypatch):
    """Of a conversation that grows only the end is written; what shows a file is written each time."""
    encode, how = FORMATS[format]
    seen: list[str] = []
    pieces = Retelling.pieces

    def listening(self: Retelling, request, maker, write, *more: Any) -> Any:
        def heard(one: Message, files: Any) -> Any:
            seen.append(one.id)
            return write(one, files)

        return pieces(self, request, maker, heard, *more)

    monkeypatch.setattr(Retelling, "pieces", listening)
    numbers, retelling = count(), Retelling()
    history: list[Message] = []
    for parts in ([Text(text="a"), file("a.png")], [Text(text="b")], [Text(text="c")]):
        history.append(replace(message("user", parts), id=str(next(numbers))))
        encode("p", "m", ModelRequest(system="", messages=tuple(history), files=FILES), retelling=retelling, **how)

    assert Counter(seen) == {"0": 3, "1": 1, "2": 1}


def test_a_mark_for_the_cache_is_the_last_key_of_a_block_that_was_kept():
    """The mark moves on with the conversation, and what was kept has none."""
    retelling, history = Retelling(), []
    for number in range(4):
        history.append(message("user", [Text(text=f"q{number}")]))
        history.append(message("assistant", [Text(text=f"a{number}")]))
        request = ModelRequest(system="", messages=tuple(history[:-1]))
        body = msgspec.json.decode(anthropic_format.encode_request("p", "m", request, retelling))
        marked = [one["content"][0]["text"] for one in body["messages"] if "cache_control" in one["content"][-1]]

        assert marked == [f"q{at}" for at in range(number + 1)][-2:]


def test_answers_are_numbered_by_their_place_whatever_was_kept():
    """A conversation that lost its beginning begins with the first number again."""
    retelling = Retelling()
    said = tuple(message("assistant", [Text(text=f"a{number}")]) for number in range(3))
    for shown in (said, said[1:], said):
        request = ModelRequest(system="", messages=shown)
        body = msgspec.json.decode(openai_responses_format.encode_request("p", "m", request, retelling))

        assert [one["id"] for one in body["input"]] == [f"msg_{place}" for place in range(len(shown))]
