"""`agi models`: which models can be asked, what they hold and what they cost. May import: errors, client, cli."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import msgspec
from msgspec.structs import replace

from agi.cli import exits
from agi.cli.model_table import notes, table
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import put, say
from agi.cli.place import place
from agi.client.base import ModelList
from agi.client.find import open_daemon
from agi.client.settings import ClientSettings

Action = Callable[[Arguments], Coroutine[object, object, int]]


def models(arguments: Arguments) -> int:
    """Do what the first word says; without one, list."""
    words = arguments.only(0, 1)
    name = words[0] if words else "list"
    if name not in ACTIONS:
        error = usage("models", f"There is no `agi models {name[:40]}`.")
        error.hint = nearest(name, ACTIONS) + error.hint
        raise error
    return asyncio.run(ACTIONS[name](arguments))


async def _list(arguments: Arguments) -> int:
    found = await _offered(place(arguments))
    provider = arguments.get("--provider")
    if provider is not None:
        found = _of(found, provider)
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    for row in table(found, everything=arguments.has("--all")):
        put(row + "\n")
    for note in notes(found):
        say(note)
    return exits.OK


async def _offered(settings: ClientSettings) -> ModelList:
    """Ask the daemon if there is one; looking by ourselves makes no data folder."""
    client = await open_daemon(settings)
    if client is None:
        from agi.client.inprocess import offered_models  # late: it brings the whole house, which a daemon spares us

        return await offered_models(settings)
    try:
        if client.notice:
            say(client.notice)
        return await client.models()
    finally:
        await client.close()


def _of(found: ModelList, provider: str) -> ModelList:
    """What concerns one provider; a mistyped one is told from one that has nothing to offer."""
    offered = tuple(one for one in found.models if one.provider == provider)
    notes = tuple(note for note in found.notes if note.startswith(f"{provider}: "))
    if not offered and not notes:
        error = usage("models", f"No provider {provider[:80]!r} is set up.")
        names = {one.provider for one in found.models}
        error.hint = nearest(provider, names) + "`agi setup` sets one up."
        raise error
    return replace(found, models=offered, notes=notes)


async def _fetch(arguments: Arguments) -> int:
    from agi.cli.fetching import fetch  # late: listing does not need it

    return await fetch(arguments)


ACTIONS: dict[str, Action] = {"list": _list, "fetch": _fetch}
"""What can be done with models, by its word."""
