"""Simple commands: assignments, words, declarations and tests; what is not certain makes the line unreadable.

May import: policy.bash.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from agi.policy.bash.redirects import Redirects
from agi.policy.bash.tree import Tree
from agi.policy.bash.values import UNKNOWN, SimpleCommand, Unreadable, names
from agi.policy.bash.words import Word, Words

if TYPE_CHECKING:
    from tree_sitter import Node

PATTERN = re.compile(rb"[^\s;&|()<>'\"`$\\]+")
"""A pattern, or a name, with nothing in it that quotes or ends anything."""
_REGEX = re.compile(rb"(?:[^\s;&<>'\"`$\\]|\\[^\n]|\$(?=[)|]|$))+")
_RESERVED = names("! { } [[ ]] if then elif else fi do done while until for select case esac in function coproc")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_ELEMENT = re.compile(rb"[A-Za-z_]\w*\[[0-9]+\]")
_COMPARING = names("-eq -ne -lt -le -gt -ge -v -R")
_EVALUATING = names(
    "test [ [[ printf read unset declare typeset local export readonly let mapfile readarray wait getopts"
)
"""Builtins that carry out a substitution in the name of a variable, even a quoted one."""
_CHANGING = names("alias enable bind complete compgen")
_CHANGING_BY_OPTION = names("hash mapfile readarray shopt")
_HARMLESS_SET = names("-e -u -x -o +e +u +x +o -eu -ex -eux -euo -exo -euxo errexit nounset xtrace pipefail")


class Simple:
    """Reads the simple commands of one line; `end` is given each when it is whole."""

    def __init__(self, tree: Tree, words: Words, redirects: Redirects, end: Callable[[SimpleCommand], None]) -> None:
        self._tree = tree
        self._words = words
        self._redirects = redirects
        self._give = end

    def command(self, node: Node) -> None:
        """A program with its arguments."""
        command = SimpleCommand([])
        named = False
        for part in self._tree.words(node):
            if part.type == "variable_assignment" and not named:
                command.assigns.append(self._assignment(part)[0])
            elif part.type.endswith("_redirect"):
                add_words(command, self._redirects.take(part, command))
            elif part.type == "command_name":
                named = True
                self._check_reserved(node, part)
                add_words(command, [self._words.read_alone(part.children[0])])
            elif named:
                add_words(command, [self._words.read_alone(part)])
            else:
                raise Unreadable(f"the command holds what is not understood: {part.type}")
        self.end(command)

    def end(self, command: SimpleCommand) -> None:
        """Hand a command on, unless it could change what other words of the line mean."""
        words = _without_builtin(command.words)
        name, text = words[0] if words else "", "\n".join(words[1:])
        if name in _EVALUATING and any(sign in text for sign in ("$(", "`", "${")):
            raise Unreadable(f"{name} could run what is quoted")
        by_option = name in _CHANGING_BY_OPTION and any(word[:1] in ("-", "\0") for word in words[1:])
        if name in _CHANGING or by_option or (name == "set" and not _HARMLESS_SET.issuperset(words[1:])):
            raise Unreadable(f"{name} could change what the rest of the line means")
        self._give(command)

    def assignments(self, node: Node) -> None:
        """Variables that are set for the rest of the line."""
        parts = [node] if node.type == "variable_assignment" else self._tree.words(node)
        self.end(SimpleCommand([], assigns=[self._assignment(part)[0] for part in parts]))

    def declaration(self, node: Node) -> None:
        """`export`, `declare`, `unset` and their like."""
        keyword, *parts = self._tree.words(node)
        command = SimpleCommand([keyword.type])
        for part in parts:
            if part.type == "variable_assignment":
                name, value = self._assignment(part)
                command.assigns.append(name)
                command.words.append(f"{name}={value}")
            else:
                add_words(command, [self._words.read_alone(part)])
        if any(word[:1] == "-" and "i" in word for word in command.words[1:]):
            self._words.evaluates = True
        self.end(command)

    def test(self, node: Node) -> None:
        """`[ … ]`, `[[ … ]]` and `(( … ))`."""
        opening, closing = node.children[0], node.children[-1]
        if opening.type == "((":
            self._words.check_calculation(self._tree.raw(node)[2:-2])
            return
        if opening.type not in ("[", "[[") or (self._tree.after(opening) + self._tree.before(closing)).strip(b" \t"):
            raise Unreadable("a test is not understood")
        command = SimpleCommand([opening.type])
        for part in self._tree.parts(node)[1:-1]:
            self._test_part(part, command)
        command.words.append(closing.type)
        self.end(command)

    def _test_part(self, node: Node, command: SimpleCommand) -> None:
        raw, doubled = self._tree.raw(node), command.words[0] == "[["
        if node.type.endswith("_expression"):
            for part in self._tree.parts(node):
                self._test_part(part, command)
        elif node.type in ("regex", "extglob_pattern"):
            if not doubled or not (_REGEX if node.type == "regex" else PATTERN).fullmatch(raw):
                raise Unreadable("a pattern is not understood")
            command.words.append(raw.decode())
        elif node.type == "test_operator" or not node.is_named:
            if not doubled and any(byte in raw for byte in b"<>&|();"):  # to `[`, these are no operators
                raise Unreadable("a test is not understood")
            self._words.evaluates = self._words.evaluates or (doubled and raw.decode() in _COMPARING)
            command.words.append(raw.decode())
        else:
            add_words(command, [self._words.read_alone(node)])

    def _check_reserved(self, node: Node, name: Node) -> None:
        """A keyword that the parser takes for a program starts something else; `time` may stand before one."""
        words = [self._tree.raw(part).decode() for part in (name, *node.children)]
        if words[0] in _RESERVED or (words[0] == "time" and not _RESERVED.isdisjoint(words)):
            raise Unreadable("a keyword stands where it is not understood")

    def _assignment(self, node: Node) -> tuple[str, str]:
        """A variable's name, and its value as far as it is known."""
        name, sign, *values = self._tree.parts(node)
        joined = all(one.end_byte == two.start_byte for one, two in pairwise(node.children))
        if not (_NAME if name.type == "variable_name" else _ELEMENT).fullmatch(self._tree.raw(name)):
            raise Unreadable("a variable's name is not understood")
        if sign.type not in ("=", "+=") or not joined or len(values) > 1:
            raise Unreadable("an assignment is not understood")
        value = self._value(values[0]) if values else ""
        if "$(" in value or "`" in value:
            raise Unreadable("a variable is given code")
        return self._tree.raw(name).decode().partition("[")[0], value

    def _value(self, node: Node) -> str:
        if node.type != "array":
            return self._words.read(node).text
        members = [self._words.read_alone(part).text for part in self._tree.words(node, lines=True) if part.is_named]
        self._words.evaluates = self._words.evaluates or any(member.startswith("[") for member in members)
        return "\n".join(members)


def add_words(command: SimpleCommand, words: list[Word]) -> None:
    """Give a command more words."""
    for word in words:
        if word.is_loose:
            command.loose.append(len(command.words))
        # What braces make of a word is known only when it runs.
        command.words.append(word.text + UNKNOWN if word.is_braced else word.text)


def _without_builtin(words: list[str]) -> list[str]:
    """Leave out `builtin` and `command`, and their options."""
    while words and words[0] in ("builtin", "command"):
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[1:]
    return words
