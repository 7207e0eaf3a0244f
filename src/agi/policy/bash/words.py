"""The words of a shell line: quotes taken off, with a mark for whatever only the shell will know.

The parser is not believed: each piece of a word is looked at again, and must be exactly what bash would take it for, or
the line is unreadable. Commands inside a word are handed to whoever reads the line. May import: policy.bash.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from agi.policy.bash.tree import Tree
from agi.policy.bash.values import DEEPEST, UNKNOWN, Unreadable

if TYPE_CHECKING:
    from tree_sitter import Node

PIPE = "/dev/fd/63"
"""What a program is given in the place of `<(…)`."""
_BARE = re.compile(rb"(?:[^\s;&|()<>'\"`$\\]|\\[^\n])+")
_QUOTED = re.compile(rb'(?:[^"\\`$]|\\[\s\S])*')
_SINGLE = re.compile(rb"'[^']*'")
_ANSI = re.compile(rb"\$'(?:[^'\\]|\\[\s\S])*'")
_VARIABLE = re.compile(rb"\$(?:[A-Za-z_]\w*|[0-9]+|[@*#?$!-])")
_NAME = rb"(?:[A-Za-z_]\w*|[0-9]+|[@*])(?:\[(?:[0-9]+|[@*])\])?"
_VALUE = re.compile(rb"\$\{#?" + _NAME + rb"\}")
_SLICE = re.compile(rb"\$\{" + _NAME + rb":[ ]?-?\w+(?::-?\w+)?\}")
_ALTERED = re.compile(rb"\$\{" + _NAME + rb"(?::?[-=+?]|##?|%%?|//?[#%]?|\^\^?|,,?)")
_INSIDE = re.compile(rb"[^'\"\\`$(){}<>;&|\n]*")
"""What may stand in `${x:-…}` beside further variables and commands: nothing that quotes or ends anything."""
_CALCULATED = re.compile(rb"[\w\s+\-*/%<>=!&|^~?:,()\[\].]*")
_PLAIN_VARIABLE = re.compile(rb"\$(?:[A-Za-z_]\w*|\{#?[A-Za-z_]\w*\})")
_STEPS = re.compile(rb"\{[\w.-]+\}")
_SPECIAL = b"({[\"'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@*#?$!-"
_ESCAPED_IN_QUOTES = '$`"\\'
_WITHIN = frozenset({"simple_expansion", "expansion", "command_substitution"})


class Word(Struct):
    """A word as a program would get it, and which of its characters stood there unquoted."""

    text: str = ""
    shape: str = ""
    """The same, with something else in the place of quoted characters."""

    def add(self, text: str, *, quoted: bool) -> None:
        """Let it grow."""
        self.text += text
        self.shape += "'" * len(text) if quoted else text

    @property
    def is_loose(self) -> bool:
        """Whether the shell may make other words of it, one of which could begin with a dash."""
        patterned = self.shape[:1] in ("*", "?", "[") or (
            self.text[:1] == "-" and any(sign in self.shape for sign in "*?[")
        )
        return UNKNOWN in self.shape or self.text[:1] == UNKNOWN or self.is_braced or patterned

    @property
    def is_braced(self) -> bool:
        """Whether braces in it make several words, each of which may be anything."""
        return "{" in self.shape and ("," in self.shape or ".." in self.shape)


class Words:
    """Reads the words of one line; `enter` is given the substitutions, whose commands belong to the line."""

    def __init__(self, tree: Tree, enter: Callable[[Node], None]) -> None:
        self._source = tree.source
        self._enter = enter
        self._depth = 0
        self.evaluates = False
        """Whether the value of a variable is calculated with."""
        self.sets = False
        """Whether a variable is set where it is used, as by `${x:=…}`."""
        self.holds_code = False
        """Whether text that is only quoted looks like a substitution, as arithmetic would carry out."""

    def read_alone(self, node: Node) -> Word:
        """Read a word that stands by itself; what begins like a comment is one to bash."""
        if self._source[node.start_byte : node.start_byte + 1] == b"#":
            raise Unreadable("a comment is not understood")
        return self.read(node)

    def read(self, node: Node) -> Word:
        """Read one whole word."""
        word = Word()
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unreadable("the command is nested too deeply")
        self._read(node, word)
        self._depth -= 1
        if "$(" in word.text or "`" in word.text:
            self.holds_code = True
        return word

    def _read(self, node: Node, word: Word) -> None:
        match node.type:
            case "word" | "number" | "variable_name":
                self._read_bare(node, word)
            case "raw_string":
                word.add(self._checked(node, _SINGLE)[1:-1].decode(), quoted=True)
            case "string":
                self._read_quoted(node, word)
            case "ansi_c_string":
                self._checked(node, _ANSI)
                self.holds_code = True
                word.add(UNKNOWN, quoted=True)
            case "concatenation":
                self._read_joined(node, word)
            case "brace_expression":
                word.add(self._checked(node, _STEPS).decode(), quoted=False)
            case "$":
                self._read_dollar(node, word, quoted=False)
            case _:
                self._read_expansion(node, word, quoted=False)

    def _read_bare(self, node: Node, word: Word) -> None:
        escaped = False
        for character in self._checked(node, _BARE).decode():
            if character == "\\" and not escaped:
                escaped = True
            else:
                word.add(character, quoted=escaped)
                escaped = False

    def _read_quoted(self, node: Node, word: Word) -> None:
        """Text between double quotes; what the parser leaves out between its pieces is text, too."""
        at = node.start_byte + 1
        word.add("", quoted=True)
        for child in node.children[1:-1]:
            begin = child.start_byte if child.type == "string_content" else self._begin(child)
            self._add_quoted(self._source[at:begin], word)
            if child.type == "string_content":
                self._add_quoted(self._source[child.start_byte : child.end_byte], word)
            elif child.type == "$":
                self._read_dollar(child, word, quoted=True)
            else:
                self._read_expansion(child, word, quoted=True)
            at = child.end_byte
        self._add_quoted(self._source[at : node.end_byte - 1], word)
        ends = (node.children[0].type, node.children[-1].type)
        if ends != ('"', '"'):
            raise Unreadable("a quote is not closed")

    def _add_quoted(self, raw: bytes, word: Word) -> None:
        if not _QUOTED.fullmatch(raw):
            raise Unreadable("a quoted text is not understood")
        text = raw.decode().replace("\\\n", "")
        at = 0
        while at < len(text):
            escapes = text[at] == "\\" and text[at + 1 : at + 2] in tuple(_ESCAPED_IN_QUOTES)
            at += escapes
            word.add(text[at], quoted=True)
            at += 1

    def _read_joined(self, node: Node, word: Word) -> None:
        at = node.start_byte
        for child in node.children:
            if child.start_byte != at:
                raise Unreadable("a word is not in one piece")
            self._read(child, word)
            at = child.end_byte
        if at != node.end_byte:
            raise Unreadable("a word is not in one piece")

    def _read_dollar(self, node: Node, word: Word, *, quoted: bool) -> None:
        """A dollar sign that means itself."""
        after = self._source[node.end_byte : node.end_byte + 1]
        if after and after in _SPECIAL and not (quoted and after in b"\"'"):
            raise Unreadable("a dollar sign is not understood")
        word.add("$", quoted=quoted)

    def _read_expansion(self, node: Node, word: Word, *, quoted: bool) -> None:
        """Note that something unknown stands here, and read the commands that make it."""
        match node.type:
            case "simple_expansion":
                self._checked(node, _VARIABLE)
            case "expansion":
                self._check_value(node)
            case "arithmetic_expansion":
                self._check_arithmetic(node)
            case "command_substitution":
                self._check_substitution(node)
                self._enter(node)
            case "process_substitution" if not quoted:
                self._enter(node)
                word.add(PIPE, quoted=True)
                return
            case other:
                raise Unreadable(f"a word holds what is not understood: {other}")
        word.add(UNKNOWN, quoted=quoted)

    def _check_value(self, node: Node) -> None:
        raw = self._raw(node)
        if _VALUE.fullmatch(raw):
            return
        if _SLICE.fullmatch(raw):
            self.evaluates = self.evaluates or bool(re.search(rb":[ ]?-?[A-Za-z_]", raw))
            return
        head = _ALTERED.match(raw)
        if not head or not raw.endswith(b"}"):
            raise Unreadable("a variable is used in a way that is not understood")
        self.sets = self.sets or head.group().endswith(b"=")
        at = self._begin(node) + head.end()
        for child in _inner(node, at):
            self._check_inside(at, self._begin(child))
            self._read(child, Word())
            at = child.end_byte
        self._check_inside(at, node.end_byte - 1)

    def _check_inside(self, begin: int, end: int) -> None:
        if begin > end or not _INSIDE.fullmatch(self._source[begin:end]):
            raise Unreadable("a variable's default is not understood")

    def _check_arithmetic(self, node: Node) -> None:
        raw = self._raw(node)
        if not (raw.startswith(b"$((") and raw.endswith(b"))")):
            raise Unreadable("arithmetic is not understood")
        self.check_calculation(raw[3:-2])

    def check_calculation(self, raw: bytes) -> None:
        """Look at what stands between `((` and `))`: numbers, operators and names, and nothing that runs."""
        plain = _PLAIN_VARIABLE.sub(b"x", raw)
        depth = 0
        for byte in plain:
            depth += (byte == 0x28) - (byte == 0x29)
            if depth < 0:
                raise Unreadable("arithmetic is not understood")
        if depth or not _CALCULATED.fullmatch(plain):
            raise Unreadable("arithmetic is not understood")
        self.evaluates = self.evaluates or bool(re.search(rb"[A-Za-z_]", plain))

    def _check_substitution(self, node: Node) -> None:
        raw = self._raw(node)
        if raw.startswith(b"`"):
            # Backslashes and further backticks mean something else in there than anywhere else.
            if b"\\" in raw or b"`" in raw[1:-1] or not raw.endswith(b"`") or len(raw) < 2:
                raise Unreadable("backticks are nested")
        elif raw.startswith(b"$((") or not raw.endswith(b")"):
            raise Unreadable("a substitution may be arithmetic")

    def _begin(self, node: Node) -> int:
        """Where a node begins; the parser counts blanks before a variable in a quoted text as part of it."""
        raw = self._source[node.start_byte : node.end_byte]
        return node.end_byte - len(raw.lstrip(b" \t\n")) if raw.strip() else node.start_byte

    def _raw(self, node: Node) -> bytes:
        return self._source[self._begin(node) : node.end_byte]

    def _checked(self, node: Node, shape: re.Pattern[bytes]) -> bytes:
        raw = self._raw(node)
        if not shape.fullmatch(raw):
            raise Unreadable("a word is not understood")
        return raw


def _inner(node: Node, begin: int) -> list[Node]:
    """The variables and commands in a `${…}` behind its operator, wherever the parser has put them."""
    found: list[Node] = []
    for child in node.children:
        if child.start_byte < begin:
            continue
        found += [child] if child.type in _WITHIN else _inner(child, begin)
    return found
