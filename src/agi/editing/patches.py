"""What a patch says, as values, in whichever form it was written. May import: nothing of ours."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Mark = Literal[" ", "-", "+"]


class Line(Struct, frozen=True):
    """A line of a hunk: kept, removed or added."""

    mark: Mark
    text: str
    bare: bool = False
    """It was empty, without even the blank of a kept line: perhaps mere spacing."""
    carriage: bool = False
    """It ended with a carriage return."""
    ends: bool = True
    """Whether it ends at all: a last line may have no newline."""


class Hunk(Struct, frozen=True):
    """A place in a file, told by lines to look for, and what happens there."""

    anchors: tuple[str, ...]
    lines: tuple[Line, ...]
    at_end: bool = False
    start: int | None = None
    """The line it begins at, where line numbers count: in a unified diff."""
    new_start: int = 0
    """The line it begins at afterwards; 0 where that is not said."""
    counted: bool = False
    """Whether its header told its size rightly, so that what it leaves out at its ends is not there either."""


class Add(Struct, frozen=True):
    """A file to be written whole, whatever was there."""

    path: str
    content: str


class Delete(Struct, frozen=True):
    """A file to be deleted, whatever it holds."""

    path: str


class Update(Struct, frozen=True):
    """A file to be changed, moved, or both."""

    path: str
    hunks: tuple[Hunk, ...]
    move_to: str = ""


class FileDiff(Struct, frozen=True, kw_only=True):
    """What a unified diff says of one file, which goes by `old` before and by `new` after; None where there is none."""

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...] = ()
    copied: bool = False
    moved: bool = False
    """It says itself that the name changes: two names without that are two spellings of one."""
    mode: int | None = None
    base: str = ""
    """The beginning of git's name for the content before, and for that after."""
    result: str = ""


Section = Add | Delete | Update | FileDiff


def old_lines(lines: tuple[Line, ...]) -> list[str]:
    """What must be in the file: the kept and the removed lines."""
    return [line.text for line in lines if line.mark != "+"]


def new_lines(lines: tuple[Line, ...]) -> list[str]:
    """What is in the file afterwards: the kept and the added lines."""
    return [line.text for line in lines if line.mark != "-"]


def paths_of(section: Section) -> list[str]:
    """Every path a section speaks of."""
    if isinstance(section, FileDiff):
        return [path for path in (section.old, section.new) if path is not None]
    if isinstance(section, Update) and section.move_to:
        return [section.path, section.move_to]
    return [section.path]
