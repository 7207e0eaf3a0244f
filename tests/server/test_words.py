"""The translation tables: every event of the log has its word in both vocabularies, with the payload its seed names."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from agi.eventlog.base import LiveDelta
from agi.net.sse import SseEvent, SseParser
from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Artifact, Text
from agi.protocol.preflight import EstimatedCost
from agi.protocol.sessions import ErrorInfo
from agi.protocol.tools import ToolCall, ToolResult
from agi.protocol.workers import DispatchResult
from agi.server.words import dotted, dotted_words, envelope_words

TURN = "turn_1"
MESSAGE = Message(id="msg_1", role="user", parts=(Text(text="hi", id="part_1"),), created_at="now", status="complete")
ERROR = ErrorInfo(code="provider_failed", message="down", hint="wait")
SAMPLES: dict[str, ev.EventData] = {
    sample.TYPE: sample
    for sample in (
        ev.SessionCreated(id="sess_1", agent="build", workspace_path="/w", project_path="/w", created_at="now"),
        ev.SessionUpdated(title="t"),
        ev.MessageAdded(message=MESSAGE),
        ev.MessageEdited(message_id="msg_1", parts=(Text(text="b"),)),
        ev.SteerRequested(message_id="msg_1"),
        ev.MessageSteered(message_id="msg_1", queued_turn_id="turn_2"),
        ev.TurnRequested(message_id="msg_1", retry_of="turn_0"),
        ev.TurnStarted(message_id="msg_1", agent="build", provider="p", model="m"),
        ev.TurnResumed(reason="crash"),
        ev.ContextAssembled(cause="first_turn", agent="build", provider="p", model="m", sections=()),
        ev.ContextAdded(message_id="msg_1", sections=()),
        ev.ModelOutputDelta(message_id="msg_2", part_id="part_2", kind="text", delta="he", offset=3),
        ev.ModelOutputCompleted(message=MESSAGE),
        ev.UsageRecorded(message_id="msg_2", provider="p", model="m", usage=Usage(requests=1)),
        ev.ToolCallStarted(tool_call=ToolCall("call_1", "shell", Raw(b'{"command":"ls"}')), kind="exec"),
        ev.ToolOutputDelta(tool_call_id="call_1", channel="stdout", chunk="a", offset=0),
        ev.ToolCallCompleted(
            tool_call_id="call_1",
            name="shell",
            tool_result=ToolResult(
                id="call_1",
                ok=True,
                parts=(Text(text="a"),),
                result={"exit_code": 0},
                artifact=Artifact(kind="file", id="art_1", path="x"),
            ),
            message_id="msg_3",
        ),
        ev.ApprovalRequested(tool_call_id="c", name="shell", input=Raw(b"{}"), risk="high", rule="r", reason="why"),
        ev.PreflightRequested(
            steps=(),
            estimated_cost=EstimatedCost(
                input_tokens=1, output_tokens=1, estimated_usd=None, low_usd=None, high_usd=None
            ),
            required_permissions=(),
            warnings=(),
            digest="d",
        ),
        ev.PreflightResolved(approved=True, cause="user"),
        ev.ApprovalGranted(tool_call_id="c", name="shell"),
        ev.ApprovalDenied(tool_call_id="c", name="shell", cause="user"),
        ev.PatchProposed(tool_call_id="c", name="apply_patch", patch="+"),
        ev.PatchReviewed(tool_call_id="c", verdict="accept", reason="fine", reviewer="p/m"),
        ev.VerificationStarted(verification_id="call_2", command="make test", attempt=1),
        ev.VerificationCompleted(
            verification_id="call_2", command="make test", attempt=1, status="failed", exit_code=2, output="no"
        ),
        ev.CancelRequested(reason="enough"),
        ev.TurnCompleted(message_id="msg_2", stop_reason="end_turn", steps=1, usage=Usage()),
        ev.TurnFailed(error=ERROR, usage=Usage()),
        ev.TurnCanceled(),
        ev.SessionCompleted(),
        ev.SessionFailed(error=ERROR),
        ev.SessionCanceled(),
        ev.AttachmentAdded(ref="attachments/a", filename="a", mime_type="text/plain", size=1, sha256="0"),
        ev.Notice(code="c", message="m"),
        ev.JobStarted(job_id="job_1", command="x", cwd=".", tool_call_id="call_1", output="artifacts/t/j", owner="o"),
        ev.JobEnded(job_id="job_1", exit_code=0),
        ev.GrantsDropped(reason="r"),
        ev.GrantRevoked(grant_id="grant_1"),
        ev.ModelBackedOff(provider="p", model="m", code="c", reason="r", attempt=1, resume_at="t"),
        ev.ModelSwitched(from_provider="p", from_model="m", provider="q", model="n", code="c", reason="r"),
        ev.PartsWithheld(ids=("attachments/a",), code="part_refused", reason="r"),
        ev.CompactionRequested(focus="f"),
        ev.CompactionStarted(trigger="manual"),
        ev.ContextCompacted(compaction_id="comp_1", trigger="manual", pre_tokens=9, post_tokens=1),
        ev.CompactionFailed(trigger="manual", code="not_shrunk", reason="r"),
        ev.CompactionUndone(compaction_id="comp_1"),
        ev.CheckpointCreated(checkpoint_id="ckpt_1", cause="call"),
        ev.SessionForked(session_id="sess_2", seq=7, messages=3),
        ev.DraftOpened(role="r", project="p", task_slug="t", task_dir=".agents/tasks/t/"),
        ev.DraftClosed(),
        ev.AgentDispatched(role="r", project="p"),
        ev.WorkerStarted(agent_id="sess_2", session_id="sess_2", role="r", task="t", worker_turn_id="turn_2"),
        ev.WorkerCompleted(
            agent_id="sess_2",
            session_id="sess_2",
            worker_turn_id="turn_2",
            result=DispatchResult(agent_id="sess_2", status="completed", summary="s"),
        ),
        ev.WorkerWaiting(
            agent_id="sess_2",
            session_id="sess_2",
            worker_turn_id="turn_2",
            tool_call_id="call_1",
            name="shell",
            path=("r",),
        ),
        ev.WorkerMerged(agent_id="sess_2", session_id="sess_2", worker_turn_id="turn_2", files=("a.txt",)),
        ev.ConversationReverted(to="start", to_seq=1, messages=2),
    )
}


def event(data: ev.EventData, turn_id: str | None = TURN) -> Event:
    return Event.of(7, "2026-01-01T00:00:00.000Z", "sess_1", turn_id, data)


def read(frames: bytes) -> list[SseEvent]:
    return SseParser().feed(frames + b"id: 7\n\n" if frames else b"")


def told(data: ev.EventData, turn_id: str | None = TURN) -> list[tuple[str, Any]]:
    return [(one.event, msgspec.json.decode(one.data)) for one in read(dotted_words(3)(event(data, turn_id)))]


def test_every_event_type_has_a_sample() -> None:
    """A new event type must be thought of here."""
    assert set(SAMPLES) >= set(ev.DATA_TYPES)


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_log_speaks_its_own_words(kind: str) -> None:
    """On `/events` the name is the type and the data is the envelope, as it is stored."""
    (one,) = read(envelope_words(event(SAMPLES[kind])))
    assert (one.event, one.id) == (kind, "7")
    envelope = msgspec.json.decode(one.data)
    assert set(envelope) == {"seq", "ts", "session_id", "turn_id", "type", "data"}
    assert (envelope["seq"], envelope["type"], envelope["turn_id"]) == (7, kind, TURN)


SAME = {
    "session_updated": "session.updated",
    "turn_requested": "turn.requested",
    "turn_resumed": "turn.resumed",
    "usage_recorded": "usage.recorded",
    "approval_requested": "approval.requested",
    "approval_granted": "approval.granted",
    "approval_denied": "approval.denied",
    "patch_proposed": "patch.proposed",
    "patch_reviewed": "patch.reviewed",
    "cancel_requested": "cancel.requested",
    "turn_completed": "turn.completed",
    "turn_canceled": "turn.canceled",
    "session_completed": "session.completed",
    "session_failed": "session.failed",
    "session_canceled": "session.canceled",
    "attachment_added": "attachment.added",
    "notice": "notice",
    "job_started": "job.started",
    "job_ended": "job.ended",
    "model_backed_off": "model.backed_off",
    "model_switched": "model.switched",
    "parts_withheld": "parts.withheld",
    "compaction_requested": "compaction.requested",
    "compaction_started": "compaction.started",
    "context_compacted": "context.compacted",
    "compaction_failed": "compaction.failed",
    "compaction_undone": "compaction.undone",
    "checkpoint_created": "checkpoint.created",
    "conversation_reverted": "conversation.reverted",
    "worker_started": "worker.started",
    "worker_completed": "worker.completed",
    "worker_waiting": "worker.waiting",
    "worker_merged": "worker.merged",
}


@pytest.mark.parametrize(("kind", "word"), SAME.items())
def test_most_words_are_the_same_but_dotted(kind: str, word: str) -> None:
    """The payload is the event's data, and the turn it is about."""
    data = msgspec.json.decode(msgspec.json.encode(SAMPLES[kind]))
    assert told(SAMPLES[kind]) == [(word, {"turn_id": TURN, **data})]
    assert told(SAMPLES[kind], None) == [(word, data)]
    assert dotted(kind) == word


def test_a_session_is_told_whole() -> None:
    """`session.created` — payload: session."""
    ((word, session),) = told(SAMPLES["session_created"], None)
    assert word == "session.created"
    assert (session["id"], session["session_id"], session["status"], session["epoch"]) == (
        "sess_1",
        "sess_1",
        "active",
        3,
    )


def test_messages_are_told_with_where_they_belong() -> None:
    """`message.created` and `message.completed` — payload: message with parts."""
    for kind, word in (("message_added", "message.created"), ("model_output_completed", "message.completed")):
        ((name, message),) = told(SAMPLES[kind])
        assert name == word
        assert (message["session_id"], message["turn_id"]) == ("sess_1", TURN)
        assert message["parts"] == [{"type": "text", "text": "hi", "id": "part_1"}]


def test_deltas_are_the_same_whether_logged_or_live() -> None:
    """`message.part.delta` — payload: { partId, type, delta }, and where it belongs."""
    data = SAMPLES["model_output_delta"]
    expected = {"partId": "part_2", "type": "text", "delta": "he", "messageId": "msg_2", "offset": 3}
    assert told(data) == [("message.part.delta", expected)]
    assert isinstance(data, ev.ModelOutputDelta)
    live = LiveDelta(6, "now", "sess_1", TURN, data)
    assert [msgspec.json.decode(one.data) for one in read(dotted_words(1)(live))] == [expected]
    (enveloped,) = read(envelope_words(live))
    assert enveloped.event == "model_output_delta"
    assert msgspec.json.decode(enveloped.data)["seq"] == 6


def test_tools_are_told_by_call_delta_and_result() -> None:
    """`tool.call` {name, args}, `tool.delta` {chunk, channel}, `tool.result` {ok, result and/or artifact}."""
    assert told(SAMPLES["tool_call_started"]) == [
        ("tool.call", {"id": "call_1", "name": "shell", "args": {"command": "ls"}})
    ]
    assert told(SAMPLES["tool_output_delta"]) == [
        ("tool.delta", {"id": "call_1", "chunk": "a", "channel": "stdout", "offset": 0})
    ]
    assert told(SAMPLES["tool_call_completed"]) == [
        (
            "tool.result",
            {
                "id": "call_1",
                "name": "shell",
                "ok": True,
                "parts": [{"type": "text", "text": "a"}],
                "result": {"exit_code": 0},
                "artifact": {"kind": "file", "id": "art_1", "path": "x"},
            },
        )
    ]


def test_verification_is_told_as_a_tool() -> None:
    """`verify` runs like any other tool, in these words."""
    ((call, args),) = told(SAMPLES["verification_started"])
    ((result, done),) = told(SAMPLES["verification_completed"])
    asked = {"command": "make test", "attempt": 1, "baseline": False}
    assert (call, args["name"], args["args"]) == ("tool.call", "verify", asked)
    assert (result, done["id"], done["name"], done["ok"]) == ("tool.result", args["id"], "verify", False)
    assert (done["result"]["exit_code"], done["parts"][0]["text"]) == (2, "no")


def test_a_verification_that_nobody_was_told_had_begun_is_not_told_to_end() -> None:
    """The call that ran it has its own result, and what is known from earlier was told then."""
    sample = SAMPLES["verification_completed"]
    assert told(msgspec.structs.replace(sample, tool_call_id="call_1")) == []
    assert told(msgspec.structs.replace(sample, known=True, baseline=True)) == []


def test_a_failed_turn_is_an_error_and_then_the_end() -> None:
    """Only the second has an id, so that who comes back after the first is still told the second."""
    frames = dotted_words(1)(event(SAMPLES["turn_failed"])) + b"id: 7\n\n"
    error, failed = SseParser().feed(frames)
    assert (error.event, error.id) == ("error", None)
    assert msgspec.json.decode(error.data) == {
        "message": "down",
        "code": "provider_failed",
        "hint": "wait",
        "turn_id": TURN,
    }
    assert (failed.event, failed.id) == ("turn.failed", "7")


def test_the_start_of_a_turn_has_no_dotted_word() -> None:
    """Seed 004 knows none; the message that was created says it."""
    assert told(SAMPLES["turn_started"]) == []


def test_an_event_of_a_later_version_is_told_as_it_is() -> None:
    """A reader skips types it does not know; we do not keep them from it."""
    later = Event(8, "now", "sess_1", TURN, "context_compacted", b'{"pre_tokens":9}')
    (one,) = read(dotted_words(1)(later))
    assert one.event == "context.compacted"
    assert msgspec.json.decode(one.data) == {"turn_id": TURN, "pre_tokens": 9}


@pytest.mark.parametrize("words", [envelope_words, dotted_words(1)])
def test_an_event_is_encoded_once_for_all_readers(words: Any) -> None:
    """The second reader gets the very same bytes."""
    one = event(SAMPLES["tool_call_completed"])
    assert words(one) is words(one)
