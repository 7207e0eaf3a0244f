"""The tree a parser made of a line, not believed: what it leaves out between its nodes must be blank.

So each byte of the line belongs to a node that somebody looks at, or divides two of them. May import: policy.bash.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from agi.policy.bash.values import Unreadable

if TYPE_CHECKING:
    from tree_sitter import Node

_DIVIDING = (b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")")


class Tree:
    """A line and ways to look at the nodes of its tree."""

    def __init__(self, source: bytes) -> None:
        self.source = source

    def raw(self, node: Node) -> bytes:
        """The bytes a node stands for."""
        return self.source[node.start_byte : node.end_byte]

    def before(self, node: Node) -> bytes:
        """The byte in front of a node; a line break at the beginning."""
        return self.source[node.start_byte - 1 : node.start_byte] if node.start_byte else b"\n"

    def after(self, node: Node) -> bytes:
        """The byte behind a node; empty at the end."""
        return self.source[node.end_byte : node.end_byte + 1]

    def is_divided(self, node: Node) -> bool:
        """Tell whether a new word begins where a node does."""
        return self.before(node) in _DIVIDING

    def parts(self, node: Node, *, lines: bool = False) -> list[Node]:
        """The parts of a node, with nothing but blanks between them; with `lines`, also line breaks."""
        at = node.start_byte
        for child in node.children:
            self.check_blank(at, child.start_byte, lines=lines)
            at = child.end_byte
        self.check_blank(at, node.end_byte, lines=lines)
        return node.children

    def words(self, node: Node, *, lines: bool = False) -> list[Node]:
        """The parts of a node, each divided from the next by a blank unless one of them begins with an operator."""
        parts = self.parts(node, lines=lines)
        for one, two in pairwise(parts):
            free = not (one.is_named and two.is_named) or one.type == "file_descriptor" or _begins_with_operator(two)
            if one.end_byte == two.start_byte and not free:
                raise Unreadable("two words are joined")
        return parts

    def check_blank(self, begin: int, end: int, *, lines: bool = False, also: bytes = b"") -> None:
        """Refuse anything but blanks; a backslash at the end of a line must not join two words."""
        gap = self.source[begin:end]
        plain = gap.replace(b"\\\n", b"")
        if plain.strip(b" \t\n" + also) or (gap and not plain) or (b"\n" in plain and not lines):
            raise Unreadable("the command is not understood")

    def check_comment(self, node: Node) -> None:
        """Refuse a comment that would be none to bash, or would end elsewhere."""
        if not self.is_divided(node) or self.after(node) not in (b"", b"\n"):
            raise Unreadable("a comment is not understood")


def _begins_with_operator(node: Node) -> bool:
    return node.type.endswith("_redirect") and not node.children[0].is_named
