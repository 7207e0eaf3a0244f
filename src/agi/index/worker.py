"""The process that parses: reads files from its input, writes their symbols to its output, one answer for each.

A file that takes too long or breaks the parser ends this process and nothing else; whoever asked sees which it was.
It opens no file of a workspace and ends by itself when its input does, or when nothing came for a while.
May import: index.symbols.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import struct

import msgspec

from agi.index.symbols import read_symbols

IDLE_S = 60.0
"""How long the process waits for the next file before it ends."""
SECONDS_PER_FILE = 2.0
MEMORY = 2 << 30
LENGTH = struct.Struct("<I")
"""What stands before each message: its length."""

_INPUT, _OUTPUT = 0, 1


def main() -> None:
    """Answer until there is nothing more to answer."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, also in the middle of the parser
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a person's Ctrl-C is for whoever asked
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while select.select([_INPUT], [], [], IDLE_S)[0]:
        head = _read(LENGTH.size)
        if len(head) < LENGTH.size:
            return
        path, data = msgspec.msgpack.decode(_read(LENGTH.unpack(head)[0]), type=tuple[str, bytes])
        signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_FILE)
        answer = msgspec.msgpack.encode(read_symbols(path, data))
        signal.setitimer(signal.ITIMER_REAL, 0)
        _write(LENGTH.pack(len(answer)) + answer)


def _read(size: int) -> bytes:
    """So many bytes; fewer at the end."""
    pieces = []
    while size and (piece := os.read(_INPUT, min(size, 1 << 20))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(_OUTPUT, view) :]


if __name__ == "__main__":
    main()
