"""What the loop is given: three small ports and a plan; and what it answers.

May import: protocol, policy, models.base, views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import UNSET, Raw, Struct, UnsetType

from agi.models.base import Model, ModelRequest
from agi.models.breaker import Breaker
from agi.policy.approval import Decision
from agi.policy.detecting import Checks
from agi.protocol.compaction import CompactionPolicy, CompactionRequest
from agi.protocol.events import ContextCompacted, EventData, ModelOutputDelta, Verification, VerificationCompleted
from agi.protocol.messages import Message, StopReason, Usage
from agi.protocol.parts import Json
from agi.protocol.policies import Budget, PatchReviewPolicy, VerifyPolicy
from agi.protocol.preflight import PreflightAnswer, PreflightStep
from agi.protocol.sessions import ErrorInfo
from agi.protocol.tools import ToolCall, ToolDefinition, ToolResult
from agi.views.ledger import Ledger
from agi.views.state import Answer, TurnState

if TYPE_CHECKING:
    from agi.tools.base import Preview
    from agi.views.recorded import Recorded
    from agi.workspace.fingerprint import Tree


class Journal(Protocol):
    """The log, as far as this turn is concerned."""

    def turn(self) -> TurnState:
        """The turn as the log has it now."""

    def session_usage(self) -> Usage:
        """What the whole session has used."""

    def withheld(self) -> Mapping[str, str]:
        """What models are no longer told: refs and ids, and why."""

    def compaction(self) -> ContextCompacted | None:
        """What stands for the beginning of the conversation; None if models are told all of it."""

    def compaction_asked(self) -> CompactionRequest | None:
        """A compaction that somebody asked for and did not get yet."""

    def compacted_to(self) -> int:
        """Tokens that a compaction could do nothing about; 0 if none failed."""

    def recorded(self) -> Recorded:
        """What the log knows of the conversation by itself."""

    def was_noticed(self, code: str) -> bool:
        """Whether a notice of this code was given in this session."""

    def ledger(self) -> Ledger:
        """What verification has shown in this session."""

    def known(self, command: str, fingerprint: str) -> VerificationCompleted | None:
        """What a command found on these files, in whatever session of the workspace."""

    def took(self, command: str) -> float:
        """How many seconds a command took last, in whatever session of the workspace; 0 if that is not known."""

    async def steered(self) -> Sequence[Message]:
        """What people said to this turn meanwhile; each message once, and a part of the turn from then on."""

    def defer(self, *data: EventData) -> None:
        """Remember events that become durable together with the next ones."""

    async def emit(self, *data: EventData) -> None:
        """Append events; returns when they, and the deferred ones before them, are durable."""

    async def speak(self, delta: ModelOutputDelta) -> None:
        """Show a piece of the answer at once; it reaches the log soon after."""


class Toolbox(Protocol):
    """The tools, and the rules about them."""

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What this agent may use."""

    def find(self, name: str) -> ToolDefinition | None:
        """Look up any tool, allowed or not."""

    def judge(self, call: ToolCall) -> Decision:
        """May it run: allow, ask or deny."""

    def covering(self, call: ToolCall, decision: Decision, steps: Sequence[PreflightStep]) -> PreflightStep | None:
        """The approved step by which a call may run that would be asked about, if there is one."""

    async def propose(self, call: ToolCall, after: Preview | None) -> Preview:
        """The change a call would make, shown and named; `after` is another one that is still to come."""

    async def use(self, call: ToolCall) -> ToolResult:
        """Run it."""

    async def changed_at(self) -> int:
        """When a file of the workspace last changed, in nanoseconds since 1970."""

    def checks(self) -> Checks:
        """The commands that verify the workspace: the configured ones, or those that were found."""

    async def tree(self) -> Tree:
        """The files of the workspace as they are now."""


class People(Protocol):
    """Whoever answers questions."""

    waited: float
    """Seconds the turn has spent waiting for them; they count for no budget."""

    async def answer(self, call_id: str) -> Answer:
        """Wait for the answer to an approval that was requested."""

    async def preflight(self) -> PreflightAnswer:
        """Wait for the answer to the steps that were proposed."""


class Facts(Protocol):
    """What is known about models."""

    def cost(self, provider: str, model: str, usage: Usage) -> float | None:
        """What a call cost in USD; None if the price is not known."""

    def window(self, provider: str, model: str) -> int | None:
        """How many tokens it takes in and gives out together."""

    def max_output(self, provider: str, model: str) -> int | None:
        """How many tokens it gives out at most."""


class Media(Protocol):
    """The files that messages refer to."""

    async def shown(self, request: ModelRequest, model: Model) -> ModelRequest:
        """The request with every attachment as this model can be shown it, within what its provider takes."""


class Plan(Struct, frozen=True, kw_only=True):
    """Everything about the turn that does not change while it runs."""

    session_id: str
    turn_id: str
    agent: str
    system: str
    model: Model
    fallback: Callable[[str, str], Model | None]
    """The model to ask when that of this provider and name cannot answer; None if there is no other."""
    breaker: Callable[[str], Breaker]
    """How a provider has fared lately, in all sessions together."""
    facts: Facts
    history: tuple[Message, ...]
    options: Json
    schema: Json | None
    """What the answer has to look like; None if it may be anything."""
    media: Media
    max_steps: int
    turn_budget: Budget
    session_budget: Budget
    session_seconds: float
    """What the session's earlier turns took of it."""
    verify: VerifyPolicy
    verify_asks: bool
    """Whether verification needs a person's word, as any other command."""
    review: PatchReviewPolicy
    reviewer: Callable[[], Model] | None = None
    """Who reviews changes; None is the model that answers."""
    delegated: Callable[[], tuple[Usage, Usage]] = lambda: (Usage(), Usage())
    """What workers used or have set aside for them: those of this turn, and those of the whole session."""
    compaction: CompactionPolicy = CompactionPolicy()
    summariser: Callable[[], Model] | None = None
    """Who sums up a conversation that gets too long; None is the model that answers."""
    surroundings: Callable[[], Sequence[str]] | None = None
    """What a person should know of the workspace before anything runs in it, one sentence each."""


class Ports(Struct, frozen=True, kw_only=True):
    """The world, as the loop sees it."""

    journal: Journal
    toolbox: Toolbox
    people: People


class Outcome(Struct, frozen=True, kw_only=True):
    """How the turn ended: answered with a stop reason, or failed with an error."""

    stop_reason: StopReason
    error: ErrorInfo | None = None
    output: Raw | UnsetType = UNSET
    """The answer as JSON, where a schema was asked for."""
    note: str = ""
    """Why it ended before it was done, for people."""
    verification: Verification = "not_run"
    fingerprint: str = ""
    """The files that the verification speaks about."""
    canceled: str = ""
    """Why it was stopped before it began, where that is its end."""
