"""The models there are: which one answers, made ready to be asked; and who is asked when it cannot answer.

The whole room in one value, for one configuration. Who is chosen is `choosing`'s business, how models are made
`making`'s, what is said to them the loop's. May import: errors, config, net and its siblings in models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agi.errors import Invalid
from agi.models.availability import EMBEDDED, Availability
from agi.models.base import Model, ModelInfo
from agi.models.catalog import BUILT_IN, SCRIPTED, is_own
from agi.models.choosing import Choice, Choosing, Reason
from agi.models.making import Maker, check_url

if TYPE_CHECKING:
    from agi.config import Config
    from agi.config.values import Api
    from agi.models.media import MediaLimits
    from agi.net.http import Proxies

__all__ = ["Choice", "Models", "Reason"]

NO_ENV: Mapping[str, str] = MappingProxyType({})


class Models:
    """The models there are, by the configuration.

    `stand_in` answers where nothing is configured, for tests. `probe_ports` says where servers of this machine are
    looked for, by provider; None is the usual ports.
    """

    def __init__(
        self,
        config: Config,
        *,
        env: Mapping[str, str] = NO_ENV,
        proxies: Proxies | None = None,
        ca_file: str | None = None,
        stand_in: Model | None = None,
        probe_ports: Mapping[str, int] | None = None,
    ) -> None:
        self._config = config
        self._stand_in = stand_in
        self._maker = Maker(proxies=proxies, ca_file=ca_file)
        name = stand_in.name if stand_in else None
        self._available = Availability(config, env=env, stand_in=name, ports=probe_ports)
        self._choosing = Choosing(self._available)

    async def look_around(self, provider: str | None = None, *, default_provider: str | None = None) -> None:
        """Look for servers on this machine where that may decide; to be awaited before `describe` and `resolve`.

        Does nothing where a provider is configured, and hardly anything if it was done a moment ago.
        """
        available = self._available
        named = provider or default_provider or self._config.default_provider
        if named is None:
            if available.looks_around():
                await available.nearby().look()
        elif available.is_sought(named):
            await available.nearby().look_for(named)
        for name in dict.fromkeys(entry.partition("/")[0] for entry in self._config.fallback_models):
            if name != named and available.is_sought(name):
                await available.nearby().look_once(name)

    def resolve(
        self,
        provider: str | None = None,
        model: str | None = None,
        *,
        default_provider: str | None = None,
        default_model: str | None = None,
    ) -> Model:
        """Give the model to ask; the defaults are the agent's own. Raises Invalid."""
        choice = self.describe(provider, model, default_provider=default_provider, default_model=default_model)
        return self._made(choice)

    def describe(
        self,
        provider: str | None = None,
        model: str | None = None,
        *,
        default_provider: str | None = None,
        default_model: str | None = None,
    ) -> Choice:
        """Tell which model would answer, and why, as far as is known without asking anybody. Raises Invalid."""
        return self._choosing.choose(provider, model, default_provider, default_model)

    def is_small(self, provider: str) -> bool:
        """Whether a provider's models are small, and led step by step."""
        return (self._config.provider(provider).profile or ("small" if provider == EMBEDDED else "full")) == "small"

    def media(self, provider: str, model: str) -> MediaLimits:
        """What a model takes besides text, as far as that goes by the way it is asked."""
        from agi.models import media  # late: most conversations are text

        url = self._available.url(provider)
        if provider == SCRIPTED:
            return media.ANYTHING
        if self.is_small(provider) or provider == EMBEDDED:
            return media.NOTHING
        if not url:
            return media.BRIDGED
        return media.limits_of(self._api(provider), own=provider in BUILT_IN and is_own(provider, url), model=model)

    def fallbacks(self, provider: str, model: str) -> tuple[Choice, ...]:
        """Who can be asked when this model cannot answer, in order: of `fallbackModels`, those behind it."""
        return tuple(one for one in self._alternatives(provider, model) if isinstance(one, Choice))

    def fallback_problems(self, provider: str, model: str) -> tuple[str, ...]:
        """Why some of `fallbackModels` cannot be asked, one sentence each."""
        return tuple(one for one in self._alternatives(provider, model) if isinstance(one, str))

    def list(self) -> tuple[ModelInfo, ...]:
        """The models clients may choose: those of providers that are set up or were found; a script if one is set."""
        found = [info for name in self._config.providers if self._available.is_set_up(name) for info in self._of(name)]
        return (*found, *self._found(), *self._scripts())

    async def close(self) -> None:
        """Let go of what the models share."""
        await self._maker.close()

    def _alternatives(self, provider: str, model: str) -> Iterator[Choice | str]:
        entries = tuple(dict.fromkeys(self._config.fallback_models))
        given = f"{provider}/{model}"
        behind = entries[entries.index(given) + 1 :] if given in entries else entries
        for entry in behind:
            yield self._alternative(*entry.split("/", 1))

    def _alternative(self, provider: str, model: str) -> Choice | str:
        try:
            self._available.check(provider)
            name = self._available.model_of(provider, model)
            if url := self._available.url(provider):
                check_url(provider, url)
        except Invalid as error:
            return f"{provider}/{model} of fallbackModels cannot be asked: {error.message} {error.hint}"
        return Choice(provider=provider, model=name, reason="configured", because="fallbackModels names it")

    def _of(self, name: str) -> tuple[ModelInfo, ...]:
        if name in BUILT_IN and not self._available.own_url(name):
            return BUILT_IN[name].models
        default = self._choosing.default_model(name)
        return (ModelInfo(provider=name, id=default, note="defaultModel"),) if default else ()

    def _found(self) -> Iterator[ModelInfo]:
        """What was found on this machine, where nothing is set up."""
        for server in self._available.servers():
            for name in server.chat:
                yield ModelInfo(provider=server.provider, id=name, note=f"found at {server.where}")
        if self._available.can_embed():
            from agi.models.embedded import INFO  # late: only where it can answer

            yield replace(INFO, id=self._available.embedded_name)

    def _scripts(self) -> tuple[ModelInfo, ...]:
        if self._stand_in is None and self._config.default_provider != SCRIPTED:
            return ()
        return (ModelInfo(provider=SCRIPTED, id=self._available.scripted_name, note="plays a script; not an AI model"),)

    def _made(self, choice: Choice) -> Model:
        if choice.provider == SCRIPTED:
            return self._scripted()
        model = self._full(choice)
        return self._maker.small(model) if self.is_small(choice.provider) else model

    def _full(self, choice: Choice) -> Model:
        """The model as it is, before any profile."""
        name, settings = choice.provider, self._config.provider(choice.provider)
        if name == EMBEDDED and not self._available.own_url(name):
            return self._maker.embedded(choice.model, self._available.weights(), self._config.local.threads)
        if not (url := self._available.url(name)):
            return self._maker.bridged(name, choice.model, settings)
        return self._maker.over_http(name, choice.model, api=self._api(name), base_url=url, settings=settings)

    def _api(self, provider: str) -> Api:
        """The wire format in which a provider is asked."""
        return self._config.provider(provider).api or (BUILT_IN[provider].api if provider in BUILT_IN else "chat")

    def _scripted(self) -> Model:
        from agi.models.demo import DemoModel  # late: only who asks for it

        return self._stand_in or DemoModel()
