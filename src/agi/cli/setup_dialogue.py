"""The dialogue of `agi setup`: who answers, the key, does it work, which model, which agent. Nothing is written here.

May import: errors, config, client, cli.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from agi.cli.dialogue import Dialogue
from agi.cli.entry import Check
from agi.cli.menu import Left, Row
from agi.cli.setup_flags import Wish, name_for
from agi.cli.setup_known import (
    APIS,
    EMBEDDED_MORE,
    EMBEDDED_NOTE,
    KEY_PAGES,
    SERVERS,
    TITLES,
    agents_of,
    checked_agent,
    checked_key,
    checked_model,
    checked_name,
    checked_url,
    title_of,
)
from agi.cli.setup_words import describe_model, greeting, key_source, key_words
from agi.client.settings import ClientSettings
from agi.client.setup import EMBEDDED, Choices, Survey
from agi.client.trial import Offered, ask_once, check_model, offered
from agi.config import ProviderSettings, Secret
from agi.config.values import Api
from agi.errors import AgiError

Verdict = Literal["answered", "again", "key", "address", "model", "save"]
Ways = dict[Verdict, Row]
OWN = Row("A server of your own", "Ollama, LM Studio, llama.cpp, vLLM, OpenRouter, or any other")
OTHER_NAME = Row("Another name …", "type it")


class SetupDialogue:
    """Asks for what the command line left open."""

    def __init__(self, dialogue: Dialogue, wish: Wish, found: Survey, settings: ClientSettings) -> None:
        self._dialogue = dialogue
        self._wish = wish
        self._found = found
        self._env = settings.env
        self._own_file = settings.home_config / "config.json"
        self._project = settings.project if wish.for_project else None

    def ask(self) -> Choices:
        """Come to all choices; raises Left if the person leaves."""
        self._dialogue.tell(greeting(self._own_file, self._project))
        choices = self._who()
        if choices.provider == EMBEDDED:
            self._dialogue.tell(EMBEDDED_MORE)
            return self._with_agent(choices)
        choices = self._with_model(self._with_key(choices))
        return self._with_agent(choices)

    def _who(self) -> Choices:
        """Which provider, and where it is."""
        wish = self._wish
        if wish.provider == EMBEDDED:
            return wish.embedded()
        if wish.provider is not None:
            known = self._found.provider(wish.provider)
            url = wish.address(self._found)
            if not (known.is_built_in or known.base_url or url or wish.key):
                url = self._url("", wish.api)
            return Choices(provider=wish.provider, base_url=url, api=wish.api, key=wish.key)
        configured = [name for name, one in self._found.providers.items() if not one.is_built_in and one.base_url]
        names = [*TITLES, *configured]
        rows = [Row(title_of(name), self._note(name)) for name in names]
        rows += [OWN, Row(title_of(EMBEDDED), EMBEDDED_NOTE)]
        current = self._found.config.default_provider
        at = names.index(current) if current in names else len(rows) - 1 if current == EMBEDDED else 0
        picked = self._dialogue.choose("Who should answer?", rows, at)
        if picked < len(names):
            return Choices(provider=names[picked], api=wish.api, key=wish.key)
        return self._own() if picked == len(names) else self._wish.embedded()

    def _note(self, name: str) -> str:
        known = self._found.provider(name)
        words = [known.base_url.partition("?")[0] if known.base_url else key_words(known)]
        words += ["switched off"] if not known.enabled else []
        words += ["answers now"] if name == self._found.config.default_provider else []
        return " · ".join(words)

    def _own(self) -> Choices:
        """A server of one's own: one of the usual, or any other."""
        rows = [Row(server.title, server.url) for server in SERVERS.values()]
        picked = self._dialogue.choose("Which server?", [*rows, Row("Another one", "any address, any API")])
        if picked < len(rows):
            name = list(SERVERS)[picked]
            url = self._url(SERVERS[name].url, self._wish.api)
            return Choices(provider=name, base_url=url, api=self._wish.api, key=self._wish.key)
        api = self._wish.api or self._api()
        url = self._url("", api)
        name = self._dialogue.enter("Its name", name_for(url), note="As in `agi --provider NAME`.", check=checked_name)
        return Choices(provider=name, base_url=url, api=None if api == "chat" else api, key=self._wish.key)

    def _api(self) -> Api:
        return list(APIS)[self._dialogue.choose("Which API does it speak?", [Row(*one) for one in APIS.values()])]

    def _url(self, text: str, api: Api | None) -> str:
        note = f"Where its API begins, such as {SERVERS['ollama'].url}."
        return self._dialogue.enter("Base URL", text, note=note, check=lambda typed: checked_url(typed, api))

    def _with_key(self, choices: Choices, *, again: bool = False) -> Choices:
        """A key, if there must or may be one."""
        ask = f"Key for {title_of(choices.provider)}"
        known = self._found.provider(choices.provider)
        if choices.key is not None and not again:
            return choices
        if known.has_key and not again and not self._wish.asks_key:
            rows = [Row(f"The one {key_source(known)}"), Row("Another one", "to be typed or pasted")]
            if self._dialogue.choose(ask, rows) == 0:
                return choices
        must = self._is_needed(choices)
        page = KEY_PAGES.get(choices.provider) if must or not known.is_built_in else None
        note = f"Get one at {page} · it is not shown" if page else "Enter if it needs none · it is not shown"
        text = self._dialogue.enter(ask, note=note, masked=True, check=_key_line(must))
        return replace(choices, key=Secret(text) if text else None)

    def _is_needed(self, choices: Choices) -> bool:
        """Whether there must be a key: the known providers answer nobody without one."""
        return self._found.provider(choices.provider).is_built_in and not self._reached(choices).base_url

    def _with_model(self, choices: Choices) -> Choices:
        """A model that answers. That of a known provider is tried before another may be chosen."""
        choices, offers = self._offers(choices)
        current = self._current(choices)
        model = self._wish.model or (current or offers.first if offers.first else self._pick(offers, current))
        is_picked = bool(self._wish.model) or not offers.first
        while True:
            verdict = self._try(choices, model)
            if verdict == "model":
                model, is_picked = self._pick(offers, model), True
            elif verdict in ("answered", "save"):
                picked = model if is_picked else self._pick(offers, model)
                if picked == model or verdict == "save":
                    return replace(choices, model=picked)
                model, is_picked = picked, True
            else:
                choices = self._mended(choices, verdict)

    def _mended(self, choices: Choices, verdict: Verdict) -> Choices:
        """The choices with what a failure made the person change."""
        if verdict == "key":
            return self._with_key(choices, again=True)
        if verdict == "address":
            url = choices.base_url or self._found.provider(choices.provider).base_url or ""
            return replace(choices, base_url=self._url(url, choices.api))
        return choices

    def _current(self, choices: Choices) -> str:
        config = self._found.config
        return config.default_model or "" if config.default_provider == choices.provider else ""

    def _offers(self, choices: Choices) -> tuple[Choices, Offered]:
        """The models there are; a server that does not tell leaves the name to be typed."""
        while True:
            work = offered(choices.provider, self._reached(choices), self._env)
            try:
                return choices, self._dialogue.wait(f"Looking for the models of {title_of(choices.provider)} …", work)
            except AgiError as error:
                verdict = self._what_now(error, choices, {"save": Row("Type a model's name and go on")})
            if verdict == "save":
                return choices, Offered(models=(), first="")
            choices = self._mended(choices, verdict)

    def _pick(self, offers: Offered, at: str) -> str:
        rows = [Row(one.id, describe_model(one)) for one in offers.models]
        names = [one.id for one in offers.models]
        if not offers.first:
            rows.append(OTHER_NAME)
        picked = self._dialogue.choose("Which model?", rows, names.index(at) if at in names else 0) if names else 0
        return names[picked] if picked < len(names) else self._dialogue.enter("Model's name", at, check=checked_model)

    def _try(self, choices: Choices, model: str) -> Verdict:
        test = self._wish.test
        work = (ask_once if test else check_model)(choices.provider, self._reached(choices), self._env, model)
        try:
            seconds = self._dialogue.wait(f"Asking {model} for a word (Ctrl-C leaves) …" if test else "", work)
        except AgiError as error:
            ways: Ways = {"model": Row("Choose another model"), "save": Row("Save anyway")}
            return self._what_now(error, choices, ways)
        if seconds is not None:
            self._dialogue.tell(f"✓ {model} answered in {seconds:.1f} s.")
        return "answered"

    def _reached(self, choices: Choices) -> ProviderSettings:
        return self._found.with_choices(choices)

    def _what_now(self, error: AgiError, choices: Choices, ways: Ways) -> Verdict:
        """Tell why something failed and ask how to go on, the likeliest way first."""
        self._dialogue.tell(f"✗ {error.message}\n  {error.hint}".rstrip())
        own: Ways = {"address": Row("Change the base URL")} if self._reached(choices).base_url else {}
        ways = {"again": Row("Try again"), "key": Row("Enter another key"), **own, **ways}
        first = {"provider_auth": "key", "model_not_found": "model", "unknown_model": "model"}.get(error.code, "again")
        order = sorted(ways, key=lambda verdict: verdict != first)
        rows = [*(ways[one] for one in order), Row("Leave", "nothing is changed")]
        picked = self._dialogue.choose("What now?", rows, trace=False)
        if picked == len(order):
            raise Left
        return order[picked]

    def _with_agent(self, choices: Choices) -> Choices:
        """The agent, where another is wanted than the one that answers anyway."""
        if self._wish.agent is not None:
            return replace(choices, agent=checked_agent(self._wish.agent, self._project))
        known = agents_of(self._project)
        current = self._found.config.default_agent or "build"
        names = list(known)
        rows = [Row(name, known[name]) for name in names]
        at = names.index(current) if current in names else 0
        picked = names[self._dialogue.choose("Which agent by default?", rows, at)]
        return choices if picked == current else replace(choices, agent=picked)


def _key_line(is_needed: bool) -> Check:
    """Check a typed key; none will do unless there must be one."""
    return lambda text: checked_key(text).reveal() if text or is_needed else ""
