"""A conversation as pydantic-ai takes it: requests and responses in turn, calls and results in order.

What a provider signed goes back only to the provider and model that wrote it, in its place and unchanged.
Pure. May import: protocol, models.base, models.bridge_parts, models.bridge_seals; needs the extra.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from pydantic_ai import messages as foreign
from pydantic_ai.models import Model

from agi.models.base import ModelRequest
from agi.models.bridge_parts import contents_of
from agi.models.bridge_seals import Seal, read_seal
from agi.protocol.messages import Message
from agi.protocol.parts import Reasoning, Text, ToolCallPart, ToolResultPart, plain_text

Maker = tuple[str, str]
"""A provider and a model, as we call them."""


class Conversation:
    """Translates the messages of one request for one model."""

    def __init__(self, request: ModelRequest, model: Model, maker: Maker) -> None:
        self._request = request
        self._model = model
        self._maker = maker
        self._profile = model.profile

    def messages(self) -> list[foreign.ModelMessage]:
        """Everything said; what people and tools said in a row is one request, as some providers insist."""
        told: list[foreign.ModelMessage] = []
        for message in self._request.messages:
            if message.role == "assistant":
                if parts := self._answered(message):
                    told.append(self._response(message, parts))
            elif asked := list(self._asked(message)):
                last = told[-1] if told else None
                if isinstance(last, foreign.ModelRequest):
                    told[-1] = foreign.ModelRequest([*last.parts, *asked])
                else:
                    told.append(foreign.ModelRequest(asked))
        return told

    def _asked(self, message: Message) -> Iterator[foreign.ModelRequestPart]:
        if message.role == "tool":
            yield from (self._result(part) for part in message.parts if isinstance(part, ToolResultPart))
        elif message.role == "system" and self._profile.get("supports_inline_system_prompts", False):
            if text := plain_text(message.parts):
                yield foreign.SystemPromptPart(text)
        elif contents := contents_of(message.parts, self._request.files, self._profile):
            only = contents[0] if len(contents) == 1 else None
            yield foreign.UserPromptPart(only if isinstance(only, str) else contents)

    def _result(self, part: ToolResultPart) -> foreign.ToolReturnPart:
        result = part.content
        contents = contents_of(result.parts, self._request.files, self._profile)
        texts = [content for content in contents if isinstance(content, str)]
        attached = [content for content in contents if not isinstance(content, str)]
        text = "\n".join(texts) or result.error or ("" if attached else "(no output)")
        content: object = [text, *attached] if text and attached else attached or text
        return foreign.ToolReturnPart(result.name, content, self._call_id(result.id))

    def _response(self, message: Message, parts: list[foreign.ModelResponsePart]) -> foreign.ModelResponse:
        if (message.provider, message.model) != self._maker:
            return foreign.ModelResponse(parts)
        model = self._model
        return foreign.ModelResponse(
            parts,
            model_name=model.model_name,
            provider_name=model.system,
            provider_url=model.base_url,
            canonical_system=model.canonical_system,
        )

    def _answered(self, message: Message) -> list[foreign.ModelResponsePart]:
        """The parts of an answer; thoughts alone, without a word or a call, are none."""
        found: list[foreign.ModelResponsePart] = []
        thoughts: dict[int, int] = {}
        waiting: Seal | None = None
        for part in message.parts:
            if isinstance(part, Text) and part.text:
                found.append(foreign.TextPart(part.text))
            elif isinstance(part, ToolCallPart):
                found.append(self._call(part, waiting))
                waiting = None
            elif isinstance(part, Reasoning) and (seal := self._own_seal(part)):
                if seal.of == "call":
                    waiting = seal
                elif seal.of == "thought":
                    _think(found, thoughts, seal, part.text)
                elif found and isinstance(last := found[-1], foreign.TextPart):
                    found[-1] = _sealed_text(last, seal)
        spoken = any(not isinstance(part, foreign.ThinkingPart) for part in found)
        return found if spoken else []

    def _call(self, part: ToolCallPart, seal: Seal | None) -> foreign.ToolCallPart:
        call = part.content
        written = bytes(call.args).decode(errors="replace")
        return foreign.ToolCallPart(
            call.name,
            written,
            self._call_id(call.id),
            id=seal.id if seal else None,
            provider_name=seal.provider_name if seal else None,
            provider_details=seal.provider_details if seal else None,
        )

    def _own_seal(self, part: Reasoning) -> Seal | None:
        return read_seal(part.signature) if (part.provider, part.model) == self._maker else None

    def _call_id(self, call_id: str) -> str:
        """Some providers take ids of one length only; the same id always becomes the same one."""
        length = self._profile.get("tool_call_id_length")
        return hashlib.sha256(call_id.encode()).hexdigest()[:length] if length else call_id


def _think(found: list[foreign.ModelResponsePart], thoughts: dict[int, int], seal: Seal, text: str) -> None:
    """Add a thought, or one more piece of one that is there; the last seal of a thought is the one that counts."""
    at = thoughts.setdefault(seal.number, len(found))
    earlier = found[at] if at < len(found) else None
    thought = foreign.ThinkingPart(
        (earlier.content if isinstance(earlier, foreign.ThinkingPart) else "") + text,
        id=seal.id,
        signature=seal.signature,
        provider_name=seal.provider_name,
        provider_details=seal.provider_details,
    )
    found[at : at + 1] = [thought]


def _sealed_text(text: foreign.TextPart, seal: Seal) -> foreign.TextPart:
    return replace(text, id=seal.id, provider_name=seal.provider_name, provider_details=seal.provider_details)
