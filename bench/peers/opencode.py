"""opencode: `opencode run` and `opencode serve`, over Chat Completions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.peers import talking
from bench.peers.base import PROMPT, Ground, Package, Shows, Tool
from bench.peers.installing import folder_of

NOWHERE = "http://127.0.0.1:9"
QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "npm_config_registry": NOWHERE,
    "npm_config_fetch_retries": "0",
    "npm_config_offline": "true",
}


class _Serving:
    def __init__(self, pid: int, http: talking.Http) -> None:
        self.pid, self._http = pid, http

    async def session(self) -> str:
        made = await self._http.post("/session", {})
        assert isinstance(made, dict)
        return str(made["id"])

    async def turn(self, session: str) -> None:
        said = await self._http.post(f"/session/{session}/message", {"parts": [{"type": "text", "text": PROMPT}]})
        if not isinstance(said, dict) or said["info"].get("error"):
            raise RuntimeError(f"the turn ended otherwise: {said}")


class Opencode:
    """As npm installs it."""

    name = "opencode"
    package = Package("npm", ("opencode-ai@1.18.33",), "1.18.33")
    tool = Tool("bash", {"command": "true %d", "description": "nothing"})
    notes = ("no sandbox; git snapshots around steps; asks the model for a title; prints the answer at the end",)
    shows: Shows = "at the end"
    keeps = True

    def settle(self, ground: Ground, url: str) -> None:
        limit = {"context": 200_000, "output": 8_000}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": url, "apiKey": "none"},
            "models": {"script": {"name": "script", "limit": limit}},
        }
        settings = {
            "model": "script/script",
            "small_model": "script/script",
            "autoupdate": False,
            "share": "disabled",
            "permission": {"*": "allow"},
            "provider": {"script": provider},
        }
        ground.write(".config/opencode/opencode.json", json.dumps(settings))
        ground.env |= QUIET

    def start(self) -> tuple[str, ...]:
        return self._program(), "--version"

    def one_shot(self, ground: Ground) -> tuple[str, ...]:
        return self._program(), "run", PROMPT

    def _program(self) -> str:
        return str(folder_of(self.package) / "node_modules" / ".bin" / "opencode")

    @asynccontextmanager
    async def serve(self, ground: Ground) -> AsyncIterator[_Serving]:
        command = (self._program(), "serve", "--port", "0", "--hostname", "127.0.0.1")
        async with talking.started(command, ground.env, ground.project, merged=True) as process:
            url = (await talking.line_with(process, "http://127")).split()[-1].rstrip("/")
            reading = asyncio.create_task(talking.drain(process))
            async with talking.Http(url) as http:
                yield _Serving(process.pid, http)
            reading.cancel()
