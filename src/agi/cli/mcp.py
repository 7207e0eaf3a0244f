"""`agi mcp`: the MCP servers agents can use here: list, add, remove, try, approve; and serve, to be one.

May import: errors, config, client, cli; environment and server, late, for `serve`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from agi.cli import exits
from agi.cli.display import exact, exact_lines, line
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import put, say
from agi.cli.place import place
from agi.cli.questions import ask_line, someone_is_there
from agi.client.mcp_servers import forget, servers_of
from agi.config.servers import ServerEntry, add_server, remove_server
from agi.protocol.mcp import ApproveMcp, McpList, McpProblem, McpServer

Action = Callable[[Arguments, list[str]], int]
QUESTION = "Approve it as it is now? [y]es · Enter: not now: "
_WIDEST = 32
_TOOLS = 20


def mcp(arguments: Arguments) -> int:
    """Do what the first word says; without one, list."""
    name, *rest = arguments.words or ["list"]
    if name not in ACTIONS:
        error = usage("mcp", f"There is no `agi mcp {name[:40]}`.")
        error.hint = nearest(name, ACTIONS) + error.hint
        raise error
    if arguments.after is not None and name != "add":
        raise usage("mcp", f"`agi mcp {name}` takes no command.")
    return ACTIONS[name](arguments, rest)


def _list(arguments: Arguments, rest: list[str]) -> int:
    if rest:
        raise usage("mcp", "`agi mcp list` takes no name.")
    found = asyncio.run(_listed(arguments))
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    widest = min(max((len(one.name) for one in found.servers), default=0), _WIDEST)
    for one in found.servers:
        count = f"{len(one.tools)} tool{'s' * (len(one.tools) != 1)}"
        put(f"{exact(one.name):{widest}}  {one.source:7}  {one.state:8}  {count:>9}  {line(one.runs, 80)}\n")
    for problem in (*found.problems, *(one for server in found.servers for one in server.problems)):
        _say(problem)
    if not found.enabled:
        say("MCP servers are switched off here: `mcp.enabled` is false.")
    elif not found.servers:
        say("No MCP servers are configured. `agi mcp add NAME -- COMMAND …` adds one; docs/mcp.md says more.")
    return exits.OK


async def _listed(arguments: Arguments) -> McpList:
    async with servers_of(place(arguments)) as servers:
        return await servers.listed()


def _add(arguments: Arguments, rest: list[str]) -> int:
    if len(rest) != 1:
        raise usage("mcp", "`agi mcp add` needs a name, and then `-- COMMAND …` or `--url URL`.")
    command = arguments.after or []
    entry = ServerEntry(
        command=command[0] if command else "",
        args=tuple(command[1:]),
        env=_pairs(arguments, "--env", "="),
        url=arguments.get("--url") or "",
        headers=_pairs(arguments, "--header", ":"),
        sandbox=True if arguments.has("--sandbox") else None,
    )
    settings = place(arguments)
    project = settings.project if arguments.has("--to-project") else None
    file = add_server(settings.home_config, rest[0], entry, project=project, replace=arguments.has("--replace"))
    if project is None:
        forget(settings, rest[0])  # whoever says what is to run has approved it
    put(f"{exact(str(file))}\n")
    say("Trust the folder as it is now: agi trust" if project else f"Try it: agi mcp test {exact(rest[0])}")
    return exits.OK


def _pairs(arguments: Arguments, option: str, between: str) -> dict[str, str]:
    pairs = {}
    for given in arguments.all(option):
        name, found, value = given.partition(between)
        if not found or not name.strip():
            raise usage("mcp", f"{option} must look like NAME{between}VALUE.")
        pairs[name.strip()] = value.strip() if between == ":" else value
    return pairs


def _rm(arguments: Arguments, rest: list[str]) -> int:
    if len(rest) != 1:
        raise usage("mcp", "`agi mcp rm` needs the name of a server.")
    settings = place(arguments)
    project = settings.project if arguments.has("--to-project") else None
    file = remove_server(settings.home_config, rest[0], project=project)
    if project is None:
        forget(settings, rest[0])
    say(f"Removed {exact(rest[0])} from {exact(str(file))}.")
    return exits.OK


def _test(arguments: Arguments, rest: list[str]) -> int:
    if len(rest) != 1:
        raise usage("mcp", "`agi mcp test` needs the name of a server.")
    server = asyncio.run(_tested(arguments, rest[0]))
    if arguments.has("--json"):
        put(msgspec.json.encode(server).decode() + "\n")
    else:
        _show(server)
    return exits.OK if server.state == "ready" else exits.FAILED


async def _tested(arguments: Arguments, name: str) -> McpServer:
    async with servers_of(place(arguments)) as servers:
        return await servers.test(name)


def _show(server: McpServer) -> None:
    took = f" in {server.start_ms} ms" if server.start_ms is not None else ""
    put(f"{exact(server.name)}: {server.state}{took}, {len(server.tools)} tools\n")
    for tool in server.tools[:_TOOLS]:
        put(f"  {exact(tool.name)}  {tool.kind}  {line(tool.description, 80)}\n")
    if len(server.tools) > _TOOLS:
        put(f"  … {len(server.tools) - _TOOLS} more; --json names them\n")
    for problem in server.problems:
        _say(problem)
    if server.said and server.state != "ready":
        say("It said last:")
        for said in exact_lines(server.said)[-10:]:
            say(f"  {said}")


def _serve(arguments: Arguments, rest: list[str]) -> int:
    if rest:
        raise usage("mcp", "`agi mcp serve` takes no name.")
    from agi.client.running import running_daemon  # late: nothing else here needs them
    from agi.environment import forget_keys
    from agi.server.mcp_stdio import StdioSettings, serve

    settings = place(arguments)
    forget_keys()  # `settings.env` has them
    told = StdioSettings(project=settings.project, home_config=settings.home_config, env=settings.env)
    asyncio.run(serve(told, lambda: running_daemon(settings.project), say))
    return exits.OK


def _approve(arguments: Arguments, rest: list[str]) -> int:
    if len(rest) not in (1, 2):
        raise usage("mcp", "`agi mcp approve` needs the name of a server, and may name one of its tools.")
    return asyncio.run(_seen(arguments, *rest))


async def _seen(arguments: Arguments, name: str, tool: str | None = None) -> int:
    async with servers_of(place(arguments)) as servers:
        listed = await servers.listed()
        found = next((one for one in listed.servers if one.name == name), None)
        waiting = [one for one in found.changes if tool in (None, one.tool)] if found else []
        for one in waiting:
            say(f"{exact(name)} {exact(one.tool) or 'itself'}: {one.change}")
            for shown in exact_lines(one.diff):
                say(f"    {shown}")
        if found is not None and not waiting:
            say("Nothing waits for approval.")
            return exits.OK
        if found is not None and not arguments.has("--yes") and not await _agrees():
            say("Not approved.")
            return exits.FAILED
        # Only what was shown: the server may say something else by now.
        await servers.approve(name, ApproveMcp(tool=tool, seen=found.seen if found else None))
    say("Approved.")
    return exits.OK


async def _agrees() -> bool:
    if not someone_is_there():
        say("Nobody is there to ask. `--yes` approves what is shown.")
        return False
    return (await ask_line(QUESTION) or "").lower() in ("y", "yes")


def _say(problem: McpProblem) -> None:
    of = f"{exact(problem.server)} {exact(problem.tool)}".strip() or "mcp"
    say(f"{of}: {line(problem.message, 500)} {line(problem.hint, 300)}".rstrip())


ACTIONS: dict[str, Action] = {
    "list": _list,
    "add": _add,
    "rm": _rm,
    "test": _test,
    "approve": _approve,
    "serve": _serve,
}
"""What can be done with servers, by its word."""
