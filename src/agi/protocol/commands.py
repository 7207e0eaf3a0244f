"""What clients may ask for: the bodies of requests, validated where they enter. Unknown fields are refused.

May import: protocol.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from agi.protocol.checkpoints import RevertWhat
from agi.protocol.messages import Urgency
from agi.protocol.parts import InputPart, Json
from agi.protocol.policies import Budgets
from agi.protocol.workers import Scope

Path = Annotated[str, Meta(min_length=1, max_length=4096)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Title = Annotated[str, Meta(max_length=500)]
Reason = Annotated[str, Meta(max_length=10_000)]
Prompt = Annotated[str, Meta(max_length=1_000_000)]


class Command(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shape all request bodies share."""


class CreateSession(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Begin a session; `project_path` is another spelling of `workspace_path`."""

    workspace_path: Path | None = None
    project_path: Path | None = None
    title: Title | None = None
    agent: Name | None = None
    provider: Name | None = None
    model: Name | None = None
    system_prompt: Prompt | None = None
    auto_run: bool = True
    budget: Budgets | None = None
    """Limits of its own, in the place of the configured ones."""


class UpdateSession(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Change a session's settings; absent fields stay."""

    title: Title | None = None
    agent: Name | None = None
    provider: Name | None = None
    model: Name | None = None
    budget: Budgets | None = None
    """New limits; a turn that ended because the old ones were used up goes on."""


Client = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9._-]{0,39}$")]
"""What somebody speaks through: `web`, `tui`, `cli`, `chat`, `rpc`, `mcp`, or the name of a program."""


class PostMessage(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Say something: `parts` (answers at once) or `content` (answers when the turn ends); `wait` overrides."""

    role: Literal["user", "system"] = "user"
    parts: Annotated[list[InputPart], Meta(min_length=1, max_length=200)] | None = None
    content: Annotated[str, Meta(min_length=1, max_length=1_000_000)] | None = None
    auto_run: bool | None = None
    wait: bool | None = None
    agent: Name | None = None
    provider: Name | None = None
    model: Name | None = None
    options: Json | None = None
    on_ask: Literal["wait", "deny"] = "wait"
    """Where a person would be asked: wait for an answer, or refuse the call at once."""
    approval_timeout_s: Annotated[float, Meta(gt=0, le=1e9)] | None = None
    """How long a question of this turn waits before it expires, where the settings say nothing."""
    preflight: bool | None = None
    """Whether the agent proposes its steps first and waits for a yes; absent is as configured."""
    mode: Urgency = "queue"
    """While a turn runs: wait for it, be taken up by it at its next step (`steer`), or stop it (`interrupt`)."""
    client: Client | None = None
    """Through what it is said, for those who read along; nothing goes by it."""


class EditMessage(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a message that waits says from now on: `parts` or `content`."""

    parts: Annotated[list[InputPart], Meta(min_length=1, max_length=200)] | None = None
    content: Annotated[str, Meta(min_length=1, max_length=1_000_000)] | None = None


class Approve(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answer a pending approval. `remember` keeps the rules that the request offered, for the session or workspace."""

    tool_call_id: Name
    action: Literal["approve", "deny"]
    cause: Literal["user", "policy"] = "user"
    """Who refuses: a person, or a rule of the client where no person was asked."""
    turn_id: Name | None = None
    reason: Reason = ""
    remember: Literal["once", "session", "workspace", "tool"] = "once"
    """`tool`: every call of that tool for the rest of the session, except what destroys."""
    digest: Annotated[str, Meta(max_length=200)] | None = None
    """The digest of the request that was seen; another one is refused."""
    hunks: Annotated[tuple[Name, ...], Meta(max_length=1000)] | None = None
    """The ids of the hunks that are accepted, of those the request lists; absent is all of them."""
    client: Client | None = None
    """Through what it is answered, for those who read along; nothing goes by it."""


class EditedStep(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step as a person wants it. What is said of one that was proposed, by its `id` or in its words, changes it."""

    description: Annotated[str, Meta(min_length=1, max_length=2000)]
    id: Name | None = None
    tool_name: Name | None = None
    target: Annotated[str, Meta(max_length=10_000)] | None = None
    """The command, file or address it is about; absent is as proposed, empty is any."""
    skip: bool = False
    """Leave it out."""


class ResolvePreflight(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answer a checklist. With `edited_steps` just these are approved; without, all that were proposed."""

    approved: bool
    edited_steps: Annotated[list[EditedStep], Meta(max_length=200)] | None = None
    reason: Reason = ""
    digest: Annotated[str, Meta(max_length=200)] | None = None
    """The digest of the checklist that was seen; another one is refused."""
    cause: Literal["user", "policy"] = "user"
    """Who refuses: a person, or a rule of the client where no person was asked."""


class Cancel(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Stop the running turn and drop the queue, and all workers below; with `turn_id` only that turn."""

    turn_id: Name | None = None
    reason: Reason = ""
    scope: Scope | None = None
    """`turn`: only this session. `children`: the workers below it too. `all`: everybody that works for its root."""


class MoveToBackground(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Let the command of a running call go on as a job; without `tool_call_id`, the only one that runs."""

    tool_call_id: Name | None = None


class Revert(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Go back to the beginning of a turn, to a checkpoint or to the `start`; a `preview` only says what that means."""

    to: Name
    what: RevertWhat = "files"
    preview: bool = False
    paths: Annotated[list[Path], Meta(max_length=10_000)] | None = None
    """Only these files, and those in these folders."""
    force: Annotated[list[Path], Meta(max_length=10_000)] | None = None
    """Files that are put back even if somebody else changed them; each by its own name."""
    plan: Name | None = None
    """The `plan` of a preview: then exactly that is done, or nothing."""


class ForkSession(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Begin another session with what was said in this one: up to a message, a turn or an event, else up to now."""

    message_id: Name | None = None
    """With this message."""
    turn_id: Name | None = None
    """With this turn, to its end."""
    seq: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    """With this event."""
    before: bool = False
    """Without the message, or the turn with the message it answers: to say something else in its place."""
    title: Title | None = None
    agent: Name | None = None
    provider: Name | None = None
    model: Name | None = None


class Compact(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Make the conversation shorter for the model, dwelling on `focus`; or `undo` the last time that was done."""

    focus: Annotated[str, Meta(max_length=2000)] = ""
    undo: bool = False


class OneShotMessage(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message of a one-shot's context."""

    role: Literal["system", "user", "assistant"]
    content: Prompt


class CollectGarbage(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Make room. Limits that are named stand in the place of the configured ones; without any, no session goes."""

    dry_run: bool = False
    """Only say what would go."""
    older_than_days: Annotated[float, Meta(ge=0, le=100_000)] | None = None
    max_bytes: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    keep_sessions: Annotated[int, Meta(ge=0, le=10**9)] | None = None
    """So many of the latest sessions stay in any case."""


class UploadAttachment(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Store a file with a session; `data` is base64."""

    filename: Annotated[str, Meta(min_length=1, max_length=255)]
    mime_type: Annotated[str, Meta(min_length=1, max_length=255)]
    data: str


class OneShot(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask once: a `prompt`, or `messages` of which the last is the user's."""

    prompt: Annotated[str, Meta(min_length=1, max_length=1_000_000)] | None = None
    messages: Annotated[list[OneShotMessage], Meta(min_length=1, max_length=1000)] | None = None
    attachments: Annotated[list[UploadAttachment], Meta(max_length=50)] = []
    """Files that go along with what is asked."""
    agent: Name | None = None
    provider: Name | None = None
    model: Name | None = None
    options: Json | None = None
    on_ask: Literal["wait", "deny"] = "deny"
    """Nobody watches a one-shot unless the client says so."""


class SetTrust(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Trust a workspace as it is now, or stop trusting it."""

    path: Path
    trusted: bool
