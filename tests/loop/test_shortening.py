"""What is proposed in the place of a long conversation: well formed for every provider, shorter, and accounted for."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.loop.test_history_formats import CHECKS, FILES, HISTORIES, PROVIDER, call, message, often, result

from agi.context.compact_view import told
from agi.context.measuring import size_of
from agi.loop.history import calls_of, normalise
from agi.loop.shortening import Draft, Task
from agi.models.base import ModelRequest
from agi.protocol.events import ContextCompacted
from agi.protocol.messages import Message
from agi.protocol.parts import Text, refs_in
from agi.views.recorded import Recorded


def numbered(history: list[Message]) -> list[Message]:
    return [replace(one, id=f"msg_{number}") for number, one in enumerate(history)]


def draft(history: list[Message], current: ContextCompacted | None = None, **fields: object) -> Draft:
    given = {"trigger": "threshold", "focus": "", "fixed": 10, "room": 100, "keep": 25, "hard": False, "asked": ""}
    pre = size_of(told(history, current)) + 10
    task = Task(history=history, current=current, **{**given, "recorded": Recorded(), "pre": pre, **fields})
    return Draft(task)


def proposals(history: list[Message], keep: int, *, hard: bool) -> list[tuple[list[Message], ContextCompacted]]:
    """Everything that may come of making a history shorter, once and once more; each with the history it is of."""
    found: list[tuple[list[Message], ContextCompacted]] = []
    current: ContextCompacted | None = None
    for _ in range(2):
        made = draft(history, current, keep=keep, room=4 * keep, hard=hard)
        pruned = made.pruned()
        found += [(history, pruned)] if pruned is not None else []
        if made.cut:
            current = made.summed_up("What happened.", "somebody/else")
            found.append((history, current))
        history = [*history, replace(history[0], id=f"{history[0].id}-again", role="user", parts=(Text(text="go on"),))]
    return found


@pytest.mark.parametrize("format", CHECKS)
@given(history=HISTORIES.filter(bool), keep=st.integers(0, 60), hard=st.booleans())
@often
def test_whatever_is_left_out_each_request_keeps_to_the_rules(format, history, keep, hard):
    """Pruned, summed up, twice, and with messages after it: each call has exactly one result, in order."""
    encode, model, how, check = CHECKS[format]
    history = numbered(history)
    for whole, compaction in proposals(history, keep, hard=hard):
        messages = normalise(told([*whole, message("user", (Text(text="and then?"),))], compaction))
        held = {ref: FILES[ref] for one in messages for ref in refs_in(one.parts) if ref in FILES}
        request = ModelRequest(system="be brief", messages=messages, files=held)

        check(msgspec.json.decode(encode(PROVIDER, model, request, **how)))


@given(history=HISTORIES.filter(bool), keep=st.integers(0, 60), hard=st.booleans())
@often
def test_the_users_last_message_and_the_systems_are_always_told(history, keep, hard):
    """Word by word, wherever the cut is."""
    for whole, compaction in proposals(numbered(history), keep, hard=hard):
        users = [one for one in whole if one.role == "user"]
        wanted = [one.parts for one in whole if one.role == "system"] + [one.parts for one in users[-1:]]
        shown = [one.parts for one in told(whole, compaction)]
        assert all(parts in shown for parts in wanted)


def long_history(rounds: int, size: int = 2000) -> list[Message]:
    one = Message(id="", role="user", parts=(Text(text="go"),), created_at="", status="complete")
    found = [one]
    for number in range(rounds):
        made = call("c1")
        made = replace(made, content=replace(made.content, id=f"call_{number}"))
        output = result("c1", Text(text="x" * size))
        output = replace(output, content=replace(output.content, id=f"call_{number}"))
        found += [replace(one, role="assistant", parts=(made,)), replace(one, role="tool", parts=(output,))]
    return numbered(found)


def test_the_oldest_outputs_go_and_the_newest_stay():
    """Beyond the part that is kept, all in one go."""
    made = draft(long_history(10), keep=1100, room=4000).pruned()

    assert made is not None
    assert set(made.pruned) == {f"call_{number}" for number in range(7)}
    assert made.dropped.outputs == 7
    assert made.post_tokens < made.pre_tokens / 2


def test_the_newest_output_goes_only_when_nothing_else_helps():
    """The model is about to read it."""
    history = long_history(1)

    assert draft(history, keep=0).pruned() is None
    hard = draft(history, keep=0, hard=True).pruned()
    assert hard is not None
    assert hard.pruned == ("call_0",)


def test_a_cut_never_parts_a_call_from_its_output():
    """What stays begins with something that was said."""
    history = long_history(10)
    for keep in range(0, 6000, 250):
        made = draft(history, keep=keep, room=4 * keep)
        if made.cut:
            kept = history[made.cut :]
            assert kept[0].role != "tool"
            asked = {one.id for message in kept for one in calls_of(message)}
            assert asked == {part.content.id for one in kept if one.role == "tool" for part in one.parts}


def test_the_ledger_counts_what_was_dropped_before_too():
    """It speaks for everything that models are no longer told."""
    history = long_history(10)
    first = draft(history, keep=1100, room=4000).summed_up("a", "m")
    more = [*history, *(replace(one, id=f"{one.id}-b") for one in long_history(10))]
    second = draft(more, first, keep=1100, room=4000).summed_up("b", "m")

    assert first.dropped.messages + len(told(history, first)) - 2 == len(history)  # the record, and what is carried
    assert second.dropped.messages > first.dropped.messages
    assert second.dropped.first_message == first.dropped.first_message == "msg_0"
    assert second.summary == "b"


def test_what_the_harness_said_of_rules_is_carried_through_every_compaction_of_a_turn():
    """Also where it stays anyway, and where only outputs go: the next one knows of it then."""
    rules = replace(message("user", (Text(text="rules have changed"),)), origin="context")
    long = [message("user", (Text(text="words " * 200),)), message("assistant", (Text(text="words " * 200),))]
    history = numbered([*long, rules, *long, message("user", (Text(text="go"),))])
    known = Recorded(added={"rules AGENTS.md": "msg_2", "repo_map workspace": "msg_0", "notes user": ""})

    during = draft(history, asked="msg_5", recorded=known)
    assert during.cut > 2
    assert during.summed_up("What happened.", "").carried == ("msg_2",)
    early = draft(history, asked="msg_5", recorded=known, keep=10_000)
    assert early.summed_up("What happened.", "").carried == ("msg_2",)
    between = draft(history, asked="", recorded=known)
    assert "msg_2" not in between.summed_up("What happened.", "").carried  # the next turn's head says it all
