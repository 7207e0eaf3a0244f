"""The harness as an MCP client may deal with it: what a tool is, who is offered which, and how one is called.

What a person must decide is asked of the client's own user and of nobody else: the tool raises `Ask`, and is called
again with the answer. May import: errors, protocol, sessions, server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from agi.errors import AgiError, Invalid, NotAllowed, NotFound
from agi.protocol import rpc
from agi.protocol.mcp import McpPermission
from agi.protocol.resources import Resource
from agi.server.mcp_words import Takes
from agi.server.rpc_methods import Methods
from agi.sessions.harness import Harness

Progress = Callable[[float, str], Awaitable[None]]
"""Who is told how a call goes: a number that grows, and what just happened."""


class Ask(AgiError):
    """A person must say yes first. `about` comes back with the answer, and proves what it is an answer to."""

    code = "person_needed"

    def __init__(self, question: str, *, about: str, hint: str) -> None:
        super().__init__("A person must decide this, and your client cannot ask its user.", hint=hint)
        self.question = question
        self.about = about


class Answer(Struct, frozen=True, kw_only=True):
    """What the person said to a question."""

    yes: bool
    about: str


class Call(Struct, frozen=True, kw_only=True):
    """One call of a tool."""

    name: str
    arguments: Mapping[str, Any]
    progress: Progress
    """Who is told how it goes."""
    answer: Answer | None = None


class McpTool(Struct, frozen=True, kw_only=True):
    """A tool: how clients see it, and what it does."""

    name: str
    title: str
    about: str
    takes: type[Takes]
    gives: type[Struct]
    run: Callable[[Desk, Call, Any], Awaitable[object]]
    permission: McpPermission | None = None
    """What a client must be permitted; None is nothing."""
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False
    """Whether doing it twice is as good as once."""
    also: str = ""
    """Another name it answers to: that of the method of `/v1/rpc`."""


class Desk:
    """The harness as an MCP client may deal with it."""

    def __init__(
        self, harness: Harness, tools: tuple[McpTool, ...], stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self.harness = harness
        self.stopping = stopping
        """Whether the daemon stops: then what is running is left to the next one."""
        self._tools = tools

    def tools(self) -> tuple[McpTool, ...]:
        """What is offered; raises NotAllowed if nothing is."""
        settings = self.harness.site().config.mcp_server
        if not settings.enabled:
            hint = "`mcpServer.enabled` in your config.json switches it on."
            raise NotAllowed("MCP clients are not answered here.", code="mcp_server_off", hint=hint)
        return tuple(one for one in self._tools if one.permission is None or one.permission in settings.permissions)

    async def call(self, call: Call) -> object:
        """Do what is asked for; raises what is wrong with it, or Ask."""
        known = next((one for one in self._tools if call.name in (one.name, one.also)), None)
        if known is None:
            raise NotFound(
                f"There is no tool {call.name[:80]!r}.", code="tool_not_found", hint=self._nearest(call.name)
            )
        if known not in self.tools():
            hint = f"Its user can permit it: add {known.permission!r} to `mcpServer.permissions` in config.json."
            raise NotAllowed(f"Clients may not use {known.name} here.", code="not_permitted", hint=hint)
        return await known.run(self, call, _read(known, call.arguments))

    async def rpc(self, params: rpc.Params) -> object:
        """Do as the method of `/v1/rpc` does."""
        self.place(getattr(params, "project", None) or None)
        return await Methods(self.harness, lambda project: None).call(params)

    def place(self, name: str | None) -> Resource:
        """The project that is meant; another one than ours only for who may see them all."""
        own = Methods(self.harness, lambda project: None).project()
        if not name or name == own.name:
            return own
        if "projects-list" not in self.harness.site().config.mcp_server.permissions:
            hint = "Leave `project` out, or have 'projects-list' added to `mcpServer.permissions`."
            raise NotAllowed("Clients may not work in other projects here.", code="not_permitted", hint=hint)
        return self.harness.crew.projects.find("repositories", name)

    def _nearest(self, name: str) -> str:
        from difflib import get_close_matches  # late: needed only for a mistake

        near = get_close_matches(name, [one.name for one in self._tools], n=1)
        return f"Did you mean {near[0]}?" if near else "tools/list names them."


def _read(tool: McpTool, arguments: Mapping[str, Any]) -> Takes:
    try:
        return msgspec.convert(dict(arguments), tool.takes)
    except msgspec.ValidationError as error:
        from agi.explain import explain  # late: needed only for a mistake

        said = explain(error, tool.takes, quote=True)
        raise Invalid(
            f"The arguments of {tool.name} are not acceptable: {said}.", hint="tools/list says more."
        ) from None
