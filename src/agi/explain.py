"""What is wrong with a value, in plain words: where it stands, what is expected there, and what was found instead.

msgspec's own words name Python's types, show regular expressions raw and quote values, of which one may be a key. What
is expected is read from the type, or from a JSON schema, by going along the error's path. Which file or request it came
in is the caller's to say. Needed only once something is wrong, so to be imported late.
May import: nothing of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

Schema = Mapping[str, object]

FORMS: Mapping[str, str] = MappingProxyType(
    {
        r"^https?://[^\s@]+$": "a URL that begins with http:// or https:// and has no spaces and no `@`",
        r"^https://[a-z0-9.-]+(:[0-9]{1,5})?$": "an origin such as `https://agi.example`, without a path",
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z(,sess_[0-9a-f]{32})?$": (
            "a time such as 2026-01-31T12:00:00.000Z, or the `next` of a page"
        ),
        r"^[^/\s]+/\S+$": "a provider and a model, such as `anthropic/claude-sonnet-4-5`",
        r"^\.?[^\s/@*:\[\]]+(:[0-9]{1,5})?$": "a host, such as `docs.example`, `.example` or `docs.example:8443`",
        "^/": "an absolute path",
        r"^(?!/)(?!(.*/)?\.\.?(/|$))[^\\*\x00]*[^\\/\x00]+$": (
            "a file's name, or a path below the folder; only its last part may have a `*`"
        ),
        "^sess_[0-9a-f]{32}$": "a session's id, `sess_` and 32 hex digits",
        "^msg_[0-9a-f]{32}$": "a message's id, `msg_` and 32 hex digits",
        "^((late:|anew:)?[0-9a-f]{64})?$": "the `head` of a session, 64 hex digits",
        "^[a-z][a-z0-9._-]{0,39}$": "a short name of small letters, digits, `.`, `_` and `-`, such as `my-editor`",
    }
)
"""The patterns we use, in words."""
LONGEST_VALUE = 40
LONGEST_NAME = 100
MOST_NAMES = 30

_PLACE = re.compile(r"(.*?)(?: - at `(key` in `)?\$([^`]*)`)?", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_TYPE = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_VALUE = re.compile(r"Invalid (?:enum )?value (.+)", re.DOTALL)
_BOUND = re.compile(r"Expected `(\w+)` (of length )?([<>])=? (\S+)")
_BYTE = re.compile(r"JSON is malformed: (.*) \(byte (\d+)\)")
_WRONG_FORM = "does not have the required form"
_TYPES = {
    "string": ("str", "a string", "strings"),
    "integer": ("int", "a whole number", "whole numbers"),
    "number": ("float", "a number", "numbers"),
    "boolean": ("bool", "true or false", "booleans"),
    "null": ("null", "null", "nulls"),
    "array": ("array", "an array", "arrays"),
    "object": ("object", "an object", "objects"),
}
"""A schema's types: msgspec's name, one of them, many of them."""
_ONE = {name: one for name, one, _ in _TYPES.values()} | {"float": "a decimal number"}


def explain(error: msgspec.ValidationError, kind: type | Schema, *, quote: bool, at: str = "") -> str:
    """Say what does not fit `kind`, a type or its JSON schema; `at` is where the whole value stands.

    The value itself is told only with `quote`, and only if it is short.
    """
    found = _PLACE.fullmatch(str(error))
    said, of_key, path = found.groups() if found else (str(error), None, None)
    schema: Schema = {} if of_key else kind if isinstance(kind, Mapping) else _schema_of(kind)
    expected = _Expected(schema, path or "")
    place = (at + (path or "").replace("[...]", ".<name>")).removeprefix(".")
    what = _what(said, expected, quote)
    if of_key:
        return f"a key of `{place}`: {what}" if place else f"a key: {what}"
    return f"`{place}`: {what}" if place else what


def where(raw: bytes, error: msgspec.DecodeError | UnicodeDecodeError) -> str:
    """Say what makes `raw` malformed JSON, and in which line and column."""
    what, byte = _malformed(raw, error)
    line = raw.count(b"\n", 0, byte) + 1
    before = raw[raw.rfind(b"\n", 0, byte) + 1 : byte]
    return f"{what} at line {line}, column {len(before.decode(errors='replace')) + 1}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Give the known name that `name` was probably meant to be, or nothing; capitals do not matter."""
    from difflib import get_close_matches  # late: needed only for a typing mistake

    by_small = {each.lower(): each for each in known}
    near = get_close_matches(name[:LONGEST_NAME].lower(), by_small, n=1)
    return by_small[near[0]] if near else ""


def printable(name: str) -> str:
    """A name from a file or a client, short and without anything that could steer a terminal."""
    short = name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…"
    return short if short.isprintable() else ascii(short)[1:-1]


class _Expected:
    """What a schema says at the end of a path: one node, or several where there is a choice."""

    def __init__(self, schema: Schema, path: str) -> None:
        self._definitions = _mapping(schema.get("$defs"))
        self.nodes = self._choices(schema)
        for name, index in _STEP.findall(path):
            self.nodes = self._step(name, index)

    def within(self, name: str) -> str:
        """What is expected of a field, in words."""
        return self.words(self._step(name, ""))

    def fields(self) -> list[str]:
        """The names of the fields there are."""
        return list(dict.fromkeys(name for node in self.nodes for name in _mapping(node.get("properties"))))

    def of_types(self, names: Iterable[str]) -> list[Schema]:
        """The nodes that are among these types of msgspec's."""
        return [node for node in self.nodes if _name(node) in names]

    def words(self, nodes: list[Schema]) -> str:
        """What any of these nodes takes, in words; empty if anything."""
        allowed = [f"`{value}`" for node in nodes for value in _list(node.get("enum"))]
        others = [words for node in nodes if "enum" not in node and (words := self._node(node))]
        return _listed([*dict.fromkeys(allowed), *dict.fromkeys(others)], "or")

    def _choices(self, node: object, seen: frozenset[str] = frozenset()) -> list[Schema]:
        """A node, or those it refers to or leaves the choice between; one that refers to itself adds nothing."""
        node = _mapping(node)
        name = str(node.get("$ref", "")).rpartition("/")[2]
        if name:
            return [] if name in seen else self._choices(self._definitions.get(name), seen | {name})
        choices = _list(node.get("anyOf")) or _list(node.get("oneOf"))
        return [inner for choice in choices for inner in self._choices(choice, seen)] if choices else [node]

    def _step(self, name: str, index: str) -> list[Schema]:
        key = "items" if index.isdigit() else "additionalProperties"
        inner = [_mapping(node.get("properties")).get(name) if name else node.get(key) for node in self.nodes]
        return [choice for node in inner if isinstance(node, Mapping) for choice in self._choices(node)]

    def _node(self, node: Schema) -> str:
        pattern = node.get("pattern")
        if isinstance(pattern, str):
            return FORMS.get(pattern, "a string of the required form")
        words = _TYPES.get(str(node.get("type")), ("", "", ""))[1]
        if node.get("type") == "array":
            many = self._many(self._choices(node.get("items")))
            sized = _sized(node, "minItems", "maxItems", many)
            return words + (sized if sized.startswith(" of ") else f" of {many}{sized}")
        if node.get("type") == "string":
            return words + _sized(node, "minLength", "maxLength", "characters")
        return words + _ranged(node)

    def _many(self, nodes: list[Schema]) -> str:
        """What the entries of an array are."""
        if any("enum" in node for node in nodes):
            return self.words(nodes)
        kinds = {_TYPES[_type(node)][2] if _type(node) else "values" for node in nodes}
        return kinds.pop() if len(kinds) == 1 else "values"


def _what(said: str, expected: _Expected, quote: bool) -> str:
    """Put one of msgspec's sentences into our words."""
    if missing := _MISSING.fullmatch(said):
        words = expected.within(missing[1])
        return f"`{printable(missing[1])}` is missing" + (f"; expected {words}" if words else "")
    if unknown := _UNKNOWN.fullmatch(said):
        return f"`{printable(unknown[1])}` is not known here; {_instead(unknown[1], expected.fields())}"
    if wrong := _TYPE.fullmatch(said):
        names = wrong[1].split(" | ")
        words = expected.words(expected.of_types(names)) or _listed([_ONE.get(name, name) for name in names], "or")
        return f"expected {words}; found {_ONE.get(wrong[2], wrong[2])}"
    if value := _VALUE.fullmatch(said):
        words = expected.words([node for node in expected.nodes if "enum" in node])
        return f"expected {words}; found {_shown(value[1], quote)}" if words else _WRONG_FORM
    if bound := _BOUND.fullmatch(said):
        plain = [{key: value for key, value in node.items() if key != "pattern"} for node in expected.nodes]
        words = expected.words([node for node in plain if _name(node) == bound[1]])
        return f"expected {words}; found {_beyond(bound)}" if words else _plain(said)
    return _other(said, expected, quote)


def _other(said: str, expected: _Expected, quote: bool) -> str:
    """A sentence we do not know: one of a type's own, which may be repeated unless it quotes something."""
    unknown_form = any(node.get("pattern") not in (None, *FORMS) for node in expected.nodes)
    words = expected.words(expected.nodes)
    if words and not unknown_form:
        return f"expected {words}; found {'another string' if said.startswith('Expected `str`') else 'something else'}"
    if unknown_form or (not quote and re.search("['\"]", said)):
        return _WRONG_FORM
    return _plain(said)


def _plain(said: str) -> str:
    """A sentence as it is, but for the names of types."""
    return re.sub(r"`(\w+)`", lambda name: _ONE.get(name[1], name[0]), said[:1].lower() + said[1:])


def _instead(name: str, known: list[str]) -> str:
    if not known:
        return "nothing is expected"
    near = nearest(name, known)
    return f"the nearest is `{near}`" if near else f"known: {_listed([f'`{field}`' for field in known], 'and')}"


def _shown(value: str, quote: bool) -> str:
    is_text = value[:1] in ("'", '"')
    if quote and value.isprintable() and len(value) - 2 * is_text <= LONGEST_VALUE:
        return value
    return "another string" if is_text else "another value"


def _beyond(bound: re.Match[str]) -> str:
    _, of_length, sign, limit = bound.groups()
    if of_length:
        return "an empty one" if (sign, limit) == (">", "1") else "a shorter one" if sign == ">" else "a longer one"
    return "a smaller one" if sign == ">" else "a larger one"


def _malformed(raw: bytes, error: msgspec.DecodeError | UnicodeDecodeError) -> tuple[str, int]:
    """What is wrong, and the offset of the byte where that shows."""
    if isinstance(error, UnicodeDecodeError):
        try:
            raw.decode()
        except UnicodeDecodeError as whole:  # msgspec's own tells the place within one string
            return "bytes that are not UTF-8", whole.start
    found = _BYTE.fullmatch(str(error))
    if found is None:
        return "it ends too early,", len(raw)
    what, byte = found[1], int(found[2])
    return what, byte - 1 if what == "trailing characters" else byte


def _sized(node: Schema, low: str, high: str, unit: str) -> str:
    """The bounds of a length in words, such as ` of 1 to 200 characters`; empty if there are none."""
    least, most = node.get(low) or 0, node.get(high)
    if most is not None:
        return f" of {least} to {most} {unit}" if least else f" of at most {most} {unit}"
    if least == 1:
        return " that is not empty"
    return f" of at least {least} {unit}" if least else ""


def _ranged(node: Schema) -> str:
    """The bounds of a number in words, such as ` from 1 up to 1000`; empty if there are none."""
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "up to", "exclusiveMaximum": "below"}
    bounds = {word: node.get(key) for key, word in words.items()}
    return "".join(f" {word} {limit:.15g}" for word, limit in bounds.items() if isinstance(limit, int | float))


def _listed(items: list[str], conjunction: str) -> str:
    shown = items[:MOST_NAMES] + ["others"] * (len(items) > MOST_NAMES)
    return f" {conjunction} ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def _name(node: Schema) -> str:
    """What msgspec calls a node's type."""
    return _TYPES[_type(node)][0] if _type(node) else ""


def _type(node: Schema) -> str:
    values = _list(node.get("enum"))
    kind = ("string" if isinstance(values[0], str) else "integer") if values else node.get("type")
    return kind if isinstance(kind, str) and kind in _TYPES else ""


def _mapping(value: object) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _schema_of(kind: type) -> Schema:
    return msgspec.json.schema(kind, schema_hook=lambda _: {"description": "Anything."})
