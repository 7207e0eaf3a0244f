"""A turn's tools, watched for what verification needs to know: the first change, and commands that prove something.

Before the first call that may change files, what fails already is found out. A verification command that the model runs
by itself, as a command or by `verify`, is evidence as good as our own run. May import: protocol, policy, loop.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from agi.loop.base import Plan, Ports, Toolbox
from agi.loop.baseline import take_baseline
from agi.loop.checking import Ran, base_of, changed, judged, outcome_of
from agi.policy.detecting import Checks
from agi.protocol.events import Notice, VerificationCompleted
from agi.protocol.ids import CALL, new_id
from agi.protocol.parts import Json, plain_text
from agi.protocol.tools import ToolCall, ToolKind, ToolResult

DETECTED = "verification_detected"
OUR_RUNNERS = frozenset({"shell", "verify"})
"""The tools whose word on how a command ended counts: a project's own could say anything."""
HARMLESS = frozenset({"diagram"})
"""Tools that run a program and change no file of the workspace."""


class _ShellInput(Struct):
    command: str = ""
    cwd: str = "."
    background: bool = False


class Watch:
    """Stands between the turn and its toolbox."""

    def __init__(self, plan: Plan, ports: Ports) -> None:
        self._plan = plan
        self._ports = ports
        self._checks = Checks()
        self.edited = ports.journal.turn().changed
        """Whether a call may have changed files."""

    def ports(self) -> Ports:
        """The world with this in the toolbox's place."""
        return replace(self._ports, toolbox=cast(Toolbox, self))

    def __getattr__(self, name: str) -> Any:
        """Whatever else a toolbox does, the one behind this does."""
        return getattr(self._ports.toolbox, name)

    def checks(self) -> Checks:
        """The verification commands. Once found they stay: a turn cannot do away with what it is measured by."""
        if not self._checks.commands:
            self._checks = self._ports.toolbox.checks()
        return self._checks

    async def announce(self) -> None:
        """Say once in a session which commands were found where none are configured."""
        checks = self.checks()
        if checks.found and not self._ports.journal.was_noticed(DETECTED):
            commands = ", ".join(f"`{command}`" for command in checks.commands)
            text = f"Changes are verified by {commands}, as {', '.join(checks.found)} suggests."
            await self._ports.journal.emit(Notice(code=DETECTED, message=f"{text} `verify.commands` names others."))

    async def use(self, call: ToolCall) -> ToolResult:
        """Run a call; before the first that may change files, find out what fails already."""
        toolbox = self._ports.toolbox
        definition = toolbox.find(call.name)
        if definition is None or definition.kind not in (ToolKind.WRITE, ToolKind.EXEC) or definition.name in HARMLESS:
            return await toolbox.use(call)
        if definition.name in OUR_RUNNERS:
            asked = _shell_input(call)
            if definition.name == "verify" or self._proves(asked):
                return await self._witness(call, asked)
            if _only_looks(asked.command):
                return await toolbox.use(call)
        if not self.edited and self._plan.verify.auto_verify:
            await self.announce()
            await take_baseline(self._plan, self._ports, self.checks().commands)
        self.edited = True
        return await toolbox.use(call)

    def _proves(self, asked: _ShellInput) -> bool:
        """Whether a call runs a verification command, and nothing else, where and as we would."""
        here = asked.cwd in ("", ".", "./") and not asked.background
        return here and bool(asked.command) and _plain(asked.command) in self.checks().commands

    async def _witness(self, call: ToolCall, asked: _ShellInput) -> ToolResult:
        """Run it, and put what it proves into the log together with its result."""
        before = await self._ports.toolbox.tree()
        result = await self._ports.toolbox.use(call)
        after = await self._ports.toolbox.tree()
        text = plain_text(list(result.parts))
        for command, how in _runs(result, asked):
            if command in self.checks().commands and not how.get("timed_out"):
                ran = Ran(command=command, how=how, text=text, before=before, after=after, artifacts=result.artifacts)
                self._ports.journal.defer(self._proof(ran, call))
        self.edited = self.edited or before.digest != after.digest
        return result

    def _proof(self, ran: Ran, call: ToolCall) -> VerificationCompleted:
        """What a run by the model shows; before anything was changed, a failure is an old one."""
        base = base_of(self._plan, self._ports, ran.command)
        done = judged(self._plan, ran, base)
        untouched = not self.edited and not (base and ran.before.digest == self._ports.journal.ledger().left)
        if done.status == "failed" and untouched:
            done = replace(done, pre_existing=True, new=())
        elif done.status == "passed" and ran.altered:
            done = replace(done, fingerprint="", reason=changed(ran.altered))
        return replace(done, verification_id=new_id(CALL), tool_call_id=call.id)


def _shell_input(call: ToolCall) -> _ShellInput:
    try:
        return msgspec.json.decode(call.input, type=_ShellInput)
    except (msgspec.DecodeError, RecursionError):
        return _ShellInput()  # the tool will say what is wrong


def _only_looks(line: str) -> bool:
    from agi.policy.looking import only_looks  # late: only a command needs it

    return only_looks(line)


def _plain(command: str) -> str:
    """The command without what changes nothing about how it ends."""
    return command.strip().removesuffix("2>&1").rstrip()


def _runs(result: ToolResult, asked: _ShellInput) -> list[tuple[str, Json]]:
    """The commands a call has run, and how each ended."""
    how = outcome_of(result)
    if how is not None:
        return [(_plain(asked.command), how)]
    listed = result.result.get("commands") if result.result is not UNSET else None
    return [(one["command"], one) for one in listed] if isinstance(listed, list) else []
