"""Attachments as one model is shown them: the whole request is made to fit what its provider takes, before it is sent.

Pictures are written anew, text files become text, and what cannot be shown is spoken of in its place; the log is not
changed. The same conversation gives the same bytes: where a request gets too full, the older half of its media goes at
once, so that many calls follow before the next goes. To be run in a thread. May import: errors, protocol, media,
models.base, models.media.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agi.errors import Invalid
from agi.media import notes
from agi.media.kept import Kept
from agi.media.pictures import Encoded
from agi.media.sniffing import Kind, is_encrypted, sniff
from agi.media.texts import fenced, text_of
from agi.models.base import ModelRequest
from agi.models.media import MediaLimits
from agi.protocol.messages import Message
from agi.protocol.parts import Audio, File, Image, InputPart, Part, Text, ToolResultPart

Attached = Image | Audio | File
FULL = "one request takes no more attachments; it was shown earlier in the conversation."
TOO_LARGE = "it is larger than all that this provider takes in one request."
LOCKED = "it is protected by a password."


class Shown(Struct, frozen=True):
    """What is sent of one file: its bytes, or words in their place."""

    text: str
    """The words; where there are bytes, those for when there is no room for them."""
    label: str = ""
    """The file in a few words."""
    mime: str = ""
    data: bytes = b""
    size: int = 0


class Showing:
    """One turn's attachments for one model: each file is looked at once, however often the model is asked."""

    def __init__(self, limits: MediaLimits, read: Callable[[str], bytes | None], kept: Kept) -> None:
        self._limits = limits
        self._read = read
        self._kept = kept
        self._looked: dict[str, Shown] = {}

    def fitted(self, request: ModelRequest) -> ModelRequest:
        """The request with every attachment as this model can be shown it."""
        places = list(_places(request.messages))
        dropped = self._dropped([self._look(part) for part in places])
        counter = iter(range(len(places)))
        files: dict[str, bytes] = {}

        def put(part: Attached) -> InputPart:
            at, seen = next(counter), self._look(part)
            if not seen.size or at < dropped:
                return Text(text=seen.text)
            files[part.ref] = self._bytes(part)
            return type(part)(ref=part.ref, mime_type=seen.mime, id=part.id, name=part.name)

        messages = [_replaced(message, put) for message in request.messages]
        if not self._limits.inside_results:
            messages = list(self._after_results(messages))
        self._forget({part.ref for part in places} - files.keys())
        return replace(request, messages=tuple(messages), files=files)

    def _look(self, part: Attached) -> Shown:
        found = self._looked.get(part.ref)
        if found is None:
            data = self._read(part.ref)
            found = self._seen(part, data) if data else Shown(notes.missing(_name(part)))
            self._looked[part.ref] = found
        return found

    def _bytes(self, part: Attached) -> bytes:
        """What is sent; looked at again if it was forgotten."""
        if not self._looked[part.ref].data:
            del self._looked[part.ref]
        return self._look(part).data

    def _forget(self, refs: set[str]) -> None:
        """Let go of bytes that are not sent any more."""
        for ref in refs:
            self._looked[ref] = replace(self._looked[ref], data=b"")

    def _seen(self, part: Attached, data: bytes) -> Shown:
        kind, limits, name = sniff(data), self._limits, _name(part)
        if kind.family == "text":
            return Shown(fenced(name, text_of(data) or "", f"; read_file shows the rest of {part.ref}"))
        if kind.family == "image" and limits.picture is not None:
            try:
                encoded = self._kept.encoded(data, limits.picture)
            except Invalid as error:
                return Shown(notes.not_shown(name, kind, data, error.message))
            return self._sent(name, kind, data, encoded)
        if kind.family == "pdf" and is_encrypted(data):
            return Shown(notes.not_shown(name, kind, data, LOCKED))
        if mime := _taken(kind, part.mime_type, limits):
            return self._sent(name, kind, data, Encoded(data, mime))
        if kind.family == "audio" and limits.audio:
            why = f"of sounds, this model takes {', '.join(mime.removeprefix('audio/') for mime in limits.audio)}."
            return Shown(notes.not_shown(name, kind, data, why))
        return Shown(notes.cannot_take(name, kind, data))

    def _sent(self, name: str, kind: Kind, data: bytes, sent: Encoded) -> Shown:
        if len(sent.data) > self._limits.total:
            return Shown(notes.not_shown(name, kind, data, TOO_LARGE))
        label = notes.described(name, kind, data)
        return Shown(notes.not_shown(name, kind, data, FULL), label, sent.mime, sent.data, len(sent.data))

    def _dropped(self, shown: Sequence[Shown]) -> int:
        """How many of the media, from the oldest, are left out: whenever all is full, all but the newer half."""
        first = size = count = 0
        for at, one in enumerate(shown):
            size, count = size + one.size, count + bool(one.size)
            if size <= self._limits.total and count <= self._limits.count:
                continue
            while first < at and (size > self._limits.total // 2 or count > max(1, self._limits.count // 2)):
                size, count = size - shown[first].size, count - bool(shown[first].size)
                first += 1
        return first

    def _after_results(self, messages: Sequence[Message]) -> Iterator[Message]:
        """Move the media of results behind the last result of their step: some formats take only text in a result."""
        waiting: list[InputPart] = []

        def put_aside(part: Attached) -> InputPart:
            label = self._looked[part.ref].label
            waiting.extend((Text(text=f"[{label}, from the tool result above]"), part))
            return Text(text=f"[{label} follows below]")

        for message in messages:
            if message.role != "tool" and waiting:
                yield _aside(waiting)
                waiting.clear()
            yield _replaced(message, put_aside) if message.role == "tool" else message
        if waiting:
            yield _aside(waiting)


def _name(part: Attached) -> str:
    return notes.name_of(part.ref, part.name)


def _taken(kind: Kind, declared: str, limits: MediaLimits) -> str:
    """The type under which a file is sent as it is; empty if it cannot be."""
    if kind.family == "pdf":
        return kind.mime if limits.pdf else ""
    if kind.family == "audio":
        return kind.mime if kind.mime in limits.audio else ""
    if kind.family == "video":
        return kind.mime if limits.video else ""
    return declared if kind.family == "other" and declared.startswith(limits.documents or "\0") else ""


def _places(messages: Sequence[Message]) -> Iterator[Attached]:
    """Every attachment in the order it is shown, once for every time it is."""
    for message in messages:
        for part in message.parts:
            for one in part.content.parts if isinstance(part, ToolResultPart) else (part,):
                if isinstance(one, Attached):
                    yield one


def _replaced(message: Message, put: Callable[[Attached], InputPart]) -> Message:
    """The message with something else in the place of each attachment."""
    if not any(True for _ in _places((message,))):
        return message
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            shown = tuple(put(one) if isinstance(one, Attached) else one for one in part.content.parts)
            parts.append(replace(part, content=replace(part.content, parts=shown)))
        else:
            parts.append(put(part) if isinstance(part, Attached) else part)
    return replace(message, parts=tuple(parts))


def _aside(parts: Sequence[InputPart]) -> Message:
    return Message(id="", role="user", parts=tuple(parts), created_at="", status="complete", origin="tool_media")
