"""A terminal taken over for a dialogue: keys come one by one, nothing that is typed is shown, and in the end all is as
it was, whatever happens: an error, Ctrl-C, a request to terminate.

What is drawn is others' business. May import: cli.
"""

from __future__ import annotations

import os
import select
import signal
import termios
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Self

from agi.cli.keyboard import Key, Keyboard
from agi.cli.output import STDERR, STDIN, line_was_typed, write

ESCAPE_S = 0.1
"""How long an Escape waits for what may follow it: arrows begin with one, and a slow line tears them apart."""
REDRAW = Key("redraw")
"""No key: the screen has another size, or was another program's for a while."""
ENDINGS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
CHANGES = (signal.SIGWINCH, signal.SIGCONT)
_BEGIN, _END = b"\x1b[?2004h", b"\x1b[?2004l\x1b[?25h"
"""Pastes are marked as such; and no longer, with the cursor shown again."""
_Attributes = list[int | list[bytes | int]]
_Handler = Callable[[int, FrameType | None], object]


class Stopped(KeyboardInterrupt):
    """The process was asked to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def can_take_over(env: Mapping[str, str]) -> bool:
    """Tell whether the terminal can do more than lines of text."""
    if env.get("TERM", "dumb") in ("", "dumb"):
        return False
    try:
        termios.tcgetattr(STDIN)
    except termios.error:
        return False
    return True


@contextmanager
def endings_raised() -> Iterator[None]:
    """Let a request to terminate run through every `finally`, as Ctrl-C does."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Stopped(number)

    with _handling(dict.fromkeys(ENDINGS, stop)):
        yield


class Terminal:
    """stdin and stderr, taken over; for use in a `with`. Whoever draws leaves the cursor where a line begins."""

    def __init__(self) -> None:
        self._keyboard = Keyboard()
        self._keys: list[Key] = []
        self._wake = (-1, -1)

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(STDIN)
        self._wake = os.pipe()
        os.set_blocking(self._wake[1], False)
        self._handlers = _handling(dict.fromkeys(CHANGES, self._notice))
        self._handlers.__enter__()
        try:
            self._set(signals=False)
            write(STDERR, _BEGIN)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(termios.error):
            # What was typed and not asked for, such as the rest of a key, must not reach the shell.
            termios.tcsetattr(STDIN, termios.TCSAFLUSH, self._before)
        with suppress(OSError):
            write(STDERR, _END)
        line_was_typed()
        self._handlers.__exit__(None, None, None)
        for descriptor in self._wake:
            os.close(descriptor)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows; something usual where the terminal does not know."""
        try:
            columns, rows = os.get_terminal_size(STDERR)
        except OSError:
            columns, rows = 0, 0
        return columns or 80, rows or 24

    def begin(self) -> None:
        """Forget what was typed so far: it does not answer the next question."""
        self._keys.clear()
        self._keyboard = Keyboard()
        with suppress(termios.error):
            termios.tcflush(STDIN, termios.TCIFLUSH)

    def key(self) -> Key:
        """Wait for the next key; raises KeyboardInterrupt at Ctrl-C, EOFError if the terminal is gone."""
        while not self._keys:
            self._keys += self._read()
        key = self._keys.pop(0)
        if key.name == "interrupt":
            raise KeyboardInterrupt
        return key

    def write(self, text: str) -> None:
        """Put something on the screen; that it is gone is noticed where keys are read."""
        with suppress(OSError):
            write(STDERR, text.encode(errors="replace"))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let Ctrl-C interrupt what goes on meanwhile; what is typed stays unseen."""
        self._set(signals=True)
        try:
            yield
        finally:
            self._set(signals=False)

    def _read(self) -> list[Key]:
        patience = ESCAPE_S if self._keyboard.is_waiting else None
        ready, _, _ = select.select((STDIN, self._wake[0]), (), (), patience)
        if not ready:
            return self._keyboard.settle()
        if self._wake[0] in ready:
            os.read(self._wake[0], 1024)
            self._set(signals=False)
            return [REDRAW]
        try:
            data = os.read(STDIN, 4096)
        except OSError:
            data = b""
        if not data:
            raise EOFError
        return self._keyboard.feed(data)

    def _notice(self, _number: int, _frame: FrameType | None) -> None:
        with suppress(BlockingIOError):
            os.write(self._wake[1], b"!")

    def _set(self, *, signals: bool) -> None:
        with suppress(termios.error):  # the terminal is gone; reading says so
            termios.tcsetattr(STDIN, termios.TCSADRAIN, _quiet(self._before, signals))


def _quiet(before: _Attributes, signals: bool) -> _Attributes:
    """Key by key and without echo; with signals, only Ctrl-C is one."""
    inputs, outputs, controls, local, slow, fast, characters = before
    assert isinstance(inputs, int) and isinstance(local, int) and isinstance(characters, list)  # noqa: S101, PT018
    inputs &= ~(termios.ICRNL | termios.INLCR | termios.IXON)
    local &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.IEXTEN | termios.ISIG)
    local |= termios.ISIG if signals else 0
    characters = list(characters)
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    characters[termios.VSUSP] = characters[termios.VQUIT] = b"\0"
    return [inputs, outputs, controls, local, slow, fast, characters]


@contextmanager
def _handling(handlers: Mapping[signal.Signals, _Handler]) -> Iterator[None]:
    """Handle signals this way for a while; those that someone wants ignored, such as nohup, stay so."""
    before = {number: signal.getsignal(number) for number in handlers}
    mine = [number for number in handlers if before[number] not in (signal.SIG_IGN, None)]
    for number in mine:
        signal.signal(number, handlers[number])
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, before[number])
