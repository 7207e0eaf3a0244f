"""Which files a unified diff speaks of: names as diff and git write them, with a prefix or without.

The prefix (`a/`, `b/`) is taken off all names of a patch or off none: whichever way its files are there.
Pure functions. May import: errors, editing.patches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone

from agi.editing.patches import FileDiff, Hunk
from agi.errors import Invalid

_TIME = re.compile(r"(?:\t| )(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.\d+)?(?: ([+-]\d\d)(\d\d))?\s*$")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPE = re.compile(r'\\([0-7]{3}|[abtnvfr"\\])')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


class RawDiff:
    """One file of a diff as its header names it, before it is known what the names mean."""

    def __init__(self) -> None:
        self.git: tuple[str, str] | None = None
        self.old: str | None = None
        self.new: str | None = None
        self.named = False
        self.source = self.target = ""
        self.created = self.deleted = self.copied = False
        self.mode: int | None = None
        self.base = self.result = ""
        self.hunks: list[Hunk] = []

    def goes_by(self, old: str | None, new: str | None) -> bool:
        """Whether these may be this file's names, after what git said of it."""
        if self.git is not None:
            return old in (None, self.git[0]) and new in (None, self.git[1])
        return (old or "").endswith(self.source) and (new or "").endswith(self.target)

    def names(self) -> tuple[str | None, str | None]:
        """The names before and after, as written."""
        old, new = (self.old, self.new) if self.named else self.git or (None, None)
        return (None if self.created else old or new), (None if self.deleted else new or old)


def read_name(text: str) -> str | None:
    """Read a name, which may be quoted or have a time behind it; None for a file that is not there."""
    text = text.rstrip("\r")
    if quoted := _QUOTED.match(text):
        return _unquoted(quoted[1])
    text = _TIME.sub("", text).partition("\t")[0].rstrip()
    return None if text == "/dev/null" else text


def is_epoch(text: str) -> bool:
    """Whether the time behind a name is the beginning of time, by which diff says that there is no file."""
    found = _TIME.search(text.rstrip("\r"))
    if not found:
        return False
    offset = timedelta(hours=int(found[3] or 0), minutes=int((found[3] or "+")[0] + (found[4] or "0")))
    try:
        when = datetime.fromisoformat(f"{found[1]}T{found[2]}").replace(tzinfo=timezone(offset))
    except ValueError:
        return False
    return when.timestamp() == 0


def read_git_names(text: str) -> tuple[str, str] | None:
    """Read both names of git's first line; None where it cannot be told where one ends."""
    text = text.rstrip("\r")
    if text.startswith('"') or text.endswith('"'):
        return _split_quoted(text)
    for at in (found.start() for found in re.finditer(" ", text)):
        one, other = text[:at], text[at + 1 :]
        if one == other or _stripped(one) == _stripped(other) != "":
            return one, other
    return None


def _split_quoted(text: str) -> tuple[str, str] | None:
    if first := _QUOTED.match(text):
        one, rest = _unquoted(first[1]), text[first.end() :].strip()
        return one, read_name(rest) or ""
    one, _, rest = text.partition(' "')
    return one, _unquoted(rest.removesuffix('"'))


def _unquoted(text: str) -> str:
    """Undo git's quoting, in which bytes are written as octal numbers."""
    pieces, at = [], 0
    for found in _ESCAPE.finditer(text):
        code = found[1]
        byte = int(code, 8) & 255 if len(code) == 3 else _ESCAPES[code]
        pieces += [text[at : found.start()].encode("utf-8", "surrogateescape"), bytes([byte])]
        at = found.end()
    return b"".join([*pieces, text[at:].encode("utf-8", "surrogateescape")]).decode("utf-8", "surrogateescape")


def _stripped(name: str) -> str:
    """A name without its first folder; empty if it has none."""
    return name.partition("/")[2].lstrip("/")


def resolve_names(raws: Sequence[RawDiff], exists: Callable[[str], bool]) -> tuple[FileDiff, ...]:
    """Say which file each part of a diff is about."""
    prefixed = _has_prefix(raws, exists)
    return tuple(_resolved(raw, exists, prefixed=prefixed) for raw in raws)


def _has_prefix(raws: Sequence[RawDiff], exists: Callable[[str], bool]) -> bool:
    """Whether names have a prefix: as they look, unless only the other reading names files that are there."""
    likely = any(_looks_prefixed(*raw.names()) for raw in raws)
    changed = [raw.names() for raw in raws if not raw.source and not raw.created]

    def all_there(*, prefixed: bool) -> bool:
        made = {_cut(raw.names()[1], prefixed=prefixed) for raw in raws if raw.created} | {raw.target for raw in raws}
        pairs = ([_cut(name, prefixed=prefixed) for name in names] for names in changed)
        return all(any(name and (name in made or exists(name)) for name in pair) for pair in pairs)

    if all_there(prefixed=likely):
        return likely
    return not likely if all_there(prefixed=not likely) else likely


def _looks_prefixed(old: str | None, new: str | None) -> bool:
    if old is None or new is None:
        return (old or "").startswith("a/") or (new or "").startswith("b/")
    return old != new and _stripped(old) == _stripped(new) != ""


def _cut(name: str | None, *, prefixed: bool) -> str | None:
    if name is None or not prefixed:
        return name
    return _stripped(name) or name


def _resolved(raw: RawDiff, exists: Callable[[str], bool], *, prefixed: bool) -> FileDiff:
    old, new = (_cut(name, prefixed=prefixed) for name in raw.names())
    moved = bool(raw.source and raw.target)
    if moved:
        old, new = raw.source, raw.target
    elif old is not None and new is not None and old != new:
        old = new = _one_of(old, new, exists)
    if old is None and new is None:
        raise _unclear("The patch does not say which file it is about.")
    if not raw.hunks and not moved and raw.mode is None and old is not None and new is not None:
        raise _unclear(f"The patch names {new!r} but changes nothing in it: it has no hunk.")
    return FileDiff(
        old=old,
        new=new,
        hunks=tuple(raw.hunks),
        copied=raw.copied,
        moved=moved,
        mode=raw.mode,
        base=raw.base,
        result=raw.result,
    )


def _one_of(old: str, new: str, exists: Callable[[str], bool]) -> str:
    """Two names for one file, such as `f.orig` and `f`: the one that is there."""
    if exists(old) and exists(new) and not old.startswith(new):
        raise _unclear(f"The patch may be about {old!r} or about {new!r}: both are there.")
    return old if exists(old) and not exists(new) else new


def _unclear(message: str) -> Invalid:
    hint = "Nothing was changed. Name each file with '--- a/path' and '+++ b/path', followed by its hunks."
    return Invalid(message, hint=hint, code="patch_invalid")
