"""What is said when a model cannot answer: what is missing, the setting that says so, and the command that mends it.

Only words. May import: errors, extras, models.catalog.
"""

from __future__ import annotations

from collections.abc import Iterable

from agi.errors import Invalid
from agi.extras import how_to_add
from agi.models.catalog import BUILT_IN, nearest

OWN_FILE = "~/.config/agi/config.json"
SHOWN = 5


def no_model(notes: Iterable[str] = ()) -> Invalid:
    """Nothing is set up and nothing was found."""
    ways = (
        "`agi setup` sets a provider up; `agi models fetch` gets a small model that runs on this machine (1.1 GB); "
        "or start Ollama or another model server here."
    )
    return _invalid("no_model", "No model is set up.", " ".join((*notes, ways)))


def no_such_model_here(wanted: str, title: str, where: str, names: tuple[str, ...]) -> Invalid:
    """A server was found, and it does not have the model that was named without a provider."""
    hint = f"It has {_some(names)}. Name one with --model, or another provider with --provider."
    return _invalid("unknown_model", f"{title} at {where} has no model {wanted[:80]!r}.", hint)


def disabled(name: str) -> Invalid:
    """The user switched it off."""
    hint = f"Set providers.{name}.enabled to true in {OWN_FILE}, or choose another with --provider or `agi setup`."
    return _invalid("provider_disabled", f"The provider {name} is switched off.", hint)


def missing_key(name: str, note: str = "") -> Invalid:
    """A known provider without a key."""
    variable = BUILT_IN[name].variable
    hint = f"Run `agi setup --provider {name}`, or set {variable}, or providers.{name}.apiKey in {OWN_FILE}."
    return _invalid("missing_key", f"There is no key for the provider {name}.", note + hint)


def unknown_provider(name: str, known: Iterable[str], note: str = "", *, bridged: bool = False) -> Invalid:
    """Nobody knows this name; with `bridged`, not even the extra for other providers, which is there."""
    address = "A server that speaks OpenAI's API is made known by providers.<name>.baseUrl (`agi setup`)"
    more = "" if bridged else f"; `{how_to_add('providers')}` brings more providers"
    hint = f"{note}Known: {', '.join(known)}. {address}{more}."
    return _invalid("unknown_provider", f"There is no provider {name[:80]!r}.", hint)


def not_answering(name: str, title: str, problem: str, note: str = "") -> Invalid:
    """A server of this machine was asked for by its usual name, and cannot be used."""
    hint = f"{note}Start {title}, or set providers.{name}.baseUrl in {OWN_FILE} if it is elsewhere."
    return _invalid("provider_unreachable", f"{title} cannot be asked: {problem}", hint)


def no_weights() -> Invalid:
    """The embedded model was asked for, and its file is not here."""
    hint = "Run `agi models fetch` (1.1 GB), or set local.weights to its file."
    return _invalid("missing_weights", "The embedded model's weights are not on this machine.", hint)


def no_runtime() -> Invalid:
    """The embedded model was asked for, and what runs it is not installed."""
    hint = f"Run `{how_to_add('local')}`."
    return _invalid("missing_runtime", "The embedded model needs xllamacpp, which is not installed.", hint)


def missing_model(provider: str) -> Invalid:
    """A provider whose models are not known here, and nobody said which."""
    hint = "Name it with --model, or as defaultModel in the configuration (`agi setup`)."
    return _invalid("missing_model", f"Which model of {provider} is to answer was not said.", hint)


def unknown_model(provider: str, wanted: str) -> Invalid:
    """A built-in provider does not have it."""
    names = ", ".join(nearest(provider, wanted)) or "none"
    rest = f"`agi models` lists all. With providers.{provider}.baseUrl set, any name is passed on."
    hint = f"Nearest names: {names}. Name one with --model, or as defaultModel. {rest}"
    return _invalid("unknown_model", f"{provider} has no model {wanted[:80]!r} that is known here.", hint)


def only_model(provider: str, wanted: str, known: str) -> Invalid:
    """A provider with one model was asked for another."""
    return _invalid("unknown_model", f"{provider} has no model {wanted[:80]!r}.", f"Its model is {known}.")


def bad_url(provider: str, error: Invalid) -> Invalid:
    """What is set as its address is none."""
    return _invalid("base_url_invalid", f"providers.{provider}.baseUrl: {error.message}", error.hint)


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _invalid(code: str, message: str, hint: str) -> Invalid:
    return Invalid(message, hint=hint, code=code)
