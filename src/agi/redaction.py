"""Keeping secrets out of what is stored and shown: every known secret is replaced by stars before it is written.

Knows only values it was told of. May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Iterable

SHORTEST = 8
"""Shorter values are too likely to be ordinary words."""


class Redactor:
    """Replaces known secrets on their way to the log and to those who listen."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[bytes, ...] = ()
        self.learn(*secrets)

    def learn(self, *secrets: str) -> None:
        """Know these too; longest first, so that one that contains another leaves nothing over."""
        known = {secret.encode() for secret in secrets if len(secret) >= SHORTEST} | set(self._secrets)
        self._secrets = tuple(sorted(known, key=len, reverse=True))

    def clean(self, raw: bytes) -> bytes:
        """The same bytes without any secret, and as many of them: offsets into a text still hold."""
        for secret in self._secrets:
            if secret in raw:
                raw = raw.replace(secret, b"*" * len(secret))
        return raw

    def clean_text(self, text: str) -> str:
        """The same text without any secret."""
        for secret in self._secrets:
            known = secret.decode()
            if known in text:
                text = text.replace(known, "*" * len(known))
        return text
