"""An answer in OpenAI's Chat Completions format is put together from its chunks, and servers' odd habits forgiven.

Unknown, missing and null fields, ids that are absent or repeated, one index for several calls, usage in a chunk of its
own or not at all: all of these are met in the wild. Pure: bytes in, stream items out. May import: protocol,
models.base, models.failures, models.streaming, models.openai_chat_thoughts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct, field

from agi.models.base import CallMade, Finished, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.failures import Failures
from agi.models.openai_chat_thoughts import FieldName, add_details, seal_details, seal_field
from agi.models.streaming import read_count, read_event
from agi.protocol.ids import CALL, new_id
from agi.protocol.messages import StopReason, Usage

_DONE = b"[DONE]"
# All other words are an ordinary end, or `tool_calls` by the calls that came: some servers announce those as `stop`.
_STOP_REASONS: dict[str, StopReason] = {
    "length": "max_tokens",
    "content_filter": "refusal",
}
_FULL = frozenset(("model_length", "model_context_window_exceeded"))
"""What servers say where the answer ended with the context window, and not with the limit that was asked for."""
_USABLE_ID = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)


class _Function(Struct):
    name: object = None
    arguments: object = None


class _ToolCall(Struct):
    index: int | None = None
    id: object = None
    function: _Function | None = None


class _Delta(Struct):
    content: object = None
    reasoning_content: object = None
    reasoning: object = None
    reasoning_details: object = None
    refusal: object = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: object = None


class _Chunk(Struct):
    choices: list[_Choice] | None = None
    usage: object = None
    error: object = None
    message: object = None
    kind: object = field(name="object", default=None)


_decode = msgspec.json.Decoder(_Chunk).decode


class _Call:
    """A tool call as far as it has come."""

    __slots__ = ("arguments", "id", "index", "name")

    def __init__(self, index: int, id: str, name: str) -> None:
        self.index = index
        self.id = id
        self.name = name
        self.arguments: list[str] = []


class ChatAnswer:
    """One answer: `take` each event's data, then `finish`."""

    def __init__(self, failures: Failures) -> None:
        self._failures = failures
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._reason: str | None = None
        self._refused = False
        self._thinks_in: FieldName | None = None
        self._details: list[dict[str, object]] = []
        self._usage: object = None
        self.heard = 0
        """How many chunks had something in them: empty ones are sent as keep-alives."""
        self.flowing = False
        """Whether words or arguments are coming."""
        self.done = False
        """Whether the server said that nothing more comes."""

    @property
    def complete(self) -> bool:
        """Whether the answer is whole; only its cost may still be missing."""
        return self.done or self._reason is not None

    @property
    def settled(self) -> bool:
        """Whether the cost is known, too."""
        return self.done or (self._reason is not None and self._usage is not None)

    def take(self, data: bytes, kind: str = "message") -> tuple[StreamItem, ...]:
        """Add one event and tell what it says; nothing counts after the end. Raises ModelError."""
        if self.done or not data:
            return ()
        if data.startswith(_DONE):
            self.done = True
            return ()
        chunk = read_event(_decode, data, self._failures)
        if chunk.error or chunk.kind == "error" or kind == "error":
            raise self._failures.reported(chunk.error or {"message": chunk.message})
        self._usage = chunk.usage or self._usage
        return self._take_choice(chunk.choices[0]) if chunk.choices else ()

    def take_whole(self, body: bytes) -> tuple[StreamItem, ...]:
        """Take an answer that came in one piece, as some servers send it when there are tools. Raises ModelError."""
        items = self.take(body)
        self.done = self.heard > 0 or self._reason is not None
        return items

    def finish(self) -> list[StreamItem]:
        """The calls, in order and with ids of their own, and how it ended. Raises ModelError if it was cut."""
        if not self.complete:
            raise self._failures.cut()
        if self._reason == "error":
            raise self._failures.reported({"message": "the server ended it with an error"})
        if self._reason in _FULL:
            raise self._failures.overflowed()
        seen: set[str] = set()
        calls: list[StreamItem] = []
        for call in sorted(self._calls, key=lambda call: call.index):
            usable = _USABLE_ID.fullmatch(call.id) and call.id not in seen
            call_id = call.id if usable else new_id(CALL)
            seen.add(call_id)
            calls.append(CallMade(call_id, call.name, "".join(call.arguments)))
        sealed = [ReasoningSealed(seal_details(self._details))] if self._details else self._seal()
        return [*sealed, *calls, Finished(stop_reason=self._stop_reason(), usage=_read_usage(self._usage))]

    def _take_choice(self, choice: _Choice) -> tuple[StreamItem, ...]:
        if isinstance(choice.finish_reason, str) and choice.finish_reason:
            self._reason = choice.finish_reason
        delta = choice.delta or choice.message
        if delta is None:
            return ()
        if delta.tool_calls:
            self._stir(flowing=True)
            for position, call in enumerate(delta.tool_calls):
                self._take_call(call, position if delta is choice.message else call.index)
        content = delta.content
        if type(content) is str and not (self._thinks_in or _has_more(delta)):
            if not content:
                return ()
            self._stir(flowing=True)
            return (TextDelta(content),)
        items = tuple(self._take_rest(delta))
        if items or delta.reasoning_details:
            self._stir(flowing=bool(items) and isinstance(items[-1], TextDelta))
        return items

    def _stir(self, *, flowing: bool) -> None:
        self.heard += 1
        self.flowing = flowing

    def _take_rest(self, delta: _Delta) -> Iterator[StreamItem]:
        name: FieldName = "reasoning_content" if delta.reasoning_content else "reasoning"
        if thought := _text(delta.reasoning_content) or _text(delta.reasoning):
            self._thinks_in = name
            yield ReasoningDelta(thought)
        add_details(self._details, delta.reasoning_details)
        if thought := _thinking(delta.content):
            yield ReasoningDelta(thought)
        refusal = _text(delta.refusal)
        self._refused = self._refused or bool(refusal)
        if said := _text(delta.content) + refusal:
            yield from self._seal()
            yield TextDelta(said)

    def _seal(self) -> Iterator[ReasoningSealed]:
        """Thoughts end where something else begins; the field they came in is what brings them back."""
        if self._thinks_in is not None:
            yield ReasoningSealed(seal_field(self._thinks_in))
            self._thinks_in = None

    def _take_call(self, delta: _ToolCall, index: int | None) -> None:
        function = delta.function or _Function()
        name = _text(function.name)
        call = self._call_of(index, _text(delta.id), name)
        if name != call.name and not call.arguments:
            call.name += name
        if piece := _written(function.arguments):
            call.arguments.append(piece)

    def _call_of(self, index: int | None, id: str, name: str) -> _Call:
        """The call a delta belongs to."""
        last = self._calls[-1] if self._calls else None
        known = last if index is None else self._by_index.get(index)
        if known is not None and not _begins_another(known, index, id, name):
            known.id = known.id or id
            return known
        if index is None:
            index = last.index + 1 if last else 0
        call = self._by_index[index] = _Call(index, id, name)
        self._calls.append(call)
        return call

    def _stop_reason(self) -> StopReason:
        reason = _STOP_REASONS.get(self._reason or "", "end_turn")
        if self._refused:
            return "refusal"
        return "tool_calls" if self._calls and reason == "end_turn" else reason


def _begins_another(known: _Call, index: int | None, id: str, name: str) -> bool:
    """Some servers count every call as 0, or do not count: there a name with another id, or without any, begins one."""
    if not name:
        return False
    if id and known.id:
        return id != known.id
    return index is None


def _has_more(delta: _Delta) -> object:
    return delta.reasoning_content or delta.reasoning or delta.reasoning_details or delta.refusal


def _thinking(content: object) -> str:
    """The thoughts in a list of content parts, as Mistral sends them."""
    parts = content if isinstance(content, list) else ()
    return "".join(_text(part.get("thinking")) for part in parts if isinstance(part, dict))


def _text(value: object) -> str:
    """Text, or the text in a list of content parts, as some servers send it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return ""


def _written(arguments: object) -> str:
    """Arguments as text; a few servers send the object itself."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else msgspec.json.encode(arguments).decode()


def _read_usage(usage: object) -> Usage:
    """What it cost, as far as the server tells it in numbers."""
    prompt, completion = _field(usage, "prompt_tokens_details"), _field(usage, "completion_tokens_details")
    return Usage(
        input_tokens=read_count(_field(usage, "prompt_tokens")),
        output_tokens=read_count(_field(usage, "completion_tokens")),
        cached_tokens=read_count(_field(prompt, "cached_tokens")),
        cache_write_tokens=read_count(_field(prompt, "cache_write_tokens")),
        reasoning_tokens=read_count(_field(completion, "reasoning_tokens")),
        requests=1,
    )


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None
