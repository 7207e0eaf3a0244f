"""`agi tools`: what agents can use here, what is wrong with the project's own tools, and a beginning for a new one.

May import: errors, client, cli.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from agi.cli import exits
from agi.cli.display import exact, line
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import put, say
from agi.cli.place import place
from agi.client.find import open_daemon
from agi.client.settings import ClientSettings
from agi.client.tools import ToolList

Action = Callable[[Arguments, list[str]], int]
_WIDEST = 32


def tools(arguments: Arguments) -> int:
    """Do what the first word says; without one, list."""
    words = arguments.only(0, 1, 2)
    name = words[0] if words else "list"
    if name not in ACTIONS:
        error = usage("tools", f"There is no `agi tools {name[:40]}`.")
        error.hint = nearest(name, ACTIONS) + error.hint
        raise error
    return ACTIONS[name](arguments, words[1:])


def _list(arguments: Arguments, rest: list[str]) -> int:
    if rest:
        raise usage("tools", "`agi tools list` takes no name.")
    found = asyncio.run(_offered(place(arguments)))
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    widest = min(max((len(one.name) for one in found.tools), default=0), _WIDEST)
    for one in found.tools:
        where = "project" if one.name in found.project else "mcp    " if one.name in found.mcp else "builtin"
        put(f"{exact(one.name):{widest}}  {one.kind:7}  {where}  {line(one.description, 80)}\n")
    for problem in found.problems:
        say(f"{exact(problem.name)}: {line(problem.message, 500)} {line(problem.hint, 300)}".rstrip())
    return exits.OK


async def _offered(settings: ClientSettings) -> ToolList:
    """Ask the daemon if there is one; looking by ourselves makes no data folder."""
    client = await open_daemon(settings)
    if client is None:
        from agi.client.inprocess import offered_tools  # late: it brings the whole house, which a daemon spares us

        return await offered_tools(settings)
    try:
        if client.notice:
            say(client.notice)
        return await client.tools()
    finally:
        await client.close()


def _new(arguments: Arguments, rest: list[str]) -> int:
    from agi.cli.tools_new import write_template  # late: listing does not need it

    if len(rest) != 1:
        raise usage("tools", "`agi tools new` needs the name of a tool.")
    folder = write_template(place(arguments).project, rest[0])
    put(f"{exact(str(folder))}\n")
    say("Say in prompt.txt what it does, write tool.py, and trust the folder as it is then: agi trust")
    return exits.OK


ACTIONS: dict[str, Action] = {"list": _list, "new": _new}
"""What can be done with tools, by its word."""
