"""When an answer is given up: how long each step of it may take, and how much it may be.

Waiting in the middle of flowing words and waiting for a thought are two different things: the one is a stall after
minutes, the other may be healthy for a quarter of an hour. Values only; keeping to them is `streaming`'s and `watch`'s
business. May import: config, net.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, replace

from agi.net.http import Timeouts

if TYPE_CHECKING:
    from agi.config.values import TimeoutSettings


class Limits(Struct, frozen=True):
    """Seconds, but for `size`; those with a setting of their own are the built-in values of it."""

    connect: float = 10.0
    """Until the connection stands."""
    first_byte: float = 300.0
    """From sending the request to the first byte of the answer."""
    idle: float = 180.0
    """With nothing said while words or arguments flow; keep-alives say nothing."""
    thinking: float = 900.0
    """With nothing said before the first word and between words, where a model may think or write unseen."""
    total: float = 3600.0
    """For the whole answer, once it has begun."""
    size: int = 64 * 1024 * 1024
    """Bytes of the whole answer."""
    last_words: float = 5.0
    """To wait for the cost once the answer itself is complete, and for the words of a refusal."""
    after_done: float = 0.2
    """To wait for the end of the response once nothing is missing any more."""

    def for_http(self) -> Timeouts:
        """What the HTTP client is to keep to; silence after the headers is not its business."""
        return Timeouts(connect=self.connect, first_byte=self.first_byte, idle=2 * self.total + 1)


USUAL = Limits()
PATIENT = Limits(first_byte=900.0, idle=900.0)
"""For servers that say nothing, not even a header, until the first word is there, or hold a call back until it is
whole: a large file is then written in silence, and that is no stall."""


def chosen(built_in: Limits, said: TimeoutSettings | None) -> Limits:
    """The built-in limits, but for those the user has set."""
    if said is None:
        return built_in
    given = {name.removesuffix("_seconds"): value for name, value in asdict(said).items() if value is not None}
    return replace(built_in, **given) if given else built_in
