"""Writing to the two streams: stdout is data, stderr is everything else. Bytes go out at once, nothing is kept back.

Written to the descriptor itself, so that a reader that has left is noticed here and not when Python exits. What is said
to people begins on a line of its own, whatever stands on their screen; nothing is ever added to stdout for that.
May import: errors.
"""

from __future__ import annotations

import os
import stat
import sys

from agi.errors import AgiError

STDIN, STDOUT, STDERR = 0, 1, 2
_unfinished: set[int] = set()
"""The streams whose last line has no end yet."""


def put(text: str) -> None:
    """Write text to stdout, as `put_bytes` does."""
    put_bytes(_encoded(text, sys.stdout))


def put_bytes(data: bytes) -> None:
    """Write to stdout; raises BrokenPipeError when nobody reads it any more, AgiError when it takes nothing."""
    try:
        write(STDOUT, data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise AgiError(f"The output could not be written: {error.strerror}.", code="output_failed") from error


def say(text: str) -> None:
    """Write a line for people to stderr; that nobody reads it is no error."""
    begin = "\n" if _is_in_a_line() else ""
    _unfinished.discard(STDOUT)
    try:
        write(STDERR, _encoded(f"{begin}{text}\n", sys.stderr))
    except OSError:
        pass


def end_line() -> None:
    """Where a question stands unanswered on the screen, begin a line for whatever comes after us."""
    if _is_in_a_line():
        _unfinished.clear()
        say("")


def write(descriptor: int, data: bytes) -> None:
    """Write all of it, also where whoever started us made the descriptor non-blocking."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            import select  # late: hardly ever

            select.select((), (descriptor,), ())
    if data.endswith(b"\n"):
        _unfinished.discard(descriptor)
    elif data:
        _unfinished.add(descriptor)


def line_was_typed() -> None:
    """Take notice that a person pressed Enter, which ended the line of the question on the screen."""
    _unfinished.discard(STDERR)


def is_terminal(descriptor: int) -> bool:
    """Tell whether a person is at the other end; a closed descriptor has nobody."""
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def is_fed() -> bool:
    """Tell whether stdin brings something by itself: a pipe or a file."""
    try:
        mode = os.fstat(STDIN).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _is_in_a_line() -> bool:
    return STDERR in _unfinished or (STDOUT in _unfinished and _share_a_screen())


def _share_a_screen() -> bool:
    """Both are terminals or one and the same file, or stdout goes through a pipe that may well end at our terminal."""
    try:
        out, err = os.fstat(STDOUT), os.fstat(STDERR)
    except OSError:
        return False
    if is_terminal(STDERR):
        return is_terminal(STDOUT) or stat.S_ISFIFO(out.st_mode)
    return (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino)


def _encoded(text: str, stream: object) -> bytes:
    return text.encode(getattr(stream, "encoding", None) or "utf-8", "replace")
