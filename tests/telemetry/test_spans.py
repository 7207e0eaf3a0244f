"""A turn as spans: what was asked, what ran, what was waited for; and never what was said."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from agi.errors import ModelError
from agi.protocol import events as ev
from agi.protocol.events import Event, parse_envelope
from agi.protocol.messages import Usage
from agi.telemetry.spans import Span, Spans, span_of, trace_of
from agi.testing.box import Daemon, daemon_in_a_box
from agi.testing.samples import event


async def spans_of(daemon: Daemon, session_id: str) -> list[Span]:
    fold = Spans()
    events = [parse_envelope(msgspec.json.encode(told)) for told in await daemon.history(session_id)]
    return [span for event in events for span in fold.hear(event)]


async def test_a_turn_is_a_trace_of_its_answers_tools_and_questions(tmp_path: Path) -> None:
    """The trace is the turn's own UUID; what happens inside hangs below the turn's span."""
    async with daemon_in_a_box(tmp_path, trusted=True) as daemon:
        daemon.model.calls("shell", command="echo secret-word").then_says("Another secret-word.")
        turn = await daemon.ask("the secret-word")
        await turn.approve()
        await turn.answer()
        spans = await spans_of(daemon, turn.session_id)

    by_name = {span.name: span for span in spans}
    whole = by_name["invoke_agent build"]
    tool = by_name["execute_tool shell"]
    assert [span.name for span in spans if span.name.startswith("chat ")] == [spans[0].name, spans[-2].name]
    assert {span.trace_id for span in spans} == {int(turn.id.removeprefix("turn_"), 16)}
    assert {span.parent_id for span in spans if span is not whole} == {whole.span_id} == {span_of(turn.id)}
    assert whole.parent_id == 0
    assert whole.attributes["gen_ai.conversation.id"] == turn.session_id
    assert whole.attributes["agi.stop_reason"] == "end_turn"
    assert tool.attributes["gen_ai.tool.name"] == "shell"
    assert by_name["wait_for_approval"].attributes["agi.approval"] == "granted"
    assert spans[0].kind == "client"
    assert all(whole.start <= span.start <= span.end <= whole.end for span in spans)
    assert "secret-word" not in str(spans)


def test_a_message_that_steers_is_no_span_of_its_own() -> None:
    """The turn that would have answered it never began."""
    began = ev.TurnStarted(message_id="msg_1", agent="build", provider="p", model="m")
    ended = ev.TurnCompleted(message_id=None, stop_reason="end_turn", steps=1, usage=Usage())
    said = [("turn_1", began), ("turn_2", ev.TurnCanceled(steered_into="turn_1")), ("turn_1", ended)]
    fold = Spans()
    spans = [span for seq, (turn, data) in enumerate(said, 1) for span in fold.hear(event(seq, data, turn))]

    assert [span.attributes["agi.turn.id"] for span in spans] == ["turn_1"]


async def test_a_refused_call_and_a_failed_turn_are_failures(tmp_path: Path) -> None:
    """Whoever looks for red finds it, with its code."""
    async with daemon_in_a_box(tmp_path, trusted=True) as daemon:
        daemon.model.calls("shell", command="true").then_fails(ModelError("No.", code="refused_by_test"))
        turn = await daemon.ask("go")
        await turn.deny()
        ended = await turn.ended()
        spans = await spans_of(daemon, turn.session_id)

    errors = {span.name: span.error for span in spans if span.error}
    assert ended["type"] == "turn_failed"
    assert errors["execute_tool shell"] == "blocked"
    assert errors["invoke_agent build"] == ended["data"]["error"]["code"]


def test_what_began_elsewhere_gives_no_span() -> None:
    """A process that takes a turn over knows only its own part of it, and makes nothing up."""
    fold = Spans()
    raw = b'{"message_id":null,"stop_reason":"end_turn","steps":1,"usage":{}}'

    assert list(fold.hear(Event(9, "2026-01-01T00:00:00.000Z", "sess_x", "turn_x", "turn_completed", raw))) == []


@pytest.mark.parametrize("odd", ["", "turn_", "turn_zz", "turn_" + "0" * 32])
def test_an_id_of_any_form_has_a_trace(odd: str) -> None:
    """Zero is no valid trace, and old or foreign ids break nothing."""
    assert 0 < trace_of(odd) < 1 << 128
    assert 0 < span_of(odd) < 1 << 64
