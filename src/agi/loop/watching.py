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
from agi.loop.checking import UNCLEAR, Ran, base_of, changed, judged, outcome_of
from agi.loop.history import calls_of
from agi.policy.detecting import Checks, may_prove
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
        self.touched = self._touched_before()
        """Where in the log the last run is that a call with an effect came after; it shows nothing any more."""

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
            result = await toolbox.use(call)
            if result.changed:
                self._touch()
            return result
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
        result = await toolbox.use(call)
        self._touch()
        return result

    def _touch(self) -> None:
        """A call may have changed something, also what no fingerprint covers."""
        self.touched = max((check.seq for check in self._ports.journal.ledger().checks), default=0)

    def _touched_before(self) -> int:
        """For a turn that goes on after a restart: only the round that was under way then has no call after it."""
        told, over = 0, -1
        for message in self._plan.history:
            if message.turn_id == self._plan.turn_id:
                told += message.origin == "verification"
                over = told if calls_of(message) else over
        if over < 0:
            return 0
        checks = self._ports.journal.ledger().checks
        return max((one.seq for one in checks if one.turn_id != self._plan.turn_id or one.attempt <= over), default=0)

    def _proves(self, asked: _ShellInput) -> bool:
        """Whether a call runs a verification command, and nothing else, where and as we would."""
        here, line = asked.cwd in ("", ".", "./") and not asked.background, _plain(asked.command)
        return here and may_prove(self._plan.verify.commands, line) and line in self.checks().commands

    async def _witness(self, call: ToolCall, asked: _ShellInput) -> ToolResult:
        """Run it, and put what it proves into the log together with its result."""
        before = await self._ports.toolbox.tree()
        result = await self._ports.toolbox.use(call)
        after = await self._ports.toolbox.tree()
        for command, how, text in _runs(result, asked):
            if command in self.checks().commands and not how.get("timed_out"):
                ran = Ran(command=command, how=how, text=text, before=before, after=after, artifacts=result.artifacts)
                self._ports.journal.defer(self._proof(ran, call))
        self.edited = self.edited or before.digest != after.digest
        return result

    def _proof(self, ran: Ran, call: ToolCall) -> VerificationCompleted:
        """What a run by the model shows; before anything was changed, a failure is an old one."""
        done = judged(self._plan, ran, base_of(self._plan, self._ports, ran.command))
        if done.status == "failed" and not self.edited and not self._is_left(ran):
            done = replace(done, pre_existing=True, new=(), reason="" if done.reason == UNCLEAR else done.reason)
        elif done.status == "passed" and ran.altered:
            done = replace(done, fingerprint="", reason=changed(ran.altered))
        return replace(done, verification_id=new_id(CALL), tool_call_id=call.id)

    def _is_left(self, ran: Ran) -> bool:
        """Whether an earlier turn left these files, and nothing shows that its changes are not to blame."""
        ledger = self._ports.journal.ledger()
        found = ledger.find(ran.command, ran.before.digest)
        return ran.before.digest == ledger.left and (found is None or found.is_ours or bool(ledger.before(ran.command)))


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


def _runs(result: ToolResult, asked: _ShellInput) -> list[tuple[str, Json, str]]:
    """The commands a call has run, how each ended, and what it printed."""
    how, text = outcome_of(result), plain_text(list(result.parts))
    if how is not None:
        return [(_plain(asked.command), how, text)]
    listed = result.result.get("commands") if result.result is not UNSET else None
    if not isinstance(listed, list):
        return []
    commands: list[str] = [one["command"] for one in listed]
    return [(command, one, said) for command, one, said in zip(commands, listed, _split(text, commands), strict=True)]


def _split(text: str, commands: list[str]) -> list[str]:
    """What each command printed, as `verify` tells it: behind a line with `$` and the command; else all of it."""
    whole, heads = f"\n{text}", [f"\n$ {command}\n" for command in commands]
    at = [whole.find(head) for head in heads]
    if at != sorted(at) or any(whole.count(head) != 1 for head in heads):
        return [text] * len(commands)
    begins = [place + len(head) for place, head in zip(at, heads, strict=True)]
    return [whole[begin:end] for begin, end in zip(begins, [*at[1:], len(whole)], strict=True)]
