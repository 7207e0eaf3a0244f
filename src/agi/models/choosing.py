"""Which model answers, and why: what was asked for, else what is configured, else what is found on this machine.

Whether a provider can be asked at all is `availability`'s business, looking for servers `nearby`'s. May import: errors,
config and its siblings in models.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from agi.errors import Invalid
from agi.models import refusals
from agi.models.availability import EMBEDDED, Availability
from agi.models.catalog import BUILT_IN, SCRIPTED, knows

_URL_VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "google": "GOOGLE_GEMINI_BASE_URL"}
_LIMITS = "no provider is set up; the embedded 1.5B model is fine for looking things up, not for real coding"
_OWN_FILE = "no provider is set up; the file of local.weights is run in this process"
Reason = Literal["asked", "configured", "detected", "nothing_configured"]
Chosen = tuple[str, Reason, str]


class Choice(Struct, frozen=True, kw_only=True):
    """Which model answers, and why: a word for programs and a sentence for people."""

    provider: str
    model: str
    reason: Reason
    because: str


class Choosing:
    """Decides among what is available."""

    def __init__(self, available: Availability) -> None:
        self._available = available
        self._config = available.config

    def choose(
        self, provider: str | None, model: str | None, default_provider: str | None, default_model: str | None
    ) -> Choice:
        """Tell who answers; the defaults are the agent's own. Raises Invalid."""
        named = model or default_model or self._config.default_model
        chosen, reason, because = self._provider(provider, default_provider, named)
        self._available.check(chosen)
        if default_provider == chosen or (default_provider is None and reason != "asked"):
            model = model or default_model
        name = self._available.model_of(chosen, model or self.default_model(chosen))
        return Choice(provider=chosen, model=name, reason=reason, because=because)

    def default_model(self, name: str) -> str | None:
        """`defaultModel`, if it is meant for this provider: the default one, or the one found without asking."""
        if name == SCRIPTED or self._config.default_model is None:
            return None
        try:
            meant_for = self._config.default_provider or self._provider(None, None, self._config.default_model)[0]
        except Invalid:
            return None
        return self._config.default_model if meant_for == name else None

    def _provider(self, provider: str | None, agents: str | None, named: str | None) -> Chosen:
        if provider:
            return provider, "asked", "it was asked for"
        if agents:
            return agents, "configured", "the agent names it"
        if self._config.default_provider:
            return self._config.default_provider, "configured", "defaultProvider names it"
        if (name := self._available.first_set_up()) is not None:
            return name, "detected", f"{self._evidence(name)} is set"
        if self._available.stand_in and named in (None, self._available.stand_in):
            return SCRIPTED, "nothing_configured", "no provider is set up"
        return self._found(named) or self._known(named) or self._embedded(named)

    def _found(self, named: str | None) -> Chosen | None:
        """The first server of this machine that answers and has the model, if one is named."""
        for server in self._available.servers():
            if named is None or named in server.names or f"{named}:latest" in server.names:
                return server.provider, "detected", f"{server.title} answers at {server.where}"
        return None

    def _known(self, named: str | None) -> Chosen | None:
        """The built-in provider that has the model; it is not set up, which is the thing to say."""
        for name in BUILT_IN:
            if named and knows(name, named):
                return name, "configured", f"{named} is wanted and no other provider is set up"
        return None

    def _embedded(self, named: str | None) -> Chosen:
        """The model inside this process, where nobody else is there; raises Invalid if there is none at all."""
        available = self._available
        if named not in (None, available.embedded_name):
            if servers := available.servers():
                raise refusals.no_such_model_here(named or "", servers[0].title, servers[0].where, servers[0].chat)
            raise self._no_model()
        if self._config.local.weights and not available.stand_in:
            available.check(EMBEDDED)  # who says where the weights are hears what is wrong with them
        if available.can_embed():
            return EMBEDDED, "nothing_configured", _OWN_FILE if available.own_weights else _LIMITS
        raise self._no_model()

    def _no_model(self) -> Invalid:
        seen = self._available.nearby().problems() if self._available.looks_around() else ()
        return refusals.no_model(seen)

    def _evidence(self, name: str) -> str:
        setting = "baseUrl" if self._available.own_url(name) else "apiKey"
        built_in = BUILT_IN.get(name)
        variables = {"apiKey": built_in.variable, "baseUrl": _URL_VARIABLES[name]} if built_in else {}
        return f"providers.{name}.{setting}" + (f" or {variables[setting]}" if variables else "")
