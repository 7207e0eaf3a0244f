"""The shape of a client: the few things a face does with sessions, whichever way they are reached.

How a command travels is the transports' business. May import: errors, protocol, trust.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from agi.client.tools import ToolList
from agi.protocol.checkpoints import Reverted, SessionDiff
from agi.protocol.commands import (
    Approve,
    Cancel,
    CollectGarbage,
    Compact,
    CreateSession,
    EditMessage,
    ForkSession,
    MoveToBackground,
    PostMessage,
    ResolvePreflight,
    Revert,
    SetTrust,
    UpdateSession,
)
from agi.protocol.compaction import Compacted
from agi.protocol.context import ContextReport
from agi.protocol.drafts import PooledAgent
from agi.protocol.events import Event
from agi.protocol.grants import Grant
from agi.protocol.jobs import Job, JobOutput
from agi.protocol.messages import Message
from agi.protocol.search import Found, Search
from agi.protocol.sessions import QueuedMessage, Session
from agi.protocol.skills import SkillList
from agi.protocol.storage import Collected
from agi.trust import TrustReason

UNTOLD = "application/octet-stream"
"""The type of a file that whoever stores it is to find out."""


class Posted(Struct, frozen=True, kw_only=True):
    """A message was added; `turn_id` answers it, if anything does."""

    message_id: str
    turn_id: str | None = None
    queued: bool = False


class Brought(Struct, frozen=True):
    """A file that goes along with the prompt."""

    name: str
    """What it was called."""
    data: bytes


class Attached(Struct, frozen=True, kw_only=True):
    """A file was stored with a session; messages refer to it by `ref`."""

    ref: str
    mime_type: str
    """What it is by its bytes."""
    note: str = ""


class MessagePage(Struct, frozen=True, kw_only=True):
    """Some messages in the order they were said, the latest unless others were asked for."""

    messages: list[Message]
    has_more: bool = False
    """Whether there are earlier ones."""


class Trust(Struct, frozen=True, kw_only=True):
    """How a workspace stands with its user."""

    path: str
    trusted: bool
    reason: TrustReason
    changed: tuple[str, ...] = ()
    """The files that differ from what was trusted."""
    problem: str = ""
    """Why it cannot be trusted at all; empty if it can."""


class ModelPrice(Struct, frozen=True, kw_only=True):
    """What a model costs, in USD for a million tokens; None is unknown."""

    input_usd: float | None = None
    output_usd: float | None = None
    cache_read_usd: float | None = None
    cache_write_usd: float | None = None


class ModelOffer(Struct, frozen=True, kw_only=True):
    """A model that can be asked for, and what is known of it."""

    provider: str
    id: str
    context_window: int | None = None
    max_output_tokens: int | None = None
    price: ModelPrice | None = None
    capabilities: tuple[str, ...] = ()
    note: str = ""


class ModelChoice(Struct, frozen=True, kw_only=True):
    """The model that answers by default, and why."""

    provider: str
    model: str
    reason: str
    because: str


class ModelList(Struct, frozen=True, kw_only=True):
    """The models there are; where none answers by default, `problem` says why."""

    models: tuple[ModelOffer, ...]
    default: ModelChoice | None
    agent: str = ""
    """Whose default it is; a daemon of an older version does not say."""
    problem: str = ""
    notes: tuple[str, ...] = ()
    """Which servers said nothing about their models, one sentence each."""


def end_of(session: Session) -> str:
    """The position right behind everything that has happened in a session, to follow it from there."""
    return f"{session.last_seq}@{session.epoch}"


class Client(Protocol):
    """Sessions, as a face sees them. Every method raises AgiError with the code of what went wrong."""

    @property
    def where(self) -> str:
        """Where the harness runs, for people: a URL, or `this process`."""

    @property
    def notice(self) -> str:
        """What a person should know about how it began; usually nothing."""

    async def create_session(self, command: CreateSession) -> Session:
        """Begin a session."""

    async def fork_session(self, session_id: str, command: ForkSession) -> Session:
        """Begin another session with what was said in this one, up to a point."""

    async def export(self, session_id: str, format: str) -> bytes:
        """A session as one file: `cassette`, `ndjson` or `markdown`."""

    async def update_session(self, session_id: str, command: UpdateSession) -> Session:
        """Change a session's title, agent, model or budget."""

    async def post_message(self, session_id: str, command: PostMessage) -> Posted:
        """Say something; returns at once, the answer is followed."""

    async def queue(self, session_id: str) -> list[QueuedMessage]:
        """The messages that wait, the next one first."""

    async def edit_queued(self, session_id: str, message_id: str, command: EditMessage) -> QueuedMessage:
        """Have a message that waits say something else."""

    async def drop_queued(self, session_id: str, message_id: str) -> None:
        """Take a message out that waits."""

    async def steer_queued(self, session_id: str, message_id: str) -> QueuedMessage:
        """Have the running turn take up a message that waits, at its next step."""

    async def attach(self, session_id: str, filename: str, data: bytes) -> Attached:
        """Store a file with a session; what it is goes by its bytes."""

    def follow(self, session_id: str, after: str = "") -> AsyncGenerator[Event, None]:
        """Events after a position (see `end_of`), past and live, each once, until the session is gone.

        Without a position, from its beginning. Open text comes as `model_output_delta` too, as it is spoken.
        """

    def watch_connection(self, told: Callable[[bool], None]) -> None:
        """Have `told` called with False where a stream of events breaks off, and with True once it goes on."""

    async def approve(self, session_id: str, command: Approve) -> None:
        """Answer a pending approval."""

    async def resolve_preflight(self, session_id: str, turn_id: str, command: ResolvePreflight) -> None:
        """Answer the plan of a turn."""

    async def cancel(self, session_id: str, command: Cancel) -> None:
        """Stop a turn; its end is followed."""

    async def session(self, session_id: str) -> Session:
        """One session."""

    async def sessions(self, *, limit: int = 100) -> list[Session]:
        """Sessions, most recently touched first."""

    async def messages(self, session_id: str) -> list[Message]:
        """Everything that was said in a session, in order."""

    async def message_page(self, session_id: str, *, before: str = "", limit: int = 100) -> MessagePage:
        """The latest messages, or those before the one that is named."""

    async def search(self, asked: Search) -> Found:
        """What was said and done in sessions, by its words."""

    async def delete_session(self, session_id: str) -> None:
        """Remove a session for good."""

    async def collect_garbage(self, command: CollectGarbage) -> Collected:
        """Make room, or say what would go."""

    async def jobs(self, session_id: str) -> list[Job]:
        """What runs in the background, then what ended there last."""

    async def job_output(self, session_id: str, job_id: str, since: int | None = None) -> JobOutput:
        """What a job said since an offset, or its last words."""

    async def stop_job(self, session_id: str, job_id: str) -> Job:
        """End a job."""

    async def move_to_background(self, session_id: str, command: MoveToBackground) -> Job:
        """Let the command of a running call go on as a job."""

    async def pool(self) -> list[PooledAgent]:
        """The drafted agents and workers that are alive."""

    async def diff(self, session_id: str, *, turn: str = "", start: str = "", end: str = "") -> SessionDiff:
        """What a session changed in its files: all of it, in one turn, or between two points."""

    async def revert(self, session_id: str, command: Revert) -> Reverted:
        """Take back what a session did since a point, or say what that would mean."""

    async def compact(self, session_id: str, command: Compact) -> Compacted:
        """Make a conversation shorter for the model, or undo that."""

    async def context(self, session_id: str, *, text: bool = False) -> ContextReport:
        """What a session's model is shown, what was left out and why; with `text`, the very words."""

    async def models(self, *, agent: str = "", provider: str = "", model: str = "") -> ModelList:
        """The models that can be asked for; the default is that of a session which names these."""

    async def tools(self) -> ToolList:
        """The tools agents can be given, and why some of the project's own are not there."""

    async def skills(self) -> SkillList:
        """The skills of the project and the user, and why others do not count."""

    async def trust(self, path: Path) -> Trust:
        """How a workspace stands."""

    async def set_trust(self, command: SetTrust) -> Trust:
        """Trust a workspace as it is now, or no longer."""

    async def grants(self) -> list[Grant]:
        """What was allowed for longer than one call: in every workspace, and in the sessions of this project."""

    async def revoke_grant(self, grant_id: str) -> None:
        """Ask again about what was allowed."""

    async def close(self) -> None:
        """Let go of everything."""
