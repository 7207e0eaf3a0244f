"""The fold: what a session's events amount to, one at a time."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from agi.protocol import events as ev
from agi.protocol.grants import Grant
from agi.protocol.ids import MESSAGE, new_id
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text
from agi.protocol.policies import Rule
from agi.protocol.sessions import ErrorInfo, Session, TurnOptions
from agi.protocol.tools import EMPTY_INPUT, ToolCall, ToolResult
from agi.views.folding import fold
from agi.views.state import Agreed, Answer, Review, SessionState

TS = "2026-01-01T00:00:00.000Z"
ERROR = ErrorInfo(code="provider_failed", message="no")


def ask(turn: str, **kept: object) -> tuple[str, ev.EventData]:
    said = Message(id=f"msg_{turn}", role="user", parts=(Text(text="hi"),), created_at=TS, status="complete")
    return turn, ev.MessageAdded(message=said, **kept)  # type: ignore[arg-type]


def start(turn: str) -> tuple[str, ev.EventData]:
    return turn, ev.TurnStarted(message_id=f"msg_{turn}", agent="build", provider="p", model="m")


def wants(call: str) -> ev.ApprovalRequested:
    return ev.ApprovalRequested(tool_call_id=call, name="shell", input=Raw(b"{}"), risk="high", rule="exec", reason="r")


def granted(call: str, **kept: object) -> ev.ApprovalGranted:
    return ev.ApprovalGranted(tool_call_id=call, name="shell", **kept)  # type: ignore[arg-type]


def denied(call: str, cause: str = "user") -> ev.ApprovalDenied:
    return ev.ApprovalDenied(tool_call_id=call, name="shell", cause=cause)  # type: ignore[arg-type]


def over(**kept: object) -> ev.TurnCompleted:
    return ev.TurnCompleted(message_id=None, stop_reason="end_turn", steps=1, usage=Usage(), **kept)  # type: ignore[arg-type]


def checks(attempt: int = 1, **kept: object) -> ev.VerificationStarted:
    return ev.VerificationStarted(verification_id="v", command="make test", attempt=attempt, **kept)  # type: ignore[arg-type]


def checked(status: str, attempt: int = 1, command: str = "make test", **kept: object) -> ev.VerificationCompleted:
    told = {"verification_id": "v", "command": command, "attempt": attempt, "status": status, **kept}
    return ev.VerificationCompleted(**told)  # type: ignore[arg-type]


def result(call: str = "c1", *, changed: bool = False, **kept: object) -> ev.ToolCallCompleted:
    told = ToolResult(id=call, ok=True, parts=(), changed=changed)
    return ev.ToolCallCompleted(tool_call_id=call, name="shell", tool_result=told, message_id="m", **kept)  # type: ignore[arg-type]


def calls(call: str = "c1") -> ev.ToolCallStarted:
    return ev.ToolCallStarted(tool_call=ToolCall(call, "shell", EMPTY_INPUT), kind="exec")


def fold_all(*steps: ev.EventData | tuple[str | None, ev.EventData]) -> SessionState:
    """A new session, and then these; events without a turn of their own belong to `t1`."""
    created = ev.SessionCreated(id="sess_1", agent="build", workspace_path="/w", project_path="/p", created_at=TS)
    state: SessionState | None = None
    for seq, step in enumerate(((None, created), *steps), 1):
        turn, data = step if isinstance(step, tuple) else ("t1", step)
        state = fold(state, ev.Event.of(seq, f"2026-01-01T00:00:{seq:02d}.000Z", "sess_1", turn, data))
    assert state is not None
    assert state.last_seq == len(steps) + 1
    return state


RUNNING = (ask("t1"), start("t1"))
WAITING = (*RUNNING, wants("c1"))
QUEUED = (*RUNNING, ask("t2", queued=True))
ENDED = (*RUNNING, over(), ev.SessionCompleted())
AGAIN = ("t2", ev.TurnRequested(message_id="m", retry_of="t1"))
BOTH = "waiting_approval", "waiting_approval"

CASES = [
    ("nothing was asked", (), "active", "idle"),
    ("asked, not begun", (ask("t1"),), "active", "queued"),
    ("said without wanting an answer", (ask("t1", run=False),), "active", "idle"),
    ("begun", RUNNING, "active", "running"),
    ("a call waits for a person", WAITING, *BOTH),
    ("one of two was answered", (*WAITING, wants("c2"), granted("c1")), *BOTH),
    ("both were answered", (*WAITING, wants("c2"), granted("c1"), denied("c2")), "active", "running"),
    ("refused by time", (*WAITING, denied("c1", "expired")), "active", "running"),
    ("asked again while one waits", (*WAITING, ask("t2", queued=True)), *BOTH),
    ("verifying", (*RUNNING, checks()), "active", "verifying"),
    ("verified", (*RUNNING, checks(), checked("failed")), "active", "running"),
    ("verification cut off by a crash", (*RUNNING, checks(), ev.TurnResumed()), "active", "running"),
    ("cancel was asked for", (*RUNNING, ev.CancelRequested()), "active", "running"),
    ("answered, more to do", (*QUEUED, over()), "active", "queued"),
    ("the next one begins", (*QUEUED, over(), start("t2")), "active", "running"),
    ("answered", ENDED, "completed", "idle"),
    ("failed", (*RUNNING, ev.TurnFailed(error=ERROR, usage=Usage()), ev.SessionFailed(error=ERROR)), "failed", "idle"),
    ("canceled", (*RUNNING, ev.TurnCanceled(), ev.SessionCanceled()), "canceled", "idle"),
    ("canceled while waiting, more to do", (*WAITING, ask("t2"), ev.TurnCanceled()), "active", "queued"),
    ("taken back from the queue", (*QUEUED, ("t2", ev.TurnCanceled())), "active", "running"),
    ("taken back while a call waits", (*WAITING, ask("t2"), ("t2", ev.TurnCanceled())), *BOTH),
    ("asked again after the end", (*ENDED, ask("t2")), "active", "queued"),
    ("to be tried again", (*ENDED, AGAIN), "active", "queued"),
]


@pytest.mark.parametrize(("steps", "status", "activity"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_status_and_activity_follow_the_events(steps, status, activity):
    """The status tells how the last turn stands, the activity what is being done."""
    state = fold_all(*steps)
    assert (state.status, state.activity) == (status, activity)


@pytest.mark.parametrize("steps", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_a_state_reads_back_as_it_was_written(steps):
    """It is kept as JSON beside the events, and nothing gets lost on the way."""
    state = fold_all(*steps)
    assert msgspec.json.decode(msgspec.json.encode(state), type=SessionState) == state
    public = state.public(7)
    assert msgspec.json.decode(msgspec.json.encode(public), type=Session) == public
    assert (public.id, public.session_id, public.epoch, public.last_seq) == ("sess_1", "sess_1", 7, state.last_seq)
    assert (public.status, public.activity) == (state.status, state.activity)


def test_an_event_of_an_unknown_type_only_moves_the_end():
    """A newer version's event is counted and dated, and changes nothing else."""
    before, after = fold_all(*WAITING), fold_all(*WAITING)
    fold(after, ev.Event(99, "2026-02-02T00:00:00.000Z", "sess_1", "t1", "moon_rose", b'{"status":"failed"}'))

    assert (after.last_seq, after.updated_at) == (99, "2026-02-02T00:00:00.000Z")
    after.last_seq, after.updated_at = before.last_seq, before.updated_at
    assert after == before


def test_without_a_beginning_there_is_no_session():
    """Events of a session that was never created amount to nothing."""
    assert fold(None, ev.Event.of(1, TS, "sess_1", None, ev.SessionCompleted())) is None


def test_settings_change_only_where_something_is_said():
    """A title may be emptied; absent fields stay."""
    state = fold_all(
        (None, ev.SessionUpdated(title="one", agent="plan", provider="p", model="m")),
        (None, ev.SessionUpdated(title="")),
    )
    assert (state.title, state.agent, state.provider, state.model) == ("", "plan", "p", "m")


def test_what_steers_stands_before_what_waits_and_is_gone_once_it_is_taken_up():
    """In the order in which it was said or promoted; the last turn is the last in line, then the one that runs."""
    waiting = (*QUEUED, ask("t3", queued=True), ask("t4", queued=True, mode="steer"))
    promoted = (*waiting, ("t3", ev.SteerRequested(message_id="msg_t3")))
    state = fold_all(*promoted, ("t3", ev.SteerRequested(message_id="msg_t3")))
    assert [(one.turn_id, one.mode) for one in state.queue] == [("t4", "steer"), ("t3", "steer"), ("t2", "queue")]
    assert state.last_turn_id == "t2"

    taken = [("t1", ev.MessageSteered(message_id=f"msg_{one}", queued_turn_id=one)) for one in ("t4", "t3")]
    state = fold_all(*promoted, *taken, ("t2", ev.TurnCanceled()), ("t3", ev.TurnCanceled(steered_into="t1")))
    assert (state.queue, state.activity) == ([], "running")
    assert fold_all(*RUNNING, ask("t2", queued=True, mode="steer"), _took("t2")).last_turn_id == "t1"


def test_a_turn_that_is_dropped_before_it_began_was_never_the_last():
    """The last one is the last in line, else the one that runs, else the one before; without any, the dropped one."""
    drop = {one: (one, ev.TurnCanceled()) for one in ("t1", "t2", "t3")}
    waiting = (*RUNNING, ask("t2", queued=True), ask("t3", queued=True))
    assert fold_all(*waiting, drop["t3"]).last_turn_id == "t2"
    assert fold_all(*waiting, drop["t3"], drop["t2"]).last_turn_id == "t1"
    assert fold_all(*waiting, drop["t3"], drop["t1"], drop["t2"]).last_turn_id == "t1"
    assert fold_all(ask("t1"), drop["t1"]).last_turn_id == "t1"
    failed = (ask("t1"), ("t1", ev.TurnFailed(error=ERROR, usage=Usage())), ask("t2"), drop["t2"])
    assert fold_all(*failed).last_turn_id == "t1"
    steered = (*RUNNING, ask("t2", queued=True, mode="steer"), _took("t2"), ("t2", ev.TurnCanceled(steered_into="t1")))
    assert fold_all(*steered, ("t1", over()), ask("t3"), drop["t3"]).last_turn_id == "t1"


def test_what_is_dropped_leaves_a_turn_at_its_limit_as_it_was():
    """It can still be answered further when the limit is raised."""
    limited = ev.TurnCompleted(message_id=None, stop_reason="budget_exhausted", steps=1, usage=Usage())
    state = fold_all(*RUNNING, ask("t2", queued=True), ("t1", limited), ("t2", ev.TurnCanceled()))
    assert (state.exhausted, state.last_turn_id) == ("t1", "t1")


def test_the_running_turn_is_told_beside_the_last_in_line():
    """So that a client can stop the one without the other."""
    public = fold_all(*QUEUED).public(epoch=1)
    assert (public.running_turn_id, public.last_turn_id) == ("t1", "t2")
    assert fold_all(ask("t1")).public(epoch=1).running_turn_id is None


def _took(turn: str) -> tuple[str, ev.EventData]:
    return "t1", ev.MessageSteered(message_id=f"msg_{turn}", queued_turn_id=turn)


def test_the_queue_is_first_come_first_served():
    """Messages wait in their order with what they asked for, and leave it when their turn begins or is taken back."""
    asked = TurnOptions(model="big")
    state = fold_all(*RUNNING, ask("t2", asked=asked), ask("t3"), ask("t4"), ("t3", ev.TurnCanceled()))
    assert [(one.turn_id, one.message_id, one.asked.model) for one in state.queue] == [
        ("t2", "msg_t2", "big"),
        ("t4", "msg_t4", None),
    ]
    assert state.last_turn_id == "t4"

    state = fold_all(*RUNNING, ask("t2"), over(), start("t2"))
    assert state.queue == []
    assert state.turn is not None
    assert (state.turn.id, state.turn.message_id) == ("t2", "msg_t2")


def test_a_message_the_harness_wrote_for_the_running_turn_queues_nothing():
    """What verification tells the model is part of the turn it belongs to."""
    said = Message(id="m", role="user", parts=(), created_at=TS, status="complete", origin="verification")
    assert fold_all(*RUNNING, ev.MessageAdded(message=said)).queue == []


def test_a_retry_remembers_what_it_repeats():
    """The queue says which turn is tried again."""
    state = fold_all(*RUNNING, over(), ("t2", ev.TurnRequested(message_id="msg_t1", retry_of="t1")))
    assert [(one.turn_id, one.message_id, one.retry_of) for one in state.queue] == [("t2", "msg_t1", "t1")]


def test_a_pending_approval_is_whole():
    """Everything a person needs to answer it, whichever client they open."""
    (pending,) = fold_all(*WAITING).public(1).pending_approvals
    assert (pending.turn_id, pending.tool_call_id, pending.name, pending.risk, pending.rule) == (
        "t1",
        "c1",
        "shell",
        "high",
        "exec",
    )
    assert pending.requested_at == "2026-01-01T00:00:04.000Z"


def test_an_answer_is_kept_until_its_call_is_over():
    """The first answer stands; with the result it is no longer needed."""
    state = fold_all(*WAITING, granted("c1", reason="fine"))
    assert state.turn is not None
    assert state.turn.answers == {"c1": Answer(granted=True, reason="fine")}

    state = fold_all(*WAITING, denied("c1"), result("c1", blocked=True))
    assert state.turn is not None
    assert (state.turn.answers, state.turn.pending) == ({}, [])


def shown(call: str, change: str) -> ev.PatchProposed:
    return ev.PatchProposed(tool_call_id=call, name="edit", patch="+", preview_digest=change)


def test_a_call_is_held_to_the_change_that_was_shown_for_it():
    """By a proposal or a question, the later one; with what was answered. It is forgotten when the call is over."""
    asked = msgspec.structs.replace(wants("c1"), preview_digest="d2")
    before = (ask("t1"), start("t1"), shown("c1", "d1"), shown("c2", "d3"), asked)

    state = fold_all(*before, granted("c1", digest="args", hunks=("h1",), reason="only this"))
    denied_one = fold_all(*before, denied("c1"))

    assert state.turn.agreed("c1") == Agreed("args", "d2", ("h1",), "only this")
    assert state.turn.agreed("c2") == Agreed(change="d3")
    assert state.turn.agreed("c3") == Agreed()
    assert denied_one.turn.agreed("c1") == Agreed(change="d2")
    assert fold_all(*before, granted("c1"), result("c1")).turn.agreed("c1") == Agreed()


def test_a_verdict_is_kept_until_its_call_is_over():
    """So that nobody is asked for it twice."""
    said = ev.PatchReviewed(tool_call_id="c1", verdict="reject", reason="no", reviewer="p/m")
    before = (ask("t1"), start("t1"), said)

    assert fold_all(*before).turn.reviews == {"c1": Review("reject", "no", "p/m")}
    assert fold_all(*before, result("c1")).turn.reviews == {}


def rule(name: str, scope: str = "session") -> Grant:
    one = Rule(tool="shell", command=name, verdict="allow")
    return Grant(id=f"grant_{name}", scope=scope, rule=one, text=name, granted_at=TS)  # type: ignore[arg-type]


def test_a_grant_for_the_session_outlives_the_turn():
    """Each rule that was allowed for the session is remembered once; what was allowed once, or elsewhere, is not."""
    assert fold_all(*WAITING, granted("c1")).grants == []
    assert fold_all(*WAITING, granted("c1", remember="workspace", grants=(rule("ls", "workspace"),))).grants == []
    first = granted("c1", remember="session", grants=(rule("ls"), rule("cat")))
    again = granted("c2", remember="session", grants=(rule("ls"), rule("wc")))
    assert [one.rule.command for one in fold_all(*WAITING, first, wants("c2"), again, over()).grants] == [
        *("ls", "cat", "wc"),
    ]


def test_a_grant_without_rules_is_of_the_whole_tool():
    """So it was written before answers named rules."""
    twice = (*WAITING, granted("c1", remember="session"), wants("c2"), granted("c2", remember="session"), over())
    (grant,) = fold_all(*twice).grants

    assert (grant.rule, grant.scope) == (Rule(tool="shell", verdict="allow"), "session")


def test_a_grant_can_be_revoked():
    """Only that one; all of them if the log came from elsewhere."""
    given = (*WAITING, granted("c1", remember="session", grants=(rule("ls"), rule("cat"))))

    assert [one.id for one in fold_all(*given, ev.GrantRevoked(grant_id="grant_ls")).grants] == ["grant_cat"]
    assert fold_all(*given, ev.GrantsDropped()).grants == []


def test_a_call_without_a_result_is_known():
    """That is what a restart has to close."""
    state = fold_all(*RUNNING, calls("c1"), calls("c2"), result("c1"))
    assert state.turn is not None
    assert state.turn.open_calls == {"c2": "shell"}


def test_a_message_that_is_being_written_is_known_from_its_first_piece():
    """Where it began in the log, until it is whole or the turn is resumed."""
    piece = ev.ModelOutputDelta(message_id="m2", part_id="p", kind="text", delta="He", offset=0)
    more = ev.ModelOutputDelta(message_id="m2", part_id="p", kind="text", delta="llo", offset=2)
    whole = Message(id="m2", role="assistant", parts=(), created_at=TS, status="complete")

    writing = fold_all(*RUNNING, piece, more).turn
    assert writing is not None
    assert (writing.open_message, writing.open_seq) == ("m2", 4)
    for closing in (ev.ModelOutputCompleted(message=whole), ev.TurnResumed()):
        turn = fold_all(*RUNNING, piece, more, closing).turn
        assert turn is not None
        assert turn.open_message == ""


@pytest.mark.parametrize(("status", "steps", "last"), [("complete", 1, "m2"), ("error", 0, None)])
def test_only_a_whole_answer_counts_as_a_step(status, steps, last):
    """A call to the model that broke off is not the turn's last word."""
    said = Message(id="m2", role="assistant", parts=(), created_at=TS, status=status)
    turn = fold_all(*RUNNING, ev.ModelOutputCompleted(message=said)).turn
    assert turn is not None
    assert (turn.steps, turn.last_message) == (steps, last)


def test_usage_adds_up_for_the_turn_and_for_the_session():
    """A new turn begins with nothing used; the session keeps the sum."""
    used = ev.UsageRecorded(message_id="m", provider="p", model="m", usage=Usage(input_tokens=5, cost_usd=0.5))
    state = fold_all(*RUNNING, used, used, over(), ask("t2"), start("t2"), ("t2", used))
    assert state.usage == Usage(input_tokens=15, cost_usd=1.5)
    assert state.turn is not None
    assert state.turn.usage == Usage(input_tokens=5, cost_usd=0.5)


@pytest.mark.parametrize(
    ("steps", "changed"),
    [
        ((), False),
        ((result(changed=True),), True),
        ((calls(), result(interrupted=True)), True),
        ((result(changed=True), checks(), checked("passed")), True),
    ],
    ids=["untouched", "changed", "maybe changed", "verified since"],
)
def test_whether_files_may_have_changed_is_known_to_the_end_of_the_turn(steps, changed):
    """A turn that goes on after a restart must know it."""
    turn = fold_all(*RUNNING, *steps).turn
    assert turn is not None
    assert turn.changed is changed


def test_attempts_are_those_that_failed_after_a_change():
    """Also after a restart; a baseline, a call of the model's and a run that was cut off are none."""
    others = (checked("failed", 0, baseline=True), checked("failed", 0, tool_call_id="c"), checked("not_run", 7))
    turn = fold_all(*RUNNING, *others, checks(1), checked("failed", 1), checks(2)).turn
    assert turn is not None
    assert (turn.attempts, turn.verifying) == (1, "v")


def test_a_baseline_is_taken_once_all_its_commands_are_known():
    """One that a crash cut off is not."""
    first, second = ({"baseline": True, "index": n, "of": 2} for n in (1, 2))
    for steps, taken in (
        ((checks(0, baseline=True), checked("not_run", 0, command="", baseline=True)), False),
        ((checked("failed", 0, **first),), False),
        ((checked("failed", 0, **first), checked("not_run", 0, **second)), True),
    ):
        turn = fold_all(*RUNNING, *steps).turn
        assert turn is not None
        assert (turn.baselined, turn.baselining) == (taken, False)


def test_a_turn_of_an_older_version_is_read():
    """Its words for verification were others; a session that has one goes on."""
    raw = b'{"message_id":null,"stop_reason":"end_turn","steps":1,"usage":{},"verification":"%b","seconds":1.0}'
    for old, today in ((b"passed", "verified"), (b"failed", "failing"), (b"stale", "stale")):
        ended = ev.Event(3, TS, "sess_1", "t1", "turn_completed", raw % old)
        state = fold(fold_all(*RUNNING), ended)
        assert state is not None
        assert state.turn is None
        assert isinstance(ended.data, ev.TurnCompleted)
        assert ev.in_todays_words(ended.data.verification) == today


def test_a_cancel_is_for_the_turn_it_names():
    """A request for another turn does not mark the running one."""
    for turn_id, marked in (("t1", True), ("t2", False)):
        turn = fold_all(*RUNNING, ask("t2"), (turn_id, ev.CancelRequested())).turn
        assert turn is not None
        assert turn.cancel_requested is marked


def test_events_of_a_turn_that_is_not_there_change_no_turn():
    """Late words after the end are harmless."""
    message = Message(id=new_id(MESSAGE), role="assistant", parts=(), created_at=TS, status="complete")
    late = (
        ev.TurnResumed(),
        ev.ModelOutputDelta(message_id="m", part_id="p", kind="text", delta="x", offset=0),
        ev.ModelOutputCompleted(message=message),
        calls(),
        result(),
        wants("c1"),
        granted("c1"),
        denied("c1"),
        checks(),
        checked("passed"),
        ev.CancelRequested(),
        over(),
    )
    state = fold_all(*late)
    assert (state.status, state.activity, state.turn, state.queue) == ("active", "idle", None, [])


def begun(job: str) -> ev.JobStarted:
    return ev.JobStarted(job_id=job, command="npm start", cwd=".", tool_call_id="c1", output="artifacts/t/j", owner="o")


def test_a_job_is_listed_while_it_runs_and_remembered_for_a_while():
    """It outlives its turn; clients see what runs, and how what ran ended."""
    running = fold_all(start("t1"), ("t1", begun("j1")), ("t1", begun("j2")), ("t1", over()))
    ended = fold_all(
        start("t1"), ("t1", begun("j1")), ("t1", over()), (None, ev.JobEnded(job_id="j1", exit_code=3, output_bytes=9))
    )

    assert [job.id for job in running.public(1).jobs] == ["j1", "j2"]
    assert (running.jobs[0].status, running.jobs[0].turn_id, running.activity) == ("running", "t1", "idle")
    assert ended.public(1).jobs == ()
    (job,) = ended.ended_jobs
    assert (job.id, job.status, job.exit_code, job.output_bytes) == ("j1", "ended", 3, 9)
    assert job.started_at < (job.ended_at or "") == ended.updated_at


def test_only_so_many_jobs_that_ended_are_remembered():
    """The state of a session stays small."""
    events = [one for n in range(20) for one in (("t1", begun(f"j{n}")), (None, ev.JobEnded(job_id=f"j{n}")))]
    state = fold_all(start("t1"), *events, (None, ev.JobEnded(job_id="never begun")))

    assert [job.id for job in state.ended_jobs] == [f"j{n}" for n in range(12, 20)]
