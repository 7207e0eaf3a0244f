"""The front matter of a SKILL.md: lines between two `---`; the fields we know are read, all else is skipped.

    ---
    name: pdf-forms
    description: Fill in PDF forms. Use when a form is to be filled in.
    ---

A small part of YAML, on purpose: a full reader is a large thing to hand hostile text to. May import: protocol, skills.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from agi.skills.scalars import Unreadable, items_of, pairs_of, text_of

FENCE = "---"
MOST_METADATA = 50
LONGEST_VALUE = 1_000


class FrontMatter(Struct, frozen=True, kw_only=True):
    """What a skill says of itself, nothing of it checked; an empty text is a field that is missing."""

    name: str = ""
    description: str = ""
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    metadata: dict[str, str] = {}


class _Entry(Struct):
    """A key at the margin: what stands behind it, and the lines that belong to it."""

    line: int
    value: str
    below: list[str]


def split(text: str) -> tuple[list[str], str]:
    """The lines of the front matter, and what comes after it; raises Unreadable if there is none."""
    first, _, rest = text.removeprefix("\ufeff").replace("\r\n", "\n").partition("\n")
    if first.rstrip() != FENCE:
        raise Unreadable(
            "It has no front matter.", f"Begin it with a line {FENCE}, then name and description, then {FENCE}."
        )
    at = 0
    while (at := rest.find(FENCE, at)) >= 0:
        end = rest.find("\n", at)
        end = len(rest) if end < 0 else end
        if (at == 0 or rest[at - 1] == "\n") and not rest[at + len(FENCE) : end].strip():
            return rest[:at].split("\n")[:-1], rest[end + 1 :]
        at = end
    raise Unreadable("Its front matter does not end.", f"Close it with a line {FENCE}.")


def read(lines: Sequence[str]) -> FrontMatter:
    """Read the fields; raises Unreadable naming the line. Fields we do not know may hold anything."""
    entries = _entries(lines, first=2)
    return FrontMatter(
        name=_text(entries, "name"),
        description=_text(entries, "description"),
        license=_text(entries, "license"),
        compatibility=_text(entries, "compatibility"),
        allowed_tools=_words(entries.get("allowed-tools")),
        metadata=_map(entries.get("metadata")),
    )


def read_fields(lines: Sequence[str]) -> dict[str, str | tuple[str, ...]]:
    """Every field as a text, or as the texts of a list; raises Unreadable naming the line."""
    read: dict[str, str | tuple[str, ...]] = {}
    entries = _entries(lines, first=2)
    for key, entry in entries.items():
        try:
            items = items_of(entry.value, entry.below)
        except Unreadable as problem:
            raise Unreadable(f"Line {entry.line}, `{key[:80]}`: {problem}.", problem.hint) from None
        read[key] = _text(entries, key) if items is None else tuple(items)
    return read


def _entries(lines: Sequence[str], first: int) -> dict[str, _Entry]:
    """The keys at the margin, each with what belongs to it."""
    found: dict[str, _Entry] = {}
    last: _Entry | None = None
    for number, line in enumerate(lines, first):
        if line.startswith("#"):
            continue
        if not line.strip() or (line[0] == " " and last is not None) or (last is not None and _belongs(line, last)):
            if last is not None:
                last.below.append(line)
            continue
        key, value = _pair(line, number)
        if key in found:
            raise Unreadable(f"Line {number}: {key[:80]!r} stands there twice.", "Remove one of them.")
        last = found[key] = _Entry(number, value, [])
    return found


def _belongs(line: str, last: _Entry) -> bool:
    """Whether a line at the margin goes on with the value before it: an item of a list, or a closing bracket."""
    return (line == "-" or line.startswith("- ")) if not last.value else last.value[0] in "[{" and line[0] in "]}"


def _pair(line: str, number: int) -> tuple[str, str]:
    if line[0] in " \t":
        problem = "begins with a tab" if line[0] == "\t" else "is set in, but belongs to nothing"
        raise Unreadable(f"Line {number} {problem}.", "Begin each field at the margin, and set in with spaces.")
    head, colon, rest = line.partition(": ")
    if not colon and line.rstrip().endswith(":"):
        head, colon, rest = line.rstrip()[:-1], ":", ""
    if not colon or not head.strip():
        raise Unreadable(f"Line {number} is no `key: value`.", "Mend it, or set it in if it belongs to the line above.")
    return head.strip().strip("\"'"), rest.strip()


def _text(entries: dict[str, _Entry], key: str) -> str:
    entry = entries.get(key)
    if entry is None:
        return ""
    try:
        return text_of(entry.value, entry.below)
    except Unreadable as problem:
        raise Unreadable(f"Line {entry.line}, `{key}`: {problem}.", problem.hint) from None


def _words(entry: _Entry | None) -> str:
    """Tools are written as one text or as a list; they are only shown, so nothing here is an error."""
    if entry is None:
        return ""
    try:
        items = items_of(entry.value, entry.below)
        return text_of(entry.value, entry.below) if items is None else ", ".join(items)
    except Unreadable:
        return ""


def _map(entry: _Entry | None) -> dict[str, str]:
    """The texts of a map; what is deeper, or cannot be read, is left out: it is only shown."""
    if entry is None:
        return {}
    try:
        if entry.value.startswith("{"):
            pairs = pairs_of(" ".join((entry.value, *entry.below)))
            inner = {key: _Entry(entry.line, value, []) for key, value in pairs}
        else:
            inner = _entries(_dedented(entry.below), entry.line + 1)
    except Unreadable:
        return {}
    read = {key: _text_or_nothing(one) for key, one in list(inner.items())[:MOST_METADATA]}
    return {key[:80]: text[:LONGEST_VALUE] for key, text in read.items() if text}


def _text_or_nothing(entry: _Entry) -> str:
    try:
        return text_of(entry.value, entry.below)
    except Unreadable:
        return ""


def _dedented(lines: Sequence[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]
