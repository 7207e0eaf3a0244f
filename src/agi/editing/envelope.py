"""The patch envelope models write, from `*** Begin Patch` to `*** End Patch`, read into values.

Pure functions on text: where the hunks belong in a file is matching's business. May import: errors, editing.patches.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agi.editing.patches import Add, Delete, Hunk, Line, Section, Update
from agi.errors import Invalid

BEGIN = "*** Begin Patch"
NO_NEWLINE = "\\ No newline at end of file"
_END = "*** End Patch"
_ADD = "*** Add File:"
_DELETE = "*** Delete File:"
_UPDATE = "*** Update File:"
_MOVE = "*** Move to:"
_END_OF_FILE = "*** End of File"
_HINT = "A patch begins with '*** Begin Patch', ends with '*** End Patch', and names a file in each section."


def parse_envelope(lines: list[str]) -> tuple[Section, ...]:
    """Read the lines of an envelope; refuses one that is empty, cut off or not in this form."""
    if not lines or lines[0].strip() != BEGIN:
        raise bad_envelope("The patch does not begin with '*** Begin Patch'.")
    if len(lines) < 2 or lines[-1].strip() != _END:
        raise bad_envelope("The patch does not end with '*** End Patch'; it may have been cut off.")
    sections = tuple(_section(header, body) for header, body in _split(lines[1:-1]))
    if not sections:
        raise bad_envelope("The patch is empty: it names no file.")
    return sections


def bad_envelope(message: str) -> Invalid:
    """Make the error for a patch that cannot be read."""
    return Invalid(message, hint=_HINT, code="patch_invalid")


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
            raise bad_envelope(f"Expected '{_ADD}', '{_UPDATE}' or '{_DELETE}', not {line.strip()[:200]!r}.")
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
        raise bad_envelope(f"'{word}:' names no file.")
    if header.startswith(_UPDATE):
        return _update(path, body)
    while body and not body[-1].strip():
        body.pop()
    if header.startswith(_ADD):
        return Add(path, _added(path, body))
    if body:
        raise bad_envelope(f"Nothing may follow '{_DELETE} {path}'.")
    return Delete(path)


def _added(path: str, body: list[str]) -> str:
    """The content of a new file. A last line of `+` alone says that the file ends with a newline, as it does anyway."""
    ends = not body or body[-1].strip() != NO_NEWLINE
    body = body if ends else body[:-1]
    for line in body:
        if not line.startswith("+"):
            raise bad_envelope(f"Each line of '*** Add File: {path}' must begin with '+', not {line[:200]!r}.")
    lines = [line[1:] for line in body]
    if len(lines) > 1 and not lines[-1].strip("\r"):
        lines.pop()
    content = "".join(line + "\n" for line in lines)
    return content if ends else content.removesuffix("\n")


def _update(path: str, body: list[str]) -> Update:
    move_to = ""
    if body and body[0].strip().startswith(_MOVE):
        move_to = body[0].strip().removeprefix(_MOVE).strip()
        if not move_to:
            raise bad_envelope(f"'{_MOVE}' names no file.")
        body = body[1:]
    hunks = tuple(_hunks(path, _without_names(path, body)))
    if not hunks and not move_to:
        raise bad_envelope(f"'*** Update File: {path}' changes nothing: it has no hunk and no '{_MOVE}'.")
    return Update(path, hunks, move_to)


def _without_names(path: str, body: list[str]) -> list[str]:
    """Drop the two lines with the file's name that a unified diff begins with, where someone wrote them as well."""
    if len(body) < 3 or not body[0].startswith("--- ") or not body[2].startswith("@@"):
        return body
    names = [line[4:].strip() for line in body[:2]]
    known = body[1].startswith("+++ ") and all(name in (path, f"a/{path}", f"b/{path}") for name in names)
    return body[2:] if known else body


def _hunks(path: str, body: list[str]) -> Iterator[Hunk]:
    """Gather lines into hunks; each `@@` and each end-of-file mark closes the one before it."""
    anchors: list[str] = []
    lines: list[Line] = []
    is_open = False
    for raw in [*body, None]:
        if raw is not None and not raw.startswith("@@") and raw.rstrip() != _END_OF_FILE:
            _take(path, raw, lines)
            continue
        if any(not line.bare for line in lines):
            yield Hunk(tuple(anchors), tuple(lines), raw is not None and not raw.startswith("@@"))
            anchors, is_open = [], False
        lines = []
        if raw is not None and raw.startswith("@@"):
            anchors += anchor(raw)
            is_open = True
        elif is_open:
            raise bad_envelope(f"A hunk of '{_UPDATE} {path}' has no lines.")


def anchor(raw: str) -> list[str]:
    """The line an `@@` names, if any; line numbers in the form of a unified diff say nothing reliable."""
    text = raw[2:].rstrip("\r").removeprefix(" ")
    if text.startswith("-") and "@@" in text:
        text = text.partition("@@")[2].removeprefix(" ")
    text = text.removesuffix("@@")
    return [text] if text.strip(" .") else []


def _take(path: str, raw: str, lines: list[Line]) -> None:
    """Read one line. A lone carriage return ends a line too, so a kept or removed line with one is several lines."""
    text = raw.removesuffix("\r")
    if text == NO_NEWLINE and lines:
        lines[-1] = msgspec.structs.replace(lines[-1], ends=False)
    elif not text:
        lines.append(Line(" ", "", bare=True))
    elif text[0] == "+":
        lines.append(Line("+", text[1:]))
    elif text[0] == "-":
        lines += [Line("-", part) for part in text[1:].split("\r")]
    elif text[0] == " ":
        lines += [Line(" ", part) for part in text[1:].split("\r")]
    else:
        raise bad_envelope(f"A line of '{_UPDATE} {path}' must begin with ' ', '-', '+' or '@@', not {raw[:200]!r}.")
