"""The shape of a model: a request goes in, a stream of small values comes out, the last of them says how it ended.

Provider formats are met in the adapter files and nowhere else. A provider that fails raises ModelError, before or in
the middle of the stream. May import: errors, protocol.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from msgspec import Struct

from agi.protocol.messages import Message, StopReason, Usage
from agi.protocol.parts import Json
from agi.protocol.tools import ToolDefinition


class ModelRequest(Struct, frozen=True, kw_only=True):
    """Everything a provider is told for one call. Each tool call in `messages` has exactly one result, in order."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    options: Json = {}
    """Passed on where the provider knows them: `temperature`, `max_tokens`, `top_p`, `seed`, `stop`, `schema`."""
    files: Mapping[str, bytes] = {}
    """What the messages' attachments hold, by ref; one that is missing here is told as a text note."""


class TextDelta(Struct, frozen=True):
    """A piece of the answer."""

    text: str


class ReasoningDelta(Struct, frozen=True):
    """A piece of what the model thinks aloud."""

    text: str


class ReasoningSealed(Struct, frozen=True):
    """The reasoning so far ends here, with something opaque that only its maker understands.

    It is kept as the signature of the reasoning part (an empty part if nothing was thought aloud) and handed back,
    byte for byte and in the same place, to the same provider and model only.
    """

    signature: str


class CallMade(Struct, frozen=True):
    """The model asks for a tool; `arguments` is the text it wrote, not yet checked to be JSON."""

    id: str
    name: str
    arguments: str


class Finished(Struct, frozen=True, kw_only=True):
    """Always the last value of a stream that did not fail."""

    stop_reason: StopReason
    usage: Usage


StreamItem = TextDelta | ReasoningDelta | ReasoningSealed | CallMade | Finished


class Model(Protocol):
    """One model at one provider."""

    @property
    def provider(self) -> str:
        """The provider's name in the configuration."""

    @property
    def name(self) -> str:
        """The model's name as the provider spells it."""

    def takes_schema(self, *, with_tools: bool) -> bool:
        """Whether the provider itself keeps to `options.schema`; where not, the loop makes a tool of it."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Ask; closing the generator early hangs up."""


class Price(Struct, frozen=True, kw_only=True):
    """What a model costs, in USD for a million tokens; null is unknown, never free."""

    input_usd: float | None = None
    output_usd: float | None = None
    cache_read_usd: float | None = None
    cache_write_usd: float | None = None


class ModelInfo(Struct, frozen=True, kw_only=True):
    """A model clients may choose, and what is known of it; null is unknown."""

    provider: str
    id: str
    context_window: int | None = None
    """Tokens it takes in, and where its server says so, gives out together."""
    max_output_tokens: int | None = None
    price: Price | None = None
    capabilities: tuple[str, ...] = ()
    """What its server says that it can: `tools`, `images`, `audio`, `files`, `reasoning`, `schema`."""
    note: str = ""
