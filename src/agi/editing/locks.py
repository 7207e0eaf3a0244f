"""One lock for each file, shared by everyone in this process: who holds it reads, decides and writes undisturbed.

Other processes are kept out by the comparison at the moment of replacing (see workspace/replace). Locks are taken in
one order, so nobody waits in a circle, and are forgotten when nobody wants them. May import: nothing of ours.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

_guard = threading.Lock()
_locks: dict[str, tuple[threading.Lock, int]] = {}


@contextmanager
def holding(places: Iterable[str]) -> Iterator[None]:
    """Hold the locks of several files."""
    with ExitStack() as stack:
        for place in sorted(set(places)):
            stack.enter_context(_held(place))
        yield


@contextmanager
def _held(place: str) -> Iterator[None]:
    with _guard:
        lock, users = _locks.get(place, (threading.Lock(), 0))
        _locks[place] = (lock, users + 1)
    try:
        with lock:
            yield
    finally:
        with _guard:
            lock, users = _locks[place]
            if users == 1:
                del _locks[place]
            else:
                _locks[place] = (lock, users - 1)
