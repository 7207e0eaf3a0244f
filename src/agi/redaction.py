"""Keeping secrets out of what is stored and shown: every known secret is replaced by stars before it is written.

Knows only values it was told of. May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

SHORTEST = 8
"""Shorter values are too likely to be ordinary words."""


class Redactor:
    """Replaces known secrets on their way to the log and to those who listen."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self._stars: tuple[tuple[bytes, bytes], ...] = ()
        self.learn(*secrets)

    def learn(self, *secrets: str) -> None:
        """Know these too; longest first, so that one that contains another leaves nothing over."""
        known = {secret for secret in secrets if len(secret) >= SHORTEST} | set(self._secrets)
        self._secrets = tuple(sorted(known, key=len, reverse=True))
        self._stars = tuple((_in_json(secret), b"*" * len(secret)) for secret in self._secrets)

    def clean(self, raw: bytes) -> bytes:
        """The same JSON without any secret. A text keeps its length, so offsets into it still hold."""
        for secret, stars in self._stars:
            if secret in raw:
                raw = raw.replace(secret, stars)
        return raw

    def clean_text(self, text: str) -> str:
        """The same text without any secret, as long as before."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, "*" * len(secret))
        return text


def _in_json(secret: str) -> bytes:
    """A secret as it stands inside a JSON string: quotes and backslashes are escaped there."""
    return msgspec.json.encode(secret)[1:-1]
