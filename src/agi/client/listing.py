"""Which models a server has, by its own list: asked for in the way of the API it speaks, briefly, and read with care.

To be imported late. May import: errors, config, net.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from agi.config import ProviderSettings
from agi.errors import ModelError
from agi.net.http import HttpClient, NetError, Proxies, Timeouts

LIMIT_S = 10.0
LARGEST = 4 << 20
MOST = 1000
LONGEST = 200
_HINT = "Is it running, and is the address right?"


class _Entry(Struct):
    id: str = ""
    name: str = ""
    """What Google calls it."""


class _List(Struct):
    data: list[_Entry] | None = None
    models: list[_Entry] | None = None


async def list_models(provider: str, settings: ProviderSettings, env: Mapping[str, str]) -> tuple[str, ...]:
    """Ask a server for its models; raises AgiError if it cannot be reached or refuses.

    Empty where it answers something else: it may have models and just not list them.
    """
    url, headers = _request(settings)
    where = url.partition("?")[0]
    client = HttpClient(proxies=Proxies.from_env(env), timeouts=Timeouts(LIMIT_S, LIMIT_S, LIMIT_S))
    try:
        async with asyncio.timeout(LIMIT_S), await client.request("GET", url, headers=headers) as response:
            status, body = response.status, await response.read(LARGEST)
    except TimeoutError:
        raise ModelError(f"{where} did not answer within {LIMIT_S:g} s.", hint=_HINT) from None
    except NetError as error:
        raise ModelError(f"{where} could not be reached: {error.message}", hint=error.hint or _HINT) from error
    finally:
        await client.close()
    if status in (401, 403):
        text = f"{where} answers with status {status}: the key is missing or not accepted."
        raise ModelError(text, hint=f"Check the key of {provider}.", code="provider_auth", status=status)
    return _read(body) if status == 200 else ()


def _request(settings: ProviderSettings) -> tuple[str, dict[str, str]]:
    """Where the list is, and how the key is shown, by the API."""
    base = str(settings.base_url).partition("?")[0].rstrip("/")
    key = settings.api_key.reveal() if settings.api_key else ""
    if settings.api == "messages":
        headers = {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
        return base.removesuffix("/v1") + "/v1/models?limit=1000", headers
    if settings.api == "gemini":
        return base.removesuffix("/v1beta") + "/v1beta/models?pageSize=1000", {"x-goog-api-key": key} if key else {}
    return f"{base}/models", {"authorization": f"Bearer {key}"} if key else {}


def _read(body: bytes) -> tuple[str, ...]:
    try:
        told = msgspec.json.decode(body, type=_List)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()
    names = (entry.id or entry.name.removeprefix("models/") for entry in (told.data or told.models or [])[:MOST])
    return tuple(dict.fromkeys(name for name in names if 0 < len(name) <= LONGEST and name.isprintable()))
