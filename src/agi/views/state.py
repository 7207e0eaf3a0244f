"""How a session stands, small enough to be kept beside its events: what `views.folding` makes of them.

Pure. May import: protocol, views.compactions, views.context, views.drafting, views.ledger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from agi.protocol.compaction import CompactionRequest, CompactionTrigger
from agi.protocol.forks import ForkedFrom
from agi.protocol.grants import Grant
from agi.protocol.jobs import Job
from agi.protocol.messages import Usage
from agi.protocol.parts import Json
from agi.protocol.policies import Budgets, ReviewVerdict
from agi.protocol.preflight import PendingPreflight, PreflightAnswer, PreflightStep
from agi.protocol.reading import reader
from agi.protocol.resources import ResourceTag
from agi.protocol.sessions import Activity, PendingApproval, QueuedTurn, Session, SessionStatus
from agi.views.compactions import Mark
from agi.views.context import ContextState
from agi.views.drafting import DraftState, WorkerMark, WorkerState
from agi.views.ledger import Ledger


class Answer(Struct, frozen=True):
    """How an approval was answered."""

    granted: bool
    cause: str = ""
    reason: str = ""
    digest: str = ""
    """Of what was asked about; the answer counts for nothing else."""
    hunks: tuple[str, ...] | None = None
    """Which pieces of the change were accepted; None is all of them."""


class Review(Struct, frozen=True):
    """What a reviewing agent said about a change."""

    verdict: ReviewVerdict
    reason: str
    reviewer: str = ""


class Agreed(Struct, frozen=True):
    """What a call may do, after all that was shown and answered about it."""

    arguments: str = ""
    """The digest of the arguments a person said yes to; empty if nobody was asked."""
    change: str = ""
    """The digest of the change that was shown; empty if none was."""
    hunks: tuple[str, ...] | None = None
    """Which pieces of it; None is all of them."""
    reason: str = ""
    """What the person said about it."""


class TurnState(Struct, kw_only=True, omit_defaults=True):
    """The turn that is being answered."""

    id: str
    message_id: str
    agent: str
    provider: str
    model: str
    started_at: str
    options: Json | None = None
    on_ask: Literal["wait", "deny"] = "wait"
    approval_timeout_s: float | None = None
    resumes: int = 0
    """How often it was cut off since it last came a step further."""
    pauses: int = 0
    """How often that was by a full disk, which is no fault of the turn."""
    paused: bool = False
    """Whether it waits for room on the disk."""
    steps: int = 0
    usage: Usage = Usage()
    pending: list[PendingApproval] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    changes: dict[str, str] = field(default_factory=dict)
    """The change that was shown for a call, by its digest: the call makes this one or none."""
    reviews: dict[str, Review] = field(default_factory=dict)
    """What a reviewing agent said about the change of a call."""
    open_calls: dict[str, str] = field(default_factory=dict)
    """Calls that were started and have no result: id to name."""
    open_message: str = ""
    """The message being streamed, once a piece of it is in the log."""
    open_seq: int = 0
    """Where in the log that first piece is."""
    last_message: str | None = None
    """The last whole answer of the model."""
    backing_off: str = ""
    """When the provider is asked again, while that is waited for."""
    changed: bool = False
    """Whether a call may have changed the workspace."""
    verifying: str = ""
    """The verification that was started and has no outcome."""
    baselining: bool = False
    """Whether that one runs before the first change, so that the call which waits for it has not run."""
    baselined: bool = False
    """Whether it is known what failed before the first change, or why that is not known."""
    attempts: int = 0
    """How often verification has failed after a change."""
    owed: int = 0
    """Answers that are still missing for its summaries to have been worth their cost (see shortening)."""
    cancel_requested: bool = False
    cancel_reason: str = ""
    preflight: bool = False
    """Whether its steps are to be approved before anything runs."""
    pending_preflight: PendingPreflight | None = None
    """The steps that wait for an answer."""
    preflight_answer: PreflightAnswer | None = None
    """The answer, once there is one."""
    approved_steps: list[PreflightStep] = field(default_factory=list)
    """What was approved: each lets one call run unasked."""
    skipped_steps: list[PreflightStep] = field(default_factory=list)
    """What was proposed and left out."""
    used_steps: dict[str, str] = field(default_factory=dict)
    """The call that ran by a step, by the step's id."""

    @property
    def waits_for_a_person(self) -> bool:
        """Whether somebody has to answer something."""
        return bool(self.pending) or self.pending_preflight is not None

    def agreed(self, call_id: str) -> Agreed:
        """What a call may do; nothing is said of one that nobody was shown or asked about."""
        answer = self.answers.get(call_id)
        change = self.changes.get(call_id, "")
        if answer is None or not answer.granted:
            return Agreed(change=change)
        return Agreed(answer.digest, change, answer.hunks, answer.reason)


class SessionState(Struct, kw_only=True, omit_defaults=True):
    """A session, folded. Written with every append: what is as it was at the beginning is left out."""

    id: str
    agent: str
    workspace_path: str
    project_path: str
    created_at: str
    updated_at: str
    title: str | None = None
    provider: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    auto_run: bool = True
    ephemeral: bool = False
    status: SessionStatus = "active"
    last_seq: int = 0
    head: str = ""
    """The hash of the last event, by which a log that was cut off is found out."""
    last_turn_id: str | None = None
    begun_turn_id: str | None = None
    """The last turn that was more than queued."""
    turn: TurnState | None = None
    queue: list[QueuedTurn] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    """What was approved for the rest of the session."""
    usage: Usage = Usage()
    seconds: float = 0.0
    """Time its turns spent working."""
    budget: Budgets | None = None
    withheld: dict[str, str] = field(default_factory=dict)
    """What models are no longer told, by ref or id, and why."""
    exhausted: str = ""
    """The last turn, if it ended because a limit was reached."""
    noticed: list[str] = field(default_factory=list)
    """The codes of the notices that were given."""
    ledger: Ledger = field(default_factory=Ledger)
    """What is known by verification."""
    reverts: list[tuple[int, int]] = field(default_factory=list)
    """Where the conversation was taken back, and to which event (see segments)."""
    jobs: list[Job] = field(default_factory=list)
    """What runs in the background."""
    ended_jobs: list[Job] = field(default_factory=list)
    """What ran there last."""
    resource: ResourceTag | UnsetType = UNSET
    """The resource it was begun for."""
    forked_from: ForkedFrom | None = None
    """Where it was forked from another session."""
    context_tokens: int = 0
    """How much the model was told and said last; 0 is unknown."""
    compactions: list[Mark] = field(default_factory=list)
    """Where the conversation was made shorter, and where that was undone (see compactions)."""
    compaction: CompactionRequest | None = None
    """What somebody asked for and did not get yet."""
    compacting: CompactionTrigger | None = None
    """Why it is being made shorter just now."""
    told_from: str = ""
    """The message from which on models are told it since it was last made shorter; empty: from its beginning."""
    compacted_to: int = 0
    """Tokens that a compaction could do nothing about: until there are more of them another is of no use."""
    context: ContextState = field(default_factory=ContextState)
    """What models were told beside the conversation."""
    draft: DraftState | None = None
    """The draft it is or was."""
    worker: WorkerState | None = None
    """Whose worker it is."""
    workers: dict[str, WorkerMark] = field(default_factory=dict)
    """Those that worked for it, by agent; the latest."""

    @property
    def has_team(self) -> bool:
        """Whether its agent deals with the harness: while it is drafted, or works for somebody."""
        return self.worker is not None or (self.draft is not None and self.draft.status == "active")

    @property
    def activity(self) -> Activity:
        """What it is doing, finer than the status."""
        if self.compacting is not None:
            return "compacting"
        if self.turn is None:
            return "queued" if self.queue or self.compaction is not None else "idle"
        if self.turn.waits_for_a_person:
            return "waiting_approval"
        if self.turn.backing_off:
            return "backing_off"
        return "verifying" if self.turn.verifying else "running"

    def public(self, epoch: int) -> Session:
        """The session as clients see it."""
        return Session(
            id=self.id,
            session_id=self.id,
            title=self.title,
            agent=self.agent,
            provider=self.provider,
            model=self.model,
            workspace_path=self.workspace_path,
            project_path=self.project_path,
            system_prompt=self.system_prompt,
            auto_run=self.auto_run,
            created_at=self.created_at,
            updated_at=self.updated_at,
            status=self.status,
            activity=self.activity,
            last_turn_id=self.last_turn_id,
            running_turn_id=self.turn.id if self.turn else None,
            last_seq=self.last_seq,
            head=self.head,
            epoch=epoch,
            queue=tuple(self.queue),
            pending_approvals=tuple(self.turn.pending) if self.turn else (),
            pending_preflight=self.turn.pending_preflight if self.turn else None,
            usage=self.usage,
            budget=self.budget,
            jobs=tuple(self.jobs),
            resource=self.resource,
            forked_from=self.forked_from,
            context_tokens=self.context_tokens,
        )


decode_state: Callable[[bytes | str], SessionState] = reader(SessionState)
"""Reads how a session stands from its row."""
