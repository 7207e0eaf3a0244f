"""Writing to the two streams: stdout is data, stderr is everything else. Bytes go out at once, nothing is kept back.

Written to the descriptor itself, so that a reader that has left is noticed here and not when Python exits.
May import: nothing of ours.
"""

from __future__ import annotations

import os
import sys

STDIN, STDOUT, STDERR = 0, 1, 2


def put(text: str) -> None:
    """Write to stdout; raises BrokenPipeError when nobody reads it any more."""
    write(STDOUT, _encoded(text, sys.stdout))


def say(text: str) -> None:
    """Write one line for people to stderr; that nobody reads it is no error."""
    try:
        write(STDERR, _encoded(text + "\n", sys.stderr))
    except OSError:
        pass


def write(descriptor: int, data: bytes) -> None:
    """Write all of it, also where whoever started us made the descriptor non-blocking."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            import select  # late: hardly ever

            select.select((), (descriptor,), ())


def is_terminal(descriptor: int) -> bool:
    """Tell whether a person is at the other end; a closed descriptor has nobody."""
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def _encoded(text: str, stream: object) -> bytes:
    return text.encode(getattr(stream, "encoding", None) or "utf-8", "replace")
