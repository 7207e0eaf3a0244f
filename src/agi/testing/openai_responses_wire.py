"""The scripted provider in OpenAI's Responses format.

Pure: what is said goes in, the bytes OpenAI would send come out. May import: protocol, testing.asked, testing.replies.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import msgspec
from msgspec import Struct

from agi.protocol.messages import Usage
from agi.testing.asked import Asked, Question
from agi.testing.replies import Called, Content, Frames, Piece, Refusal, Refused, Said, Sealed, Thought, Written

_encode = msgspec.json.encode
_Json = dict[str, object]
_EMPTY: _Json = {"arguments": "", "content": [], "summary": [], "encrypted_content": None}
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


class _Turn(Struct, frozen=True):
    type: str = "message"
    role: str = ""


class _Body(Struct, frozen=True):
    stream: bool = False
    input: tuple[_Turn, ...] | str = ()


_decode = msgspec.json.Decoder(_Body).decode


class ResponsesFormat:
    """OpenAI's Responses."""

    name = "openai_responses"

    def is_asked_at(self, path: str) -> bool:
        """Anything that ends in `/responses`."""
        return path.endswith("/responses")

    def read(self, asked: Asked) -> Question:
        """Results are the items of the type `function_call_output`."""
        body = _decode(asked.body)
        results = 0
        for item in reversed(body.input if isinstance(body.input, tuple) else ()):
            if item.role == "user":
                break
            results += item.type == "function_call_output"
        return Question(body.stream, results)

    def frames(self, content: Content) -> Frames:
        """`created` and `in_progress`, the events of the items, and one last event that has everything once more."""
        events = _Events()
        begun = {**response(Content(pieces=())), "status": "in_progress", "usage": None}
        opening = b"".join(events.event(f"response.{kind}", response=begun) for kind in ("created", "in_progress"))
        pieces = [events.piece(*owned) for owned in zip(content.pieces, _items(content.pieces), strict=True)]
        whole = response(content)
        return (opening, *pieces, events.event(f"response.{whole['status']}", response=whole), b"", b"")

    def whole(self, content: Content) -> bytes:
        """One `response`."""
        return _encode(response(content))

    def refusal(self, refusal: Refusal) -> bytes:
        """OpenAI's error object."""
        error = {"message": refusal.message, "type": refusal.kind, "param": None, "code": refusal.code}
        return _encode({"error": error})


RESPONSES = ResponsesFormat()


def response(content: Content) -> _Json:
    """The whole answer, as the last event has it."""
    why = _INCOMPLETE.get(content.finish)
    failed = content.finish == "error"
    return {
        "id": "resp_script",
        "object": "response",
        "created_at": 0,
        "model": "script",
        "status": "failed" if failed else "incomplete" if why else "completed",
        "error": {"code": "server_error", "message": "scripted failure"} if failed else None,
        "incomplete_details": {"reason": why} if why else None,
        "output": [item.whole() for item in dict.fromkeys(_items(content.pieces)) if item is not None],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage_of(content.usage),
    }


def usage_of(usage: Usage) -> _Json:
    """What it cost, in OpenAI's words."""
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


class _Item:
    """One item of the output and the pieces it is made of."""

    def __init__(self, index: int) -> None:
        self.pieces: list[Piece] = []
        self.written = 0
        """How many of the pieces are events by now."""
        self.part = -1
        """The number of the part that is being written."""
        self.place: _Json = {"item_id": f"item_script_{index}", "output_index": index}

    def begun(self) -> _Json:
        """The item as it is announced: without what its pieces say."""
        item = self.whole()
        return {**item, "status": "in_progress", **{name: _EMPTY[name] for name in item.keys() & _EMPTY.keys()}}

    def whole(self) -> _Json:
        """The item at its end."""
        first, id = self.pieces[0], self.place["item_id"]
        text = _text(self.pieces)
        if isinstance(first, Called):
            call: _Json = {"call_id": first.id, "name": first.name, "arguments": text}
            return {"type": "function_call", "id": id, "status": "completed", **call}
        if isinstance(first, Said | Refused):
            content = [_part(kind, _text(same)) for kind, same in groupby(self.pieces, type)]
            return {"type": "message", "id": id, "status": "completed", "role": "assistant", "content": content}
        seal = next((piece.signature for piece in self.pieces if isinstance(piece, Sealed)), None)
        summary = [_part(Thought, text)] if text else []
        return {"type": "reasoning", "id": id, "status": "completed", "summary": summary, "encrypted_content": seal}


class _Events:
    """Writes events and counts them."""

    def __init__(self) -> None:
        self._count = 0

    def event(self, kind: str, **fields: object) -> bytes:
        data = _encode({"type": kind, **fields, "sequence_number": self._count})
        self._count += 1
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)

    def piece(self, piece: Piece, item: _Item | None) -> bytes:
        """A piece, with what announces its item before the first of it and what ends it after the last."""
        if item is None:
            told = piece if isinstance(piece, Refusal) else Refusal()
            return self.event("error", code=told.code, message=told.message, param=None)
        index = item.place["output_index"]
        written = b""
        if not item.written:
            written += self.event("response.output_item.added", output_index=index, item=item.begun())
        written += self._delta(piece, item)
        item.written += 1
        if item.written == len(item.pieces):
            written += self.event("response.output_item.done", output_index=index, item=item.whole())
        return written

    def _delta(self, piece: Piece, item: _Item) -> bytes:
        if isinstance(piece, Written):
            return self.event("response.function_call_arguments.delta", **item.place, delta=piece.text)
        if isinstance(piece, Thought):
            return self._text(piece, item, "reasoning_summary_part", "reasoning_summary_text", "summary_index")
        if isinstance(piece, Said):
            return self._text(piece, item, "content_part", "output_text", "content_index")
        if isinstance(piece, Refused):
            return self._text(piece, item, "content_part", "refusal", "content_index")
        return b""

    def _text(self, piece: Thought | Said | Refused, item: _Item, part: str, kind: str, counted: str) -> bytes:
        """A part begins where the kind of the pieces changes."""
        begun = b""
        if not item.written or type(item.pieces[item.written - 1]) is not type(piece):
            item.part += 1
            place = {**item.place, counted: item.part}
            begun = self.event(f"response.{part}.added", **place, part=_part(type(piece), ""))
        place = {**item.place, counted: item.part}
        return begun + self.event(f"response.{kind}.delta", **place, delta=piece.text)


def _items(pieces: tuple[Piece, ...]) -> list[_Item | None]:
    """The item of each piece. Words in a row are one item, as are thoughts up to their seal; each call is one."""
    count = 0
    calls: dict[int, _Item] = {}
    items: list[_Item | None] = []
    for number, piece in enumerate(pieces):
        before = items[-1] if items else None
        item = calls.get(piece.index) if isinstance(piece, Written) else before
        if isinstance(piece, Refusal):
            items.append(None)
            continue
        if item is None or not _goes_on(pieces[number - 1], piece):
            item, count = _Item(count), count + 1
        if isinstance(piece, Called):
            calls[piece.index] = item
        item.pieces.append(piece)
        items.append(item)
    return items


def _goes_on(before: Piece, piece: Piece) -> bool:
    """Whether a piece belongs to the item of the one before it, or, of arguments, to that of their call."""
    if isinstance(piece, Said | Refused):
        return isinstance(before, Said | Refused)
    return isinstance(piece, Written) or (isinstance(piece, Thought | Sealed) and isinstance(before, Thought))


def _part(kind: type[Piece], text: str) -> _Json:
    if kind is Thought:
        return {"type": "summary_text", "text": text}
    if kind is Refused:
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _text(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Thought | Said | Refused | Written))
