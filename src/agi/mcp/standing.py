"""How one server stands at a moment: what of it is approved, what waits, what is wrong; for a turn and for clients.

May import: errors, protocol, mcp.
"""

from __future__ import annotations

from agi.errors import AgiError
from agi.mcp.base import Definition, Server
from agi.mcp.defining import clean
from agi.mcp.naming import tool_name
from agi.mcp.pins import Pinned, Pins, changes, hash_of, is_same, usable
from agi.mcp.running import Running
from agi.mcp.tool import kind_of
from agi.protocol.mcp import McpProblem, McpServer
from agi.protocol.mcp import McpTool as Told


class Standing:
    """One server with what is known of it at this moment."""

    def __init__(self, server: Server, running: Running, pins: Pins) -> None:
        self.server = server
        self.running = running
        self.pins = pins
        self.pinned: Pinned | None = None
        self.unreadable: AgiError | None = None

    @property
    def is_strange(self) -> bool:
        """Whether what it offers now is not known."""
        return self.running.is_stale or (self.pinned is None and self.unreadable is None)

    def read(self) -> Standing:
        """Look up what is approved."""
        try:
            self.pinned, self.unreadable = self.pins.read(self.server), None
        except AgiError as error:
            self.pinned, self.unreadable = None, error
        return self

    def offers(self, what: str) -> bool:
        """Whether it has resources, or prompts, and may be asked for them."""
        pinned = self.pinned
        if pinned is None or any(one.change == "command" for one in changes(pinned, self.server)):
            return False
        return pinned.resources if what == "resources" else pinned.prompts

    def definitions(self) -> tuple[Definition, ...]:
        """The tools that may be used."""
        if self.pinned is None:
            return ()
        listed = self.server.tools
        return tuple(one for one in usable(self.pinned, self.server) if listed is None or one.name in listed)

    def is_approved(self, definition: Definition) -> bool:
        """Whether a tool is still what was approved, as of now."""
        try:
            pinned = self.pins.read(self.server)
        except AgiError:
            return False
        return pinned is not None and any(
            is_same(one, definition) for one in usable(pinned, self.server) if one.name == definition.name
        )

    def problems(self) -> list[McpProblem]:
        """What is wrong with it, and what waits."""
        name = self.server.name
        found = []
        wrong = self.unreadable or self.running.problem
        if wrong is not None:
            hint = wrong.hint or f"`agi mcp test {name}` tries again."
            found.append(McpProblem(server=name, code=wrong.code, message=wrong.message, hint=hint))
        elif self.pinned is None:
            hint = f"The next turn starts it, or `agi mcp test {name}`."
            found.append(McpProblem(server=name, code="not_seen", message="Not started yet.", hint=hint))
        if self.pinned is None:
            return found
        if waits := changes(self.pinned, self.server):
            told = [one.tool for one in waits if one.tool][:10]
            what = "its command or address" if waits[0].change == "command" else f"{len(waits)} of its tools"
            said = f"Not what was approved: {what}{' (' + ', '.join(told) + ')' if told else ''}. Not used until it is."
            hint = f"`agi mcp approve {name}` shows the difference."
            found.append(McpProblem(server=name, code="changed", message=clean(said, 1_000), hint=hint))
        for tool, why in self.pinned.wrong[:50]:
            found.append(McpProblem(server=name, code="tool_invalid", tool=tool, message=why))
        return found

    def status(self) -> McpServer:
        """How it stands, for clients."""
        pinned, running = self.pinned, self.running
        return McpServer(
            name=self.server.name,
            source=self.server.source,
            file=self.server.file,
            transport=self.server.transport,
            runs=self.server.runs,
            state=running.state,
            sandboxed=bool(self.server.sandbox),
            tools=tuple(
                Told(
                    name=tool_name(self.server.name, one.name),
                    tool=one.name,
                    description=one.description,
                    kind=kind_of(self.server, one).value,
                )
                for one in self.definitions()
            ),
            has_resources=pinned.resources if pinned else False,
            has_prompts=pinned.prompts if pinned else False,
            changes=changes(pinned, self.server) if pinned else (),
            seen=hash_of(pinned, self.server) if pinned else "",
            problems=tuple(self.problems()),
            pid=running.pid,
            start_ms=running.start_ms,
            said=clean(running.said.text(), 4_000),
        )
