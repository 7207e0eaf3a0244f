"""Calls of a model that came to nothing, as far as the log tells of them: each is a span, and has its code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

import agi.models
from agi.protocol import events as ev
from agi.protocol.messages import Message, StopReason, Usage
from agi.protocol.parts import Text
from agi.protocol.sessions import ErrorInfo
from agi.protocol.times import to_millis
from agi.telemetry.attempts import CODES
from agi.telemetry.spans import Span, Spans
from agi.testing.samples import TIME, event

BEGAN = ev.TurnStarted(message_id="msg_1", agent="build", provider="near", model="m")
SAID = Message(
    id="msg_2",
    role="assistant",
    parts=(Text(text="One mo"),),
    created_at=TIME,
    status="error",
    provider="near",
    model="m",
)


def failed(code: str) -> ev.TurnFailed:
    return ev.TurnFailed(error=ErrorInfo(code=code, message="No."), usage=Usage())


def backed_off(code: str, resume_at: str = TIME) -> ev.ModelBackedOff:
    return ev.ModelBackedOff(provider="near", model="m", code=code, reason="No.", attempt=1, resume_at=resume_at)


def broke_off(stop: StopReason = "error") -> ev.ModelOutputCompleted:
    return ev.ModelOutputCompleted(message=replace(SAID, stop_reason=stop))


def chats(*told: ev.EventData) -> list[Span]:
    """The spans of calls in a turn of which this is told."""
    fold = Spans()
    spans = [span for seq, data in enumerate((BEGAN, *told), 1) for span in fold.hear(event(seq, data))]
    return [span for span in spans if span.attributes.get("gen_ai.operation.name") == "chat"]


def errors(*told: ev.EventData) -> list[str]:
    return [span.error for span in chats(*told)]


def test_each_attempt_is_a_span_of_its_own() -> None:
    """Those that were waited for, the one another model took over from, and the last."""
    switched = ev.ModelSwitched(
        from_provider="near", from_model="m", provider="far", model="n", code="stalled", reason="No."
    )
    spans = chats(backed_off("rate_limited"), backed_off("stream_cut"), switched, failed("provider_auth"))

    asked = [(span.attributes["gen_ai.provider.name"], span.error) for span in spans]
    assert asked == [("near", "rate_limited"), ("near", "stream_cut"), ("near", "stalled"), ("far", "provider_auth")]
    assert len({span.span_id for span in spans}) == 4
    assert all(span.kind == "client" for span in spans)


def test_the_wait_is_no_part_of_the_next_attempt() -> None:
    """The log says when it is asked again; what comes of that began then, be it an answer or not."""
    again = "2026-11-17T14:02:05.000Z"
    answered = ev.ModelOutputCompleted(message=replace(SAID, status="complete"))
    for outcome in (answered, failed("stalled")):
        first, second = chats(backed_off("rate_limited", again), outcome)

        assert first.start == first.end == to_millis(TIME)
        assert second.start == to_millis(again)


@pytest.mark.parametrize(
    "code", ["workspace_dirty", "output_invalid", "internal_error", "interrupted", "provider_resting", "missing_key"]
)
def test_a_turn_that_failed_of_something_else_has_no_attempt(code: str) -> None:
    """Nobody was asked: of one that is left alone for a while, nothing was wanted either."""
    assert errors(failed(code)) == []
    assert errors(backed_off(code)) == []


@pytest.mark.parametrize("what", [failed("stream_cut"), backed_off("stream_cut")])
def test_an_answer_that_broke_off_is_told_once_and_with_its_code(what: ev.EventData) -> None:
    """What was half said is in the log before why; both are one call."""
    assert errors(broke_off(), what) == ["stream_cut"]


def test_an_answer_that_broke_off_is_told_where_nothing_says_why() -> None:
    """Something else happens next, or the harness itself cut it off."""
    assert errors(broke_off(), ev.TurnResumed(reason="")) == ["model_error"]
    assert errors(broke_off("loop_detected")) == ["model_error"]


def test_what_a_provider_refuses_and_what_is_too_long_are_attempts() -> None:
    """They are mended and asked again, which is another call."""
    withheld = ev.PartsWithheld(ids=("part_1",), code="part_refused", reason="No.")
    full = ev.CompactionStarted(trigger="overflow")
    early = ev.CompactionStarted(trigger="threshold")

    assert errors(withheld, early, full) == ["part_refused", "context_overflow"]


def test_a_conversation_without_room_is_asked_about_once() -> None:
    """Where no room could be made nobody was asked again, however often that was tried."""
    full = ev.CompactionStarted(trigger="overflow")
    not_shrunk = ev.CompactionFailed(trigger="overflow", code="not_shrunk", reason="")

    assert errors(full, not_shrunk, full, not_shrunk, failed("context_exhausted")) == ["context_overflow"]
    assert errors(failed("context_exhausted")) == ["context_exhausted"]


def test_what_began_elsewhere_has_no_attempts() -> None:
    """As for any span: this process does not know whose they are."""
    fold = Spans()

    assert [span for data in (backed_off("stalled"), failed("stalled")) for span in fold.hear(event(9, data))] == []


def test_all_codes_of_providers_are_known() -> None:
    """A code that is new in the room of models is one that calls fail with."""
    room = Path(agi.models.__file__).parent
    text = "".join((room / f"{name}.py").read_text() for name in ("failures", "verdicts"))
    codes = set(re.findall(r'code="(\w+)"|return "(\w+)"', text))

    assert len(codes) > 5
    assert {one or other for one, other in codes} <= CODES
