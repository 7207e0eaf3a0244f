"""A checkpoint around every call that may change files: no call with an effect runs unless it can be taken back.

Whether there are checkpoints at all is the configuration's business. May import: errors, protocol, workspace,
checkpoints, editing, tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path

import msgspec

from agi.checkpoints.nodes import counted, is_ignored
from agi.checkpoints.paths import shown
from agi.checkpoints.pruning import prune
from agi.checkpoints.reverting import settle
from agi.checkpoints.store import Store
from agi.checkpoints.tracked import tracked_but_ignored
from agi.checkpoints.tracking import NAMED, Begun, Closed, Tracker
from agi.errors import AgiError
from agi.protocol.checkpoints import ChangeCounts, CheckpointPolicy, Omission
from agi.protocol.events import CheckpointCreated, EventData, Notice
from agi.protocol.ids import CHECKPOINT, new_id
from agi.protocol.tools import ToolCall, ToolDefinition, ToolResult, failed
from agi.tools.threads import in_thread
from agi.workspace.handle import Workspace

NOT_COVERED = "not_covered"
"""The code of the notice that says which files no checkpoint holds."""
IGNORED_CHANGED = "ignored_changed"
JOB_NOT_COVERED = "job_not_covered"
SWITCHED_OFF = "checkpoints_off"
FAILED = "checkpoint_failed"
EXACT = ("apply_patch", "edit", "write_file")
"""The tools that change what they name and nothing else."""
IGNORED_WORDS = "Not covered by undo, since ignore rules leave it out, and changed or gone now: {}."
JOB_WORDS = "Not covered by undo: what a job in the background changes after its call is answered."
NOT_RUN = (
    "It was not run: what the files hold now could not be kept, so it could not have been taken back. {} "
    "Tell the user; reading is still possible."
)


class Checkpoints:
    """Watches one turn's calls."""

    def __init__(
        self,
        *,
        store: Store,
        workspace: Workspace,
        policy: CheckpointPolicy,
        session_id: str,
        turn_id: str,
        note: Callable[[EventData], None],
        was_noticed: Callable[[str], bool] = lambda code: False,
    ) -> None:
        self._tracker = Tracker(store, workspace, policy)
        self._session_id = session_id
        self._turn_id = turn_id
        self._note = note
        self._was_noticed = was_noticed
        self._noticed: set[str] = set()
        self._omitted: tuple[Omission, ...] = ()
        self._why_not: str | None = None
        """Why the workspace is not covered, empty if it is; looked at once a turn."""

    async def around(
        self, call: ToolCall, tool: ToolDefinition, run: Callable[[], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Run a call that may have an effect, between two looks at the workspace."""
        if not self._covers():
            return await run()
        named = named_paths(self._tracker.workspace, call) if tool.name in EXACT else ()
        try:
            also = frozenset() if named else await tracked_but_ignored(self._tracker.store, self._tracker.workspace)
            begun = await in_thread(lambda _: self._begin(call, named, also))
        except AgiError as error:
            return failed(call, NOT_RUN.format(f"{error.message} {error.hint}".strip()))
        self._tell(begun.left_over)
        try:
            result = await run()
            self._tell_of_a_job(result)
            return result
        finally:
            await self._end(begun, call, also)

    def _covers(self) -> bool:
        if self._why_not is None:
            self._why_not = uncovered(self._tracker.workspace.root)
        why = self._why_not
        if why and self._tracker.policy.enabled:
            self._say(SWITCHED_OFF, why)
        return self._tracker.policy.enabled and not why

    def _begin(self, call: ToolCall, named: Sequence[str], also: Collection[str]) -> Begun:
        settle(self._tracker)
        begun = self._tracker.begin(
            id=new_id(CHECKPOINT),
            session=self._session_id,
            turn=self._turn_id,
            call=call.id,
            named=named or None,
            also=also,
        )
        self._omitted = self._tracker.omissions()
        return begun

    async def _end(self, begun: Begun, call: ToolCall, also: Collection[str]) -> None:
        """Look what the call did; where that fails, the step stays open, and a later look closes it."""
        try:
            closed = await in_thread(lambda _: self._close(begun, also))
        except AgiError as error:
            text = f"What {call.name} changed could not be looked at: {error.message} {error.hint}".strip()
            self._note(Notice(code=FAILED, message=text))
            return
        self._tell((closed,) if closed is not None else ())

    def _close(self, begun: Begun, also: Collection[str]) -> Closed | None:
        closed = self._tracker.end(begun.step, also=also)
        self._omitted = self._tracker.omissions()
        if closed is not None:
            prune(self._tracker.store, self._tracker.policy.max_total_bytes, self._session_id, begun.step.workspace)
        return closed

    def _tell(self, closed: Sequence[Closed]) -> None:
        if self._omitted:
            self._say(NOT_COVERED, not_covered(self._omitted, self._tracker.policy))
        for one in closed:
            event = created(one, self._omitted)
            paths = next((omission.paths for omission in event.omitted if omission.code == "ignored"), ())
            if paths:
                self._say(IGNORED_CHANGED, IGNORED_WORDS.format(", ".join(paths)))
            self._note(event)

    def _tell_of_a_job(self, result: ToolResult) -> None:
        """A call is watched until it is answered; what it began may go on."""
        facts = result.result
        if isinstance(facts, dict) and facts.get("job_id") and facts.get("status") != "ended":
            self._say(JOB_NOT_COVERED, JOB_WORDS)

    def _say(self, code: str, message: str) -> None:
        """A notice, once a session."""
        if code not in self._noticed and not self._was_noticed(code):
            self._note(Notice(code=code, message=message))
        self._noticed.add(code)


def created(closed: Closed, omitted: Sequence[Omission] = ()) -> CheckpointCreated:
    """The event that tells of a step; what is ignored and changed in it is told with what is not covered."""
    changes = [one.change for one in closed.changes]
    added, modified, deleted = counted(changes)
    ignored = sorted({shown(one.path) for one in changes if is_ignored(one.before)})
    if ignored:
        omitted = (*omitted, Omission(code="ignored", files=len(ignored), paths=tuple(ignored[:NAMED])))
    return CheckpointCreated(
        checkpoint_id=closed.step.id,
        tool_call_id=closed.step.call,
        cause=closed.step.cause,  # type: ignore[arg-type]  # one of those we wrote
        changes=ChangeCounts(added=added, modified=modified, deleted=deleted),
        omitted=tuple(omitted),
    )


def uncovered(root: Path) -> str:
    """Why a folder is not covered at all; empty if it is."""
    try:
        home = Path.home().resolve()
    except (OSError, RuntimeError):
        home = None
    if root == Path(root.anchor) or (home is not None and home.is_relative_to(root)):
        return f"{root} holds more than a project, so changes in it cannot be taken back with undo."
    return ""


def not_covered(omitted: Sequence[Omission], policy: CheckpointPolicy) -> str:
    """What undo cannot bring back, in words."""
    why = {
        "large": f"over {_size(policy.max_file_bytes)}",
        "over_limit": f"beyond the room for checkpoints ({_size(policy.max_total_bytes)})",
        "unreadable": "not readable",
        "special": "of another kind (pipes, sockets, devices)",
        "other_device": "on another disk",
        "too_many": "in folders with too many names, or more",
        "ignored": "left out by ignore rules",
    }
    told = [f"{one.files} {'file' if one.files == 1 else 'files'} {why[one.code]}" for one in omitted]
    return f"Not covered by undo: {', '.join(told)}."


def named_paths(workspace: Workspace, call: ToolCall) -> tuple[str, ...]:
    """The files a call of a writing tool names: where they really are, and the links that lead there."""
    try:
        asked = msgspec.json.decode(call.input, type=dict[str, object])
        patch, path = asked.get("patch"), asked.get("path")
        texts = [path] if isinstance(path, str) else []
        if isinstance(patch, str):
            from agi.editing.patches import paths_of  # late: only a patch is read so, and every command would wait
            from agi.editing.reading import read_patch

            texts += [one for section in read_patch(patch, workspace.exists) for one in paths_of(section)]
        places = {workspace.locate(text, follow=follow) for text in texts for follow in (True, False)}
    except (AgiError, msgspec.MsgspecError, OSError, RecursionError):
        return ()  # running it will say what is wrong
    return tuple(sorted(place for place in places if not {".git", ".agi"} & set(place.split("/"))))


def _size(count: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} bytes"
