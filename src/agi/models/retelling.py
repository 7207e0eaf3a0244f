"""Messages as a provider was sent them, kept for its next request: a conversation that grew is written where it is new.

A message that shows files is written anew each time, since what is shown of them is said by each request. How a message
is written is its format's business; what is kept lives as long as the adapter, which is a turn's own. Pure.
May import: protocol, models.base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from agi.models.base import ModelRequest
from agi.protocol.known import Known
from agi.protocol.messages import Message
from agi.protocol.parts import refs_in

Piece = TypeVar("Piece")
Kept = TypeVar("Kept")

_NO_FILES: Mapping[str, bytes] = MappingProxyType({})


class Retelling:
    """What became of each message of the last request."""

    def __init__(self) -> None:
        self._known: Known[Message, tuple[Any, ...] | None] = Known()

    def pieces(
        self,
        request: ModelRequest,
        maker: tuple[str, str],
        write: Callable[[Message, Mapping[str, bytes]], Iterable[Piece]],
        keep: Callable[[Piece], Kept],
        files: Mapping[str, bytes] | None = None,
    ) -> list[Sequence[Piece | Kept]]:
        """The pieces of each message, as `write` made them or as `keep` kept them; they are not to be changed.

        `maker` is the provider and the model that are asked. `files` are those that are sent, if not all.
        """

        def alone(message: Message) -> tuple[Kept, ...] | None:
            return None if refs_in(message.parts) else tuple(keep(piece) for piece in write(message, _NO_FILES))

        shown = request.files if files is None else files
        kept = self._known.of(request.messages, alone, maker)
        told = zip(request.messages, kept, strict=True)
        return [tuple(write(message, shown)) if known is None else known for message, known in told]
