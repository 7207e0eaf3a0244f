"""Which providers can be asked here, where they are, and what their models are called.

Looks at settings, at what was last seen of this machine's servers and at the embedded model's file; it asks nobody. Who
of them answers is `choosing`'s business. May import: errors, config and its siblings in models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agi.errors import Invalid
from agi.models import refusals
from agi.models.catalog import BUILT_IN, SCRIPTED, is_own, knows
from agi.models.places import PLACES

if TYPE_CHECKING:
    from pathlib import Path

    from agi.config import Config
    from agi.models.nearby import Nearby, Server

DEMO = "demo"
EMBEDDED = "embedded"
EMBEDDED_MODEL = "qwen2.5-coder-1.5b"
_IGNORED = "It is set in .agi/config.json, which is ignored until you run `agi trust`. "


class Availability:
    """What one configuration gives access to; `stand_in` is the name of the model that tests put in others' place."""

    def __init__(
        self,
        config: Config,
        *,
        env: Mapping[str, str],
        stand_in: str | None = None,
        ports: Mapping[str, int] | None = None,
    ) -> None:
        self.config = config
        self.stand_in = stand_in
        self._env = env
        self._ports = ports

    @property
    def scripted_name(self) -> str:
        """The name of the one model that plays a script."""
        return self.stand_in or DEMO

    @property
    def embedded_name(self) -> str:
        """The name of the model that runs in this process: that of the file, if the user brought one."""
        return self.own_weights.rpartition("/")[2].removesuffix(".gguf")[:80] or EMBEDDED_MODEL

    @property
    def own_weights(self) -> str:
        """The user's own file, if `local.weights` names one and not where to fetch the usual one."""
        named = self.config.local.weights or ""
        return "" if named.lower().startswith(("http://", "https://")) else named

    def check(self, name: str) -> None:
        """Refuse a provider that cannot be asked, and say what is missing; raises Invalid."""
        if name == SCRIPTED:
            return
        if not self.config.provider(name).enabled:
            raise refusals.disabled(name)
        if name == EMBEDDED and not self.own_url(name):
            self.weights()
        elif not self.is_set_up(name) and self.found(name) is None and not _is_bridged(name):
            raise self._refusal(name)

    def model_of(self, provider: str, wanted: str | None) -> str:
        """The model's name at its provider; raises Invalid if there is none of this name, or none was given."""
        server = self.found(provider)
        if self.own_url(provider):
            name = wanted
        elif provider in (SCRIPTED, EMBEDDED):
            name = self.scripted_name if provider == SCRIPTED else self.embedded_name
            if wanted not in (None, name):
                raise refusals.only_model(provider, wanted or "", name)
        elif provider in BUILT_IN:
            name = wanted or BUILT_IN[provider].first_choice
            if not knows(provider, name):
                raise refusals.unknown_model(provider, name)
        else:
            name = wanted or (server.chat[0] if server else None)
        if name is None:
            raise refusals.missing_model(provider)
        return name

    def is_set_up(self, name: str) -> bool:
        """Whether a provider's settings suffice to ask it."""
        settings = self.config.provider(name)
        if not settings.enabled or settings.api_key is None:
            return settings.enabled and bool(self.own_url(name))
        return name in BUILT_IN or bool(self.own_url(name)) or _is_bridged(name)

    def first_set_up(self) -> str | None:
        """The first provider that answers without being asked for: base URLs of some are set for other programs too."""
        for name in self.config.providers:
            only_url = name in ("anthropic", "google") and self.config.provider(name).api_key is None
            if not only_url and self.is_set_up(name):
                return name
        return None

    def own_url(self, name: str) -> str:
        """The base URL of a server that is not the provider's usual one, or nothing."""
        url = self.config.provider(name).base_url or ""
        return "" if is_own(name, url) else url

    def url(self, name: str) -> str:
        """Where a provider is: where settings say, where it was found, or its usual address; empty if nowhere."""
        if own := self.own_url(name):
            return own
        if name in BUILT_IN:
            return BUILT_IN[name].url
        server = self.found(name)
        return server.url if server else ""

    def looks_around(self) -> bool:
        """Whether nothing that is configured decides, so that servers of this machine may."""
        return self.stand_in is None and self.config.local.probe and self.first_set_up() is None

    def is_sought(self, name: str) -> bool:
        """Whether a provider is a server of this machine that must be looked for, for lack of an address."""
        settings = self.config.provider(name)
        return name in PLACES and settings.enabled and not self.own_url(name) and self.nearby().knows(name)

    def found(self, name: str) -> Server | None:
        """The server of this machine that answers under this name, if it was looked for."""
        return self.nearby().server(name) if self.is_sought(name) else None

    def servers(self) -> tuple[Server, ...]:
        """The servers of this machine that may answer unasked."""
        if not self.looks_around():
            return ()
        return tuple(one for one in self.nearby().servers() if self.config.provider(one.provider).enabled)

    def nearby(self) -> Nearby:
        """What is known of the servers on this machine."""
        from agi.models.nearby import around  # late: whoever has a provider needs none of it

        return around(self._ports)

    def weights(self) -> Path:
        """The embedded model's file; raises Invalid if it cannot run here."""
        from importlib.util import find_spec  # late, with the weights: only where the embedded model may answer

        from agi.models.weights import cached

        if find_spec("xllamacpp") is None:
            raise refusals.no_runtime()
        found = cached(self._env, self.config.local.weights)
        if found is None:
            raise refusals.no_weights()
        return found

    def can_embed(self) -> bool:
        """Whether the embedded model can answer here."""
        if self.stand_in or not self.config.provider(EMBEDDED).enabled:
            return False
        try:
            return bool(self.weights())
        except Invalid:
            return False

    def _refusal(self, name: str) -> Invalid:
        ignored = any(f"providers.{name}.{key}" in self.config.ignored for key in ("baseUrl", "apiKey"))
        note = _IGNORED if ignored else ""
        if self.is_sought(name):
            around = self.nearby()
            return refusals.not_answering(name, around.title(name), around.problem(name), note)
        if name in BUILT_IN:
            return refusals.missing_key(name, note)
        from agi.models import bridge  # late: hardly anybody needs it

        own = [one for one in self.config.providers if self.own_url(one)]
        known = tuple(dict.fromkeys((*BUILT_IN, *own, *PLACES, EMBEDDED, SCRIPTED)))
        return refusals.unknown_provider(name, known, note, bridged=bridge.is_installed())


def _is_bridged(name: str) -> bool:
    """Whether a provider that is not ours is known to the bridge."""
    if name in BUILT_IN or name in PLACES or name in (EMBEDDED, SCRIPTED):
        return False
    from agi.models import bridge  # late: hardly anybody needs it

    return bridge.knows(name)
