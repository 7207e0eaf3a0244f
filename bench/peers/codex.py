"""Codex: `codex exec` and `codex app-server`, over the Responses format."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from bench.peers import talking
from bench.peers.base import PROMPT, Ground, Package, Shows, Tool
from bench.peers.installing import folder_of

SETTINGS = """\
model = "script"
model_provider = "script"
approval_policy = "never"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false
[analytics]
enabled = false
[otel]
exporter = "none"
metrics_exporter = "none"
[model_providers.script]
name = "script"
base_url = "{url}"
wire_api = "responses"
"""


class _Serving:
    def __init__(self, pid: int, lines: talking.Lines, ground: Ground) -> None:
        self.pid, self._lines, self._ground = pid, lines, ground
        self._numbers = count(1)
        self._over: dict[str, str] = {}

    async def ask(self, method: str, params: dict[str, object]) -> dict[str, object]:
        answer = await self._lines.ask(next(self._numbers), {"method": method, "params": params})
        if not isinstance(result := answer.get("result"), dict):
            raise RuntimeError(f"{method}: {answer}")
        return result

    async def session(self) -> str:
        thread = (await self.ask("thread/start", {"cwd": str(self._ground.project)}))["thread"]
        assert isinstance(thread, dict)
        return str(thread["id"])

    async def turn(self, session: str) -> None:
        self._over.pop(session, None)
        await self.ask("turn/start", {"threadId": session, "input": [{"type": "text", "text": PROMPT}]})
        while session not in self._over:
            self._hear(await self._lines.told.get())
        if self._over[session] != "completed":
            raise RuntimeError(f"the turn ended otherwise: {self._over[session]}")
        self._lines.told.put_nowait({})  # whoever waits looks again

    def _hear(self, told: dict[str, object]) -> None:
        if told.get("method") == "turn/completed":
            params = told["params"]
            assert isinstance(params, dict)
            self._over[params["threadId"]] = params["turn"]["status"]
        if told.get("method") == "error" and not told["params"].get("willRetry"):  # type: ignore[attr-defined]
            self._over[told["params"]["threadId"]] = str(told["params"])  # type: ignore[index]


class Codex:
    """As npm installs it: a start script in node before the program."""

    name = "codex"
    package = Package("npm", ("@openai/codex@0.169.0",), "0.169.0")
    tool = Tool("exec_command", {"cmd": "true %d"})
    notes = ("as npm installs it; commands in its sandbox; prints the answer once, at the end",)
    shows: Shows = "at the end"
    keeps = True

    def settle(self, ground: Ground, url: str) -> None:
        ground.write(".codex/config.toml", SETTINGS.format(url=url))

    def start(self) -> tuple[str, ...]:
        return (*self._command(), "--version")

    def one_shot(self, ground: Ground) -> tuple[str, ...]:
        return (*self._command(), "exec", "--skip-git-repo-check", PROMPT)

    def _command(self) -> tuple[str, ...]:
        return (str(folder_of(self.package) / "node_modules" / ".bin" / "codex"),)

    @asynccontextmanager
    async def serve(self, ground: Ground) -> AsyncIterator[_Serving]:
        async with talking.started((*self._command(), "app-server"), ground.env, ground.project) as process:
            lines = talking.Lines(process)
            serving = _Serving(process.pid, lines, ground)
            await serving.ask("initialize", {"clientInfo": {"name": "bench", "title": "bench", "version": "1"}})
            lines.say({"method": "initialized"})
            yield serving
            lines.close()


class CodexBinary(Codex):
    """The program alone, as other ways of installing it give it."""

    name = "codex, binary"
    notes = ("the same program without its start script in node",)

    def _command(self) -> tuple[str, ...]:
        found = sorted((folder_of(self.package) / "node_modules").glob("@openai/codex-*/vendor/*/bin/codex"))
        return (str(found[0]) if found else "codex",)
