"""A fork begins with what happened in another session: numbers, spans and lines of JSON tell of it only there."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec

from agi.protocol import events as ev
from agi.server.speaking import Speaker
from agi.telemetry.own import of_its_own, own
from agi.telemetry.spans import Span, Spans
from agi.testing.box import Daemon, daemon_in_a_box
from agi.testing.samples import event

WHERE_IT_HAPPENED = ("agi_turn", "agi_model", "agi_tokens", "agi_tool", "agi_approvals", "agi_unpriced")


async def numbers(daemon: Daemon) -> dict[str, float]:
    """What is counted of turns and what they did."""
    lines = (await daemon.get("/metrics")).body.decode().splitlines()
    return {
        name: float(value)
        for name, value in (line.rsplit(" ", 1) for line in lines)
        if name.startswith(WHERE_IT_HAPPENED)
    }


async def test_what_a_fork_carries_over_is_counted_once(tmp_path: Path) -> None:
    """Its turns, calls and tokens stay what they were; what is done in the fork is counted like anything else."""
    async with daemon_in_a_box(tmp_path, trusted=True) as daemon:
        daemon.model.calls("repo_tree").then_says("Done.").says("More.")
        turn = await daemon.ask("go")
        await turn.answer()
        before = await numbers(daemon)
        forked = await daemon.post(f"/v1/sessions/{turn.session_id}/fork", {})
        then = await numbers(daemon)
        events = (await daemon.get("/metrics")).body.decode()
        await (await daemon.ask("more", session_id=forked.json()["id"])).answer()
        now = await numbers(daemon)

    assert forked.status == 201
    assert then == before
    assert 'agi_events_total{type="session_created"} 2' in events
    assert 'agi_events_total{type="session_forked"} 1' in events
    assert 'agi_events_total{type="turn_completed"} 1' in events
    assert now['agi_turns_total{outcome="completed",reason="end_turn"}'] == 2


async def test_what_a_fork_carries_over_gives_no_spans_and_no_lines(tmp_path: Path) -> None:
    """A turn is one trace, and one line when it ends."""
    async with daemon_in_a_box(tmp_path, trusted=True) as daemon:
        fold, err = Spans(), io.StringIO()
        spans: list[Span] = []
        speaker = Speaker(io.StringIO(), err)
        speaker.format = "json"
        daemon.harness.log.observers += [
            of_its_own(lambda events: spans.extend(one for told in events for one in fold.hear(told))),
            of_its_own(speaker.hear),
        ]
        daemon.model.calls("repo_tree").then_says("Done.")
        turn = await daemon.ask("go")
        await turn.answer()
        forked = await daemon.post(f"/v1/sessions/{turn.session_id}/fork", {})

    assert forked.status == 201
    assert {span.attributes["gen_ai.conversation.id"] for span in spans} == {turn.session_id}
    assert [msgspec.json.decode(line)["turn_id"] for line in err.getvalue().splitlines()] == [turn.id]


def test_events_of_no_fork_are_all_its_own() -> None:
    """Most of what is written is no fork."""
    created = ev.SessionCreated(id="sess_1", agent="", workspace_path="", project_path="", created_at="")
    began = ev.TurnStarted(message_id="msg_1", agent="build", provider="p", model="m")
    events = [event(1, created, None), event(2, began)]

    assert own(events) == events
    assert own([]) == []


def test_a_fork_of_nothing_and_what_comes_behind_it_are_its_own() -> None:
    """Only what stands between its beginning and `session_forked` was carried over."""
    created = ev.SessionCreated(id="sess_1", agent="", workspace_path="", project_path="", created_at="")
    forked = ev.SessionForked(session_id="sess_0", seq=1, messages=0)
    began = ev.TurnStarted(message_id="msg_1", agent="build", provider="p", model="m")
    carried = [event(1, created, None), event(2, began), event(3, forked, None), event(4, began)]
    empty = [event(1, created, None), event(2, forked, None)]

    assert [one.seq for one in own(carried)] == [1, 3, 4]
    assert own(empty) == empty
