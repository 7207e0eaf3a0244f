"""Which servers there are in a workspace: the user's, then the project's, of one name the first. Starts nothing.

A project's count only where it is trusted; that is asked after its files were read. May import: config, protocol, mcp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from agi.config.servers import ServerEntry, ServerFile, project_servers, user_servers
from agi.errors import AgiError
from agi.mcp.base import Server
from agi.mcp.expanding import Unfilled, expand
from agi.mcp.naming import slug
from agi.protocol.mcp import McpProblem, McpServer, ServerSource, ServerState

_TRUST = "`agi trust` shows what it brings, and trusts it."


class Configured(Struct, frozen=True, kw_only=True):
    """The servers that may run, those that may not, and what is wrong with entries and files."""

    servers: tuple[Server, ...] = ()
    others: tuple[McpServer, ...] = ()
    problems: tuple[McpProblem, ...] = ()


def configured(
    root: Path, home_config: Path, env: Mapping[str, str], *, is_trusted: Callable[[], bool], must_confine: bool
) -> Configured:
    """Read the files and settle who counts; whatever is wrong with one becomes a problem, never an error."""
    return _Settling(root, env, must_confine).settle(user_servers(home_config), project_servers(root), is_trusted)


class _Settling:
    def __init__(self, root: Path, env: Mapping[str, str], must_confine: bool) -> None:
        self._root = root
        self._env = env
        self._must_confine = must_confine
        self._servers: list[Server] = []
        self._others: list[McpServer] = []
        self._problems: list[McpProblem] = []
        self._names: dict[str, tuple[str, str]] = {}

    def settle(self, mine: ServerFile, theirs: tuple[ServerFile, ...], is_trusted: Callable[[], bool]) -> Configured:
        self._take(mine, "user", "")
        if any(file.servers for file in theirs):
            why = _why_not(is_trusted)
            for file in theirs:
                self._take(file, "project", why)
        else:
            for file in theirs:
                self._take(file, "project", "")
        return Configured(servers=tuple(self._servers), others=tuple(self._others), problems=tuple(self._problems))

    def _take(self, file: ServerFile, source: ServerSource, untrusted: str) -> None:
        self._problems += [
            McpProblem(server=one.server, code="invalid", message=one.message, hint=one.hint) for one in file.problems
        ]
        for name, entry in file.servers.items():
            self._one(name, entry, source, file.path, untrusted)

    def _one(self, name: str, entry: ServerEntry, source: ServerSource, path: str, untrusted: str) -> None:
        taken, _ = first = self._names.setdefault(slug(name), (path, name))
        if first != (path, name):
            said = f"A server of that name, or one that reads the same, is in {taken} already; that one counts."
            self._problems.append(
                McpProblem(server=name, code="shadowed", message=f"{path}: {said}", hint="Rename one of them.")
            )
            return
        if not entry.enabled or entry.disabled:
            self._leave(name, entry, source, path, "off")
        elif untrusted:
            self._refuse(name, entry, source, path, "untrusted", untrusted, _TRUST)
        elif entry.command and entry.sandbox is None and self._must_confine:
            said = "Not started: sandbox.mode is `require`, and it would run outside the sandbox."
            hint = "Set `sandbox` to true for it, or to false to run it outside all the same."
            self._refuse(name, entry, source, path, "sandbox_required", said, hint)
        else:
            try:
                self._servers.append(self._server(name, entry, source, path))
            except Unfilled as problem:
                hint = f"Set it in the environment agi runs in, or change {path}."
                self._refuse(name, entry, source, path, "variable_missing", f"Not started: {problem}.", hint)

    def _refuse(
        self, name: str, entry: ServerEntry, source: ServerSource, path: str, code: str, message: str, hint: str
    ) -> None:
        problem = McpProblem(server=name, code=code, message=message, hint=hint)
        self._leave(name, entry, source, path, "refused", (problem,))

    def _leave(
        self,
        name: str,
        entry: ServerEntry,
        source: ServerSource,
        path: str,
        state: ServerState,
        problems: tuple[McpProblem, ...] = (),
    ) -> None:
        self._others.append(
            McpServer(
                name=name,
                source=source,
                file=path,
                transport="stdio" if entry.command else "http",
                runs=" ".join((entry.command, *entry.args)) if entry.command else entry.url,
                state=state,
                sandboxed=bool(entry.sandbox),
                problems=problems,
            )
        )

    def _server(self, name: str, entry: ServerEntry, source: ServerSource, path: str) -> Server:
        def filled(texts: Mapping[str, str]) -> dict[str, str]:
            return {key: expand(text, self._env) for key, text in texts.items()}

        argv = tuple(expand(one, self._env) for one in (entry.command, *entry.args)) if entry.command else ()
        url, variables, headers = expand(entry.url, self._env), filled(entry.env), filled(entry.headers)
        if not all(one.isprintable() for one in headers.values()) or "\0" in "".join((*argv, *variables.values())):
            raise Unfilled("a variable holds a character that cannot be passed on")
        where = str(self._root) if entry.command or source == "project" else ""
        facts = (argv, sorted(variables.items()), url, sorted(headers.items()), entry.sandbox, where)
        return Server(
            name=name,
            source=source,
            file=path,
            transport="stdio" if entry.command else "http",
            argv=argv,
            env=variables,
            url=url,
            headers=headers,
            tools=entry.tools,
            kinds=entry.kinds,
            sandbox=entry.sandbox,
            start_s=entry.start_timeout_ms / 1000,
            call_s=entry.timeout_ms / 1000,
            told=told(entry),
            key=sha256(msgspec.json.encode((name, source, *facts))).hexdigest(),
        )


def told(entry: ServerEntry) -> str:
    """What would run or be reached, one fact a line, secrets as hashes: for telling that it changed, and what."""
    lines = [f"command: {entry.command}", *(f"argument: {one}" for one in entry.args)] if entry.command else []
    lines += [f"url: {entry.url}"] if entry.url else []
    for word, values in (("env", entry.env), ("header", entry.headers)):
        lines += [f"{word}: {key} = {_veiled(text)}" for key, text in sorted(values.items())]
    return "\n".join([*lines, f"sandbox: {bool(entry.sandbox)}".lower()])


def _veiled(text: str) -> str:
    """A reference to variables as it is; anything else may be a secret, and is only told apart."""
    return text if text.startswith("${") and text.count("${") == 1 and text.endswith("}") else _short_hash(text)


def _short_hash(text: str) -> str:
    return f"[{len(text)} characters, sha256 {sha256(text.encode()).hexdigest()[:12]}]"


def _why_not(is_trusted: Callable[[], bool]) -> str:
    try:
        return "" if is_trusted() else "Not started: the workspace is not trusted."
    except AgiError as error:
        return f"Not started: {error.message}"
