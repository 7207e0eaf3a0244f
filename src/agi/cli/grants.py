"""`agi grants`: list and revoke what was allowed for longer than one call. May import: errors, config, client, cli."""

from __future__ import annotations

import asyncio

import msgspec

from agi.cli import exits
from agi.cli.display import exact
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import put
from agi.cli.place import has_sessions, place
from agi.cli.times import local_time
from agi.client.find import open_client
from agi.client.settings import ClientSettings
from agi.config.grants import read_grants, remove_grant
from agi.errors import Invalid, NotFound
from agi.protocol.grants import Grant

ACTIONS = ("list", "revoke")
SHORTEST = 4


def grants(arguments: Arguments) -> int:
    """Do what the first word says; without one, list."""
    words = arguments.only(0, 1, 2)
    name = words[0] if words else "list"
    if name not in ACTIONS:
        error = usage("grants", f"There is no `agi grants {name[:40]}`.")
        error.hint = nearest(name, ACTIONS) + error.hint
        raise error
    if (len(words) == 2) == (name == "list"):
        what = "takes no id" if name == "list" else "needs the id of a grant"
        raise usage("grants", f"`agi grants {name}` {what}.")
    return asyncio.run(_revoke(place(arguments), words[1]) if name == "revoke" else _list(arguments))


async def _list(arguments: Arguments) -> int:
    settings = place(arguments)
    found = await _found(settings)
    if not arguments.has("--all"):
        here = str(settings.project)
        found = [one for one in found if one.scope == "session" or one.workspace_path == here]
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    for one in found:
        put(f"{one.id}  {local_time(one.granted_at)}  {_holds(one)}\n    {exact(one.rule.tool)}: {exact(one.text)}\n")
    if not found:
        put("Nothing is granted.\n")
    return exits.OK


async def _revoke(settings: ClientSettings, text: str) -> int:
    """Find it by its id, or by the beginning or the end of it, and ask again from now on."""
    fitting = [one for one in await _found(settings) if _fits(one.id, text)]
    if len(fitting) > 1:
        names = ", ".join(one.id for one in fitting[:5])
        hint = f"Say more of it: {names}"
        raise Invalid(f"{len(fitting)} grants fit {text[:80]!r}.", code="grant_ambiguous", hint=hint)
    if not fitting:
        hint = "`agi grants --all` lists them."
        raise NotFound(f"There is no grant {text[:80]!r}.", code="grant_not_found", hint=hint)
    grant = fitting[0]
    if grant.scope == "workspace":
        remove_grant(settings.home_config, grant.id)
    else:
        client = await open_client(settings)
        try:
            await client.revoke_grant(grant.id)
        finally:
            await client.close()
    put(f"Revoked: {exact(grant.rule.tool)}: {exact(grant.text)}\n")
    return exits.OK


async def _found(settings: ClientSettings) -> list[Grant]:
    """Those of workspaces are in the user's own file; only where there are sessions, those are asked for theirs."""
    if not has_sessions(settings):
        return list(read_grants(settings.home_config))
    client = await open_client(settings)
    try:
        return await client.grants()
    finally:
        await client.close()


def _holds(grant: Grant) -> str:
    if grant.scope == "workspace":
        return f"in {exact(grant.workspace_path)}"
    return f"in session {exact(grant.session_id)}"


def _fits(grant_id: str, text: str) -> bool:
    short = text.removeprefix("grant_")
    rest = grant_id.removeprefix("grant_")
    return grant_id == text or (len(short) >= SHORTEST and (rest.startswith(short) or rest.endswith(short)))
