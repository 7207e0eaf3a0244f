"""An answer in Gemini's format is put together from its chunks, in the order its parts come.

A call comes whole, often without an id; from the first one on everything waits for the answer's end, so that an answer
that breaks off makes no call. Pure: bytes in, stream items out. May import: protocol, models.base, models.failures,
models.gemini_signature, models.streaming.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw, Struct

from agi.models.base import CallMade, Finished, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.failures import Failures
from agi.models.gemini_signature import for_text, for_thought, is_signature
from agi.models.streaming import read_count, read_event
from agi.protocol.ids import CALL, new_id
from agi.protocol.messages import StopReason, Usage

_DONE = b"[DONE]"
# All other words are an ordinary end, or `tool_calls` by the calls that came.
_STOP_REASONS: dict[str, StopReason] = {
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "max_tokens",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "LANGUAGE": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "MODEL_ARMOR": "refusal",
    "IMAGE_SAFETY": "refusal",
    "IMAGE_PROHIBITED_CONTENT": "refusal",
    "IMAGE_RECITATION": "refusal",
}
_MISHAPS = {
    "OTHER": "it ended for a reason that the provider does not tell",
    "MALFORMED_FUNCTION_CALL": "the model wrote a tool call that cannot be read",
    "MALFORMED_RESPONSE": "the model wrote something that cannot be read",
    "UNEXPECTED_TOOL_CALL": "the model asked for a tool that it was not offered",
    "TOO_MANY_TOOL_CALLS": "the model asked for too many tools in a row",
    "MISSING_THOUGHT_SIGNATURE": "the provider misses a thought signature in the conversation",
}
_LASTING = frozenset(("MISSING_THOUGHT_SIGNATURE",))
_USABLE_ID = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)


class _Call(Struct):
    id: object = None
    name: object = None
    args: Raw = Raw()


class _Part(Struct, rename="camel"):
    text: object = None
    thought: object = None
    thought_signature: object = None
    function_call: _Call | None = None


class _Content(Struct):
    parts: list[_Part] | None = None


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: object = None
    finish_message: object = None


class _Feedback(Struct, rename="camel"):
    block_reason: object = None


class _Usage(Struct, rename="camel"):
    prompt_token_count: object = None
    tool_use_prompt_token_count: object = None
    cached_content_token_count: object = None
    candidates_token_count: object = None
    thoughts_token_count: object = None


class _Chunk(Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Usage | None = None
    error: object = None
    message: object = None


_decode = msgspec.json.Decoder(_Chunk).decode
_decode_list = msgspec.json.Decoder(list[_Chunk]).decode


class GeminiAnswer:
    """One answer: `take` each event's data, then `finish`."""

    def __init__(self, failures: Failures) -> None:
        self._failures = failures
        self._held: list[StreamItem] = []
        self._calls: dict[str, tuple[str, str]] = {}
        self._reason: str | None = None
        self._remark = ""
        self._blocked = False
        self._usage: _Usage | None = None
        self.heard = 0
        """How many chunks had something in them; what was thought unseen is told as a number only."""
        self.flowing = False
        """Whether words are coming."""
        self.done = False
        """Whether the server said that nothing more comes; Google itself just ends."""

    @property
    def complete(self) -> bool:
        """Whether the answer is whole; only its cost may still be missing."""
        return self.done or self._blocked or self._reason is not None

    @property
    def settled(self) -> bool:
        """Whether the cost is known, too; it comes together with the end."""
        return self.complete and self._usage is not None

    def take(self, data: bytes, kind: str = "message") -> list[StreamItem]:
        """Add one event and tell what it says, unless a call came before it. Raises ModelError."""
        if self.done or not data:
            return []
        if not data.startswith(b"["):
            return self._take_chunk(read_event(_decode, data, self._failures), kind)
        if data.startswith(_DONE):
            self.done = True
            return []
        chunks = read_event(_decode_list, data, self._failures)
        return [item for chunk in chunks for item in self._take_chunk(chunk, kind)]

    def take_whole(self, body: bytes) -> list[StreamItem]:
        """Take an answer that came as one object, or as a list of chunks. Raises ModelError."""
        return self.take(body.strip())

    def finish(self) -> list[StreamItem]:
        """What was held back, and how it ended. Raises ModelError if it was cut, or ended in a mishap."""
        if not self.complete:
            raise self._failures.cut()
        if mishap := _MISHAPS.get(self._reason or ""):
            words = f"{mishap} ({self._reason})" + (f": {self._remark}" if self._remark else "")
            lasting = {"type": "invalid_request"} if self._reason in _LASTING else {}
            raise self._failures.reported({"message": words, **lasting})
        return [*self._held, Finished(stop_reason=self._stop_reason(), usage=_read_usage(self._usage))]

    def _take_chunk(self, chunk: _Chunk, kind: str) -> list[StreamItem]:
        if chunk.error or kind == "error":
            raise self._failures.reported(chunk.error or {"message": chunk.message})
        if chunk.usage_metadata is not None and chunk.usage_metadata != self._usage:
            self._usage = chunk.usage_metadata
            self.heard += 1
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            self._blocked = True
        return self._take_candidate(chunk.candidates[0]) if chunk.candidates else []

    def _take_candidate(self, candidate: _Candidate) -> list[StreamItem]:
        if isinstance(candidate.finish_reason, str) and candidate.finish_reason:
            self._reason = candidate.finish_reason
            self._remark = candidate.finish_message if isinstance(candidate.finish_message, str) else ""
        told: list[StreamItem] = []
        for part in (candidate.content.parts if candidate.content else None) or ():
            items = self._take_call(part.function_call) if part.function_call else _said(part)
            if items:
                self.heard += 1
                self.flowing = isinstance(items[-1], TextDelta)
            if isinstance(part.thought_signature, str):
                items = _seal(part, items)
            (self._held if self._calls else told).extend(items)
        return told

    def _take_call(self, call: _Call) -> list[StreamItem]:
        """A call, under an id of its own; the same one again, id and all, is a chunk that was sent twice."""
        made = (call.name if isinstance(call.name, str) else "", _arguments(call.args))
        call_id = call.id if isinstance(call.id, str) and _USABLE_ID.fullmatch(call.id) else ""
        if call_id and self._calls.get(call_id) == made:
            return []
        if not call_id or call_id in self._calls:
            call_id = new_id(CALL)
        self._calls[call_id] = made
        return [CallMade(call_id, *made)]

    def _stop_reason(self) -> StopReason:
        reason = "refusal" if self._blocked else _STOP_REASONS.get(self._reason or "", "end_turn")
        return "tool_calls" if self._calls and reason == "end_turn" else reason


def _said(part: _Part) -> list[StreamItem]:
    if not isinstance(part.text, str) or not part.text:
        return []
    return [ReasoningDelta(part.text) if part.thought is True else TextDelta(part.text)]


def _seal(part: _Part, items: list[StreamItem]) -> list[StreamItem]:
    """Note a part's signature so that it finds back to exactly this part."""
    signature = part.thought_signature
    if not is_signature(signature):
        return items
    if part.function_call:
        return [ReasoningSealed(signature), *items] if items else items
    letters = len(part.text) if isinstance(part.text, str) else 0
    return [*items, ReasoningSealed((for_thought if part.thought is True else for_text)(signature, letters))]


def _arguments(args: Raw) -> str:
    """Arguments as they were written, but for the space between them; none at all are an empty object."""
    written = bytes(args)
    return "{}" if written in (b"", b"null") else msgspec.json.format(written, indent=-1).decode(errors="replace")


def _read_usage(usage: _Usage | None) -> Usage:
    """Thoughts are counted apart from the rest of the answer here, and as a part of it by us."""
    if usage is None:
        return Usage(requests=1)
    thoughts = read_count(usage.thoughts_token_count)
    return Usage(
        input_tokens=read_count(usage.prompt_token_count) + read_count(usage.tool_use_prompt_token_count),
        output_tokens=read_count(usage.candidates_token_count) + thoughts,
        cached_tokens=read_count(usage.cached_content_token_count),
        reasoning_tokens=thoughts,
        requests=1,
    )
