"""A shell line taken apart: every simple command in it, also those in substitutions, subshells and backticks.

Reads no more of the language than is needed to see which programs a line would start and which files it would write
to. What is only known when it runs is marked; what cannot be read raises Unreadable. May import: nothing of ours.
"""

from __future__ import annotations

from msgspec import Struct

UNKNOWN = "\0"
"""Stands in a word for what only the shell will know: a variable, the output of a command."""
LONGEST = 10_000
MOST_COMMANDS = 50
DEEPEST = 12

_OPERATORS = ("<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">|", ">&", ">")
_HERE_DOCUMENTS = frozenset({"<<", "<<-"})
_OVERWRITING = frozenset({">", ">|", ">&", "<>"})


class Unreadable(ValueError):
    """The line is too long, too deep, or not understood."""


class SimpleCommand(Struct):
    """One program to be started, its words unquoted."""

    words: list[str]
    """The program, its arguments, and what may stand before it: keywords and assignments."""
    overwrites: list[str]
    """Files emptied before it starts."""
    appends: list[str]
    """Files added to."""
    reads_document: bool = False
    """Whether a here-document is its input."""


class Line(Struct):
    """Everything a line says."""

    commands: list[SimpleCommand]
    """In the order in which they were read."""
    documents: list[str]
    """The here-documents."""


def read_line(text: str) -> Line:
    """Take a line apart; raises Unreadable for what this reader does not understand."""
    if len(text) > LONGEST:
        raise Unreadable("the command is too long")
    if any(not character.isprintable() and character not in "\n\t" for character in text):
        raise Unreadable("the command has hidden characters")
    line = Line([], [])
    _Reader(text, line, 0).read_list("")
    return line


class _Draft:
    """A simple command while it is being read: the word at hand, and the operator that waits for it."""

    def __init__(self) -> None:
        self.command = SimpleCommand([], [], [])
        self.word: str | None = None
        self.quoted = False
        self.operator = ""

    def add(self, text: str, *, quoted: bool = False) -> None:
        self.word = (self.word or "") + text
        self.quoted = self.quoted or quoted

    def place(self, word: str) -> None:
        if self.operator == "":
            self.command.words.append(word)
        elif self.operator in _OVERWRITING:
            self.command.overwrites.append(word)
        elif self.operator == ">>":
            self.command.appends.append(word)
        self.word, self.quoted, self.operator = None, False, ""


class _Reader:
    """Goes through a text once. Nested lists are read by the same reader, the text of backticks by another."""

    def __init__(self, text: str, line: Line, depth: int) -> None:
        self._text = text
        self._line = line
        self._depth = depth
        self._at = 0
        self._awaited: list[tuple[str, str, bool]] = []

    def read_list(self, closing: str) -> None:
        """Read commands up to the closing character, or to the end."""
        if self._depth > DEEPEST:
            raise Unreadable("the command is nested too deeply")
        draft = _Draft()
        while self._at < len(self._text):
            character = self._take()
            if character == closing:
                self._end_command(draft)
                return
            if character in ";|\n()" or (character == "&" and not self._sees(">")):
                self._end_command(draft)
                draft = _Draft()
                self._read_separator(character)
            else:
                self._read(character, draft)
        self._end_command(draft)
        if closing or self._awaited:
            raise Unreadable("a bracket or a here-document is not closed")

    def _read_separator(self, character: str) -> None:
        if character == "\n":
            self._read_documents()
        elif character == "(":
            self._read_nested()
        elif character == ")":
            raise Unreadable("a bracket is not opened")

    def _read(self, character: str, draft: _Draft) -> None:
        if character in " \t":
            self._end_word(draft)
        elif character == "#" and draft.word is None:
            self._at = self._find("\n", or_end=True)
        elif character in "<>":
            self._read_redirect(draft)
        elif character in "'\"\\":
            self._read_quote(character, draft)
        elif character in "$`":
            self._read_expansion(character, draft)
        elif character != "&":
            draft.add(character)

    def _read_nested(self) -> None:
        self._depth += 1
        self.read_list(")")
        self._depth -= 1

    def _read_quote(self, character: str, draft: _Draft) -> None:
        if character == "\\":
            escaped = self._take()
            if escaped != "\n":
                draft.add(escaped, quoted=True)
        elif character == "'":
            draft.add(self._until("'"), quoted=True)
        else:
            draft.add("", quoted=True)
            while (inner := self._take()) != '"':
                if inner == "\\":
                    draft.add(self._take().replace("\n", ""))
                elif inner in "$`":
                    self._read_expansion(inner, draft, quoted=True)
                else:
                    draft.add(inner)

    def _read_expansion(self, character: str, draft: _Draft, *, quoted: bool = False) -> None:
        """Note that something unknown stands here, and read the commands that make it."""
        draft.add(UNKNOWN)
        if character == "`":
            inner = self._until("`", escapes=True).replace("\\`", "`")
            _Reader(inner, self._line, self._depth + 1).read_list("")
        elif self._sees("(("):
            arithmetic = self._until("))")
            if "$(" in arithmetic or "`" in arithmetic:
                raise Unreadable("a command stands in an arithmetic expression")
        elif self._sees("("):
            self._take()
            self._read_nested()
        elif self._sees("'") and not quoted:
            self._take()
            self._until("'", escapes=True)

    def _read_redirect(self, draft: _Draft) -> None:
        self._at -= 1
        if draft.word is not None and draft.word.isdigit():
            draft.word = None
        self._end_word(draft)
        if self._text[self._at + 1 : self._at + 2] == "(":
            self._at += 2
            draft.add(UNKNOWN)
            self._read_nested()
            return
        draft.operator = next(operator for operator in _OPERATORS if self._sees(operator))
        self._at += len(draft.operator)
        if draft.operator in (">&", "<&"):
            self._skip_duplicate(draft)

    def _skip_duplicate(self, draft: _Draft) -> None:
        """Pass over the descriptor of `2>&1`; anything that only begins like one is a file."""
        end = self._at
        while self._text[end : end + 1] in tuple("0123456789-"):
            end += 1
        if end > self._at and self._text[end : end + 1] in ("", *" \t\n;|&()<>"):
            self._at, draft.operator = end, ""

    def _read_documents(self) -> None:
        for name, operator, quoted in self._awaited:
            lines: list[str] = []
            while True:
                end = self._find("\n", or_end=len(self._text) > self._at)
                line = self._text[self._at : end]
                self._at = end + 1
                if (line.lstrip("\t") if operator == "<<-" else line) == name:
                    break
                lines.append(line)
            document = "\n".join(lines)
            if not quoted and ("$(" in document or "`" in document):
                raise Unreadable("a command stands in a here-document")
            self._line.documents.append(document)
        self._awaited.clear()

    def _end_word(self, draft: _Draft) -> None:
        if draft.word is None:
            return
        if draft.operator in _HERE_DOCUMENTS:
            draft.command.reads_document = True
            self._awaited.append((draft.word, draft.operator, draft.quoted))
        draft.place(draft.word)

    def _end_command(self, draft: _Draft) -> None:
        self._end_word(draft)
        if draft.operator:
            raise Unreadable("a redirection leads nowhere")
        command = draft.command
        if command.words or command.overwrites or command.appends:
            self._line.commands.append(command)
        if len(self._line.commands) > MOST_COMMANDS:
            raise Unreadable("the line holds too many commands")

    def _take(self) -> str:
        if self._at >= len(self._text):
            raise Unreadable("the line ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _sees(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _find(self, text: str, *, or_end: bool = False) -> int:
        found = self._text.find(text, self._at)
        if found < 0 and not or_end:
            raise Unreadable("the line ends too early")
        return found if found >= 0 else len(self._text)

    def _until(self, closing: str, *, escapes: bool = False) -> str:
        """Take everything up to a closing text, which is taken too; with `escapes`, a backslash protects it."""
        begin, end = self._at, self._find(closing)
        while escapes and (end - len(self._text[begin:end].rstrip("\\")) - begin) % 2:
            end = self._text.find(closing, end + 1)
            if end < 0:
                raise Unreadable("the line ends too early")
        self._at = end + len(closing)
        return self._text[begin:end]


def has_option(arguments: list[str], letters: str, *names: str) -> bool:
    """Tell whether an option stands among the arguments: one of the letters, also joined (`-rf`), or a long name.

    A long name may be shortened, as GNU programs and git allow.
    """
    for argument in arguments:
        if argument.startswith("--"):
            word = argument.partition("=")[0]
            if any(word.startswith(name) or (len(word) > 3 and name.startswith(word)) for name in names):
                return True
        elif argument.startswith("-") and any(letter in argument for letter in letters):
            return True
    return False
