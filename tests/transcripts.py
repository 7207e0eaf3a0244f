"""Pages as transcripts: what is typed and what is shown stands in code blocks, and is played at a real shell."""

from __future__ import annotations

import codecs
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import agi

FENCE = re.compile(r"^(`{3,})([a-z]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
ANYTHING = "…"
"""Stands for anything in a line; alone in its line for any number of lines."""
PATIENCE_S = 30.0
_PS1 = "\x1e$ "
PROMPT = re.escape(_PS1)
_ANSWERED = re.compile(r"(.*(?:\[y/.*\]|\[n\]o): )(.+)")
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """The code blocks of a page, in order: language and text."""
    for _, language, text in FENCE.findall(page):
        yield language, text


def fits(shown: str, line: str) -> bool:
    """Whether a line came out as shown; `…` stands for anything."""
    return re.fullmatch(_in_line(shown), line) is not None


def pattern(shown: str) -> str:
    """What fits several lines as they are shown."""
    lines = shown.splitlines(keepends=True)
    return "".join("(?:.*\n)*" if line.strip() == ANYTHING else _in_line(line) for line in lines)


def _in_line(shown: str) -> str:
    return ".*".join(re.escape(part) for part in shown.split(ANYTHING))


def environment(home: Path, command_folder: Path) -> dict[str, str]:
    """A home with nothing in it, and `agi` as this Python has it, as a command."""
    command_folder.mkdir(exist_ok=True)
    command = command_folder / "agi"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agi.cli.main "$@"\n')
    command.chmod(0o755)
    return {
        "PATH": f"{command_folder}:{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(Path(agi.__file__).parent.parent),
        "PYTHONUTF8": "1",
        "LANG": "C.UTF-8",
    }


class Shell:
    """Bash at a terminal of its own: types what a page says, and holds the screen to what the page shows."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (40, 120))
        # Opened anew by the first process of a session, the terminal is the one that Ctrl-C comes from.
        self._process = subprocess.Popen(
            ["sh", "-c", 'exec bash --norc --noprofile --noediting -i <>"$0" >&0 2>&0', os.ttyname(slave)],
            cwd=folder,
            env={**env, "PS1": _PS1, "TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._reader = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.screen = ""
        """What is shown since the last prompt that was answered."""
        self._due = ""
        """What it must look like, as an expression."""

    def plays(self, block: str) -> None:
        """Type the lines that begin with `$`, the answers behind questions and Ctrl-C; the rest is to be shown."""
        for line in block.splitlines():
            if line.startswith("$ "):
                self._answer(PROMPT, line.removeprefix("$ "))
            elif line == "^C":
                self._interrupt()
            elif asked := _ANSWERED.fullmatch(line):
                self._answer(_in_line(asked[1]), asked[2])
            else:
                self._due += pattern(line + "\n")
        self._wait(f"(?:{PROMPT})?")

    def runs(self, script: Path) -> None:
        """Carry out a file of commands, as if they were typed; nothing is to be shown."""
        self._answer(PROMPT, f". {script}")

    def ends(self) -> None:
        """Wait for the last command."""
        self._wait(PROMPT)

    def close(self) -> None:
        """Hang up; whatever runs there ends."""
        os.close(self._master)
        self._process.wait(PATIENCE_S)

    def _answer(self, question: str, line: str) -> None:
        """Type something once everything before it is there."""
        self._wait(question)
        self.screen = ""
        self._due = re.escape(line) + "\n"  # as the terminal echoes it
        os.write(self._master, f"{line}\n".encode())

    def _interrupt(self) -> None:
        self._wait("")
        self._due += r"\^C\n?"
        os.write(self._master, b"\x03")

    def _wait(self, then: str) -> None:
        """Read until the screen is as it has to be; a prompt may stand behind what was printed without a line's end."""
        wanted = re.compile((self._due.removesuffix("\n") + "\n?" if then else self._due) + then)
        until = time.monotonic() + PATIENCE_S
        while not wanted.fullmatch(self.screen):
            ready, _, _ = select.select([self._master], [], [], max(0.0, until - time.monotonic()))
            is_over = self.screen.endswith(_PS1) or not ready
            assert not is_over, f"the page shows\n{_readable(wanted.pattern)}\nand the terminal\n{self.screen}"
            self.screen = _plain(self.screen + self._reader.decode(os.read(self._master, 65536)))


def _readable(expression: str) -> str:
    return re.sub(r"\\(.)", r"\1", expression.replace(".*", ANYTHING), flags=re.DOTALL)


def _plain(text: str) -> str:
    return _STYLE.sub("", text.replace("\r\n", "\n"))
