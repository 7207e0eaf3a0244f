"""Models are made: the adapter of a provider's wire format, the embedded model, a bridge, and the small-model profile.

Who is to answer was decided before. Everything is imported late, since one of them is all a process usually needs.
May import: errors, config, net and its siblings in models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from agi.errors import Invalid
from agi.models import refusals
from agi.models.base import Model

if TYPE_CHECKING:
    from pathlib import Path

    from agi.config.values import Api, ProviderSettings, Secret, TimeoutSettings
    from agi.models.embedded import Engines
    from agi.net.http import HttpClient, Proxies


class Maker:
    """Makes models, and keeps what they share: one HTTP client, one copy of weights in memory."""

    def __init__(self, *, proxies: Proxies | None = None, ca_file: str | None = None) -> None:
        self._proxies = proxies
        self._ca_file = ca_file
        self._client: HttpClient | None = None
        self._engines: Engines | None = None

    def over_http(self, name: str, model: str, *, api: Api, base_url: str, settings: ProviderSettings) -> Model:
        """A model behind a wire format; raises Invalid if the address is none."""
        check_url(name, base_url)
        return _adapter(api)(
            self._http(),
            provider=name,
            name=model,
            base_url=base_url,
            api_key=settings.api_key,
            timeouts=settings.timeouts,
        )

    def bridged(self, name: str, model: str, settings: ProviderSettings) -> Model:
        """A model of a provider that only the bridge knows."""
        from agi.models.bridge import Bridged
        from agi.models.limits import PATIENT, chosen

        return Bridged(
            provider=name,
            name=model,
            api_key=settings.api_key,
            base_url=settings.base_url,
            limits=chosen(PATIENT, settings.timeouts),
        )

    def embedded(self, model: str, weights: Path, threads: int | None) -> Model:
        """The model inside this process."""
        from agi.models.embedded import Embedded, shared_engines

        self._engines = shared_engines()
        return Embedded(self._engines.get(weights, threads=threads), name=model)

    def small(self, model: Model) -> Model:
        """The same model, led step by step."""
        from agi.models.small import SmallModel

        return SmallModel(model)

    async def close(self) -> None:
        """Close connections, and give the memory of weights back."""
        if self._client is not None:
            await self._client.close()
            self._client = None
        if self._engines is not None:
            await self._engines.close()

    def _http(self) -> HttpClient:
        from agi.net.http import HttpClient

        if self._client is None:
            self._client = HttpClient(proxies=self._proxies, ca_file=self._ca_file)
        return self._client


class _MakesModels(Protocol):
    def __call__(
        self,
        client: HttpClient,
        *,
        provider: str,
        name: str,
        base_url: str,
        api_key: Secret | None,
        timeouts: TimeoutSettings | None,
    ) -> Model: ...


def _adapter(api: Api) -> _MakesModels:
    if api == "messages":
        from agi.models.anthropic import Anthropic

        return Anthropic
    if api == "gemini":
        from agi.models.gemini import Gemini

        return Gemini
    if api == "responses":
        from agi.models.openai_responses import OpenAIResponses

        return OpenAIResponses
    from agi.models.openai_chat import OpenAIChat

    return OpenAIChat


def check_url(provider: str, base_url: str) -> None:
    """Refuse an address that is none; raises Invalid."""
    from agi.net.url import split_url  # late, with the client

    try:
        split_url(base_url)
    except Invalid as error:
        raise refusals.bad_url(provider, error) from error
