"""The grammar of DOT, as far as it tells a graph from what is none. Pure; bounded in nesting. May import: errors.

graph:    [strict] (graph | digraph) [id] { statements }
statement: node, edge, attributes, id = id, or a subgraph, each with an optional semicolon
"""

from __future__ import annotations

import re
from typing import NoReturn

from agi.errors import Invalid

_DEEPEST = 50
_TOKEN = re.compile(
    r"""(?P<skip>[\s\ufeff]+|//[^\n]*|/\*.*?\*/|^\#[^\n]*)
      | (?P<edge>->|--)
      | (?P<mark>[{}\[\]=;,:+])
      | (?P<number>-?(?:\.\d+|\d+(?:\.\d*)?))
      | (?P<word>[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<html><)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_ANGLES = re.compile("[<>]")
_WORDS = frozenset({"strict", "graph", "digraph", "node", "edge", "subgraph"})


def check_dot(source: str) -> None:
    """Raise Invalid, with the line, for what is no graph in DOT."""
    _Parser(_tokens(source)).graph()


def _tokens(source: str) -> list[tuple[str, str, int]]:
    """Kind, text and line of each token; what is an id is called so."""
    found: list[tuple[str, str, int]] = []
    at, line = 0, 1
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            _refuse(line, f"{source[at : at + 20]!r} cannot stand here")
        end = _html_end(source, at, line) if match["html"] else match.end()
        text = source[at:end]
        kind = match.lastgroup or ""
        if kind == "word" and text.lower() in _WORDS:
            found.append((text.lower(), text, line))
        elif kind in ("edge", "mark"):
            found.append((text, text, line))
        elif kind != "skip":
            found.append(("id", text, line))
        line += text.count("\n")
        at = end
    return found


def _html_end(source: str, at: int, line: int) -> int:
    depth = 0
    for match in _ANGLES.finditer(source, at):
        depth += 1 if match[0] == "<" else -1
        if depth == 0:
            return match.end()
    _refuse(line, "a label that begins with < has no end")


def _refuse(line: int, why: str) -> NoReturn:
    hint = "Correct it and try again; the whole graph stands in braces behind `graph` or `digraph`."
    raise Invalid(f"The DOT source is not valid: line {line}: {why}.", hint=hint, code="diagram_invalid")


class _Parser:
    def __init__(self, tokens: list[tuple[str, str, int]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._edge = ""
        self._depth = 0

    def graph(self) -> None:
        self._take("strict")
        kind = self._expect("graph", "digraph")
        self._edge = "--" if kind == "graph" else "->"
        self._id()
        self._block()
        if self._at < len(self._tokens):
            self._fail("something follows the closing brace")

    def _block(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail(f"subgraphs are nested more than {_DEEPEST} deep")
        self._expect("{")
        while not self._take("}"):
            self._statement()
            self._take(";")
        self._depth -= 1

    def _statement(self) -> None:
        if self._kind() in ("graph", "node", "edge"):
            self._at += 1
            if self._kind() != "[":
                self._fail("attributes in [ ] are missing")
        elif self._kind() in ("subgraph", "{"):
            self._subgraph()
            self._edges()
        else:
            self._nodes()
            if self._take("="):
                self._expect("id")
                return
            self._edges()
        while self._kind() == "[":
            self._attributes()

    def _edges(self) -> None:
        while self._kind() in ("->", "--"):
            if self._kind() != self._edge:
                self._fail(f"edges of this graph are written {self._edge}")
            self._at += 1
            if self._kind() in ("subgraph", "{"):
                self._subgraph()
            else:
                self._nodes()

    def _subgraph(self) -> None:
        if self._take("subgraph"):
            self._id()
        self._block()

    def _nodes(self) -> None:
        """A node with its port, or several behind commas."""
        while True:
            if not self._id():
                self._fail("a node is expected")
            for _ in range(2):
                if self._take(":"):
                    self._expect("id")
            if not self._take(","):
                return

    def _attributes(self) -> None:
        self._expect("[")
        while not self._take("]"):
            if not self._id():
                self._fail("an attribute is expected")
            self._expect("=")
            if not self._id():
                self._fail("a value is missing behind =")
            if not self._take(";"):
                self._take(",")

    def _id(self) -> bool:
        if not self._take("id"):
            return False
        while self._kind() == "+":
            self._at += 1
            self._expect("id")
        return True

    def _kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _take(self, kind: str) -> bool:
        taken = self._kind() == kind
        self._at += taken
        return taken

    def _expect(self, *kinds: str) -> str:
        kind = self._kind()
        if kind not in kinds:
            self._fail(f"{' or '.join(kinds)} is expected".replace("id is", "a name is"))
        self._at += 1
        return kind

    def _fail(self, why: str) -> NoReturn:
        if self._at < len(self._tokens):
            _, text, line = self._tokens[self._at]
            _refuse(line, f"{why}, not {text[:40]!r}")
        _refuse(self._tokens[-1][2] if self._tokens else 1, f"{why}, but the source ends")
