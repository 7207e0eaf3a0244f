"""One value of a front matter as text: plain, quoted, or a block, as YAML writes them.

A value is what stands behind the key and the indented lines below it. Everything is read in one pass, nothing refers
to anything else, so no text can make it long or large. What YAML can besides (anchors, aliases, tags) is refused.
May import: nothing of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_BLOCK = re.compile(r"([|>])([+-]?[1-9]?|[1-9][+-])(?:[ \t]+#.*)?")
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_CODES = {"x": 2, "u": 4, "U": 8}
_RESERVED = "&*!%@`"
_NOTHING = ("", "~", "null", "Null", "NULL")


class Unreadable(Exception):
    """Why a front matter cannot be read; `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def text_of(value: str, below: Sequence[str]) -> str:
    """The text a value stands for; raises Unreadable if it is a list, a map, or cannot be read."""
    if block := _BLOCK.fullmatch(value):
        return _block(block[1], block[2], below)
    lines = [value, *(line.strip() for line in below)]
    while lines and (not lines[0] or lines[0].startswith("#")):
        del lines[0]
    first = lines[0] if lines else ""
    if first[:1] in ('"', "'"):
        return _quoted("\n".join(lines))
    if (first[:1] and first[0] in "[{") or first[:2] in ("- ", "? ") or first == "-":
        raise Unreadable("it must be a text", "Put the text in quotes.")
    if not value and _is_pair(first):
        raise Unreadable("it must be a text", "Put the text in quotes.")
    if first[:1] and first[0] in _RESERVED:
        raise Unreadable(f"a text cannot begin with {first[0]} here", "Put the text in quotes.")
    text = _folded(map(_uncommented, lines))
    return "" if text in _NOTHING else text


def items_of(value: str, below: Sequence[str]) -> list[str] | None:
    """The texts of a list, written in brackets or by dashes; None if the value is no list."""
    if value.startswith("["):
        return [text_of(item, ()) for item in _between_commas(_unbracketed(" ".join((value, *below)), "]"))]
    lines = [line.strip() for line in below if line.strip() and not line.strip().startswith("#")]
    if value or not lines or not all(line == "-" or line.startswith("- ") for line in lines):
        return None
    return [text_of(line[1:].strip(), ()) for line in lines]


def pairs_of(value: str) -> list[tuple[str, str]]:
    """Keys and values of a map that is written in braces; values as they are written."""
    pairs = (item.partition(":") for item in _between_commas(_unbracketed(value, "}")))
    return [(key.strip().strip("\"'"), rest.strip()) for key, _, rest in pairs]


def _is_pair(line: str) -> bool:
    key, colon, rest = line.partition(":")
    return bool(colon) and key.replace("-", "").replace("_", "").isalnum() and rest[:1] in ("", " ", "\t")


def _uncommented(line: str) -> str:
    if line.startswith("#"):
        return ""
    cut = line.find(" #")
    return (line if cut < 0 else line[:cut]).strip()


def _folded(lines: Iterable[str]) -> str:
    """Lines as one paragraph; an empty line is a line break."""
    return "\n".join(" ".join(part) for part in _paragraphs(lines)).strip()


def _paragraphs(lines: Iterable[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in lines:
        if line:
            parts[-1].append(line)
        else:
            parts.append([])
    return parts


def _block(style: str, marks: str, below: Sequence[str]) -> str:
    """A literal block as it stands, a folded one as paragraphs; how it ends is not kept."""
    lines = [line.rstrip() for line in below]
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines if line), default=0)
    if digit := marks.strip("+-"):
        indent = min(indent, int(digit))
    own = [line[indent:] for line in lines]
    if style == "|":
        return "\n".join(own).strip("\n")
    return _folded(own)


def _quoted(text: str) -> str:
    read, end = (_double if text[0] == '"' else _single)(text)
    rest = text[end:].strip()
    if rest and not rest.startswith("#"):
        raise Unreadable("something stands behind the closing quote")
    return read


def _single(text: str) -> tuple[str, int]:
    at = 1
    while True:
        end = text.find("'", at)
        if end < 0:
            raise Unreadable("a quote is not closed")
        if text[end + 1 : end + 2] != "'":
            return _folded(line.strip() for line in text[1:end].replace("''", "'").split("\n")), end + 1
        at = end + 2


def _double(text: str) -> tuple[str, int]:
    read: list[str] = []
    at = 1
    while at < len(text):
        char = text[at]
        if char == '"':
            return _paired("".join(read)), at + 1
        if char == "\\":
            piece, at = _escaped(text, at + 1)
            read.append(piece)
        elif char == "\n":
            end = at
            while text[end : end + 1] == "\n":
                end += 1
            read.append(" " if end == at + 1 else "\n" * (end - at - 1))
            at = end
        else:
            read.append(char)
            at += 1
    raise Unreadable("a quote is not closed")


def _escaped(text: str, at: int) -> tuple[str, int]:
    sign = text[at : at + 1]
    if sign == "\n":
        return "", at + 1
    if sign in _CODES:
        digits = text[at + 1 : at + 1 + _CODES[sign]]
        try:
            return chr(int(digits, 16)), at + 1 + _CODES[sign]
        except (ValueError, OverflowError):
            raise Unreadable(f"\\{sign}{digits[:8]} is no character") from None
    if sign not in _ESCAPES:
        raise Unreadable(f"\\{sign} means nothing in quotes", "Write \\\\ for a backslash.")
    return _ESCAPES[sign], at + 1


def _paired(text: str) -> str:
    """Put the halves of a character together that was written as two; a half alone is replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unbracketed(text: str, close: str) -> str:
    whole = text.strip()
    if not whole.endswith(close):
        raise Unreadable(f"a {close} is missing")
    return whole[1:-1]


def _between_commas(text: str) -> list[str]:
    """The items of a list or map, split where a comma stands outside quotes and inner brackets."""
    items, start, depth, quote = [], 0, 0, ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        elif char == "," and depth <= 0:
            items.append(text[start:at].strip())
            start = at + 1
    items.append(text[start:].strip())
    return [item for item in items if item]
