"""What setup says: how providers stand, what was written, what comes next. Keys are `set` or `not set`, and no more.

May import: client, cli.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from agi.cli.display import exact
from agi.client.base import ModelOffer
from agi.client.setup import EMBEDDED, Choices, ProviderState, Survey, Written


def greeting(own: Path, project: Path | None) -> str:
    """What is set up, and where it goes."""
    if project is None:
        return f"Setting up agi for you, in {short(own)}, which only you can read."
    return f"Setting up agi for {short(project)}. Keys go into {short(own)}, which only you can read."


def short(path: Path) -> str:
    """A path as people write it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) and path != home else str(path)


def key_source(state: ProviderState) -> str:
    """Where a key comes from."""
    if state.key_from == state.variable:
        return f"from {state.variable} in the environment"
    return f"in {short(Path(state.key_from))}"


def key_words(state: ProviderState) -> str:
    """Whether there is a key, and where it comes from."""
    return f"key set, {key_source(state)}" if state.has_key else "no key yet"


def describe_model(offer: ModelOffer) -> str:
    """What is known about a model, in a few words."""
    window = f"{_count(offer.context_window)} context" if offer.context_window else ""
    return " · ".join(word for word in (window, _price(offer), offer.note) if word)


def _price(offer: ModelOffer) -> str:
    price = offer.price
    if price is None or price.input_usd is None or price.output_usd is None:
        return ""
    return f"${price.input_usd:g} in, ${price.output_usd:g} out per 1M tokens"


def overview(found: Survey) -> str:
    """Everything that is set up, one provider a line."""
    lines = [_line(found, state) for state in found.providers.values()]
    default = found.config.default_provider
    if default == EMBEDDED:
        lines.append(f"{EMBEDDED:12} the model in agi itself · default")
    agent = found.config.default_agent
    lines.append(f"Default: {_default(found)}{f', as the agent {agent}' if agent else ''}")
    return "\n".join(exact(line) for line in lines) + "\n"


def overview_json(found: Survey) -> str:
    """The same for programs."""
    config = found.config
    providers = [
        {
            "name": one.name,
            "key": "set" if one.has_key else "not set",
            "key_from": one.key_from or None,
            "base_url": one.base_url.partition("?")[0] if one.base_url else None,
            "enabled": one.enabled,
        }
        for one in found.providers.values()
    ]
    default = {"provider": config.default_provider, "model": config.default_model, "agent": config.default_agent}
    return msgspec.json.encode({"default": default, "providers": providers}).decode() + "\n"


def outcome(choices: Choices, written: tuple[Written, ...], *, for_project: bool) -> str:
    """What was done, where, and what to do next."""
    who = "The embedded model" if choices.provider == EMBEDDED else f"{choices.model} of {choices.provider}"
    lines = [f"{who} answers from now on{' in this project' if for_project else ''}.", "Written:"]
    lines += [f"  {short(one.path)}  {', '.join(one.keys)}" for one in written]
    first = "agi models fetch" if choices.provider == EMBEDDED else 'agi "What does this project do?"'
    return "\n".join(exact(line) for line in (*lines, f"Next: {first}")) + "\n"


def outcome_json(choices: Choices, written: tuple[Written, ...], seconds: float | None) -> str:
    """The same for programs."""
    files = [{"path": str(one.path), "keys": one.keys} for one in written]
    test = None if seconds is None else {"answered": True, "seconds": round(seconds, 3)}
    said = {"provider": choices.provider, "model": choices.model, "agent": choices.agent, "test": test, "files": files}
    return msgspec.json.encode(said).decode() + "\n"


def _line(found: Survey, state: ProviderState) -> str:
    words = [f"key {'set, ' + key_source(state) if state.has_key else 'not set'}"]
    words += [state.base_url.partition("?")[0]] if state.base_url else []
    words += ["switched off"] if not state.enabled else []
    words += ["default"] if state.name == found.config.default_provider else []
    return f"{state.name:12} {' · '.join(words)}"


def _default(found: Survey) -> str:
    config = found.config
    if config.default_provider is None:
        return "none is chosen; `agi doctor` says who would answer"
    return f"{config.default_model or 'the first choice'} of {config.default_provider}"


def _count(tokens: int) -> str:
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.3g}M"
    return f"{tokens / 1000:.3g}k" if tokens >= 1000 else str(tokens)
