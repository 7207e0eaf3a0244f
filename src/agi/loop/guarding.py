"""The loop guard: notices that an agent goes round in circles, tells it once, and ends the turn if that is no help.

The same calls with the same results, alone or in short cycles, while no file of the workspace changes; and an answer
that repeats itself without end. Honest work is left alone: another result or a changed file begins a new count, and
tools that are made for asking again and again may be asked.
May import: protocol, loop.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from typing import Literal, NamedTuple

import msgspec

from agi.loop.history import calls_of
from agi.protocol.messages import Message
from agi.protocol.parts import ToolResultContent, ToolResultPart
from agi.protocol.tools import ToolCall

NOTED_AT = 3
ENDED_AT = 5
LONGEST_CYCLE = 3
ORIGIN = "loop_guard"
TEXT_ORIGIN = "repetition_guard"
NOTE = (
    "You have made the same tool calls {} times with the same results, and nothing changed in between. "
    "Repeating them will not help: use what you know, try something different, or say what is in the way."
)
TEXT_NOTE = "Your last answer repeated itself without end and was cut off. Answer anew, briefly."
CHECKED_EVERY = 1000
"""Characters after which an answer is looked at."""
LOOKED_AT = 16_000
"""Characters at the end of an answer that must be nothing but repetition."""
LONGEST_PERIOD = 400
FEW = 6
"""Rows of so few different characters are drawings and tables; those may be longer."""
LONGEST_DRAWING = 100_000
_KEPT_FILE = re.compile(rb"artifacts/[\w/.-]+")

Verdict = Literal["fine", "note", "end"]


class _Step(NamedTuple):
    digest: str
    """Tool, arguments and result."""
    place: int
    """The message it stands in."""


class Guard:
    """Watches one turn; `changed_at` tells when a file of the workspace last changed, as `time_ns` counts."""

    def __init__(
        self,
        changed_at: Callable[[], Awaitable[int]],
        clock: Callable[[], int] = time.time_ns,
        is_polling: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self._changed_at = changed_at
        self._clock = clock
        self._is_polling = is_polling
        self._looked_at = 0
        self._begun: list[int] = []
        """For each step, when the guard looked the last time before it; never, for those of before a restart."""
        self._seen = 0
        """How many of the turn's messages were looked at."""
        self._steps: list[_Step] = []
        """Every answered call in them, in order, without polls that found nothing new."""
        self._last: dict[tuple[str, bytes], str] = {}
        """What each poll found last, by its name and arguments."""

    async def look(self, own: Sequence[Message]) -> tuple[Verdict, int]:
        """Judge the turn's messages so far, of which each look finds more; tells how often the cycle came round."""
        self._see(own)
        steps = self._steps
        self._begun += [self._looked_at] * (len(steps) - len(self._begun))
        self._looked_at = self._clock()
        if _cycle([step.digest for step in steps])[1] < NOTED_AT:
            return "fine", 1
        # Looking at all files costs something, so it is done only here. What came before a change does not count.
        steps = steps[bisect_left(self._begun, await self._changed_at()) :]
        length, times = _cycle([step.digest for step in steps])
        if times < NOTED_AT:
            return "fine", times
        noted = any(message.origin == ORIGIN for message in own[steps[-length * times].place :])
        if not noted:
            return "note", times
        return ("end" if times >= ENDED_AT else "fine"), times

    def _see(self, own: Sequence[Message]) -> None:
        """Take in what is new. It is looked where every call has its result, so that none comes later."""
        new = range(self._seen, len(own))
        results = {
            part.content.id: part.content
            for place in new
            if own[place].role == "tool"
            for part in own[place].parts
            if isinstance(part, ToolResultPart)
        }
        for place in new:
            if own[place].role == "assistant":
                for call in calls_of(own[place]):
                    if call.id in results:
                        self._take(call, _Step(_digest(call, results[call.id]), place))
        self._seen = len(own)

    def _take(self, call: ToolCall, step: _Step) -> None:
        """A poll that found something new is a step like no other, and so ends a cycle; any other poll is none."""
        if not self._is_polling(call.name):
            self._steps.append(step)
            return
        asked = (call.name, bytes(call.input))
        if self._last.get(asked) != step.digest:
            self._last[asked] = step.digest
            self._steps.append(step._replace(digest=f"poll {len(self._steps)}"))


def _digest(call: ToolCall, result: ToolResultContent) -> str:
    """What the model asked for and was shown; how long it took and which file keeps the whole of it does not count."""
    shown = _KEPT_FILE.sub(b"", msgspec.json.encode([result.ok, result.error, result.parts]))
    asked = msgspec.json.encode([call.name, _canonical(bytes(call.input))])
    return blake2b(asked + shown, digest_size=16).hexdigest()


def _canonical(arguments: bytes) -> bytes:
    """The arguments without what does not matter: spaces and the order of keys."""
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="sorted")
    except (ValueError, RecursionError):
        return arguments


def _cycle(steps: Sequence[str]) -> tuple[int, int]:
    """The shortest cycle at the end that came round most often: its length, and how often it came round."""
    best = (1, min(1, len(steps)))
    for length in range(1, LONGEST_CYCLE + 1):
        last = steps[-length:]
        times = 0
        while len(steps) >= length * (times + 1) and _slice(steps, length, times) == last:
            times += 1
        if times > best[1]:
            best = (length, times)
    return best


def _slice(steps: Sequence[str], length: int, back: int) -> Sequence[str]:
    end = len(steps) - length * back
    return steps[end - length : end]


class Repetition:
    """Listens to one part of an answer."""

    def __init__(self) -> None:
        self._tail = ""
        self._unread: list[str] = []
        self._size = 0
        self._drawn = 0

    def hear(self, text: str) -> bool:
        """Take in what comes next; True once it is nothing but repetition."""
        self._unread.append(text)
        self._size += len(text)
        if self._size < CHECKED_EVERY:
            return False
        size, self._size = self._size, 0
        self._tail = (self._tail + "".join(self._unread))[-LOOKED_AT:]
        self._unread.clear()
        if not repeats_itself(self._tail):
            self._drawn = 0
            return False
        self._drawn += size
        return len(set(self._tail[-LONGEST_PERIOD:])) > FEW or self._drawn >= LONGEST_DRAWING


def repeats_itself(text: str) -> bool:
    """Whether the end of a long text is one short passage over and over."""
    if len(text) < LOOKED_AT:
        return False
    tail = text[-LOOKED_AT:]
    last = tail[-LONGEST_PERIOD:]
    period = LOOKED_AT - len(last) - tail.rfind(last, 0, LOOKED_AT - 1)
    return period <= LONGEST_PERIOD and tail[period:] == tail[:-period]
