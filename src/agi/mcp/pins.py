"""What of each server was approved: its command and the definitions of its tools, by content, in the user's settings.

What is seen first is pinned; whatever is different later waits until it is approved as it is then. One small file a
server, for its owner only, outside every project. May import: errors, config, mcp.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from agi.config.files import read_file
from agi.config.store import Document, update_document
from agi.errors import ConfigError, Conflict, NotFound
from agi.mcp.base import Definition, Offer, Server
from agi.mcp.defining import digest
from agi.protocol.mcp import McpChange
from agi.protocol.times import Clock, to_rfc3339

FOLDER = "mcp"
LARGEST = 32 << 20
"""How large the file of one server may get."""
LONGEST_DIFF = 20_000


class Pinned(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was approved of one server, and what it was last seen to be."""

    server: str
    told: str
    """Its command or address when it was approved."""
    tools: dict[str, Definition]
    """Its tools, as they were approved."""
    seen: dict[str, Definition] | None = None
    """Its tools as they were last seen, where those are not the same."""
    seen_told: str | None = None
    resources: bool = False
    prompts: bool = False
    wrong: tuple[tuple[str, str], ...] = ()
    pinned_at: str = ""


class Pins:
    """The pins of one user."""

    def __init__(self, home_config: Path, root: Path, clock: Clock = time.time) -> None:
        self._folder = home_config / FOLDER
        self._root = root
        self._clock = clock

    def read(self, server: Server) -> Pinned | None:
        """What is pinned; None if the server was never seen. A file that cannot be read is a ConfigError."""
        path = self._folder / self._name(server)
        content = read_file(path, limit=LARGEST)
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=Pinned)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            hint = f"Remove {path}; the server is then approved anew when it is first seen."
            raise ConfigError(f"{path} cannot be read: it was not written by agi.", hint=hint) from error

    def settle(self, server: Server, offer: Offer) -> Pinned:
        """Keep what a server is seen to offer: as approved if it was never seen, else beside what is approved."""
        fresh = {one.name: one for one in offer.tools}

        def keep(old: Pinned | None) -> Pinned:
            if old is None:
                return self._approved(server, offer, fresh)
            same = fresh.keys() == old.tools.keys() and all(is_same(fresh[name], old.tools[name]) for name in fresh)
            return msgspec.structs.replace(
                old,
                seen=None if same else fresh,
                seen_told=None if server.told == old.told else server.told,
                resources=offer.resources,
                prompts=offer.prompts,
                wrong=offer.wrong,
            )

        return self._update(server, keep)

    def approve(self, server: Server, tool: str | None, seen_as: str | None = None) -> Pinned:
        """Take what was last seen as approved: all of it, or one tool, and only if it is still what was looked at.

        Raises NotFound if there is no such tool, Conflict if it is another by now.
        """

        def keep(old: Pinned | None) -> Pinned:
            if old is None:
                hint = f"`agi mcp test {server.name}` starts it; what it offers is pinned then."
                raise NotFound(f"{server.name} was never started, so there is nothing to approve.", hint=hint)
            if seen_as not in (None, hash_of(old, server)):
                raise Conflict(f"{server.name} has changed since you looked.", hint="Look again.", code="mcp_changed")
            seen = old.tools if old.seen is None else old.seen
            if tool is None:
                return msgspec.structs.replace(
                    old, told=server.told, seen_told=None, tools=seen, seen=None, pinned_at=self._now()
                )
            if tool not in seen and tool not in old.tools:
                known = ", ".join(sorted(seen)[:20])
                raise NotFound(f"{server.name} has no tool {tool!r}.", hint=f"It has: {known}.")
            tools = {name: one for name, one in old.tools.items() if name != tool}
            tools |= {tool: seen[tool]} if tool in seen else {}
            return msgspec.structs.replace(old, tools=tools, seen=None if seen == tools else seen)

        return self._update(server, keep)

    def forget(self, server: str, source: str) -> None:
        """Approve a server anew when it is next seen."""
        (self._folder / self._file(server, source)).unlink(missing_ok=True)

    def _update(self, server: Server, keep: Callable[[Pinned | None], Pinned]) -> Pinned:
        kept: list[Pinned] = []

        def change(document: Document) -> None:
            old = msgspec.json.decode(msgspec.json.encode(document), type=Pinned) if document else None
            kept.append(keep(old))
            document.clear()
            document.update(msgspec.json.decode(msgspec.json.encode(kept[0]), type=dict[str, Raw]))

        update_document(self._folder, change, name=self._name(server), limit=LARGEST)
        return kept[0]

    def _approved(self, server: Server, offer: Offer, tools: dict[str, Definition]) -> Pinned:
        return Pinned(
            server=server.name,
            told=server.told,
            tools=tools,
            resources=offer.resources,
            prompts=offer.prompts,
            wrong=offer.wrong,
            pinned_at=self._now(),
        )

    def _now(self) -> str:
        return to_rfc3339(self._clock())

    def _name(self, server: Server) -> str:
        return self._file(server.name, server.source)

    def _file(self, name: str, source: str) -> str:
        where = "" if source == "user" else str(self._root)
        return f"{sha256(msgspec.json.encode((name, source, where))).hexdigest()[:32]}.json"


def is_same(one: Definition, other: Definition) -> bool:
    """Whether two definitions say the same."""
    return digest(one) == digest(other)


def command_changed(pinned: Pinned, server: Server) -> bool:
    """Whether a server is no longer what was approved. A project's is covered by trust, which goes by content."""
    return server.source == "user" and pinned.told != server.told


def hash_of(pinned: Pinned, server: Server) -> str:
    """How a server was last seen, as a hash."""
    tools = pinned.tools if pinned.seen is None else pinned.seen
    told = (server.told, sorted((name, digest(one)) for name, one in tools.items()))
    return sha256(msgspec.json.encode(told)).hexdigest()[:32]


def usable(pinned: Pinned, server: Server) -> tuple[Definition, ...]:
    """The tools that are what was approved, in their server's order."""
    if command_changed(pinned, server):
        return ()
    if pinned.seen is None:
        return tuple(pinned.tools.values())
    return tuple(one for name, one in pinned.seen.items() if name in pinned.tools and is_same(one, pinned.tools[name]))


def changes(pinned: Pinned, server: Server) -> tuple[McpChange, ...]:
    """What waits for approval, each with a diff."""
    found = []
    if command_changed(pinned, server):
        found.append(McpChange(tool="", change="command", diff=_diff(pinned.told, server.told)))
    for name, now in (pinned.seen or {}).items():
        before = pinned.tools.get(name)
        if before is None:
            found.append(McpChange(tool=name, change="added", diff=_diff("", shown(now))))
        elif not is_same(before, now):
            found.append(McpChange(tool=name, change="changed", diff=_diff(shown(before), shown(now))))
    if pinned.seen is not None:
        for name in pinned.tools.keys() - pinned.seen.keys():
            found.append(McpChange(tool=name, change="removed", diff=_diff(shown(pinned.tools[name]), "")))
    return tuple(found)


def shown(definition: Definition) -> str:
    """A definition for eyes, one fact a line."""
    hints = {
        "readOnly": definition.read_only,
        "destructive": definition.destructive,
        "openWorld": definition.open_world,
    }
    said = [f"{name}: {str(value).lower()}" for name, value in hints.items() if value is not None]
    schema = msgspec.json.format(msgspec.json.encode(definition.schema, order="sorted"), indent=2).decode()
    return "\n".join([definition.description, *said, schema])


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "approved", "now", lineterm="")
    text = "\n".join(lines)
    return text if len(text) <= LONGEST_DIFF else text[:LONGEST_DIFF] + "\n[cut]"
