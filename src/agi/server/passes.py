"""Who has signed in with a browser: one-time codes that become passes, and passes until they run out.

A code is for one use within a minute. A pass has two halves: a cookie that no script can read, and a key that only
pages of this origin can, for cookies go to every port of a machine and storage to one. Only hashes are kept, in memory:
a restart signs everybody out, as it makes a new token. Whose word counts when is the guard's business.
May import: nothing of ours.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable

from msgspec import Struct

CODE_S = 60.0
PASS_S = 30 * 24 * 3600.0
MOST_CODES = 20
MOST_PASSES = 200
_LONGEST = 200


class Pass(Struct, frozen=True):
    """The right to come in by a browser, told once."""

    cookie: str
    key: str


class Passes:
    """The codes that wait to be used and the passes that hold."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[bytes, float] = {}
        self._passes: dict[bytes, float] = {}

    def new_code(self) -> str:
        """A code that gets a pass, once, soon."""
        code = _secret()
        _keep(self._codes, _hashed(code), self._clock() + CODE_S, MOST_CODES)
        return code

    def redeem(self, code: str) -> Pass | None:
        """The pass that this code gets; None if it was used, has run out or never was."""
        if not self._find(self._codes, _hashed(code), use=True):
            return None
        made = Pass(_secret(), _secret())
        _keep(self._passes, _joined(made.cookie, made.key), self._clock() + PASS_S, MOST_PASSES)
        return made

    def holds(self, cookie: str, key: str) -> bool:
        """Whether both halves belong to one pass that still holds."""
        return self._find(self._passes, _joined(cookie, key), use=False)

    def revoke(self, cookie: str, key: str) -> None:
        """End one pass."""
        self._find(self._passes, _joined(cookie, key), use=True)

    def revoke_all(self) -> int:
        """End every pass and every code; says how many passes there were."""
        ended = len(self._passes)
        self._passes.clear()
        self._codes.clear()
        return ended

    def _find(self, kept: dict[bytes, float], wanted: bytes, *, use: bool) -> bool:
        """Compare with each of them in constant time; what is used is gone."""
        found = [one for one in kept if hmac.compare_digest(one, wanted)]
        if not found:
            return False
        until = kept[found[0]]
        if use or until <= self._clock():
            del kept[found[0]]
        return until > self._clock()


def _keep(kept: dict[bytes, float], one: bytes, until: float, most: int) -> None:
    """Add it; the oldest makes room."""
    while len(kept) >= most:
        del kept[next(iter(kept))]
    kept[one] = until


def _secret() -> str:
    import secrets  # late: it costs milliseconds, and only who signs in needs it

    return secrets.token_urlsafe(32)


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text[:_LONGEST].encode(errors="replace")).digest()


def _joined(cookie: str, key: str) -> bytes:
    return _hashed(cookie) + _hashed(key)
