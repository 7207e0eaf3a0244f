"""The envelope and what it carries: written once, read back the same, one line each."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from agi.protocol import events as ev
from agi.protocol.checkpoints import ChangeCounts, Omission
from agi.protocol.compaction import Dropped
from agi.protocol.context import ContextSection
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Artifact, Reasoning, Text, ToolCallContent, ToolCallPart
from agi.protocol.policies import Budget, Budgets
from agi.protocol.preflight import EstimatedCost, PreflightStep
from agi.protocol.sessions import ErrorInfo, TurnOptions
from agi.protocol.tools import ToolCall, ToolResult
from agi.protocol.workers import DispatchResult, WorkChange

TS = "2026-01-01T00:00:00.000Z"
SPEC = settings(derandomize=True, database=None, deadline=None)
ANSWER = Message(
    id="msg_2",
    role="assistant",
    parts=(
        Reasoning(text="hm", id="part_1", provider="p", model="m", signature="s"),
        Text(text="yes", id="part_2"),
        ToolCallPart(content=ToolCallContent(id="call_1", name="shell", args=Raw(b'{"command":"ls"}')), id="part_3"),
    ),
    created_at=TS,
    status="complete",
    stop_reason="tool_calls",
    usage=Usage(input_tokens=3, cost_usd=0.5),
)
RESULT = ToolResult(
    id="call_1",
    ok=True,
    parts=(Text(text="a.txt"),),
    artifacts=("artifacts/turn_1/out.log",),
    result={"exit_code": 0},
    artifact=Artifact(kind="file_diff", patch_format="unified", patch="+1", summary={"files": 1}),
    changed=True,
)
ERROR = ErrorInfo(code="provider_failed", message="no", hint="try again")
STEP = PreflightStep(id="step_1", description="Look.", tool_name="shell", target="ls", risk="low", needs_approval=True)
EXAMPLES: list[ev.EventData] = [
    ev.SessionCreated(id="sess_1", agent="build", workspace_path="/w", project_path="/w", created_at=TS, title="t"),
    ev.SessionUpdated(title="new"),
    ev.MessageAdded(message=ANSWER, queued=True, asked=TurnOptions(model="m", options={"temperature": 0})),
    ev.MessageEdited(message_id="msg_1", parts=(Text(text="no", id="part_9"),)),
    ev.SteerRequested(message_id="msg_1"),
    ev.MessageSteered(message_id="msg_1", queued_turn_id="turn_2"),
    ev.TurnRequested(message_id="msg_1", retry_of="turn_1"),
    ev.TurnStarted(message_id="msg_1", agent="build", provider="p", model="m", options={"x": [1, None]}),
    ev.TurnResumed(reason="crash"),
    ev.ModelOutputDelta(message_id="msg_2", part_id="part_2", kind="text", delta="ye", offset=0),
    ev.ModelOutputCompleted(message=ANSWER),
    ev.UsageRecorded(message_id="msg_2", provider="p", model="m", usage=Usage(output_tokens=1)),
    ev.ToolCallStarted(tool_call=ToolCall("call_1", "shell", Raw(b'{"command":"ls"}')), kind="exec"),
    ev.ToolOutputDelta(tool_call_id="call_1", channel="stderr", chunk="oops", offset=4),
    ev.ToolCallCompleted(tool_call_id="call_1", name="shell", tool_result=RESULT, message_id="msg_3", duration_ms=7),
    ev.PreflightRequested(
        steps=(STEP,),
        estimated_cost=EstimatedCost(input_tokens=9, output_tokens=1, estimated_usd=None, low_usd=None, high_usd=None),
        required_permissions=("run commands",),
        warnings=("Mind the gap.",),
        digest="d",
    ),
    ev.PreflightResolved(approved=True, cause="user", steps=(STEP,), reason="ok"),
    ev.ApprovalRequested(tool_call_id="call_1", name="shell", input=Raw(b"{}"), risk="high", rule="exec", reason="r"),
    ev.ApprovalGranted(tool_call_id="call_1", name="shell", remember="session"),
    ev.ApprovalDenied(tool_call_id="call_1", name="shell", cause="expired", reason="late"),
    ev.PatchProposed(tool_call_id="call_1", name="apply_patch", patch="--- a\n+++ b\n", preview_digest="d"),
    ev.PatchReviewed(tool_call_id="call_1", verdict="ask", reason="who knows", reviewer="p/m"),
    ev.VerificationStarted(verification_id="call_9", command="make test", attempt=1),
    ev.VerificationCompleted(verification_id="call_9", command="make test", attempt=1, status="failed", exit_code=2),
    ev.JobStarted(
        job_id="job_1",
        command="npm start",
        cwd=".",
        tool_call_id="call_1",
        output="artifacts/turn_1/j",
        owner="1:2:3:4",
    ),
    ev.JobEnded(job_id="job_1", exit_code=0, output_bytes=7, duration_ms=12),
    ev.CancelRequested(reason="enough"),
    ev.TurnCompleted(message_id="msg_2", stop_reason="end_turn", steps=2, usage=Usage(), verification="verified"),
    ev.TurnFailed(error=ERROR, usage=Usage()),
    ev.TurnCanceled(reason="enough"),
    ev.SessionCompleted(),
    ev.SessionFailed(error=ERROR),
    ev.SessionCanceled(),
    ev.AttachmentAdded(ref="attachments/a.png", filename="a.png", mime_type="image/png", size=3, sha256="0" * 64),
    ev.Notice(code="sandbox_weaker", message="no bubblewrap"),
    ev.GrantsDropped(reason="made elsewhere"),
    ev.GrantRevoked(grant_id="grant_1", reason="no longer"),
    ev.ModelBackedOff(provider="p", model="m", code="rate_limited", reason="busy", attempt=1, resume_at=TS),
    ev.ModelSwitched(from_provider="p", from_model="m", provider="q", model="n", code="provider_auth", reason="no key"),
    ev.CheckpointCreated(
        checkpoint_id="ckpt_1",
        cause="call",
        tool_call_id="call_1",
        changes=ChangeCounts(added=1, modified=2, deleted=3),
        omitted=(Omission(code="large", files=12, paths=("a.bin",)),),
    ),
    ev.SessionForked(session_id="sess_2", seq=7, messages=3),
    ev.DraftOpened(role="r", project="p", task_slug="t", task_dir=".agents/tasks/t/", channel_id="rpc"),
    ev.DraftClosed(reason="damaged"),
    ev.AgentDispatched(role="r", project="p", parent_session_id="sess_2", parent_turn_id="turn_1", parent_call_id="c"),
    ev.ConversationReverted(to="turn_1", to_seq=3, messages=2, last_turn_id=None),
    ev.PartsWithheld(ids=("attachments/a.png", "part_1"), code="part_refused", reason="not a picture"),
    ev.CompactionRequested(focus="the parser"),
    ev.CompactionStarted(trigger="threshold", attempt=2, pre_tokens=90),
    ev.ContextCompacted(
        compaction_id="comp_1",
        trigger="overflow",
        pre_tokens=90,
        post_tokens=9,
        first_kept="msg_2",
        last_message="msg_3",
        carried=("msg_1",),
        pruned=("call_1",),
        summary="It went well.",
        summarised_by="p/m",
        record="Files changed:",
        dropped=Dropped(messages=2, user=1, assistant=1, calls=1, tokens=81, first_message="msg_0"),
        focus="the parser",
    ),
    ev.CompactionFailed(trigger="manual", code="not_shrunk", reason="It is short.", pre_tokens=9),
    ev.CompactionUndone(compaction_id="comp_1"),
    ev.SessionCreated(
        id="sess_1",
        agent="build",
        workspace_path="/w",
        project_path="/w",
        created_at=TS,
        budget=Budgets(per_turn=Budget(usd=0.5, tokens=1000), per_session=Budget(steps=0, seconds=1.5)),
    ),
    ev.SessionUpdated(budget=Budgets()),
    ev.ContextAssembled(
        cause="first_turn",
        agent="build",
        provider="p",
        model="m",
        sections=(ContextSection(name="rules", source="AGENTS.md", tokens=2, budget=9, digest="d", text="Be kind."),),
    ),
    ev.ContextAdded(
        message_id=None,
        sections=(ContextSection(name="repo_map", source="harness", place="conversation", status="left_out", why="x"),),
    ),
    ev.VerificationStarted(verification_id="call_9", command="make test", attempt=0, index=2, of=2, baseline=True),
    ev.VerificationCompleted(
        verification_id="call_9",
        command="make test",
        attempt=1,
        status="failed",
        exit_code=1,
        tool_call_id="call_1",
        fingerprint="b",
        fingerprint_before="a",
        failing=("t::one", "t::two"),
        new=("t::two",),
        seconds=1.5,
    ),
    ev.WorkerStarted(
        agent_id="sess_2",
        session_id="sess_2",
        role="dev",
        task="build it",
        worker_turn_id="turn_2",
        kept_apart="worktree",
        budget=Budget(tokens=100),
        again=True,
        call_id="call_1",
    ),
    ev.WorkerCompleted(
        agent_id="sess_2",
        session_id="sess_2",
        worker_turn_id="turn_2",
        result=DispatchResult(
            agent_id="sess_2",
            status="blocked",
            summary="A key is missing.",
            changes=(WorkChange(path="a.txt", status="added"),),
            artifacts=("notes.md",),
            verification="verified",
            usage=Usage(requests=2),
            stop_reason="end_turn",
            merge="pending",
        ),
    ),
    ev.WorkerWaiting(
        agent_id="sess_2",
        session_id="sess_2",
        worker_turn_id="turn_2",
        tool_call_id="call_2",
        name="shell",
        path=("lead", "dev"),
    ),
    ev.WorkerMerged(agent_id="sess_2", session_id="sess_2", worker_turn_id="turn_2", conflicts=("a.txt",)),
    ev.TurnCompleted(
        message_id="msg_2",
        stop_reason="budget_exhausted",
        steps=2,
        usage=Usage(cache_write_tokens=3),
        output=Raw(b'{"name":[1,null]}'),
        note="The budget of 2 steps is used up.",
    ),
]


def envelope(data: ev.EventData, turn_id: str | None = "turn_1") -> bytes:
    return ev.Event(17, TS, "sess_1", turn_id, data.TYPE, ev.encode_data(data)).envelope()


def test_every_type_of_event_is_exercised_here():
    """A new event type needs an example."""
    assert {example.TYPE for example in EXAMPLES} == set(ev.DATA_TYPES)


@pytest.mark.parametrize("data", EXAMPLES, ids=lambda data: data.TYPE)
def test_an_event_reads_back_as_it_was_written(data):
    """Envelope, bytes and value survive the round trip unchanged."""
    line = envelope(data)

    event = ev.parse_envelope(line)

    assert (event.seq, event.ts, event.session_id, event.turn_id) == (17, TS, "sess_1", "turn_1")
    assert event.data == data
    assert event.raw == ev.encode_data(data)
    assert event.envelope() == line


def test_an_envelope_is_the_json_object_the_contract_names():
    """Six keys in order; an event outside a turn has a null turn."""
    line = envelope(ev.Notice(code="c", message="m"), turn_id=None)

    assert json.loads(line) == {
        "seq": 17,
        "ts": TS,
        "session_id": "sess_1",
        "turn_id": None,
        "type": "notice",
        "data": {"code": "c", "message": "m"},
    }
    assert list(json.loads(line)) == ["seq", "ts", "session_id", "turn_id", "type", "data"]


@SPEC
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_stays_on_one_line(text):
    """Line breaks of every alphabet, NULs and quotes in a text neither split the line nor change."""
    line = envelope(ev.Notice(code="c", message=text))

    assert b"\n" not in line
    assert b"\r" not in line
    event = ev.parse_envelope(line)
    assert isinstance(event.data, ev.Notice)
    assert event.data.message == text


def test_an_event_of_an_unknown_type_is_kept_as_it_is():
    """A reader that does not know a type still has its number, its time and its bytes."""
    line = b'{"seq":3,"ts":"%b","session_id":"sess_1","turn_id":null,"type":"moon_rose","data":{"phase":[1,2]}}' % (
        TS.encode()
    )

    event = ev.parse_envelope(line)

    assert event.data is None
    assert event.envelope() == line


def test_fields_of_a_newer_version_are_skipped():
    """Old readers live with new fields."""
    assert ev.decode_data("notice", b'{"code":"c","message":"m","colour":"red"}') == ev.Notice(code="c", message="m")


@pytest.mark.parametrize(
    "line", [b"", b"{", b"null", b"[]", b'{"seq":1}', envelope(EXAMPLES[0])[:-1], b"\x00" * 64, b'{"seq":"1"}']
)
def test_a_damaged_line_is_refused(line):
    """What is not a whole envelope raises, and says nothing else."""
    with pytest.raises(msgspec.DecodeError):
        ev.parse_envelope(line)


def test_data_that_does_not_fit_its_type_is_refused():
    """A delta without its offset is no delta."""
    with pytest.raises(msgspec.ValidationError):
        ev.decode_data("model_output_delta", b'{"message_id":"m","part_id":"p","kind":"text","delta":"x"}')


def test_every_type_stands_under_its_own_name():
    """Names are snake_case, as clients see them."""
    assert all(name == kind.TYPE for name, kind in ev.DATA_TYPES.items())
    assert all(name.islower() and name.replace("_", "").isalpha() for name in ev.DATA_TYPES)


@pytest.mark.parametrize(("old", "today"), [("passed", "verified"), ("failed", "failing"), ("stale", "stale")])
def test_a_turns_verification_is_read_in_the_words_of_every_version(old, today):
    """A log is never rewritten, so its readers know its older words."""
    raw = b'{"message_id":null,"stop_reason":"end_turn","steps":1,"usage":{},"verification":"%b"}' % old.encode()

    read = ev.decode_data("turn_completed", raw)

    assert isinstance(read, ev.TurnCompleted)
    assert ev.in_todays_words(read.verification) == today


def test_a_verification_of_an_older_version_is_read():
    """What it did not know is not there."""
    raw = b'{"verification_id":"v","command":"make","attempt":1,"status":"passed","exit_code":0}'

    read = ev.decode_data("verification_completed", raw)

    assert isinstance(read, ev.VerificationCompleted)
    assert (read.fingerprint, read.baseline, read.failing) == ("", False, None)
