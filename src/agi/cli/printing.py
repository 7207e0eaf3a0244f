"""A turn as it is told at the command line: the answer on stdout, all else on stderr; or every event as a JSON line.

It decides nothing and answers nobody. May import: protocol, cli.
"""

from __future__ import annotations

from typing import Protocol

from agi.cli.calls import output_of, summary, without_ending
from agi.cli.display import Screen, line
from agi.cli.excerpts import Excerpt
from agi.cli.output import STDERR, STDOUT, is_terminal, put, put_bytes, say
from agi.cli.times import local_time
from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.parts import Text
from agi.protocol.tools import ToolKind, ToolResult

LABELS = {
    "scripted": "A script answers, as asked for; it is not an AI model. `agi setup` sets one up.",
    "embedded": "The embedded model {model} answers: fine for looking things up, not for real coding. "
    "`agi setup` sets another up.",
}
"""What nobody may overlook about who answers, by provider."""


class Printer(Protocol):
    """Tells a turn's events."""

    @property
    def tells_all(self) -> bool:
        """Whether it also tells what was written together with the turn's ending."""

    def show(self, event: Event) -> None:
        """Tell one event; raises BrokenPipeError when stdout is no longer read."""

    def note(self, text: str) -> None:
        """Say something of our own, on a line by itself."""

    def finish(self) -> None:
        """Nothing more will come."""


class JsonPrinter:
    """One event a line, as the log has it."""

    tells_all = True

    def show(self, event: Event) -> None:
        """Write the envelope."""
        if event.type == "turn_started" and (text := _label(event.data)):
            say(text)
        put_bytes(event.envelope() + b"\n")

    def note(self, text: str) -> None:
        """Say it on stderr."""
        say(text)

    def finish(self) -> None:
        """There is nothing to finish."""


class TextPrinter:
    """The answer as text, as it comes; what the agent does meanwhile as lines on stderr."""

    tells_all = False

    def __init__(self, *, colors: bool = True) -> None:
        self._screen = Screen() if is_terminal(STDOUT) else None
        self._talks = is_terminal(STDERR)
        self._dims = self._talks and colors
        self._part = ""
        self._told: dict[str, int] = {}
        self._running: dict[str, Excerpt] = {}
        """The output of the commands that run, by the id of their call."""
        self._tail = ""
        """The last two characters on stdout; empty before the first."""

    def show(self, event: Event) -> None:
        """Tell what there is to tell of an event; most have nothing to say here."""
        data = event.data
        if isinstance(data, ev.ModelOutputDelta):
            if data.kind == "text":
                self._speak(data.part_id, data.delta, data.offset)
        elif isinstance(data, ev.ModelOutputCompleted):
            for part in data.message.parts:
                if isinstance(part, Text):
                    self._speak(part.id, part.text, 0)
        else:
            lines = [f"    {one}" for one in self._output(data)]
            if text := self._line(data):
                lines.append(text)
            if lines:
                self._aside("\n".join(lines))

    def note(self, text: str) -> None:
        """Say something of our own, on a line by itself."""
        self._end_line()
        say(text)

    def finish(self) -> None:
        """End the answer with a line break, as every text file does."""
        if self._tail and not self._tail.endswith("\n"):
            self._put("\n")

    def _speak(self, part_id: str, text: str, offset: int) -> None:
        """Write what is new of a part; another part begins a new paragraph."""
        told = self._told.get(part_id, 0)
        text = text[max(0, told - offset) :]
        if not text:
            return
        if part_id != self._part and self._tail:
            self._put("" if self._tail == "\n\n" else "\n" if self._tail.endswith("\n") else "\n\n")
        self._part = part_id
        self._told[part_id] = told + len(text)
        self._put(text)

    def _put(self, text: str) -> None:
        self._tail = (self._tail + text)[-2:]
        put(self._screen.show(text) if self._screen else text)

    def _line(self, data: ev.EventData | None) -> str:
        """What stderr tells of an event."""
        match data:
            case ev.TurnStarted():
                who = f"{line(data.agent)} · {line(data.model)} ({line(data.provider)})"
                return _label(data) or (who if self._talks else "")
            case ev.ToolCallStarted():
                return f"→ {summary(data.tool_call.name, data.tool_call.input)}"
            case ev.ToolCallCompleted():
                return f"✓ {line(data.name)}" if data.tool_result.ok else _failed(data)
            case ev.VerificationStarted():
                return f"→ {'before any change' if data.baseline else 'verify'}: {line(data.command)}"
            case ev.VerificationCompleted():
                return _verified(data)
            case ev.PreflightResolved() if data.approved:
                return (
                    f"✓ plan approved: {len(data.steps)} steps" if len(data.steps) != 1 else "✓ plan approved: 1 step"
                )
            case ev.PatchReviewed() if data.verdict == "accept":  # of the others, what follows from them is told
                return f"✓ reviewed: {line(data.reason, 200)}"
            case ev.Notice():
                return f"note: {line(data.message, 500)}"
            case ev.ModelBackedOff():
                when = local_time(data.resume_at, "%H:%M:%S")
                return f"note: {_sentence(data.reason)} Asked again at {when} (attempt {data.attempt})."
            case ev.ModelSwitched():
                return f"note: {_sentence(data.reason)} {line(data.provider)} ({line(data.model)}) goes on."
            case ev.PartsWithheld():
                return f"note: {len(data.ids)} part(s) of the conversation are left out now: {line(data.reason, 300)}"
            case ev.TurnResumed():
                return "note: the turn was cut off and goes on."
        return ""

    def _output(self, data: ev.EventData | None) -> list[str]:
        """What is to be shown of a command's output now."""
        match data:
            case ev.ToolCallStarted() if data.kind == ToolKind.EXEC:
                self._running[data.tool_call.id] = Excerpt()
            case ev.VerificationStarted():
                self._running[data.verification_id] = Excerpt()
            case ev.ToolOutputDelta() if data.tool_call_id in self._running:
                return self._running[data.tool_call_id].take(data.channel, data.chunk)
            case ev.ToolCallCompleted() if data.tool_call_id in self._running:
                return self._running.pop(data.tool_call_id).rest(_spoken(data.tool_result))
            case ev.VerificationCompleted() if data.verification_id in self._running:
                return self._running.pop(data.verification_id).rest(without_ending(data.output))
        return []

    def _aside(self, text: str) -> None:
        self._end_line()
        say(f"\x1b[2m{text}\x1b[0m" if self._dims else text)

    def _end_line(self) -> None:
        """Where both streams are one screen, begin a line before the other stream speaks."""
        if self._screen and self._talks and self._tail and not self._tail.endswith("\n"):
            self._put("\n")


def _label(data: ev.EventData | None) -> str:
    """Say so where no AI model answers, or one that is easily overrated."""
    return LABELS.get(data.provider, "").format(model=line(data.model)) if isinstance(data, ev.TurnStarted) else ""


def _sentence(text: str) -> str:
    """What a server said, ended as a sentence, since another follows."""
    shown = line(text, 300)
    return shown if shown.endswith((".", "!", "?", "…")) else f"{shown}."


def _spoken(result: ToolResult) -> str:
    """What a command said; nothing where that is only why it failed, which is told in the line of its end."""
    said = output_of(result.parts)
    return "" if said.strip() == result.error.strip() else said


def _failed(data: ev.ToolCallCompleted) -> str:
    why = data.tool_result.error or "it did not succeed"
    return f"✗ {line(data.name)}: {line(why, 200)}"


def _verified(data: ev.VerificationCompleted) -> str:
    """Nothing is said where nothing was to be run, nor of what a call or an earlier turn has told already."""
    if data.known or data.tool_call_id:
        return ""
    command, code = line(data.command), f" (exit {data.exit_code})" if data.exit_code is not None else ""
    match data.status:
        case "passed" if data.reason:
            return f"– {command}: {line(data.reason, 200)}"
        case "passed":
            return f"✓ passes before any change: {command}" if data.baseline else f"✓ verified: {command}"
        case "failed" if data.baseline:
            return f"– fails before any change: {command}{code}"
        case "failed" if data.pre_existing:
            return f"– fails as before: {command}{code}"
        case "failed":
            why = f": {line(data.reason, 200)}" if data.reason else ""
            return f"✗ verification failed: {command}{code}{why}"
    what = "not known what fails before any change" if data.baseline else "not verified"
    return f"– {what}: {line(data.reason, 200)}" if command else ""
