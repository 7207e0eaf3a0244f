"""Do the servers that settings name answer? Each is asked for its list of models, briefly; nothing else is sent.

To be imported late. May import: errors, config, net, client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from agi.client.findings import Finding, broken, note, ok, warning
from agi.config import Config, ProviderSettings
from agi.errors import AgiError
from agi.net.http import HttpClient, Proxies, Timeouts

LIMIT_S = 2.0
LISTED = 5
LARGEST = 4 << 20
_HINT = "Is it running, and is the address right?"


class _Model(Struct):
    id: str


class _Models(Struct):
    data: list[_Model]


async def reach(config: Config, env: Mapping[str, str], chosen: str, model: str) -> list[Finding]:
    """Ask every server that has an address of its own; that the chosen provider's does not answer is broken."""
    named = [(name, one) for name, one in config.providers.items() if one.base_url and one.enabled]
    client = HttpClient(proxies=Proxies.from_env(env), timeouts=Timeouts(LIMIT_S, LIMIT_S, LIMIT_S))
    try:
        return list(await asyncio.gather(*(_ask(client, name, one, chosen, model) for name, one in named)))
    finally:
        await client.close()


async def _ask(client: HttpClient, name: str, settings: ProviderSettings, chosen: str, model: str) -> Finding:
    bad = broken if name == chosen else warning
    url = str(settings.base_url).partition("?")[0].rstrip("/")
    headers = {"authorization": f"Bearer {settings.api_key.reveal()}"} if settings.api_key else {}
    try:
        async with asyncio.timeout(LIMIT_S), await client.request("GET", f"{url}/models", headers=headers) as response:
            status, body = response.status, await response.read(LARGEST)
    except TimeoutError:
        return bad("provider", f"{name}: {url} did not answer within {LIMIT_S:g} s.", _HINT)
    except AgiError as error:
        return bad("provider", f"{name}: {url} could not be reached: {error.message}", error.hint or _HINT)
    if status in (401, 403):
        text = f"{name}: {url} answers with status {status}: the key is missing or not accepted."
        return bad("provider", text, "Check the key.")
    return _heard(name, url, status, body, model if name == chosen else "")


def _heard(name: str, url: str, status: int, body: bytes, model: str) -> Finding:
    try:
        models = [one.id for one in msgspec.json.decode(body, type=_Models).data]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return note("provider", f"{name}: {url} answers with status {status}, without a list of models.")
    more = f" and {len(models) - LISTED} more" if len(models) > LISTED else ""
    text = f"{name}: {url} answers, with {', '.join(models[:LISTED]) or 'no models'}{more}"
    if model and model not in models:
        return warning("provider", f"{text}. {model} is not among them.", "Name another with --model or defaultModel.")
    return ok("provider", text)
