"""The adapter of every wire format, at the scripted provider or any other server on loopback: one test, all formats.

May import: config, net, models.
"""

from __future__ import annotations

from typing import Any

from agi.config.values import Api, Secret
from agi.models.anthropic import Anthropic
from agi.models.base import Model
from agi.models.gemini import Gemini
from agi.models.openai_chat import OpenAIChat
from agi.models.openai_responses import OpenAIResponses
from agi.net.http import HttpClient

APIS: tuple[Api, ...] = ("chat", "responses", "messages", "gemini")
"""The wire formats, as `providers.<name>.api` calls them."""
PROVIDER = "tested"
MODEL = "model-1"
_ADAPTERS: dict[Api, Any] = {
    "chat": OpenAIChat,
    "responses": OpenAIResponses,
    "messages": Anthropic,
    "gemini": Gemini,
}


def base_url_of(api: Api, url: str) -> str:
    """What the server's address is as a base URL: some formats have the version in it."""
    return f"{url}/v1" if api in ("chat", "responses") else url


def adapter_at(url: str, api: Api, client: HttpClient, **how: Any) -> Model:
    """A model called `tested (model-1)` behind a server that speaks this format; `how` is for the adapter."""
    given = {"provider": PROVIDER, "name": MODEL, "api_key": Secret("sk-test-0123456789abcdef"), **how}
    made: Model = _ADAPTERS[api](client, base_url=base_url_of(api, url), **given)
    return made


def provider_settings(url: str, api: Api, **more: object) -> dict[str, object]:
    """A configuration in which that model answers, asked over the wire."""
    provider = {"baseUrl": base_url_of(api, url), "api": api, "apiKey": "sk-test-0123456789abcdef", **more}
    return {"providers": {PROVIDER: provider}, "defaultProvider": PROVIDER, "defaultModel": MODEL}
