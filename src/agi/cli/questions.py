"""Asking a person at the terminal: a question on stderr, a line from stdin, and nothing else stops meanwhile.

What was typed before the question was there does not answer it. May import: cli.
"""

from __future__ import annotations

import asyncio
import os
import termios

from agi.cli.output import STDERR, STDIN, is_terminal, line_was_typed, write


def someone_is_there() -> bool:
    """Tell whether there is a person to ask: both ends of the conversation are a terminal."""
    return is_terminal(STDIN) and is_terminal(STDERR)


async def ask_line(question: str) -> str | None:
    """Ask, and give the line that was typed; None at the end of the input, also in the middle of a line."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str | None] = loop.create_future()
    typed = bytearray()

    def read() -> None:
        try:
            data = os.read(STDIN, 4096)
        except OSError:
            data = b""
        typed.extend(data)
        line, ended, _ = typed.partition(b"\n")
        if ended:
            line_was_typed()
        if (ended or not data) and not answer.done():
            answer.set_result(line.decode(errors="replace").strip() if ended else None)

    termios.tcflush(STDIN, termios.TCIFLUSH)
    write(STDERR, question.encode(errors="replace"))
    loop.add_reader(STDIN, read)
    try:
        return await answer
    finally:
        loop.remove_reader(STDIN)


def ask_now(question: str) -> str | None:
    """The same where no event loop runs."""
    return asyncio.run(ask_line(question))
