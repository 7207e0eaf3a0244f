"""`agi policy replay`: what another policy would have made of a session's calls. Runs nothing.

May import: errors, protocol, client, cli.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from agi.cli import exits, sources
from agi.cli.display import exact
from agi.cli.options import Arguments, usage
from agi.cli.output import put
from agi.cli.place import place
from agi.protocol.rejudging import PolicyReplay, Rejudged

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
    cassette = sources.cassette(arguments, words[1])
    from agi.client.inprocess import rejudged  # late: it brings the whole house

    tools = cassette.head.conditions.known_tools
    replayed = rejudged(settings, cassette.events, None if given is None else Path(given), tools)
    if arguments.has("--json"):
        put(msgspec.json.encode(replayed).decode() + "\n")
    else:
        put("\n".join(_told(replayed, everything=arguments.has("--all"))) + "\n")
    return exits.FAILED if replayed.differs else exits.OK


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
