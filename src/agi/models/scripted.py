"""A model that plays a script. It answers without a network and is always called what it is: provider `scripted`.

For tests, and for showing how the house works where no provider is set up. What a script says is the caller's
business. May import: errors, protocol, models.base, models.catalog.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Protocol, Self

import msgspec
from msgspec import Struct

from agi.errors import ModelError
from agi.models.base import CallMade, Finished, ModelRequest, ReasoningDelta, StreamItem, TextDelta
from agi.models.catalog import SCRIPTED
from agi.protocol.ids import CALL, new_id
from agi.protocol.messages import StopReason, Usage
from agi.protocol.parts import Json


class Gate(Protocol):
    """What can be waited for, such as an `asyncio.Event`."""

    async def wait(self) -> object:
        """Return when the way is free."""


class Say(Struct, frozen=True):
    """A piece of the answer, in deltas of `size` characters (0: all at once)."""

    text: str
    size: int = 0


class Think(Struct, frozen=True):
    """Something thought aloud, in deltas of `size` characters (0: all at once)."""

    text: str
    size: int = 0


class Call(Struct, frozen=True):
    """Ask for a tool; `arguments` as text may be anything a model could write. Without `id` it gets a fresh one."""

    name: str
    arguments: Json | str = {}
    id: str = ""


class Wait(Struct, frozen=True):
    """Say nothing more until the gate opens."""

    gate: Gate


class Fail(Struct, frozen=True):
    """Break off with this error."""

    error: ModelError


class Stop(Struct, frozen=True):
    """End the answer, for this reason and at this cost; only needed where it is not the usual end."""

    reason: StopReason = "end_turn"
    usage: Usage = Usage(requests=1)


Step = Say | Think | Call | Wait | Fail | Stop


class ScriptedModel:
    """Plays one group of steps a request, in order; `requests` is what it was asked."""

    def __init__(self, steps: Iterable[Step | Sequence[Step]] = (), name: str = "script") -> None:
        self._name = name
        self._groups: list[tuple[Step, ...]] = [tuple(s) if isinstance(s, Sequence) else (s,) for s in steps]
        self._decide: Callable[[ModelRequest], Sequence[Step]] | None = None
        self.requests: list[ModelRequest] = []
        self.schema_native = True

    @classmethod
    def from_function(cls, decide: Callable[[ModelRequest], Sequence[Step]], name: str = "script") -> Self:
        """Make a model that asks a function what to do with each request."""
        model = cls(name=name)
        model._decide = decide
        return model

    @property
    def provider(self) -> str:
        """Always `scripted`."""
        return SCRIPTED

    @property
    def name(self) -> str:
        """The name of the script."""
        return self._name

    def takes_schema(self, *, with_tools: bool) -> bool:
        """A script says what it says; `schema_native` plays a provider that has no such option."""
        return self.schema_native

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Play the next group; a script that is over fails."""
        self.requests.append(request)
        return play(self._next(request))

    def plays(self, *steps: Step) -> Self:
        """Add a group: the answer to one more request."""
        self._groups.append(steps)
        return self

    def says(self, text: str, size: int = 0) -> Self:
        """Answer one more request with text."""
        return self.plays(Say(text, size))

    def calls(self, name: str, /, **arguments: object) -> Self:
        """Answer one more request by asking for a tool."""
        return self.plays(Call(name, arguments))

    def fails(self, error: ModelError) -> Self:
        """Answer one more request by failing."""
        return self.plays(Fail(error))

    def and_calls(self, name: str, /, **arguments: object) -> Self:
        """Ask for one more tool in the same answer."""
        self._groups[-1] = (*self._groups[-1], Call(name, arguments))
        return self

    then_plays = plays
    then_says = says
    then_calls = calls
    then_fails = fails

    def _next(self, request: ModelRequest) -> Sequence[Step]:
        if self._decide is not None:
            return self._decide(request)
        if self._groups:
            return self._groups.pop(0)
        message = f"{SCRIPTED} ({self._name}): the script is over, and request {len(self.requests)} came."
        return (Fail(ModelError(message, hint="Give the script one more step.", code="script_over")),)


async def play(steps: Sequence[Step]) -> AsyncGenerator[StreamItem, None]:
    """Turn steps into the stream a provider would send; others get to run between two deltas."""
    ending: Stop | None = None
    called = False
    for step in steps:
        if isinstance(step, Say | Think):
            kind = TextDelta if isinstance(step, Say) else ReasoningDelta
            for piece in _pieces(step.text, step.size):
                await asyncio.sleep(0)
                yield kind(piece)
        elif isinstance(step, Call):
            called = True
            yield _made(step)
        elif isinstance(step, Wait):
            await step.gate.wait()
        elif isinstance(step, Fail):
            raise step.error
        else:
            ending = step
    if ending is None:
        ending = Stop("tool_calls") if called else Stop()
    yield Finished(stop_reason=ending.reason, usage=ending.usage)


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)] if size > 0 else [text]


def _made(call: Call) -> CallMade:
    written = call.arguments if isinstance(call.arguments, str) else msgspec.json.encode(call.arguments).decode()
    return CallMade(call.id or new_id(CALL), call.name, written)
