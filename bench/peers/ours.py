"""agi itself, as installed, with its sandbox and its log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.peers import talking
from bench.peers.base import PROMPT, Ground, Package, Shows, Tool
from bench.processes import AGI, settle


class _Serving:
    def __init__(self, pid: int, http: talking.Http) -> None:
        self.pid, self._http = pid, http

    async def session(self) -> str:
        made = await self._http.post("/v1/sessions", {})
        assert isinstance(made, dict)
        return str(made["id"])

    async def turn(self, session: str) -> None:
        said = await self._http.post(f"/v1/sessions/{session}/messages", {"content": PROMPT})
        if not isinstance(said, dict) or said.get("stop_reason") != "end_turn":
            raise RuntimeError(f"the turn ended otherwise: {said}")


class Ours:
    """`agi "…"` and `agi serve`."""

    name = "agi"
    package = Package("", (), "this tree")
    tool = Tool("shell", {"command": "true %d"})
    notes = (
        "every event in SQLite before it is told; commands in a sandbox of namespaces; files looked at around steps",
    )
    shows: Shows = "as it comes"
    keeps = True

    def settle(self, ground: Ground, url: str) -> None:
        settle(ground.project, ground.home)
        ground.env |= {"XDG_CONFIG_HOME": str(ground.home / ".config"), "OPENAI_BASE_URL": url}

    def start(self) -> tuple[str, ...]:
        return (*AGI, "--version")

    def one_shot(self, ground: Ground) -> tuple[str, ...]:
        return (*AGI, "--project", str(ground.project), PROMPT)

    @asynccontextmanager
    async def serve(self, ground: Ground) -> AsyncIterator[_Serving]:
        command = (*AGI, "serve", "--port", "0", "--project", str(ground.project))
        async with talking.started(command, ground.env, ground.project) as process:
            url = (await talking.line_with(process, "http://")).split()[-1].rstrip("/")
            reading = asyncio.create_task(talking.drain(process))
            token = json.loads((ground.project / ".agi" / "daemon.json").read_text())["token"]
            async with talking.Http(url, token) as http:
                yield _Serving(process.pid, http)
            reading.cancel()


class OursUnconfined(Ours):
    """The same without a sandbox, as most others run commands: to compare like with like. Nobody's rival."""

    name = "agi, no sandbox"
    notes = ("the same with `sandbox.mode: off`",)

    def settle(self, ground: Ground, url: str) -> None:
        super().settle(ground, url)
        config = ground.home / ".config" / "agi" / "config.json"
        config.write_text(json.dumps(json.loads(config.read_text()) | {"sandbox": {"mode": "off"}}))
