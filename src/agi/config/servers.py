"""MCP servers as settings files name them: `mcp.json` of the user, `.agi/mcp.json` and `.mcp.json` of a project.

    {"mcpServers": {"name": {"command": "…", "args": ["…"], "env": {"…": "…"}}, "other": {"url": "https://…"}}}

Each entry is checked on its own: one that is wrong costs itself. Whether a project's count is decided elsewhere, and
nothing is started or expanded here. May import: errors, config.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from agi.config.files import CONFIG_LIMIT, is_held, read_file, read_inside
from agi.config.parse import convert, parse_json
from agi.config.store import Document, update_document, update_project_document
from agi.errors import ConfigError, Conflict, NotFound

SERVERS_NAME = "mcp.json"
PROJECT_FILES = (".agi/mcp.json", ".mcp.json")
"""In this order: of two that name the same server, the first counts."""
MOST_SERVERS = 100
KEY = "mcpServers"
Text = Annotated[str, Meta(max_length=10_000)]
Milliseconds = Annotated[int, Meta(ge=1, le=3_600_000)]
Kind = Literal["read", "network"]


class ServerEntry(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One server. Keys that other programs write into such files, and that are not known here, do not count."""

    command: Text = ""
    """The program, for a server that is started and talked to over its input and output."""
    args: Annotated[tuple[Text, ...], Meta(max_length=200)] = ()
    env: dict[Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)], Text] = {}
    """Its own variables, beside the few harmless ones every command gets."""
    url: Annotated[str, Meta(max_length=2_000)] = ""
    """The address, for a server that speaks streamable HTTP."""
    headers: dict[Annotated[str, Meta(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", max_length=200)], Text] = {}
    type: str = ""
    """What others call the transport: `stdio`, `http`, `streamable-http`."""
    enabled: bool = True
    disabled: bool = False
    """What others call it."""
    tools: tuple[Text, ...] | None = None
    """Only these of its tools, as it calls them; absent: all."""
    kinds: dict[Text, Kind] = {}
    """What approvals take a tool for: `read` or `network`; `*` is every tool that is not named."""
    sandbox: bool | None = None
    """Whether it runs in the sandbox of commands; absent: no, and where a sandbox is required it is not started."""
    start_timeout_ms: Milliseconds = 10_000
    timeout_ms: Milliseconds = 60_000
    """How long one call may take."""


class FileProblem(Struct, frozen=True, kw_only=True):
    """What is wrong with a file, or with one entry of it."""

    server: str
    message: str
    hint: str = ""


class ServerFile(Struct, frozen=True, kw_only=True):
    """What one file names."""

    path: str
    servers: dict[str, ServerEntry] = {}
    problems: tuple[FileProblem, ...] = ()


def user_servers(home_config: Path) -> ServerFile:
    """The servers of the user's own file."""
    path = home_config / SERVERS_NAME
    try:
        return _parsed(read_file(path, limit=CONFIG_LIMIT), str(path))
    except ConfigError as error:
        return _unreadable(str(path), error)


def project_servers(project: Path) -> tuple[ServerFile, ...]:
    """The servers of a project's files, read as trust has hashed them: no link is followed."""
    found = []
    for name in PROJECT_FILES:
        try:
            content = None if is_held(project / name) else read_inside(project, name, limit=CONFIG_LIMIT)
            found.append(_parsed(content, name))
        except ConfigError as error:
            found.append(_unreadable(name, error))
    return tuple(found)


def stamps(project: Path, home_config: Path) -> tuple[object, ...]:
    """What the files look like, to tell whether they need to be read again; all None if there is none."""
    return tuple(_stamp(path) for path in (home_config / SERVERS_NAME, *(project / name for name in PROJECT_FILES)))


def add_server(home_config: Path, name: str, entry: ServerEntry, *, project: Path | None, replace: bool) -> Path:
    """Write a server into the user's file, or a project's; gives the file. Raises Conflict if the name is taken."""
    problem = wrong_entry(name, entry)
    if problem is not None:
        raise ConfigError(f"{problem.message}", hint=problem.hint)

    def change(document: Document) -> None:
        entries = _entries(document)
        if name in entries and not replace:
            raise Conflict(f"There is a server {name!r} already.", hint="--replace puts this one in its place.")
        entries[name] = Raw(msgspec.json.encode(entry))
        document[KEY] = Raw(msgspec.json.encode(entries))

    return _changed(home_config, project, change)


def remove_server(home_config: Path, name: str, *, project: Path | None) -> Path:
    """Take a server out of a file; raises NotFound."""

    def change(document: Document) -> None:
        entries = _entries(document)
        if name not in entries:
            raise NotFound(f"There is no server {name!r} in that file.", hint="`agi mcp list` says where each stands.")
        del entries[name]
        document[KEY] = Raw(msgspec.json.encode(entries))

    return _changed(home_config, project, change)


def wrong_entry(name: str, entry: ServerEntry) -> FileProblem | None:
    """What is wrong with an entry as a whole; None if nothing is."""
    hint = "See docs/mcp.md for what an entry may hold."
    if not name.isprintable() or not 0 < len(name) <= 64:
        return FileProblem(server=name[:64], message="Its name must have 1 to 64 printable characters.", hint=hint)
    if bool(entry.command) == bool(entry.url):
        return FileProblem(server=name, message="It needs either a `command` or a `url`.", hint=hint)
    if entry.type in ("sse", "ws", "websocket"):
        said = f"It speaks `{entry.type}`, which is not supported."
        return FileProblem(server=name, message=said, hint="Servers are started (`command`) or speak streamable HTTP.")
    if any("\0" in one for one in (entry.command, *entry.args, *entry.env.values())):
        return FileProblem(server=name, message="Its command or environment holds a zero byte.", hint=hint)
    if any(not one.isprintable() for one in entry.headers.values()):
        return FileProblem(server=name, message="A header holds a character that cannot be sent.", hint=hint)
    if entry.url and not entry.url.startswith(("http://", "https://", "${")):
        return FileProblem(server=name, message="Its `url` must begin with https:// or http://.", hint=hint)
    return None


def _parsed(content: bytes | None, path: str) -> ServerFile:
    if content is None:
        return ServerFile(path=path)
    entries = parse_json(content, path).get(KEY, {})
    if not isinstance(entries, dict):
        raise ConfigError(f"{path}: `{KEY}` must be an object with a name for each server.", hint="Correct it there.")
    servers: dict[str, ServerEntry] = {}
    problems: list[FileProblem] = []
    for name, value in list(entries.items())[:MOST_SERVERS]:
        try:
            entry = convert(value, ServerEntry, f"{KEY}.{name[:64]}", path)
        except ConfigError as error:
            problems.append(FileProblem(server=name[:64], message=error.message, hint=error.hint))
            continue
        problem = wrong_entry(name, entry)
        if problem is not None:
            problems.append(problem)
        else:
            servers[name] = entry
    if len(entries) > MOST_SERVERS:
        said = f"{path} names {len(entries)} servers; only the first {MOST_SERVERS} count."
        problems.append(FileProblem(server="", message=said, hint="Remove some."))
    return ServerFile(path=path, servers=servers, problems=tuple(problems))


def _unreadable(path: str, error: ConfigError) -> ServerFile:
    return ServerFile(path=path, problems=(FileProblem(server="", message=error.message, hint=error.hint),))


def _entries(document: Document) -> dict[str, Raw]:
    content = document.get(KEY)
    try:
        return msgspec.json.decode(content, type=dict[str, Raw]) if content else {}
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"`{KEY}` must be an object with a name for each server.", hint="Correct the file."
        ) from error


def _changed(home_config: Path, project: Path | None, change: Callable[[Document], None]) -> Path:
    if project is None:
        update_document(home_config, change, name=SERVERS_NAME)
        return home_config / SERVERS_NAME
    update_project_document(project, change, name=SERVERS_NAME)
    return project / PROJECT_FILES[0]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
