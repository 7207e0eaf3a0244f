"""A shell line taken apart by a real grammar: every simple command in it, wherever it stands.

The parser (tree-sitter) says how the line is built; whether bash would see it the same way is checked piece by piece,
and where that is not certain the line is unreadable. What the commands do is not known here. May import: policy.bash.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from agi.policy.bash.redirects import Redirects
from agi.policy.bash.simple import PATTERN, Simple, add_words
from agi.policy.bash.tree import Tree
from agi.policy.bash.values import DEEPEST, LONGEST, MOST_COMMANDS, Line, SimpleCommand, Unreadable, names
from agi.policy.bash.words import Words

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_LISTS = names(
    "program list pipeline subshell compound_statement do_group if_statement elif_clause else_clause while_statement "
    "negated_command command_substitution process_substitution"
)
"""What holds statements, with nothing but keywords and operators between them."""
_OPENING = names("subshell compound_statement do_group command_substitution process_substitution")
_SIGNS = names("; & && || | |& ( ) { } ! $( ` <( >( if then elif else fi while until do done")
_GOING_ON = frozenset({"elif_clause", "else_clause"})
_OWN_NAME = re.compile(rb"(?!histchars$|auto_resume$|[a-z]+_proxy$)[a-z][a-z0-9_]*")
"""A variable of the line's own: small letters, and none that a shell or a program goes by."""
_LOST_DASH = re.compile(rb"[ \t]+-[ \t]+")


def read_line(text: str) -> Line:
    """Take a line apart; raises Unreadable for what is not certain to be understood as bash would."""
    if len(text) > LONGEST:
        raise Unreadable("the command is too long")
    if any(not character.isprintable() and character not in "\n\t" for character in text):
        raise Unreadable("the command has hidden characters")
    source = text.encode()
    root = _parser().parse(source).root_node
    if root.has_error:
        raise Unreadable("the command is not understood")
    return _Reader(Tree(source)).read(root)


@cache
def _parser() -> Parser:
    # Late: only who looks at a command needs them, and loading them costs more than any look.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _Reader:
    """Goes through the tree once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._line = Line()
        self._depth = self._nested = 0
        self._words = Words(tree, self._substitution)
        self._redirects = Redirects(tree, self._words, self._statement)
        self._simple = Simple(tree, self._words, self._redirects, self._end)
        self._readers: dict[str, Callable[[Node], None]] = {
            "command": self._simple.command,
            "redirected_statement": self._redirected,
            "variable_assignment": self._simple.assignments,
            "variable_assignments": self._simple.assignments,
            "declaration_command": self._simple.declaration,
            "unset_command": self._simple.declaration,
            "test_command": self._simple.test,
            "function_definition": self._function,
            "for_statement": self._loop,
            "c_style_for_statement": self._counting_loop,
            "case_statement": self._cases,
            **dict.fromkeys(_LISTS, self._statements),
        }

    def read(self, root: Node) -> Line:
        self._tree.check_blank(0, root.start_byte, lines=True)
        self._statements(root)
        self._tree.check_blank(root.end_byte, len(self._tree.source), lines=True)
        self._line.evaluates = self._words.evaluates
        self._line.sets = self._line.sets or self._words.sets
        documents = "".join(command.document or "" for command in self._line.commands)
        if self._line.evaluates and (self._words.holds_code or "$(" in documents or "`" in documents):
            raise Unreadable("a calculation could run what is quoted")
        return self._line

    def _end(self, command: SimpleCommand) -> None:
        self._line.commands.append(command)
        if len(self._line.commands) > MOST_COMMANDS:
            raise Unreadable("the line holds too many commands")

    def _substitution(self, node: Node) -> None:
        """Read the commands of a substitution; `$(< file)` has none and only opens a file."""
        named = [part for part in self._tree.parts(node, lines=True) if part.is_named]
        if [part.type for part in named] != ["file_redirect"]:
            self._statements(node)
            return
        self._end(command := SimpleCommand([]))
        if self._redirects.take(named[0], command):
            raise Unreadable("words follow a redirection")

    def _statements(self, node: Node) -> None:
        """Read what holds statements; between two of them there must be something that ends the first."""
        if node.type == "compound_statement" and node.children[0].type == "((":
            self._words.check_calculation(self._tree.raw(node)[2:-2])
            return
        self._nested += node.type in _OPENING
        if self._nested > DEEPEST:
            raise Unreadable("the command is nested too deeply")
        at, ended = node.start_byte, True
        for part in self._tree.parts(node, lines=True):
            ended = ended or b"\n" in self._tree.source[at : part.start_byte]
            at = part.end_byte
            if not part.is_named:
                self._check_sign(part, node)
                ended = True
            elif part.type == "comment":
                self._tree.check_comment(part)
            elif ended or part.type in _GOING_ON:
                self._statement(part)
                ended = False
            else:
                raise Unreadable("two commands stand side by side")
        self._nested -= node.type in _OPENING

    def _statement(self, node: Node) -> None:
        self._depth += 1
        read = self._readers.get(node.type)
        if read is None or self._depth > 6 * DEEPEST:
            raise Unreadable(f"the command holds what is not understood: {node.type}")
        read(node)
        self._depth -= 1

    def _check_sign(self, node: Node, parent: Node) -> None:
        glued = node.type == "{" and self._tree.after(node) not in (b" ", b"\t", b"\n")
        doubled = node.type == "(" and parent.type == "subshell" and self._tree.after(node) == b"("
        if node.type not in _SIGNS or glued or doubled:
            raise Unreadable("a bracket or an operator is not understood")

    def _redirected(self, node: Node) -> None:
        """Give the redirections to the command they follow; of a list or a loop, to its last one."""
        body, before = node.child_by_field_name("body"), len(self._line.commands)
        if body is not None:
            self._statement(body)
        if len(self._line.commands) == before:
            self._end(SimpleCommand([]))
        command = self._line.commands[-1]
        simple = body is None or body.type == "command"
        at = node.start_byte
        for part in node.children:
            self._check_gap(at, part, command if simple else None)
            at = part.end_byte
            if body is not None and part.id == body.id:
                continue
            words = self._redirects.take(part, command)
            if words and not (simple and command.words):
                raise Unreadable("words follow a redirection")
            add_words(command, words)

    def _check_gap(self, at: int, part: Node, command: SimpleCommand | None) -> None:
        """The parser loses a lone dash before a here-document, as in `python - <<END`."""
        lost = _LOST_DASH.fullmatch(self._tree.source[at : part.start_byte])
        if lost and part.type == "heredoc_redirect" and command is not None:
            command.words.append("-")
        else:
            self._tree.check_blank(at, part.start_byte)

    def _function(self, node: Node) -> None:
        """A function's name and body; what it is called with does not matter, its commands count as they stand."""
        for part in self._tree.parts(node, lines=True):
            if part.type == "word":
                if not PATTERN.fullmatch(self._tree.raw(part)):
                    raise Unreadable("a function's name is not understood")
                self._line.functions.append(self._tree.raw(part).decode())
            elif part.type == "file_redirect":
                self._end(command := SimpleCommand([]))
                if self._redirects.take(part, command):
                    raise Unreadable("words follow a redirection")
            elif part.is_named:
                self._statement(part)

    def _loop(self, node: Node) -> None:
        variable = node.child_by_field_name("variable")
        if variable is None or not _OWN_NAME.fullmatch(self._tree.raw(variable)):
            self._line.sets = True
        for part in self._tree.parts(node, lines=True):
            if part.type in ("do_group", "compound_statement"):
                self._statement(part)
            elif part.type == "comment":
                self._tree.check_comment(part)
            elif part.is_named:
                self._words.read_alone(part)
            elif part.type not in ("for", "select", "in", ";"):
                raise Unreadable("a loop is not understood")

    def _counting_loop(self, node: Node) -> None:
        opening = next(part for part in node.children if part.type == "((")
        closing = next(part for part in node.children if part.type == "))")
        calculation = self._tree.source[opening.end_byte : closing.start_byte]
        self._words.check_calculation(calculation.replace(b";", b","))
        body = node.children[-1]
        self._tree.check_blank(closing.end_byte, body.start_byte, lines=True, also=b";")
        self._statement(body)

    def _cases(self, node: Node) -> None:
        for part in self._tree.parts(node, lines=True):
            if part.type == "case_item":
                self._case(part)
            elif part.type == "comment":
                self._tree.check_comment(part)
            elif part.is_named:
                self._words.read_alone(part)

    def _case(self, node: Node) -> None:
        """The patterns, then the statements behind the bracket."""
        parts = self._tree.parts(node, lines=True)
        bracket = next(index for index, part in enumerate(parts) if part.type == ")")
        for part in parts[:bracket]:
            if part.type == "extglob_pattern":
                if not PATTERN.fullmatch(self._tree.raw(part)):
                    raise Unreadable("a pattern is not understood")
            elif part.is_named:
                self._words.read_alone(part)
        for part in parts[bracket + 1 :]:
            if part.type == "comment":
                self._tree.check_comment(part)
            elif part.is_named:
                self._statement(part)
            elif part.type not in (";", "&", ";;", ";&", ";;&"):
                raise Unreadable("a case is not understood")
