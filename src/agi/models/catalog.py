"""The built-in providers: where they are and how they are spoken to. Their models' names come from the table of prices.

A provider with a base URL of its own is not looked up here: its names are its own. The table is read only when a name
is asked for. May import: config, models.base, models.prices.
"""

from __future__ import annotations

import re

from msgspec import Struct

from agi.config.values import Api
from agi.models.base import ModelInfo

SCRIPTED = "scripted"
"""The provider that needs no provider: models that play a script."""

_SNAPSHOT = r"-(\d{4}-\d{2}-\d{2}|\d{8})$"
_VERSION = r"(\d+)(?:[.-](\d)(?![\da-z]))?"


class BuiltIn(Struct, frozen=True, kw_only=True):
    """A provider known by its name."""

    name: str
    url: str
    variable: str
    """The environment variable its key comes from."""
    api: Api
    first_choice: str
    """The model that answers when nobody chose one."""

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        """The models people choose from: the first choice, then the newest first, those that are on their way out last.

        Which is newer is read from the numbers in the names; the table does not say.
        """
        from agi.models.prices import chat_models  # late: few processes list models

        others = sorted((name for name in chat_models(self.name) if name != self.first_choice), key=self._rank)
        return tuple(_offer(self.name, name) for name in (self.first_choice, *others))

    def _rank(self, name: str) -> tuple[bool, bool, int, int, str]:
        from agi.models.prices import find

        known = find(self.name, name)
        found = re.search(_VERSION, name)
        major, minor = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
        family = self.first_choice.partition("-")[0]
        return known is not None and known.deprecated, not name.startswith(family), -major, -minor, name


BUILT_IN: dict[str, BuiltIn] = {
    known.name: known
    for known in (
        BuiltIn(
            name="openai",
            url="https://api.openai.com/v1",
            variable="OPENAI_API_KEY",
            api="chat",
            first_choice="gpt-5-mini",
        ),
        BuiltIn(
            name="anthropic",
            url="https://api.anthropic.com",
            variable="ANTHROPIC_API_KEY",
            api="messages",
            first_choice="claude-sonnet-5-5",
        ),
        BuiltIn(
            name="google",
            url="https://generativelanguage.googleapis.com",
            variable="GOOGLE_GENERATIVE_AI_API_KEY",
            api="gemini",
            first_choice="gemini-2.5-flash",
        ),
    )
}
"""The providers whose names, keys and models are known."""


def is_own(provider: str, base_url: str) -> bool:
    """Whether a base URL is the built-in provider's own, and not that of another server."""
    known = BUILT_IN.get(provider)
    return known is not None and base_url.rstrip("/").lower() == known.url


def is_openai(base_url: str) -> bool:
    """Whether a base URL is OpenAI's own."""
    return is_own("openai", base_url)


def knows(provider: str, name: str) -> bool:
    """Whether a provider has a model of this name: one of the table, a dated snapshot, or a tuned one (`ft:`)."""
    if name == BUILT_IN[provider].first_choice:
        return True
    from agi.models.prices import chat_models, find  # late: the first choice needs no table

    base = name.split(":")[1] if name.startswith("ft:") else name
    found = [find(provider, spelling) for spelling in (base, without_date(base))]
    return any(known is not None and known.id in chat_models(provider) for known in found)


def nearest(provider: str, name: str) -> list[str]:
    """Up to three known names that look like this one, the likeliest first."""
    from difflib import get_close_matches  # late: only a wrong name needs it

    from agi.models.prices import chat_models

    return get_close_matches(name, chat_models(provider), n=3, cutoff=0.4)


def without_date(name: str) -> str:
    """The name of the model that a dated snapshot is of."""
    return re.sub(_SNAPSHOT, "", name, flags=re.ASCII)


def _offer(provider: str, name: str) -> ModelInfo:
    from agi.models.prices import find

    known = find(provider, name)
    if known is None:
        return ModelInfo(provider=provider, id=name)
    note = "deprecated" if known.deprecated else ""
    return ModelInfo(provider=provider, id=name, context_window=known.context_window, price=known.price, note=note)
