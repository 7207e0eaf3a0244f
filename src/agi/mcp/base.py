"""The words of the room: a server as it is to be reached, what it says of its tools, what goes wrong with it.

Values only. May import: errors, protocol, config.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from agi.config.servers import Kind
from agi.errors import AgiError
from agi.protocol.mcp import ServerSource, Transport
from agi.protocol.parts import Json

PREFIX = "mcp__"
LARGEST_MESSAGE = 16 << 20
"""How many bytes one message of a server may have; a larger answer is told as a failed call."""


class Server(Struct, frozen=True, kw_only=True):
    """One server, ready to be reached; variables are filled in."""

    name: str
    source: ServerSource
    file: str
    """The file that names it, for people."""
    transport: Transport
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}
    tools: tuple[str, ...] | None = None
    kinds: Mapping[str, Kind] = {}
    sandbox: bool | None = None
    start_s: float = 10.0
    call_s: float = 60.0
    told: str = ""
    """What would run or be reached as its file has it, variables by name: what is approved, and shown as a diff."""
    key: str = ""
    """A hash of all that makes it another process or connection, where it starts included."""

    @property
    def runs(self) -> str:
        """The command or address, for people."""
        return " ".join(self.argv) if self.transport == "stdio" else self.url


class Definition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a server says of one tool, made safe: this is what is pinned, and what a model is told."""

    name: str
    description: str
    schema: Json
    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None


class Offer(Struct, frozen=True, kw_only=True):
    """Everything a server offers."""

    tools: tuple[Definition, ...] = ()
    resources: bool = False
    prompts: bool = False
    wrong: tuple[tuple[str, str], ...] = ()
    """Tools that cannot be used, by name, and why."""


class ServerFailed(AgiError):
    """A server could not be started, is gone, or answered with an error; a failed call, never a failed turn."""

    code = "mcp_failed"
