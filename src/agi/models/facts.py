"""What is known about models: the user's word first, then the server's, then the table's. What nobody says is unknown.

Each fact is looked for on its own, so a user who sets a window keeps the table's prices. A server that is nobody's in
the table has no price unless the user or the server itself says so. May import: config, protocol and its siblings in
models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from agi.models.base import ModelInfo, Price
from agi.models.catalog import SCRIPTED, is_own, without_date
from agi.models.places import PLACES
from agi.models.prices import Known, Rates, Tiered, find, seller_at
from agi.protocol.messages import Usage

if TYPE_CHECKING:
    from agi.config import Config
    from agi.config.values import ModelSettings
    from agi.models.reports import Reported
    from agi.net.http import Proxies


NOBODYS = frozenset({SCRIPTED, "embedded", *PLACES})
"""Providers of this machine: nobody in the table sells what they say, whatever it is called."""
_RATES = ("input", "output", "read", "write")


class Facts:
    """Windows and prices of the models that a configuration names. Cheap to make; asks nobody but in `learn`.

    `ports` says where servers of this machine were looked for, by provider; None is the usual ports.
    """

    def __init__(self, config: Config, *, ports: Mapping[str, int] | None = None) -> None:
        self._config = config
        self._ports = ports

    def cost(self, provider: str, model: str, usage: Usage) -> float | None:
        """What one call cost in USD; None if the price is not known."""
        return self._rates(provider, model).cost(usage)

    def rates(self, provider: str, model: str) -> Rates | None:
        """All it goes by for that, where the price is known."""
        rates = self._rates(provider, model)
        return rates if rates.cost(Usage()) is not None else None

    def price(self, provider: str, model: str) -> Price | None:
        """What it costs by the million tokens, as far as that is known."""
        return self._rates(provider, model).price()

    def window(self, provider: str, model: str) -> int | None:
        """How many tokens it takes in and gives out together; a snapshot's is its model's."""
        return (
            self._said(provider, model).context_window
            or self._reported(provider, model).context_window
            or self._known(provider, model).context_window
            or self._known(provider, without_date(model)).context_window
        )

    def window_source(self, provider: str, model: str) -> Literal["config", "server", "catalog", ""]:
        """Who says how large the window is; empty if nobody does."""
        if self._said(provider, model).context_window:
            return "config"
        if self._reported(provider, model).context_window:
            return "server"
        return "catalog" if self.window(provider, model) else ""

    def max_output(self, provider: str, model: str) -> int | None:
        """How many tokens it gives out at most."""
        return (
            self._said(provider, model).max_output_tokens
            or self._reported(provider, model).max_output_tokens
            or self._known(provider, model).max_output_tokens
        )

    def lacks(self, provider: str, model: str) -> tuple[str, ...]:
        """Which of `images`, `audio` and `files` its server says that it does not take; what nobody says is open."""
        return self._reported(provider, model).lacks

    def about(self, provider: str, model: str, note: str = "") -> ModelInfo:
        """Everything at once, for people to choose by; their note comes before the server's."""
        rates, reported = self._rates(provider, model), self._reported(provider, model)
        notes = [note, reported.note]
        if (above := rates.dearer_above()) is not None:
            notes.append(f"costs more above {above:,} tokens")
        return ModelInfo(
            provider=provider,
            id=model,
            context_window=self.window(provider, model),
            max_output_tokens=self.max_output(provider, model),
            price=rates.price(),
            capabilities=reported.capabilities,
            note="; ".join(one for one in notes if one),
        )

    async def learn(self, *providers: str, proxies: Proxies | None = None) -> None:
        """Ask the servers of these providers about their models, unless they were asked lately. Raises nothing."""
        if not any(self._has_server(provider) for provider in providers):
            return
        from agi.models.servers import reported, server_of  # late: most providers are in the table

        servers = [server_of(self._config, provider, self._ports) for provider in providers]
        await reported().ask([one for one in servers if one is not None], proxies=proxies)

    def _rates(self, provider: str, model: str) -> Rates:
        said = self._said(provider, model)
        rates = self._known(provider, model).rates or Rates()
        rates = _over(self._reported(provider, model).rates or Rates(), rates)
        users = Rates(
            input=said.input_usd, output=said.output_usd, read=said.cache_read_usd, write=said.cache_write_usd
        )
        return _over(users, rates)

    def _said(self, provider: str, model: str) -> ModelSettings:
        from agi.config.values import ModelSettings

        return self._config.provider(provider).models.get(model, ModelSettings())

    def _reported(self, provider: str, model: str) -> Reported:
        from agi.models.reports import Reported

        if not self._has_server(provider):
            return Reported(id=model)
        from agi.models.servers import reported, server_of

        server = server_of(self._config, provider, self._ports)
        report = reported().last(server) if server else None
        return (report.find(model) if report else None) or Reported(id=model)

    def _known(self, provider: str, model: str) -> Known:
        """What the table says, by the address of the server, or by the provider's name where it has no other."""
        url = self._own_url(provider)
        seller = seller_at(url) if url else None if provider in NOBODYS else provider
        return (find(seller, model) if seller else None) or Known(id=model, context_window=None)

    def _has_server(self, provider: str) -> bool:
        return bool(self._own_url(provider)) or provider in PLACES

    def _own_url(self, provider: str) -> str:
        url = self._config.provider(provider).base_url or ""
        return "" if is_own(provider, url) else url


def _over(first: Rates, second: Rates) -> Rates:
    """The first where it says something. Thought costs what the rest of the answer costs where that was said anew; a
    plain rate that is the beginning of a rising one says nothing new."""
    named = {name: value for name in _RATES if (value := getattr(first, name)) is not None}
    told = {name: value for name, value in named.items() if not _begins(getattr(second, name), value)}
    return replace(second, **told, **({"reasoning": None} if "output" in told else {}))


def _begins(rate: object, value: object) -> bool:
    return isinstance(rate, Tiered) and rate.base == value
