"""A session's messages and events, folded into the entries of a transcript. Pure: no client, no screen.

Pages of messages bring what was; events bring what happens. Hearing something twice changes nothing, so both may
overlap. How the session stands is `standing`'s business. May import: protocol, tui.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import UNSET

from agi.protocol import events as ev
from agi.protocol.context import ORIGIN as CONTEXT
from agi.protocol.events import Event
from agi.protocol.messages import Message
from agi.protocol.parts import ErrorPart, Reasoning, Text, ToolCallPart, ToolResultContent, ToolResultPart
from agi.tui.calls import about, outcome, said_by
from agi.tui.endings import ending
from agi.tui.entries import Aside, Call, Entry, Said, Thought, Told, Tone
from agi.tui.times import clock

CUT = {
    "canceled": "canceled here",
    "interrupted": "cut off here: the process stopped",
    "error": "cut off here: the model failed",
    "max_tokens": "cut off here: the model's limit",
}
"""What is said of an answer that is not whole, by how it ended."""


class Conversation:
    """The transcript of one session, as far as it is known here."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._by_id: dict[str, Entry] = {}
        self._known: set[str] = set()
        self._parts: dict[str, list[str]] = {}
        self._speaker = ""
        self._agent = ""
        """Who answers, as far as a turn was heard to begin."""
        self._told = 0
        self._queued: set[str | None] = set()
        """The turns that have not begun."""
        self.waiting: dict[str, str] = {}
        """What was said and waits for its turn, by the id of its message."""
        self.prompts: list[str] = []
        """What the user said, in order."""
        self.oldest = ""
        """The earliest message that is here."""

    def load(self, messages: Sequence[Message], *, queued: Collection[str] = ()) -> None:
        """Add messages at the end, those that wait for their turn aside."""
        if messages and not self.oldest:
            self.oldest = messages[0].id
        for message in messages:
            if message.id in queued:
                self._wait(message, message.turn_id)
            else:
                self._add(message)

    def prepend(self, messages: Sequence[Message]) -> int:
        """Add earlier messages; gives how many entries that makes."""
        earlier = Conversation()
        earlier.load(messages)
        self.oldest = earlier.oldest or self.oldest
        for entry in earlier.entries:
            late = self._by_id.get(entry.id)
            if isinstance(entry, Call) and isinstance(late, Call):  # its result stands on a later page
                late.about = entry.about
                late.touch()
        found = [entry for entry in earlier.entries if entry.id not in self._by_id]
        self.entries[:0] = found
        self._by_id.update((entry.id, entry) for entry in found)
        self._known |= earlier._known
        self.prompts[:0] = earlier.prompts
        return len(found)

    def tell(self, text: str, tone: Tone = "plain") -> Told:
        """Add a word of our own."""
        self._told += 1
        entry = Told(f"told-{self._told}", text, tone=tone)
        self._put(entry)
        self._speaker = ""
        return entry

    def find(self, id: str) -> Entry | None:
        """An entry by its id: a call, or a part of a message."""
        return self._by_id.get(id)

    def hear(self, event: Event) -> bool:
        """Take notice of an event; tells whether anything is to be drawn anew."""
        match event.data:
            case ev.MessageAdded(message=message, run=run, queued=queued):
                if queued and run and message.id not in self._known:
                    self._wait(message, event.turn_id)
                    return True
                return self._add(message)
            case ev.MessageEdited(message_id=message_id, parts=parts):
                if message_id in self.waiting:
                    self.waiting[message_id] = _said(parts)
                return True
            case ev.MessageSteered(message_id=message_id):
                return self._begin(event, message_id)
            case ev.TurnStarted(message_id=message_id, agent=agent):
                self._agent = agent
                self._queued.discard(event.turn_id)
                return self._begin(event, message_id)
            case ev.ModelOutputDelta() as data:
                return self._delta(event, data)
            case ev.ModelOutputCompleted(message=message):
                return self._add(message)
            case ev.ToolCallStarted(tool_call=call):
                entry = self._call(call.id, call.name, bytes(call.input))
                if entry.state in ("asked", "waiting"):
                    entry.state = "running"
                    entry.touch()
                return True
            case ev.ToolOutputDelta() as data:
                running = self._by_id.get(data.tool_call_id)
                if isinstance(running, Call) and running.state == "running":
                    running.hear(data.chunk)
                    return True
                return False
            case ev.ToolCallCompleted() as data:
                return self._completed(data)
            case ev.ApprovalRequested() | ev.ApprovalGranted() | ev.ApprovalDenied() as data:
                return self._asked(data)
            case _:
                return self._end(event)

    def _add(self, message: Message) -> bool:
        if message.id in self._known and message.status == "complete" and message.id not in self._parts:
            return False
        live = [self._by_id.pop(id) for id in self._parts.pop(message.id, ()) if id in self._by_id]
        for entry in live:
            self.entries.remove(entry)
        self._known.add(message.id)
        self.waiting.pop(message.id, None)
        head = live[0].head if live else self._head(message)
        if message.role == "user" and not message.origin:
            self.prompts.append(_text(message))
        for number, part in enumerate(message.parts):
            if self._part(message, part, part.id or f"{message.id}:{number}", head):
                head = ""
        if message.role == "assistant" and message.stop_reason in CUT and self.entries:
            last = self.entries[-1]
            if isinstance(last, Said) and not last.by_user:
                last.note = CUT[message.stop_reason]
                last.touch()
        return True

    def _part(self, message: Message, part: object, id: str, head: str) -> bool:
        """Add one part; tells whether it made an entry."""
        match part:
            case Text(text=text) if message.origin == CONTEXT:
                self._put(Aside(id, text, by_user=True))
            case Text(text=text) if text.strip():
                self._put(Said(id, text, head=head, by_user=message.role == "user"))
            case Reasoning(text=text) if text.strip():
                self._put(Thought(id, text, head=head))
            case ToolCallPart(content=called):
                self._call(called.id, called.name, bytes(called.args), head=head)
            case ToolResultPart(content=content):
                self._result(content)
                return False
            case ErrorPart(content=content):
                self._put(Told(id, content.message, tone="bad"))
            case Text() | Reasoning():
                return False
            case _:
                name = getattr(part, "name", "") or getattr(part, "ref", "")
                self._put(Said(id, f"[{getattr(part, 'mime_type', 'file')}: {name}]", head=head, by_user=True))
        return True

    def _wait(self, message: Message, turn_id: str | None) -> None:
        self.waiting[message.id] = _text(message)
        self._queued.add(turn_id)

    def _begin(self, event: Event, message_id: str) -> bool:
        """A message that waited is taken up, by its own turn or by the one that runs."""
        self._speaker = ""
        text = self.waiting.pop(message_id, None)
        if text is None or message_id in self._known:
            return False
        self._known.add(message_id)
        self.prompts.append(text)
        self._put(Said(message_id, text, head=f"you · {clock(event.ts)}", by_user=True))
        return True

    def _delta(self, event: Event, data: ev.ModelOutputDelta) -> bool:
        if data.message_id in self._known:
            return False
        entry = self._by_id.get(data.part_id)
        if not isinstance(entry, Said):
            kind = Thought if data.kind == "reasoning" else Said
            head = f"{self._agent or 'agent'} · {clock(event.ts)}" if self._speaker != "agent" else ""
            self._speaker = "agent"
            entry = kind(data.part_id, "", head=head, live=True)
            self._put(entry)
            self._parts.setdefault(data.message_id, []).append(data.part_id)
        entry.put(data.delta, data.offset)
        return True

    def _call(self, id: str, name: str, given: bytes, *, head: str = "") -> Call:
        entry = self._by_id.get(id)
        if not isinstance(entry, Call):
            entry = Call(id, name, about(given), head=head)
            self._put(entry)
        return entry

    def _completed(self, data: ev.ToolCallCompleted) -> bool:
        entry = self._by_id.get(data.tool_call_id)
        if not isinstance(entry, Call):
            return False
        told = data.tool_result
        self._close(entry, told.ok, told.error, said_by(told.parts), told.result, told.artifact)
        entry.seconds = data.duration_ms / 1000
        if data.blocked:
            entry.state = "refused"
        elif data.interrupted:
            entry.state = "interrupted"
        return True

    def _result(self, content: ToolResultContent) -> None:
        entry = self._by_id.get(content.id)
        if not isinstance(entry, Call):
            entry = Call(content.id, content.name, "")
            self._put(entry)
        if entry.state in ("asked", "waiting", "running"):
            self._close(entry, content.ok, content.error, said_by(content.parts), content.result, content.artifact)

    def _close(self, entry: Call, ok: bool, error: str, output: str, result: object, artifact: object) -> None:
        entry.telling, entry.patch = outcome(
            ok=ok,
            error=error,
            result=result if isinstance(result, dict) else UNSET,
            artifact=artifact,  # type: ignore[arg-type]  # as the result has it
            output=output,
        )
        entry.state = "ok" if ok else "failed"
        entry.replace_output(output)

    def _asked(self, data: ev.ApprovalRequested | ev.ApprovalGranted | ev.ApprovalDenied) -> bool:
        if isinstance(data, ev.ApprovalRequested):
            entry = self._call(data.tool_call_id, data.name, bytes(data.input))
        else:
            found = self._by_id.get(data.tool_call_id)
            if not isinstance(found, Call):
                return False
            entry = found
        if entry.state in ("asked", "waiting"):
            entry.state = "waiting" if isinstance(data, ev.ApprovalRequested) else "asked"
            entry.touch()
        return True

    def _end(self, event: Event) -> bool:
        if isinstance(event.data, ev.TurnCanceled) and event.turn_id in self._queued:
            self._queued.discard(event.turn_id)
            return True  # it never began: its row goes, and nothing is said of it
        if isinstance(event.data, ev.TurnCanceled | ev.TurnFailed | ev.TurnCompleted):
            for entry in self.entries[-100:]:
                if isinstance(entry, Said) and entry.live:
                    entry.live = False
                    entry.touch()
        said = ending(event)
        if said is None:
            return False
        id = f"event-{event.seq}"
        if id not in self._by_id:
            self._put(Told(id, said[0], tone=said[1]))
        return True

    def _head(self, message: Message) -> str:
        if message.role == "tool":
            return ""
        aside = f"agi ({message.origin.replace('_', ' ')})" if message.origin else ""
        name = aside or (message.agent or "agent" if message.role == "assistant" else "you")
        speaker = "agent" if message.role == "assistant" else message.id
        head = f"{name} · {clock(message.created_at)}" if self._speaker != speaker else ""
        self._speaker = speaker
        return f"{head} · taken back" if message.reverted and head else head

    def _put(self, entry: Entry) -> None:
        if entry.id not in self._by_id:
            before = self.entries[-1] if self.entries else None
            entry.gap = not entry.head and before is not None and isinstance(before, Call) != isinstance(entry, Call)
            self.entries.append(entry)
            self._by_id[entry.id] = entry


def _text(message: Message) -> str:
    return _said(message.parts)


def _said(parts: Sequence[object]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))
