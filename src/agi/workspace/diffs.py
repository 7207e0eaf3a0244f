"""Unified diffs of texts, as git writes and applies them, and how much they change.

Pure functions. A text that changed too much to compare line by line is shown as replaced, so that the time stays
bounded. May import: nothing of ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_CONTEXT = 3
_MOST_PAIRS = 500_000
_NO_NEWLINE = "\\ No newline at end of file\n"


class _Span(NamedTuple):
    """A stretch of the old lines and the stretch of new lines in its place."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def unified_diff(path: str, before: str | None, after: str | None, *, new_path: str = "") -> str:
    """Write the change of a file as a diff; None stands for no file, `new_path` for a file that moved."""
    if before == after and not new_path:
        return ""
    old, new = _lines(before or ""), _lines(after or "")
    hunks = [_hunk(old, new, group) for group in _groups(_changes(old, new))]
    return _header(path, new_path or path, before, after, has_hunks=bool(hunks)) + "".join(hunks)


def summary(patch: str) -> dict[str, int]:
    """Count the files, added lines and removed lines of a diff."""
    files = additions = deletions = 0
    old_left = new_left = 0
    for line in patch.split("\n"):
        if old_left > 0 or new_left > 0:
            additions += line[:1] == "+"
            deletions += line[:1] == "-"
            old_left -= line[:1] in ("-", " ")
            new_left -= line[:1] in ("+", " ")
        elif line.startswith("@@ -"):
            old_left, new_left = (_length(part) for part in line.split(" ")[1:3])
        elif line.startswith("diff --git "):
            files += 1
    return {"files": files, "additions": additions, "deletions": deletions}


def _length(span: str) -> int:
    _, comma, length = span.partition(",")
    return int(length) if comma else 1


def _lines(text: str) -> list[str]:
    """Split after newlines only: other separators are part of a line."""
    parts = text.split("\n")
    whole = [part + "\n" for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole


def _header(path: str, new_path: str, before: str | None, after: str | None, *, has_hunks: bool) -> str:
    lines = [f"diff --git {_quoted('a/' + path)} {_quoted('b/' + new_path)}"]
    if before is None:
        lines.append("new file mode 100644")
    if after is None:
        lines.append("deleted file mode 100644")
    if path != new_path:
        lines += [f"rename from {_quoted(path)}", f"rename to {_quoted(new_path)}"]
    if has_hunks:
        lines.append("--- /dev/null" if before is None else f"--- {_quoted('a/' + path)}")
        lines.append("+++ /dev/null" if after is None else f"+++ {_quoted('b/' + new_path)}")
    return "\n".join(lines) + "\n"


def _quoted(path: str) -> str:
    """Quote a name with characters that would break a line of the header, as git does."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    raw = path.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in raw) + '"'


def _changes(old: Sequence[str], new: Sequence[str]) -> list[_Span]:
    """Find what changed, comparing only what lies between the common beginning and the common end."""
    shorter = min(len(old), len(new))
    top = 0
    while top < shorter and old[top] == new[top]:
        top += 1
    bottom = 0
    while bottom < shorter - top and old[-1 - bottom] == new[-1 - bottom]:
        bottom += 1
    whole = _Span(top, len(old) - bottom, top, len(new) - bottom)
    old_rest, new_rest = old[top : whole.old_end], new[top : whole.new_end]
    if not old_rest and not new_rest:
        return []
    if _equal_pairs(old_rest, new_rest) > _MOST_PAIRS:
        return [whole]
    opcodes = SequenceMatcher(None, old_rest, new_rest, autojunk=False).get_opcodes()
    return [_Span(top + a, top + b, top + c, top + d) for tag, a, b, c, d in opcodes if tag != "equal"]


def _equal_pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """How many pairs of equal lines there are, which is what the comparison's time grows with."""
    counts = Counter(new)
    return sum(count * counts[line] for line, count in Counter(old).items())


def _groups(changes: Sequence[_Span]) -> Iterator[list[_Span]]:
    """Put changes together whose surroundings touch."""
    group: list[_Span] = []
    for change in changes:
        if group and change.old_start - group[-1].old_end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[_Span]) -> str:
    above = min(_CONTEXT, group[0].old_start)
    below = min(_CONTEXT, len(old) - group[-1].old_end)
    lines: list[str] = []
    at = group[0].old_start - above
    for span in group:
        lines += [" " + line for line in old[at : span.old_start]]
        lines += ["-" + line for line in old[span.old_start : span.old_end]]
        lines += ["+" + line for line in new[span.new_start : span.new_end]]
        at = span.old_end
    lines += [" " + line for line in old[at : at + below]]
    old_range = _range(group[0].old_start - above, at + below)
    new_range = _range(group[0].new_start - above, group[-1].new_end + below)
    body = "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)
    return f"@@ -{old_range} +{new_range} @@\n{body}"


def _range(start: int, end: int) -> str:
    """A stretch of lines as a hunk header names it: an empty one by the line before it."""
    length = end - start
    return f"{start + 1 if length else start},{length}"
