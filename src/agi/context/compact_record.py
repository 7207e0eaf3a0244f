"""The part of a compaction's record that no model wrote: what the log says of requests, files, jobs, the to-do list.

Text of tools and repositories is quoted on one line each, so that none of it can look like a heading of ours. Bounded.
Pure. May import: protocol, views.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeVar

import msgspec
from msgspec import Struct

from agi.protocol.messages import Message
from agi.protocol.parts import plain_text
from agi.views.recorded import Made, Recorded

T = TypeVar("T")
LONGEST_REQUEST = 300
LONGEST_COMMAND = 160
MOST_REQUESTS = 20
MOST_FILES = 60
MOST_COMMANDS = 15
MOST_RECALLED = 20
MOST_TODO = 100
_SIGNS = {"pending": " ", "in_progress": ">", "done": "x"}


class _Item(Struct, frozen=True):
    text: str
    status: str = "pending"


class _Todo(Struct, frozen=True):
    items: tuple[_Item, ...]


class _Arguments(Struct, frozen=True):
    path: str = ""
    command: str = ""


def record_of(found: Recorded, told: Collection[str]) -> str:
    """Put into words what the log says; `told` are the ids of messages and calls that models still see."""
    sections = (
        ("The to-do list", todo_lines(found)),
        ("What the user asked for, oldest first, shortened", _requests(found, told)),
        ("Files changed", _some([f"{_line(path)} ({how})" for path, how in found.changed.items()], MOST_FILES)),
        ("Files read", _some(_read(found), MOST_FILES)),
        ("Commands run last", _some([_line(one, LONGEST_COMMAND) for one in _commands(found)], MOST_COMMANDS)),
        ("Verification", [f"{_line(one.command)}: {'passed' if one.passed else 'failed'}" for one in found.checks]),
        ("Running in the background", [f"{job.id}: {_line(job.command, LONGEST_COMMAND)}" for job in found.jobs]),
        ("Waiting for the user's word", [f"{one.tool_call_id}: {one.name}" for one in found.pending]),
        ("Last calls that recall brings back", _recallable(found, told)),
    )
    return "\n\n".join(f"{head}:\n" + "\n".join(f"- {one}" for one in lines) for head, lines in sections if lines)


def todo_lines(found: Recorded) -> list[str]:
    """The list as it was written last."""
    for call in reversed(found.calls):
        if call.name == "todo" and call.ok:
            items = _read_as(call, _Todo)
            if items is not None:
                return [f"[{_SIGNS.get(one.status, ' ')}] {_line(one.text, 500)}" for one in items.items[:MOST_TODO]]
    return []


def digest_of(messages: Collection[Message]) -> str:
    """What happened, without a model: what was asked, and how each answer began."""
    lines: list[str] = []
    for one in messages:
        text = _line(plain_text(one.parts), LONGEST_REQUEST)
        if text and one.role == "user" and not one.origin:
            lines.append(f"The user: {text}")
        elif text and one.role == "assistant" and one.status == "complete":
            lines.append(f"The agent: {text}")
    return "\n".join(_some(lines, 2 * MOST_REQUESTS))


def _requests(found: Recorded, told: Collection[str]) -> list[str]:
    gone = [_line(text, LONGEST_REQUEST) for id, text in found.asked if id not in told]
    return _some([one for one in gone if one], MOST_REQUESTS)


def _read(found: Recorded) -> list[str]:
    paths: dict[str, None] = {}
    for call in found.calls:
        if call.name == "read_file" and call.ok and (read := _read_as(call, _Arguments)) and read.path:
            paths.pop(read.path, None)
            paths[read.path] = None
    return [_line(path) for path in paths if path not in found.changed]


def _commands(found: Recorded) -> Iterator[str]:
    for call in found.calls:
        if call.name == "shell" and (read := _read_as(call, _Arguments)) and read.command:
            yield f"{read.command}" if call.ok else f"{read.command} (failed)"


def _recallable(found: Recorded, told: Collection[str]) -> list[str]:
    gone = [call for call in found.calls if call.id not in told][-MOST_RECALLED:]
    return [f"{one.id}: {one.name} {_line(bytes(one.args).decode(errors='replace'), 80)}" for one in gone]


def _read_as(call: Made, shape: type[T]) -> T | None:
    try:
        return msgspec.json.decode(call.args, type=shape)
    except (msgspec.DecodeError, RecursionError):
        return None  # whatever it was, the tool refused it too


def _some(lines: list[str], most: int) -> list[str]:
    """The last ones, and how many came before."""
    if len(lines) <= most:
        return lines
    return [f"({len(lines) - most} earlier ones are not listed)", *lines[-most:]]


def _line(text: str, longest: int = 200) -> str:
    """One line without control characters."""
    flat = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * longest]).split())
    return flat if len(flat) <= longest else flat[: longest - 1].rstrip() + "…"
