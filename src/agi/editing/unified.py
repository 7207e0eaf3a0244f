"""Unified diffs, as git, diff and models write them, read into values.

Hunks are read by the sizes their headers tell where these are right, else by what their lines look like; what stands
between files (a commit message, a signature) is passed over. What could be read in two ways is refused.
May import: errors, editing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from agi.editing.diff_names import RawDiff, is_epoch, read_git_names, read_name, resolve_names
from agi.editing.envelope import anchor
from agi.editing.patches import FileDiff, Hunk, Line, Mark
from agi.errors import Invalid

_NUMBERS = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? ?@@")
_INDEX = re.compile(r"index ([0-9a-f]{7,64})\.\.([0-9a-f]{7,64})")
_VERSION = re.compile(r"\d+\.\d+")
_REFUSED = ("GIT binary patch", "Binary files ", "Files ", "diff --cc ", "diff --combined ", "@@@ ", "***************")
_HINT = "Nothing was changed. Write the patch as '*** Begin Patch' … '*** End Patch', or as git writes a diff."


def is_unified(lines: list[str]) -> bool:
    """Whether lines look like a unified diff: somewhere a file is named in its way."""
    return any(_starts_file(lines, at) for at in range(len(lines)))


def parse_unified(lines: list[str], exists: Callable[[str], bool]) -> tuple[FileDiff, ...]:
    """Read a diff of any number of files."""
    if all(line.endswith("\r") for line in lines[:-1] if line):
        lines = [line.removesuffix("\r") for line in lines]  # the patch travelled with other endings than it was made
    return resolve_names(_Reader(lines).files(), exists)


def _starts_file(lines: list[str], at: int) -> bool:
    line = lines[at]
    if line.startswith("diff --git "):
        return True
    return line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


class _Reader:
    """Goes through the lines once."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._files: list[RawDiff] = []

    def files(self) -> list[RawDiff]:
        while (line := self._line()) is not None:
            if _starts_file(self._lines, self._at):
                self._files.append(self._header())
            elif line.startswith("@@") and not line.startswith("@@@"):
                self._hunk()
            elif line.startswith(_REFUSED) and self._files:
                raise bad_diff(f"{line.strip()[:80]!r} cannot be applied: only plain changes of text can.")
            else:
                self._at += 1
        return self._files

    def _line(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _header(self) -> RawDiff:
        raw = RawDiff()
        line = self._lines[self._at]
        if line.startswith("diff --git "):
            raw.git = read_git_names(line.removeprefix("diff --git "))
            self._at += 1
            while (line := self._line() or "") and _take_extended(raw, line.rstrip("\r")):
                self._at += 1
        line = self._line() or ""
        if line.startswith("--- ") and _starts_file(self._lines, self._at):
            old, new = line[4:], self._lines[self._at + 1][4:]
            if not raw.goes_by(read_name(old), read_name(new)):
                return raw  # the names of another file
            raw.old, raw.new = read_name(old), read_name(new)
            raw.created = raw.created or raw.old is None or is_epoch(old)
            raw.deleted = raw.deleted or raw.new is None or is_epoch(new)
            raw.named = True
            self._at += 2
        return raw

    def _hunk(self) -> None:
        if not self._files:
            raise bad_diff("A hunk stands before the name of any file.")
        header = self._lines[self._at].rstrip("\r")
        self._at += 1
        numbers = _NUMBERS.match(header)
        hunk = self._numbered(numbers) if numbers else Hunk(tuple(anchor(header)), tuple(self._uncounted()))
        if not any(not line.bare for line in hunk.lines):
            raise bad_diff(f"The hunk {header[:80]!r} has no lines.")
        adds_only = not any(line.mark != "+" and not line.bare for line in hunk.lines)
        if adds_only and hunk.start is None and not hunk.anchors and not self._files[-1].created:
            raise bad_diff("A hunk only adds lines and does not say where: keep a line before or after them.")
        self._files[-1].hunks.append(hunk)

    def _numbered(self, numbers: re.Match[str]) -> Hunk:
        begin = self._at
        start, new_start = int(numbers[1]), int(numbers[3])
        lines = self._counted(int(numbers[2] or 1), int(numbers[4] or 1))
        if lines is not None:
            return Hunk((), tuple(lines), start=start, new_start=new_start, counted=True)
        self._at = begin
        return Hunk((), tuple(self._uncounted()), start=start, new_start=new_start)

    def _counted(self, old: int, new: int) -> list[Line] | None:
        """Read as many lines as the header tells; None if that does not come out even."""
        lines: list[Line] = []
        while old > 0 or new > 0:
            raw = self._line()
            mark = _mark(raw)
            if raw is None or mark == "":
                return None
            if mark != "\\":
                old -= mark != "+"
                new -= mark != "-"
            _take(raw, lines)
            self._at += 1
        if old < 0 or new < 0:
            return None
        while (self._line() or "").startswith("\\"):
            _take(self._lines[self._at], lines)
            self._at += 1
        if not self._is_over():
            return None
        return [msgspec.structs.replace(line, bare=False) if line.bare else line for line in lines]

    def _uncounted(self) -> list[Line]:
        """Read lines as long as they look like lines of a hunk."""
        lines: list[Line] = []
        while (raw := self._line()) is not None and not raw.startswith("@@") and not self._ends_here():
            if _mark(raw) == "":
                raise bad_diff(f"A line of a hunk must begin with ' ', '-' or '+', not {raw.strip()[:80]!r}.")
            _take(raw, lines)
            self._at += 1
        return lines

    def _is_over(self) -> bool:
        """Whether what follows a hunk, blank lines aside, is no further line of it."""
        here = self._at
        while (line := self._line()) is not None and not line.strip():
            self._at += 1
        over = line is None or line.startswith("@@") or self._ends_here() or _mark(line) == ""
        self._at = here
        return over

    def _ends_here(self) -> bool:
        """Whether the next file begins, or the signature of a mail."""
        if _starts_file(self._lines, self._at) or self._lines[self._at].startswith(("diff ", "Index: ", "```")):
            return True
        after = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        return self._lines[self._at].rstrip("\r") in ("-- ", "--") and _VERSION.match(after) is not None


def _mark(raw: str | None) -> str:
    """The first character of a hunk's line; an empty line is a kept one, and what is no line of a hunk has none."""
    if raw is None:
        return ""
    if raw in ("", "\r"):
        return " "
    return raw[0] if raw[0] in " +-\\" else ""


def _take(raw: str, lines: list[Line]) -> None:
    """Read one line. A lone carriage return ends a line too, so a kept or removed line with one is several lines."""
    if raw.startswith("\\"):
        if lines:
            lines[-1] = msgspec.structs.replace(lines[-1], ends=False)
        return
    carriage = raw.endswith("\r")
    text = raw.removesuffix("\r")
    if not text:
        lines.append(Line(" ", "", bare=True, carriage=carriage))
    elif text[0] == "+":
        lines.append(Line("+", text[1:], carriage=carriage))
    else:
        mark: Mark = "-" if text[0] == "-" else " "
        *inner, last = text[1:].split("\r")
        lines += [*(Line(mark, part) for part in inner), Line(mark, last, carriage=carriage)]


def _take_extended(raw: RawDiff, line: str) -> bool:
    """Read a line of git's header; False if it is none."""
    word, _, value = line.partition(" ")
    if word in ("similarity", "dissimilarity"):
        return True
    if found := _INDEX.match(line):
        raw.base, raw.result = found[1], found[2]
        return True
    if line.startswith(("old mode ", "new mode ", "new file mode ", "deleted file mode ")):
        raw.created = raw.created or line.startswith("new file")
        raw.deleted = raw.deleted or line.startswith("deleted file")
        mode = line.rpartition(" ")[2]
        if mode[:3] != "100":
            raise bad_diff("The patch is about a link or a submodule: only files can be changed.")
        if not line.startswith(("old", "deleted")):
            raw.mode = int(mode[3:], 8) if re.fullmatch(r"[0-7]{3}", mode[3:]) else None
        return True
    if word in ("rename", "copy") and value.startswith(("from ", "to ", "old ", "new ")):
        way, _, name = value.partition(" ")
        raw.copied = word == "copy"
        if way in ("from", "old"):
            raw.source = read_name(name) or ""
        else:
            raw.target = read_name(name) or ""
        return True
    return False


def bad_diff(message: str) -> Invalid:
    """Make the error for a diff that cannot be read."""
    return Invalid(message, hint=_HINT, code="patch_invalid")
