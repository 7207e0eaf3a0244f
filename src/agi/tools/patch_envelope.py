"""The patch envelope models write, from `*** Begin Patch` to `*** End Patch`, as values.

Pure functions on text: this file reads the envelope, patch_match finds the places in a file, and the tool does the I/O.
May import: errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from agi.errors import Invalid

Mark = Literal[" ", "-", "+"]

_BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_ADD = "*** Add File:"
_DELETE = "*** Delete File:"
_UPDATE = "*** Update File:"
_MOVE = "*** Move to:"
_END_OF_FILE = "*** End of File"
_HINT = "A patch begins with '*** Begin Patch', ends with '*** End Patch', and names a file in each section."


class Line(Struct, frozen=True):
    """A line of a hunk: kept, removed or added. `bare` lines were empty, without even the blank of a kept line."""

    mark: Mark
    text: str
    bare: bool = False


class Hunk(Struct, frozen=True):
    """A place in a file, told by lines to look for, and what happens there."""

    anchors: tuple[str, ...]
    lines: tuple[Line, ...]
    at_end: bool = False


class Add(Struct, frozen=True):
    """A file to be written whole."""

    path: str
    content: str


class Delete(Struct, frozen=True):
    """A file to be deleted."""

    path: str


class Update(Struct, frozen=True):
    """A file to be changed, moved, or both."""

    path: str
    hunks: tuple[Hunk, ...]
    move_to: str = ""


Section = Add | Delete | Update


def parse_envelope(patch: str) -> tuple[Section, ...]:
    """Read a patch; refuses one that is empty, cut off or not in this form."""
    lines = _unwrapped(patch)
    if not lines or lines[0].strip() != _BEGIN:
        raise _bad("The patch does not begin with '*** Begin Patch'.")
    if len(lines) < 2 or lines[-1].strip() != _END:
        raise _bad("The patch does not end with '*** End Patch'; it may have been cut off.")
    sections = tuple(_section(header, body) for header, body in _split(lines[1:-1]))
    if not sections:
        raise _bad("The patch is empty: it names no file.")
    return sections


def _unwrapped(patch: str) -> list[str]:
    """The lines of the envelope without blank lines, a markdown fence or a here-document around it."""
    lines = patch.split("\n")
    while True:
        while lines and not lines[0].strip():
            del lines[0]
        while lines and not lines[-1].strip():
            del lines[-1]
        closing = _closing_line(lines[0]) if lines else ""
        if not closing or lines[-1].strip() != closing:
            return lines
        lines = lines[1:-1]


def _closing_line(opening: str) -> str:
    """What ends a wrapper that begins with this line; nothing if it begins none."""
    opening = opening.strip()
    if opening.startswith("```"):
        return "```"
    words = opening.rpartition("<<")[2].split() if "<<" in opening else []
    return words[0].lstrip("-").strip("'\"") if words else ""


def _split(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Cut the lines into sections, each with its header."""
    header, body = "", list[str]()
    for line in lines:
        if _is_header(line, header):
            if header:
                yield header, body
            header, body = line.strip(), []
        elif header:
            body.append(line)
        elif line.strip():
            raise _bad(f"Expected '{_ADD}', '{_UPDATE}' or '{_DELETE}', not {line.strip()[:200]!r}.")
    if header:
        yield header, body


def _is_header(line: str, current: str) -> bool:
    """Headers may be indented, except where an indented line is a line of the file being changed."""
    looked_at = line if current.startswith(_UPDATE) else line.strip()
    return looked_at.startswith((_ADD, _DELETE, _UPDATE))


def _section(header: str, body: list[str]) -> Section:
    word, _, path = header.partition(":")
    path = path.strip()
    if not path:
        raise _bad(f"'{word}:' names no file.")
    if header.startswith(_UPDATE):
        return _update(path, body)
    while body and not body[-1].strip():
        body.pop()
    if header.startswith(_ADD):
        return Add(path, _added(path, body))
    if body:
        raise _bad(f"Nothing may follow '{_DELETE} {path}'.")
    return Delete(path)


def _added(path: str, body: list[str]) -> str:
    """The content of a new file. A last line of `+` alone says that the file ends with a newline, as it does anyway."""
    for line in body:
        if not line.startswith("+"):
            raise _bad(f"Each line of '*** Add File: {path}' must begin with '+', not {line[:200]!r}.")
    lines = [line[1:] for line in body]
    if len(lines) > 1 and not lines[-1].strip("\r"):
        lines.pop()
    return "".join(line + "\n" for line in lines)


def _update(path: str, body: list[str]) -> Update:
    move_to = ""
    if body and body[0].strip().startswith(_MOVE):
        move_to = body[0].strip().removeprefix(_MOVE).strip()
        if not move_to:
            raise _bad(f"'{_MOVE}' names no file.")
        body = body[1:]
    hunks = tuple(_hunks(path, body))
    if not hunks and not move_to:
        raise _bad(f"'*** Update File: {path}' changes nothing: it has no hunk and no '{_MOVE}'.")
    return Update(path, hunks, move_to)


def _hunks(path: str, body: list[str]) -> Iterator[Hunk]:
    """Gather lines into hunks; each `@@` and each end-of-file mark closes the one before it."""
    anchors: list[str] = []
    lines: list[Line] = []
    is_open = False
    for raw in [*body, None]:
        if raw is not None and not raw.startswith("@@") and raw.rstrip() != _END_OF_FILE:
            lines += _hunk_lines(path, raw)
            continue
        if any(not line.bare for line in lines):
            yield Hunk(tuple(anchors), tuple(lines), raw is not None and not raw.startswith("@@"))
            anchors, is_open = [], False
        lines = []
        if raw is not None and raw.startswith("@@"):
            anchors += _anchor(raw)
            is_open = True
        elif is_open:
            raise _bad(f"A hunk of '{_UPDATE} {path}' has no lines.")


def _anchor(raw: str) -> list[str]:
    """The line an `@@` names, if any; line numbers in the form of a unified diff say nothing reliable."""
    text = raw[2:].rstrip("\r")
    text = text.removeprefix(" ")
    if text.startswith("-") and "@@" in text:
        text = text.partition("@@")[2].removeprefix(" ")
    return [text] if text.strip() else []


def _hunk_lines(path: str, raw: str) -> list[Line]:
    """Read one line. A lone carriage return ends a line too, so a kept or removed line with one is several lines."""
    text = raw.removesuffix("\r")
    if not text:
        return [Line(" ", "", bare=True)]
    mark, rest = text[0], text[1:]
    if mark == "+":
        return [Line("+", rest)]
    if mark == "-":
        return [Line("-", part) for part in rest.split("\r")]
    if mark == " ":
        return [Line(" ", part) for part in rest.split("\r")]
    raise _bad(f"A line of '{_UPDATE} {path}' must begin with ' ', '-', '+' or '@@', not {raw[:200]!r}.")


def _bad(message: str) -> Invalid:
    return Invalid(message, hint=_HINT, code="patch_invalid")
