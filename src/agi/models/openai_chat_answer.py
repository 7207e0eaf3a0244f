"""An answer in OpenAI's Chat Completions format is put together from its chunks, and servers' odd habits forgiven.

Unknown, missing and null fields, ids that are absent or repeated, one index for several calls, usage in a chunk of its
own or not at all: all of these are met in the wild. Pure: bytes in, stream items out. May import: protocol,
models.base, models.failures.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct, field

from agi.models.base import CallMade, Finished, ReasoningDelta, StreamItem, TextDelta
from agi.models.failures import Failures
from agi.protocol.ids import CALL, new_id
from agi.protocol.messages import StopReason, Usage

_DONE = b"[DONE]"
# All other words are an ordinary end, or `tool_calls` by the calls that came: some servers announce those as `stop`.
_STOP_REASONS: dict[str, StopReason] = {
    "length": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "refusal",
}
_USABLE_ID = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)
_MOST_TOKENS = 1 << 53


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
    refusal: object = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: object = None


class _Details(Struct):
    cached_tokens: object = None
    reasoning_tokens: object = None


class _Usage(Struct):
    prompt_tokens: object = None
    completion_tokens: object = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None


class _Chunk(Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
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


class Answer:
    """One answer: `take` each event's data, then `finish`."""

    def __init__(self, failures: Failures) -> None:
        self._failures = failures
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._reason: str | None = None
        self._refused = False
        self._usage: _Usage | None = None
        self.done = False
        """Whether the server said that nothing more comes."""

    @property
    def complete(self) -> bool:
        """Whether the answer is whole; only its cost may still be missing."""
        return self.done or self._reason is not None

    @property
    def asks_for_tools(self) -> bool:
        """Whether there are calls to finish."""
        return bool(self._calls)

    def take(self, data: bytes, kind: str = "message") -> tuple[StreamItem, ...]:
        """Add one event and tell what it says; nothing counts after the end. Raises ModelError."""
        if self.done or not data:
            return ()
        if data.startswith(_DONE):
            self.done = True
            return ()
        chunk = self._read(data)
        if chunk.error or chunk.kind == "error" or kind == "error":
            raise self._failures.reported(chunk.error or {"message": chunk.message})
        if chunk.usage is not None:
            self._usage = chunk.usage
        return self._take_choice(chunk.choices[0]) if chunk.choices else ()

    def finish(self, used_ids: frozenset[str]) -> list[StreamItem]:
        """The calls, in order, and how it ended; `used_ids` are those of earlier calls. Raises ModelError if cut."""
        if not self.complete:
            raise self._failures.cut()
        if self._reason == "error":
            raise self._failures.reported({"message": "the server ended it with an error"})
        seen = set(used_ids)
        calls: list[StreamItem] = []
        for call in sorted(self._calls, key=lambda call: call.index):
            usable = _USABLE_ID.fullmatch(call.id) and call.id not in seen
            call_id = call.id if usable else new_id(CALL)
            seen.add(call_id)
            calls.append(CallMade(call_id, call.name, "".join(call.arguments)))
        return [*calls, Finished(stop_reason=self._stop_reason(), usage=_read_usage(self._usage))]

    def _read(self, data: bytes) -> _Chunk:
        try:
            return _decode(data)
        except (ValueError, RecursionError):
            pass
        try:
            return _decode(_mend(data))
        except (ValueError, RecursionError) as error:
            raise self._failures.unreadable("sent something that is not a piece of an answer") from error

    def _take_choice(self, choice: _Choice) -> tuple[StreamItem, ...]:
        if isinstance(choice.finish_reason, str) and choice.finish_reason:
            self._reason = choice.finish_reason
        delta = choice.delta or choice.message
        if delta is None:
            return ()
        for position, call in enumerate(delta.tool_calls or ()):
            self._take_call(call, position if delta is choice.message else call.index)
        content = delta.content
        if type(content) is str and not (delta.reasoning_content or delta.reasoning or delta.refusal):
            return (TextDelta(content),) if content else ()
        return self._take_rest(delta)

    def _take_rest(self, delta: _Delta) -> tuple[StreamItem, ...]:
        thought = _text(delta.reasoning_content) or _text(delta.reasoning)
        refusal = _text(delta.refusal)
        self._refused = self._refused or bool(refusal)
        said = _text(delta.content) + refusal
        return (*((ReasoningDelta(thought),) if thought else ()), *((TextDelta(said),) if said else ()))

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


def _mend(data: bytes) -> bytes:
    """Put U+FFFD where bytes or escapes are no letters (some servers cut an emoji in two); raises ValueError."""
    import json  # late: it takes halves of surrogate pairs, which msgspec refuses

    text = json.dumps(json.loads(data.decode(errors="replace")), ensure_ascii=False)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


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


def _read_usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage(requests=1)
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        input_tokens=_count(usage.prompt_tokens),
        output_tokens=_count(usage.completion_tokens),
        cached_tokens=_count(prompt.cached_tokens) if prompt else 0,
        reasoning_tokens=_count(completion.reasoning_tokens) if completion else 0,
        requests=1,
    )


def _count(value: object) -> int:
    return min(max(0, int(value)), _MOST_TOKENS) if isinstance(value, int | float) else 0
