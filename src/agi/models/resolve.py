"""Which model answers: what was asked for, else the configured default, else the first provider that is set up, else
the scripted demo, which says what it is.

It makes models and shares one HTTP client among them; what is said to them is the loop's business.
May import: errors, config, net and its siblings in models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from agi.errors import Invalid
from agi.models.base import Model, ModelInfo
from agi.models.catalog import BUILT_IN, SCRIPTED, is_own, knows, nearest

if TYPE_CHECKING:
    from agi.config import Config
    from agi.config.values import Api, Secret
    from agi.net.http import HttpClient, Proxies

DEMO = "demo"
_URL_VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "google": "GOOGLE_GEMINI_BASE_URL"}
Reason = Literal["asked", "configured", "detected", "nothing_configured"]


class Choice(Struct, frozen=True, kw_only=True):
    """Which model answers, and why: a word for programs and a sentence for people."""

    provider: str
    model: str
    reason: Reason
    because: str


class Models:
    """The models there are, by the configuration. `stand_in` takes the demo's place, for tests."""

    def __init__(
        self,
        config: Config,
        *,
        proxies: Proxies | None = None,
        ca_file: str | None = None,
        stand_in: Model | None = None,
    ) -> None:
        self._config = config
        self._proxies = proxies
        self._ca_file = ca_file
        self._stand_in = stand_in
        self._client: HttpClient | None = None

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
        return self._scripted() if choice.provider == SCRIPTED else self._real(choice)

    def describe(
        self,
        provider: str | None = None,
        model: str | None = None,
        *,
        default_provider: str | None = None,
        default_model: str | None = None,
    ) -> Choice:
        """Tell which model would answer, and why. Raises Invalid."""
        named = model or default_model or self._config.default_model
        chosen, reason, because = self._choose(provider, default_provider, named)
        self._check(chosen)
        if default_provider == chosen or (default_provider is None and reason != "asked"):
            model = model or default_model
        name = self._name(chosen, model or self._default(chosen))
        return Choice(provider=chosen, model=name, reason=reason, because=because)

    def list(self) -> tuple[ModelInfo, ...]:
        """The models clients may choose: those of providers that are set up, and the scripted one."""
        found = [info for name in self._config.providers if self._is_set_up(name) for info in self._offered(name)]
        note = "plays a script; not an AI model"
        return (*found, ModelInfo(provider=SCRIPTED, id=self._scripted_name(), note=note))

    async def close(self) -> None:
        """Close the connections to providers."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _choose(self, provider: str | None, agents: str | None, named: str | None) -> tuple[str, Reason, str]:
        if provider:
            return provider, "asked", "it was asked for"
        if agents:
            return agents, "configured", "the agent names it"
        if self._config.default_provider:
            return self._config.default_provider, "configured", "defaultProvider names it"
        for name in self._config.providers:
            if self._is_found(name):
                return name, "detected", f"{self._evidence(name)} is set"
        if named and named != self._scripted_name():
            return "openai", "configured", f"{named} is wanted and no other provider is set up"
        return SCRIPTED, "nothing_configured", "no provider is set up"

    def _is_found(self, name: str) -> bool:
        """Whether it answers without being asked for. Base URLs of other formats are set for other programs too."""
        only_url = name in ("anthropic", "google") and self._config.provider(name).api_key is None
        return self._is_set_up(name) and not only_url

    def _evidence(self, name: str) -> str:
        setting = "baseUrl" if self._own_url(name) else "apiKey"
        built_in = BUILT_IN.get(name)
        variables = {"apiKey": built_in.variable, "baseUrl": _URL_VARIABLES[name]} if built_in else {}
        return f"providers.{name}.{setting}" + (f" or {variables[setting]}" if variables else "")

    def _check(self, name: str) -> None:
        """Refuse a provider that cannot be asked, and say what is missing."""
        if name == SCRIPTED:
            return
        if not self._config.provider(name).enabled:
            raise _invalid(
                "provider_disabled", f"The provider {name} is switched off.", f"Set providers.{name}.enabled to true."
            )
        if self._is_set_up(name):
            return
        ignored = any(f"providers.{name}.{key}" in self._config.ignored for key in ("baseUrl", "apiKey"))
        note = "It is set in .agi/config.json, which is ignored until you run `agi trust`. " if ignored else ""
        built_in = BUILT_IN.get(name)
        if built_in is not None:
            hint = f"Set {built_in.variable}, or providers.{name}.apiKey in ~/.config/agi/config.json."
            raise _invalid("missing_key", f"There is no key for the provider {name}.", note + hint)
        known = ", ".join(self._known())
        hint = f"Known: {known}. A server that speaks OpenAI's API is made known by providers.<name>.baseUrl."
        raise _invalid("unknown_provider", f"There is no provider {name[:80]!r}.", note + hint)

    def _known(self) -> tuple[str, ...]:
        own = [name for name in self._config.providers if self._own_url(name)]
        return tuple(dict.fromkeys((*BUILT_IN, *own, SCRIPTED)))

    def _own_url(self, name: str) -> str:
        """The base URL of a server that is not the provider's usual one, or nothing."""
        url = self._config.provider(name).base_url or ""
        return "" if is_own(name, url) else url

    def _is_set_up(self, name: str) -> bool:
        settings = self._config.provider(name)
        has_key = name in BUILT_IN and settings.api_key is not None
        return settings.enabled and (has_key or bool(self._own_url(name)))

    def _default(self, name: str) -> str | None:
        """`defaultModel`, if it is meant for this provider: the default one, or the one found without asking."""
        if name == SCRIPTED:
            return None
        meant_for = self._config.default_provider or self._choose(None, None, self._config.default_model)[0]
        return self._config.default_model if meant_for == name else None

    def _name(self, provider: str, wanted: str | None) -> str:
        """The model's name at its provider; raises Invalid if there is none of this name, or none was given."""
        if provider == SCRIPTED:
            known = self._scripted_name()
            if wanted in (None, known):
                return known
            raise _invalid("unknown_model", f"{SCRIPTED} has no model {wanted!r}.", f"Its model is {known}.")
        if self._own_url(provider):
            if wanted:
                return wanted
            hint = "Name it with --model, or as defaultModel in the configuration."
            raise _invalid("missing_model", f"Which model of {provider} is to answer was not said.", hint)
        if wanted is None or knows(provider, wanted):
            return wanted or BUILT_IN[provider].first_choice
        names = ", ".join(nearest(provider, wanted)) or "none"
        hint = f"Nearest names: {names}. With providers.{provider}.baseUrl set, any name is passed on."
        raise _invalid("unknown_model", f"{provider} has no model {wanted[:80]!r} that is known here.", hint)

    def _offered(self, name: str) -> tuple[ModelInfo, ...]:
        if not self._own_url(name):
            return BUILT_IN[name].models
        default = self._default(name)
        return (ModelInfo(provider=name, id=default, note="defaultModel"),) if default else ()

    def _scripted_name(self) -> str:
        return self._stand_in.name if self._stand_in else DEMO

    def _scripted(self) -> Model:
        from agi.models.demo import DemoModel  # late: only where nothing is set up

        return self._stand_in or DemoModel()

    def _real(self, choice: Choice) -> Model:
        from agi.net.http import HttpClient  # late: a one-shot with the demo needs no network

        built_in = BUILT_IN.get(choice.provider)
        settings = self._config.provider(choice.provider)
        base_url = self._own_url(choice.provider) or (built_in.url if built_in else "")
        _check_url(choice.provider, base_url)
        if self._client is None:
            self._client = HttpClient(proxies=self._proxies, ca_file=self._ca_file)
        api = settings.api or (built_in.api if built_in else "chat")
        return _adapter(api)(
            self._client, provider=choice.provider, name=choice.model, base_url=base_url, api_key=settings.api_key
        )


class _MakesModels(Protocol):
    def __call__(
        self, client: HttpClient, *, provider: str, name: str, base_url: str, api_key: Secret | None
    ) -> Model: ...


def _adapter(api: Api) -> _MakesModels:
    """The adapter of a wire format; imported late, since one of them is all a process usually needs."""
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


def _check_url(provider: str, base_url: str) -> None:
    from agi.net.url import split_url  # late, with the client

    try:
        split_url(base_url)
    except Invalid as error:
        setting = f"providers.{provider}.baseUrl"
        raise _invalid("base_url_invalid", f"{setting}: {error.message}", error.hint) from error


def _invalid(code: str, message: str, hint: str) -> Invalid:
    return Invalid(message, hint=hint, code=code)
