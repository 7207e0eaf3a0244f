"""`agi replay`: play a session or a cassette again, offline, and say whether the same comes out.

May import: errors, client, cli; and replay, behind which the loop is.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from agi.cli import exits, sources
from agi.cli.display import exact
from agi.cli.options import Arguments, usage
from agi.cli.output import put
from agi.replay.playing import ANOTHER, Differing, Played, play_cassette

SHOWN = 600
AROUND = 60


def replay(arguments: Arguments) -> int:
    """Play it, and tell."""
    (named,) = arguments.only(1)
    first = _seq(arguments, "--from")
    last = _seq(arguments, "--until")
    if first is not None and last is not None and last < first:
        raise usage("replay", "--until comes before --from.")
    if not named:
        raise usage("replay", "Say which session or cassette: `agi replay 3f9a`.")
    cassette = sources.cassette(arguments, named)
    count = cassette.head.events
    for name, seq in (("--from", first), ("--until", last)):
        if seq is not None and seq > count:
            raise usage("replay", f"{name} {seq} is more than there are: the last event is {count}.")
    played = play_cassette(cassette, after=(first or 1) - 1, until=last)
    if arguments.has("--json"):
        put(msgspec.json.encode(replace(played, made=(), pieces=())).decode() + "\n")
    else:
        put("\n".join(told(played)) + "\n")
    return exits.OK if played.identical else exits.FAILED


def _seq(arguments: Arguments, name: str) -> int | None:
    value = arguments.number(name, least=1, most=10**9)
    if value is not None and value != int(value):
        raise usage("replay", f"{name} is the number of an event.")
    return None if value is None else int(value)


def told(played: Played) -> Iterator[str]:
    """What came of it, in words; what the cassette says is shown with every character visible."""
    if played.difference is None and not played.compared:
        yield "nothing was compared: there is no event here that a turn makes again"
    elif played.difference is None:
        yield f"identical: {_count(played.events - played.started_at, 'event')}"
    else:
        yield f"different at event {played.difference.seq}"
        yield from _difference(played.difference)
    start = f" from event {played.started_at + 1}" if 0 < played.started_at < played.events else ""
    made = f"{_count(played.compared, 'event')} {'was' if played.compared == 1 else 'were'} made again"
    yield f"  {_count(played.turns, 'turn')} played{start}; {made}, the others were given"
    if played.requests:
        yield f"  {_requests(played)}"
    for one in played.skipped:
        yield f"  taken as recorded: {exact(one)}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _requests(played: Played) -> str:
    """How many were as recorded; one that was not, and those that the record has nothing of, are told apart."""
    is_another = played.difference is not None and played.difference.made_type.startswith(ANOTHER)
    unknown = played.requests - played.requests_checked - is_another
    if not unknown:
        asked = _count(played.requests, "request")
        are = "is the one that was" if played.requests == 1 else "are those that were"
        return f"{played.requests_checked} of {asked} to models {are} recorded"
    told = f"{_count(played.requests, 'request')} to models: {played.requests_checked} as recorded"
    return f"{told}{', 1 another' if is_another else ''}, {unknown} with nothing recorded to compare"


def _difference(found: Differing) -> Iterator[str]:
    """Both sides, from a little before they part; of a request to a model, what is another in it."""
    if found.request:
        yield f"  {exact(found.made_type)}"
        yield from (f"  {exact(line)}" for line in found.request.split("\n"))
        return
    at = next((n for n, (one, other) in enumerate(zip(found.recorded, found.made, strict=False)) if one != other), 0)
    start = max(0, at - AROUND)
    dots = "…" if start else ""
    yield f"  recorded: {exact(found.recorded_type) or 'nothing more'}"
    yield f"            {dots}{exact(found.recorded[start : start + SHOWN])}"
    yield f"  now:      {exact(found.made_type)}"
    yield f"            {dots}{exact(found.made[start : start + SHOWN])}"
