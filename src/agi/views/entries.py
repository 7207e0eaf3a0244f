"""What of an event can be found: a few bounded texts, the same whenever they are asked for.

Text of messages, calls with their arguments, results by their two ends, the files a call names or changed, titles.
Neither pieces of open text nor reasoning, nor what the harness tells of the context. Pure. A change of what comes out
needs a new `search_index.VERSION`.
May import: protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Raw, Struct

from agi.protocol import events as ev
from agi.protocol.context import ORIGIN as CONTEXT
from agi.protocol.events import Event
from agi.protocol.messages import Message, Role
from agi.protocol.parts import Text, ToolCallPart, plain_text
from agi.protocol.search import FoundKind

INDEXED = (
    "session_created",
    "session_updated",
    "message_added",
    "message_edited",
    "model_output_completed",
    "tool_call_completed",
)
MOST_ENTRIES = 256
"""Of one event."""
SAID = (24_000, 8_000)
CALLED = (3_000, 1_000)
RETURNED = (3_000, 1_500)
"""How many characters of the beginning and of the end are indexed."""
MOST_PATHS = 50
LONGEST_PATH = 1_000

_PATH_KEYS = ("path", "file_path", "file", "filename")
_NAMED_IN_PATCH = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ (?:b/)?|--- (?:a/)?)([^\t\n]+)", re.MULTILINE
)
_SAYS_ITS_FILES = frozenset({"write_file", "edit", "apply_patch"})
"""Tools whose calls name the files they change, so that their results need not."""


class Entry(Struct, frozen=True, kw_only=True):
    """One text that can be found, and what it is."""

    kind: FoundKind
    text: str
    role: Role | None = None
    tool: str = ""
    message_id: str | None = None
    call_id: str | None = None
    paths: tuple[str, ...] = ()


def entries_of(event: Event) -> list[Entry]:
    """What of an event can be found; nothing of one that cannot be read."""
    try:
        return list(_entries(event.data))[:MOST_ENTRIES]
    except (msgspec.MsgspecError, RecursionError):
        return []


def _entries(data: ev.EventData | None) -> Iterator[Entry]:
    if isinstance(data, ev.SessionCreated | ev.SessionUpdated):
        if data.title:
            yield Entry(kind="title", text=data.title[: sum(CALLED)])
    elif isinstance(data, ev.MessageAdded):
        yield from _said(data.message)
    elif isinstance(data, ev.MessageEdited):
        yield from _said(Message(id=data.message_id, role="user", parts=data.parts, created_at="", status="complete"))
    elif isinstance(data, ev.ModelOutputCompleted):
        yield from _said(data.message)
        for part in data.message.parts:
            if isinstance(part, ToolCallPart):
                yield from _called(data.message, part)
    elif isinstance(data, ev.ToolCallCompleted):
        yield from _returned(data)


def _said(message: Message) -> Iterator[Entry]:
    if message.origin == CONTEXT:
        return  # maps, lists of files and rules: nobody said them, and they name everything in every session
    text = plain_text(message.parts)
    if text.strip():
        yield Entry(kind="message", text=_ends(text, SAID), role=message.role, message_id=message.id)


def _called(message: Message, part: ToolCallPart) -> Iterator[Entry]:
    call = part.content
    values = list(_strings(_decoded(call.args)))
    text = _ends("\n".join((call.name, *(value for _, value in values))), CALLED)
    known = {"role": message.role, "tool": call.name, "message_id": message.id, "call_id": call.id}
    yield Entry(kind="tool", text=text, **known)  # type: ignore[arg-type]
    if paths := _clean(_named(values)):
        yield Entry(kind="file", text="\n".join(paths), paths=paths, **known)  # type: ignore[arg-type]


def _returned(data: ev.ToolCallCompleted) -> Iterator[Entry]:
    result = data.tool_result
    known = {"role": "tool", "tool": data.name, "message_id": data.message_id, "call_id": data.tool_call_id}
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text)) or result.error
    if text.strip():
        yield Entry(kind="tool", text=_ends(text, RETURNED), **known)  # type: ignore[arg-type]
    patch = result.artifact.patch if result.artifact is not UNSET and data.name not in _SAYS_ITS_FILES else ""
    if paths := _clean(_NAMED_IN_PATCH.findall(patch)):
        yield Entry(kind="file", text="\n".join(paths), paths=paths, **known)  # type: ignore[arg-type]


def _named(values: list[tuple[str, str]]) -> Iterator[str]:
    for key, value in values:
        if key in _PATH_KEYS:
            yield value
        elif key == "patch":
            yield from _NAMED_IN_PATCH.findall(value)


def _clean(paths: Iterator[str] | list[str]) -> tuple[str, ...]:
    shown = (path.strip().removeprefix("./").rstrip("/") for path in paths)
    kept = (path for path in shown if path not in ("", ".", "/dev/null") and len(path) <= LONGEST_PATH)
    return tuple(dict.fromkeys(path for path in kept if path.isprintable()))[:MOST_PATHS]


def _decoded(args: Raw) -> object:
    try:
        return msgspec.json.decode(args)
    except (msgspec.DecodeError, RecursionError):
        return bytes(args).decode(errors="replace")  # nested too deeply, say: a model wrote it


def _strings(value: object, key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text and number of the arguments, with the key it stands under."""
    if isinstance(value, dict) and depth < 8:
        for name, inner in value.items():
            yield from _strings(inner, str(name), depth + 1)
    elif isinstance(value, list) and depth < 8:
        for inner in value:
            yield from _strings(inner, key, depth + 1)
    elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield key, str(value)


def _ends(text: str, most: tuple[int, int]) -> str:
    head, tail = most
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[-tail:]}"
