"""Keeping secrets out of what is stored and shown: every known secret is replaced by stars before it is written.

Knows only values it was told of. A secret may be a word that events are made of (a local provider takes any key, so
people write `anything`): what holds an event together is not touched. May import: nothing of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

SHORTEST = 8
"""Shorter values are too likely to be ordinary words."""

FREE = frozenset({"input", "args", "result", "options"})
"""What stands under these keys was written by a model, a tool or a person: nothing in it is ours."""
OURS = frozenset(
    {
        "activity",
        "agent",
        "artifacts",
        "cause",
        "channel",
        "code",
        "id",
        "kept_apart",
        "kind",
        "merge",
        "model",
        "name",
        "on_ask",
        "origin",
        "path",
        "place",
        "provider",
        "ref",
        "remember",
        "retry_of",
        "risk",
        "role",
        "rule",
        "scope",
        "scopes",
        "sha256",
        "status",
        "stop_reason",
        "trigger",
        "ts",
        "type",
        "verification",
    }
)
"""Under these keys, and those that end in `_id` or `_at`, programs look for a value of a certain form."""
PLACES = frozenset({"project_path", "workspace_path"})
"""Where a session works; with stars in it, it would be another folder."""
_ID = "[a-z]{3,5}_[0-9a-f]{32}"
_FORM = (
    rf"(?:{_ID}|\d{{4}}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{{64}}|[a-z]+(?:[_-][a-z]+)*)\Z"
    rf"|attachments/[0-9a-f]{{20}}-|artifacts/{_ID}/"
)
"""An id, a time, a hash or a plain word; or how a reference to a file begins, whose rest is a name."""
_ESCAPED = rb"\\/|\\u(?!00[01])"
"""An escape that JSON does not ask for: in it a secret may be spelled another way. Models write such JSON."""


class Redactor:
    """Replaces known secrets on their way to the log and to those who listen."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self._spelled: tuple[tuple[bytes, bytes], ...] = ()
        """The secrets as bytes, and as they stand inside JSON strings; and as many stars as each has characters."""
        self.learn(*secrets)

    def learn(self, *secrets: str) -> None:
        """Know these too; longest first, so that one that contains another leaves nothing over."""
        known = {secret for secret in secrets if len(secret) >= SHORTEST} | set(self._secrets)
        self._secrets = tuple(sorted(known, key=len, reverse=True))
        self._spelled = tuple((form, b"*" * len(one)) for one in self._secrets for form in _spellings(one))

    def clean(self, raw: bytes) -> bytes:
        """The same JSON without any secret. A text keeps its length, so offsets into it still hold."""
        if not self._may_tell(raw):
            return raw
        try:
            return msgspec.json.encode(self._clean_value(msgspec.json.decode(raw), "", free=False))
        except (msgspec.DecodeError, ValueError, RecursionError):
            return self._clean_bytes(raw)  # no JSON, or none that can be looked into

    def clean_text(self, text: str) -> str:
        """The same text without any secret, as long as before."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, "*" * len(secret))
        return text

    def flow(self) -> Flow:
        """For bytes that come in pieces, by what is known now."""
        return Flow(form for form, _ in self._spelled)

    def unfinished(self, text: str) -> int:
        """How many characters at the end of `text` may be the beginning of a secret; they should wait for the rest."""
        longest = 0
        for secret in self._secrets:
            start = max(0, len(text) - len(secret) + 1)
            while (start := text.find(secret[0], start)) >= 0:
                if secret.startswith(text[start:]) and not self._is_inside(text, start):
                    longest = max(longest, len(text) - start)
                    break
                start += 1
        return longest

    def _is_inside(self, text: str, at: int) -> bool:
        """Whether a cut here would go through a whole secret, such as one that ends with its own first letter."""
        for secret in self._secrets:
            start = 0
            while 0 <= (start := text.find(secret, start)) < at:
                start += len(secret)
                if start > at:
                    return True
        return False

    def _may_tell(self, raw: bytes) -> bool:
        if any(form in raw for form, _ in self._spelled):
            return True
        has_escapes = b"\\u" in raw or b"\\/" in raw
        return bool(self._secrets) and has_escapes and re.search(_ESCAPED, raw) is not None

    def _clean_value(self, value: object, key: str, *, free: bool) -> object:
        if isinstance(value, str):
            return self.clean_text(value) if free else self._clean_string(value, key)
        if isinstance(value, list):
            return [self._clean_value(item, key, free=free) for item in value]
        if isinstance(value, dict):
            return {
                self.clean_text(name) if free else name: self._clean_value(item, name, free=free or name in FREE)
                for name, item in value.items()
            }
        return value

    def _clean_string(self, value: str, key: str) -> str:
        if key in PLACES:
            return value
        kept = re.match(_FORM, value, re.ASCII) if key in OURS or key.endswith(("_id", "_at")) else None
        return self.clean_text(value) if kept is None else kept.group() + self.clean_text(value[kept.end() :])

    def _clean_bytes(self, raw: bytes) -> bytes:
        for form, stars in self._spelled:
            raw = raw.replace(form, stars)
        return raw


class Flow:
    """Bytes on their way to a file: as many as came, without secrets, however they are cut; a few come later."""

    def __init__(self, forms: Iterable[bytes]) -> None:
        # As if each byte were a character: whatever the bytes mean, nothing is lost and nothing grows.
        self._redactor = Redactor(form.decode("latin-1") for form in forms)
        self._held = ""

    def add(self, data: bytes) -> bytes:
        """Take the next bytes; gives those that can be written."""
        text = self._held + data.decode("latin-1")
        ready = len(text) - self._redactor.unfinished(text)
        self._held = text[ready:]
        return self._redactor.clean_text(text[:ready]).encode("latin-1")

    def rest(self) -> bytes:
        """What was held back; no more will come."""
        held, self._held = self._held, ""
        return self._redactor.clean_text(held).encode("latin-1")


def _spellings(secret: str) -> list[bytes]:
    """As it is, and as it stands inside JSON, where quotes and backslashes are escaped."""
    plain, in_json = secret.encode(), msgspec.json.encode(secret)[1:-1]
    return [in_json] if plain == in_json else [in_json, plain]
