"""The built-in providers: where they are, how they are spoken to, and their models by name. A small table, no prices.

A provider with a base URL of its own is not looked up here: its names are its own. May import: config, models.base.
"""

from __future__ import annotations

import re

from msgspec import Struct

from agi.config.values import Api
from agi.models.base import ModelInfo

SCRIPTED = "scripted"
"""The provider that needs no provider: models that play a script."""

_SNAPSHOT = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$", re.ASCII)


class BuiltIn(Struct, frozen=True, kw_only=True):
    """A provider known by its name."""

    url: str
    variable: str
    """The environment variable its key comes from."""
    api: Api
    first_choice: str
    """The model that answers when nobody chose one."""
    models: tuple[ModelInfo, ...]


def _models(provider: str, window: int, *names: str) -> tuple[ModelInfo, ...]:
    return tuple(ModelInfo(provider=provider, id=name, context_window=window) for name in names)


BUILT_IN: dict[str, BuiltIn] = {
    "openai": BuiltIn(
        url="https://api.openai.com/v1",
        variable="OPENAI_API_KEY",
        api="chat",
        first_choice="gpt-5-mini",
        models=(
            *_models("openai", 1_000_000, "gpt-5.5", "gpt-5.4"),
            *_models("openai", 400_000, "gpt-5.4-mini", "gpt-5.4-nano", "gpt-5.2", "gpt-5.1", "gpt-5", "gpt-5-mini"),
            *_models("openai", 400_000, "gpt-5-nano"),
            *_models("openai", 128_000, "gpt-5.3", "gpt-5.2-chat-latest", "gpt-5.1-chat-latest", "gpt-5-chat-latest"),
            *_models("openai", 1_000_000, "gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"),
            *_models("openai", 200_000, "o4-mini", "o3", "o3-mini", "o1"),
            *_models("openai", 128_000, "gpt-4o", "gpt-4o-mini", "chatgpt-4o-latest", "gpt-4-turbo"),
            *_models("openai", 8_192, "gpt-4"),
            *_models("openai", 16_385, "gpt-3.5-turbo"),
        ),
    ),
    "anthropic": BuiltIn(
        url="https://api.anthropic.com",
        variable="ANTHROPIC_API_KEY",
        api="messages",
        first_choice="claude-sonnet-5-5",
        models=(
            *_models("anthropic", 1_000_000, "claude-fable-5-1", "claude-fable-5", "claude-opus-5-5", "claude-opus-5"),
            *_models("anthropic", 1_000_000, "claude-sonnet-5-5", "claude-sonnet-5", "claude-haiku-5-5"),
            *_models("anthropic", 1_000_000, "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6"),
            *_models("anthropic", 1_000_000, "claude-sonnet-4-6"),
            *_models("anthropic", 200_000, "claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"),
        ),
    ),
    "google": BuiltIn(
        url="https://generativelanguage.googleapis.com",
        variable="GOOGLE_GENERATIVE_AI_API_KEY",
        api="gemini",
        first_choice="gemini-2.5-flash",
        models=(
            *_models("google", 1_048_576, "gemini-4-argon", "gemini-2.5-flash", "gemini-2.5-pro"),
            *_models("google", 1_000_000, "gemini-3.8-flash", "gemini-3.7-flash", "gemini-3.6-flash"),
            *_models("google", 1_000_000, "gemini-3.5-flash", "gemini-3.5-flash-lite", "gemini-3.1-flash-lite"),
            *_models("google", 1_000_000, "gemini-3.1-pro-preview", "gemini-3-pro-preview", "gemini-3-flash-preview"),
            *_models("google", 1_000_000, "gemini-2.5-flash-lite", "gemini-2.0-flash", "gemini-2.0-flash-lite"),
        ),
    ),
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
    base = name.split(":")[1] if name.startswith("ft:") else name.removeprefix("models/")
    base = _SNAPSHOT.sub("", base)
    return any(base == model.id for model in BUILT_IN[provider].models)


def nearest(provider: str, name: str) -> list[str]:
    """Up to three known names that look like this one, the likeliest first."""
    from difflib import get_close_matches  # late: only a wrong name needs it

    return get_close_matches(name, [model.id for model in BUILT_IN[provider].models], n=3, cutoff=0.4)
