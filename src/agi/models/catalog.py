"""The models known by name, and how built-in providers are spoken of in the environment. A small table, no prices.

A provider with a base URL of its own is not looked up here: its names are its own. May import: models.base.
"""

from __future__ import annotations

import re

from agi.models.base import ModelInfo

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_GENERATIVE_AI_API_KEY",
}
"""The environment variable each built-in provider's key comes from."""

SCRIPTED = "scripted"
"""The provider that needs no provider: models that play a script."""

FIRST_CHOICE = "gpt-5-mini"
"""The OpenAI model that answers when nobody chose one."""

_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$", re.ASCII)


def _models(window: int, output: int, *names: str) -> tuple[ModelInfo, ...]:
    return tuple(
        ModelInfo(provider="openai", id=name, context_window=window, max_output_tokens=output) for name in names
    )


OPENAI_MODELS: tuple[ModelInfo, ...] = (
    *_models(400_000, 128_000, "gpt-5.2", "gpt-5.1", "gpt-5", "gpt-5-mini", "gpt-5-nano"),
    *_models(128_000, 16_384, "gpt-5.2-chat-latest", "gpt-5.1-chat-latest", "gpt-5-chat-latest"),
    *_models(1_047_576, 32_768, "gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"),
    *_models(200_000, 100_000, "o4-mini", "o3", "o3-mini", "o1"),
    *_models(128_000, 16_384, "gpt-4o", "gpt-4o-mini", "chatgpt-4o-latest"),
    *_models(128_000, 4_096, "gpt-4-turbo"),
    *_models(8_192, 8_192, "gpt-4"),
    *_models(16_385, 4_096, "gpt-3.5-turbo"),
)
"""Models that OpenAI serves through Chat Completions."""


def is_openai(base_url: str) -> bool:
    """Whether a base URL is OpenAI's own, and not that of another server."""
    return base_url.rstrip("/").lower() == OPENAI_URL


def knows(name: str) -> bool:
    """Whether OpenAI has a chat model of this name: one of the table, a dated snapshot, or a tuned one (`ft:`)."""
    base = name.split(":")[1] if name.startswith("ft:") else name
    base = _SNAPSHOT.sub("", base)
    return any(base == model.id for model in OPENAI_MODELS)


def nearest(name: str) -> list[str]:
    """Up to three known names that look like this one, the likeliest first."""
    from difflib import get_close_matches  # late: only a wrong name needs it

    return get_close_matches(name, [model.id for model in OPENAI_MODELS], n=3, cutoff=0.4)
