"""Ids: a prefix that says what it names, and a time-sortable UUID (version 7) as 32 hex digits.

Ids made by one process sort in the order they were made. Knows nothing of what is named. May import: nothing of ours.
"""

from __future__ import annotations

import os
import struct
import threading
import time

SESSION = "sess"
MESSAGE = "msg"
PART = "part"
TURN = "turn"
CALL = "call"
ARTIFACT = "art"
CHECKPOINT = "ckpt"
JOB = "job"
GRANT = "grant"
NOTE = "note"
COMPACTION = "comp"

_HEX = "0123456789abcdef"
_lock = threading.Lock()
_last = 0
_drawn: list[int] = []
_drawn_by = 0
_AT_ONCE = 64


def _stamp() -> int:
    """Milliseconds and a 12-bit counter as one number that only grows, also when the clock steps back."""
    global _last
    with _lock:
        _last = max(_last + 1, (time.time_ns() // 1_000_000) << 12)
        return _last


def _random() -> int:
    """64 bits of chance, asked of the system for many at once; what a process has drawn is no other's after a fork."""
    global _drawn_by
    with _lock:
        if not _drawn or _drawn_by != os.getpid():
            _drawn_by = os.getpid()
            _drawn[:] = struct.unpack(f"{_AT_ONCE}Q", os.urandom(8 * _AT_ONCE))
        return _drawn.pop()


def new_id(prefix: str) -> str:
    """Make a fresh id, such as `sess_0192…`."""
    stamp = _stamp()
    tail = _random() & ((1 << 62) - 1) | (0b10 << 62)
    number = (stamp >> 12) << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | tail
    return f"{prefix}_{number:032x}"


def is_id(text: str, prefix: str) -> bool:
    """Tell whether `text` has the form of an id with this prefix."""
    rest = text.removeprefix(prefix + "_")
    return len(rest) == 32 and len(text) == len(prefix) + 33 and not rest.strip(_HEX)
