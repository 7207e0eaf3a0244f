"""`agi policy replay`: what another policy would have made of a session's calls. Runs nothing.

May import: errors, protocol, client, cli; and the reader of cassettes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from agi.cli import exits
from agi.cli.display import exact
from agi.cli.options import Arguments, usage
from agi.cli.output import put
from agi.cli.place import place
from agi.cli.sources import events_so_far, file_or_session
from agi.client.base import Client
from agi.protocol.events import Event
from agi.protocol.rejudging import PolicyReplay, Rejudged
from agi.protocol.sessions import Session
from agi.protocol.tools import ToolDefinition
from agi.replay.cassette import read_cassette

ANSWERS = {
    "granted": "granted",
    "user": "refused",
    "expired": "not answered in time",
    "policy": "nobody was there to answer",
    "canceled": "canceled before an answer",
}
"""What became of a question."""
NOW = {"allow": "allowed", "ask": "asked", "deny": "denied"}


def policy_replay(arguments: Arguments) -> int:
    """Judge a session's or a cassette's calls again."""
    words = [*arguments.words, *(arguments.after or ())]
    if len(words) != 2 or not words[1]:
        raise usage("policy", "Say which session or cassette: `agi policy replay 3f9a`.")
    settings = place(arguments)
    given = arguments.get("--policy")
    if given == "":
        raise usage("policy", "--policy names a file.")
    events, tools = _events(arguments, words[1])
    from agi.client.inprocess import rejudged  # late: it brings the whole house

    replayed = rejudged(settings, events, None if given is None else Path(given), tools)
    if arguments.has("--json"):
        put(msgspec.json.encode(replayed).decode() + "\n")
    else:
        put("\n".join(_told(replayed, everything=arguments.has("--all"))) + "\n")
    return exits.FAILED if replayed.differs else exits.OK


def _events(arguments: Arguments, named: str) -> tuple[Sequence[Event], Sequence[ToolDefinition]]:
    """Those of a file, if there is one of that name, and the tools it knew; else of a session of the project."""
    found = file_or_session(arguments, named, _of_session)
    if not isinstance(found, Path):
        return found, ()
    cassette = read_cassette(found)
    return cassette.events, cassette.head.conditions.known_tools


async def _of_session(client: Client, session: Session) -> list[Event]:
    return [event async for event in events_so_far(client, session)]


def _told(replayed: PolicyReplay, *, everything: bool) -> Iterator[str]:
    yield f"{replayed.session_id}, judged by {exact(replayed.policy)}:"
    for one in replayed.calls:
        if everything or one.differs:
            yield from _call(one)
    if not replayed.calls:
        yield "  It has no tool calls."
    count = f"{len(replayed.calls)} {'call' if len(replayed.calls) == 1 else 'calls'}"
    how = f"{replayed.differs} would be decided otherwise, {replayed.stricter} stricter, {replayed.looser} looser"
    yield f"{count}: {how if replayed.differs else 'none would be decided otherwise'}."
    if unknown := sum(one.then == "not_known" for one in replayed.calls):
        were = "it was" if unknown == 1 else "they were"
        yield f"What became of {unknown} is not known here: {were} carried over from another session."


def _call(one: Rejudged) -> Iterator[str]:
    answer = f" ({ANSWERS.get(one.answer, exact(one.answer))})" if one.answer else ""
    then = one.then.replace("_", " ") + answer
    mark = "≠" if one.differs else "="
    yield f"  {mark} event {one.seq}  {exact(one.name)} {exact(one.input)[:100]}"
    by = f" by {exact(one.then_rule)}" if one.then_rule else ""
    yield f"      then {then}{by}; now {NOW[one.now]} by {exact(one.rule)}"
    yield f"      {exact(one.reason)}"
