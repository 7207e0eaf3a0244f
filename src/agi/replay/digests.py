"""The digest of a request, from its pieces. May import: errors."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import takewhile

from agi.errors import Invalid

BEFORE_MESSAGES = 3
"""Pieces: the system prompt, the tools and the options."""
MOST_BYTES = 16 * 1024 * 1024 * 1024
"""What requests may come to that name the same pieces again and again: a small file could keep anybody waiting."""
MOST_PLACES = 1_000_000
"""Of one request: as many as a cassette may have events."""
EACH = 1024
"""What one more piece counts beside its bytes, since it takes a while too."""


class Digests:
    """Digests of requests that name these pieces; what a request has in common with the one before is read once."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces
        self._before: list[int] = []
        self._states = [sha256()]
        """Where the system prompt, and each message of the request before, end."""
        self._read = 0

    def of(self, places: Sequence[int]) -> str:
        """The digest of a request; raises Invalid for what nobody would wait for."""
        if len(places) > MOST_PLACES:
            raise _too_much()
        system, tools, options = places[:BEFORE_MESSAGES]
        said = [system, *places[BEFORE_MESSAGES:]]
        same = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(self._before, said, strict=False)))
        del self._states[same + 1 :]
        for number, place in enumerate(said[same:], start=same):
            state = self._states[-1].copy()
            state.update((b"[", b",[", b",")[min(number, 2)])
            state.update(self._piece(place))
            self._states.append(state)
        self._before = said
        whole = self._states[-1].copy()
        whole.update(b"%b],%b,%b]" % (b"" if said[1:] else b",[", self._piece(tools), self._piece(options)))
        return whole.hexdigest()

    def _piece(self, place: int) -> bytes:
        self._read += EACH + len(self._pieces[place])
        if self._read > MOST_BYTES:
            raise _too_much()
        return self._pieces[place]


def digest_of(pieces: Sequence[bytes]) -> str:
    """The digest of one request."""
    return Digests(pieces).of(range(len(pieces)))


def _too_much() -> Invalid:
    return Invalid("Its requests name far more than they can have been.", code="bad_cassette")
