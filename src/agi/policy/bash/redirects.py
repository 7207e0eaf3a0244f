"""Redirections and here-documents: which files a command opens, and the text it is given.

May import: policy.bash.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from agi.policy.bash.tree import Tree
from agi.policy.bash.values import SimpleCommand, Unreadable, names
from agi.policy.bash.words import Word, Words

if TYPE_CHECKING:
    from tree_sitter import Node

_OVERWRITING = names("> >| >& &>")
_APPENDING = names(">> &>>")
_READING = names("< <&")
_WORDS = names("word string raw_string concatenation number")
_TWICE_SAFE = re.compile(r"[\w./#+,:@-]+")
_DELIMITER = re.compile(rb"\\?([A-Za-z_]\w*)|'([A-Za-z_]\w*)'|\"([A-Za-z_]\w*)\"")
_NAMED = re.compile(rb"\{[A-Za-z_]\w*(?:\[[^\]]*\])?\}$")
_RUNS = re.compile(r"`|\$\(|\$\[|\$\{(?![A-Za-z_]\w*\})|\\$", re.MULTILINE)
"""What is carried out in a here-document whose delimiter is not quoted; also what would hide where it ends."""


class Redirects:
    """Reads the redirections of one line; `read` is given the commands that stand behind a here-document's sign."""

    def __init__(self, tree: Tree, words: Words, read: Callable[[Node], None]) -> None:
        self._tree = tree
        self._words = words
        self._read = read
        self._begun: set[int] = set()

    def take(self, node: Node, command: SimpleCommand) -> list[Word]:
        """Read any redirection; gives the words behind it, which belong to the command."""
        match node.type:
            case "file_redirect":
                return self._file(node, command)
            case "heredoc_redirect":
                return self._document(node, command)
            case "herestring_redirect":
                command.document = self._words.read(self._tree.parts(node)[-1]).text + "\n"
                return []
        raise Unreadable(f"the command holds what is not understood: {node.type}")

    def _file(self, node: Node, command: SimpleCommand) -> list[Word]:
        """The parser counts every word that follows as one more file. `{name}>` sets a variable."""
        if _NAMED.search(self._tree.source[: node.start_byte]):
            raise Unreadable("a redirection sets a variable")
        parts = self._tree.words(node)
        numbered = parts[0].type == "file_descriptor"
        sign = next((part.type for part in parts if not part.is_named), "")
        files = [self._words.read_alone(part) for part in parts[numbered:] if part.is_named]
        if numbered and not self._tree.is_divided(node):
            raise Unreadable("a redirection is not understood")
        if sign in (">&-", "<&-"):
            return files
        if not files:
            raise Unreadable("a redirection leads nowhere")
        if not _is_descriptor(sign, files[0].text):
            _note(sign, files[0].text, command)
        return files[1:]

    def _document(self, node: Node, command: SimpleCommand) -> list[Word]:
        """Its end is looked for as bash does: the first line that is the delimiter."""
        parts = self._tree.parts(node, lines=True)
        sign, start, body, end = parts[0], parts[1], parts[-2], parts[-1]
        delimiter = _DELIMITER.fullmatch(self._tree.raw(start))
        line_end = self._tree.source.find(b"\n", start.end_byte)
        if delimiter is None or line_end < 0 or (body.type, end.type) != ("heredoc_body", "heredoc_end"):
            raise Unreadable("a here-document is not understood")
        if line_end in self._begun or self._tree.source[line_end - 1 : line_end] == b"\\":
            raise Unreadable("a line with a here-document goes on")
        self._begun.add(line_end)
        name = next(group for group in delimiter.groups() if group)
        command.document = self._text(name, line_end + 1, end, tabs=sign.type == "<<-")
        if self._tree.raw(start) == name and _RUNS.search(command.document):
            raise Unreadable("a command stands in a here-document")
        return self._behind(parts[2:-2], command, line_end)

    def _text(self, name: bytes, begin: int, end: Node, *, tabs: bool) -> str:
        source, at = self._tree.source, begin
        while at <= len(source):
            stop = source.find(b"\n", at)
            stop = len(source) if stop < 0 else stop
            line = source[at:stop].lstrip(b"\t") if tabs else source[at:stop]
            if line == name and (end.start_byte, end.end_byte) == (stop - len(line), stop):
                return source[begin:at].decode()
            if line == name:
                break
            at = stop + 1
        raise Unreadable("a here-document is not closed")

    def _behind(self, parts: list[Node], command: SimpleCommand, line_end: int) -> list[Word]:
        """What follows the sign on its line: files, words, and the rest of a pipe or a list."""
        words: list[Word] = []
        for part in parts:
            if part.end_byte > line_end:
                raise Unreadable("a here-document begins in the middle of something")
            if part.type == "file_redirect":
                words += self._file(part, command)
            elif part.type in _WORDS:
                words.append(self._words.read_alone(part))
            elif part.type not in ("&&", "||"):
                self._read(part)
        return words


def _is_descriptor(sign: str, target: str) -> bool:
    """Tell whether `>&` names an open file by its number. bash expands this word twice, so that quotes do not help."""
    if sign not in (">&", "<&"):
        return False
    if target.rstrip("-").isdigit():
        return True
    if not _TWICE_SAFE.fullmatch(target):
        raise Unreadable("a redirection is not understood")
    return False


def _note(sign: str, target: str, command: SimpleCommand) -> None:
    if sign in _OVERWRITING:
        command.overwrites.append(target)
    elif sign in _APPENDING:
        command.appends.append(target)
    elif sign in _READING:
        command.reads.append(target)
    else:
        raise Unreadable("a redirection is not understood")
