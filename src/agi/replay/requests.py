"""The requests that models are sent: taken apart for the cassette, and two of them held against each other in words.

A request is a system prompt, options, tools and messages. Most of each was in the one before, so a cassette holds
every piece once and a request names its pieces. Pure. May import: protocol, models.base, replay.
"""

from __future__ import annotations

import difflib
import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import Any, NamedTuple

import msgspec

from agi.models.base import ModelRequest
from agi.protocol.parts import Part
from agi.replay.cassette import Request
from agi.replay.digests import BEFORE_MESSAGES, digest_of
from agi.replay.tape import Tape

_OWN = re.compile(rb"(?:msg|part)_[0-9a-f]{32}(?![0-9a-f])")
"""Ids that no provider is told."""
_FENCE = re.compile(rb"(?<![0-9a-f])[0-9a-f]{24}(?![0-9a-f])")
"""What stands around hostile text in a request for a summary or a review, and is named by its system prompt."""
_UNTOLD = ("artifact", "startedAt", "finishedAt")
MOST_LINES = 300
"""Lines of a request that are compared, from where the two part: how long it takes grows with their square."""
AROUND = 3
"""Lines that are shown before and behind one that is another."""
LONGEST = 300
"""Characters of a line."""


class Asked(NamedTuple):
    """A request and its pieces, as JSON."""

    request: Request
    pieces: tuple[bytes, ...]


def asked(tape: Tape, provider: str, model: str, request: ModelRequest) -> Asked:
    """A request as a cassette describes it: with the ids of the record, without what no provider is told.

    Fences that nobody could know are new each time: they are told apart by nothing here.
    """
    values = [request.system, request.tools, request.options]
    told = [[message.role, [_seen(part) for part in message.parts]] for message in request.messages]
    pieces = tuple(_OWN.sub(b"", tape.in_record(msgspec.json.encode(one))) for one in (*values, *told))
    for fence in {*_FENCE.findall(pieces[0])}:
        pieces = tuple(piece.replace(fence, b"0" * len(fence)) for piece in pieces)
    following = tape.next_of_turn()
    described = Request(
        turn_id=tape.turn_id,
        answered_at=following.seq if following is not None else 0,
        provider=provider,
        model=model,
        messages=len(told),
        tools=len(request.tools),
        digest=digest_of(pieces),
    )
    return Asked(described, pieces)


def _seen(part: Part) -> object:
    """A part as far as a provider may be told of it."""
    value: dict[str, object] = msgspec.json.decode(msgspec.json.encode(part))
    content = value.get("content")
    kept = {name: one for name, one in content.items() if name not in _UNTOLD} if isinstance(content, dict) else content
    return {**value, "content": kept, "id": ""}


def difference(recorded: Request, known: Sequence[bytes], now: Asked) -> str:
    """What is another in a request than was recorded, as a diff; empty if the cassette does not hold it whole."""
    if len(recorded.pieces) < BEFORE_MESSAGES:
        return ""
    before, after = _lines(known[place] for place in recorded.pieces), _lines(iter(now.pieces))
    same: deque[str] = deque(maxlen=AROUND)
    # A line at a time: what a request names may be far more than a file holds, where it names one piece many times.
    for one, other in zip_longest(before, after, fillvalue=""):
        if one != other:
            shown = [
                [*same, *islice(chain([line] if line else [], rest), MOST_LINES)]
                for line, rest in ((one, before), (other, after))
            ]
            return "\n".join(difflib.unified_diff(shown[0], shown[1], "recorded", "now", n=AROUND, lineterm=""))
        same.append(one)
    return ""


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    """A request to be read, a line at a time."""
    decoded = map(msgspec.json.decode, pieces)
    system, tools, options = next(decoded), next(decoded), next(decoded)
    yield "system:"
    yield from _text(system)
    yield f"options: {_json(options)}"
    for tool in tools:
        yield f"tool {_json(tool)}"
    for number, (role, parts) in enumerate(decoded, start=1):
        yield f"message {number}, {role}:"
        for part in parts:
            yield from _part(part)


def _part(part: dict[str, Any]) -> Iterator[str]:
    """Text line by line, also that of a result; all else as it is."""
    content = part.get("content")
    if part.get("type") in ("text", "reasoning"):
        yield from _text(part.get("text"))
    elif isinstance(content, dict) and isinstance(content.get("parts"), list):
        yield f"  {_json({**content, 'parts': len(content['parts'])})}"
        for one in content["parts"]:
            yield from _part(one)
    else:
        yield f"  {_json(part)}"


def _text(value: object) -> Iterator[str]:
    return (f"  {line}"[:LONGEST] for line in str(value).split("\n"))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()[:LONGEST]
