"""google-adk: `adk run` and `adk api_server`, over the Gemini format, with an agent that has one tool."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.peers import talking
from bench.peers.base import PROMPT, Ground, Package, Shows, Tool
from bench.peers.installing import folder_of

AGENT = '''\
import subprocess

from google.adk.agents import Agent


def shell(command: str) -> str:
    """Runs a command."""
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout


root_agent = Agent(name="bench", model="gemini-2.5-flash", instruction="Do what you are asked.", tools=[shell])
'''


class _Serving:
    def __init__(self, pid: int, http: talking.Http) -> None:
        self.pid, self._http = pid, http

    async def session(self) -> str:
        made = await self._http.post("/apps/bench/users/u/sessions", {})
        assert isinstance(made, dict)
        return str(made["id"])

    async def turn(self, session: str) -> None:
        said = {"role": "user", "parts": [{"text": PROMPT}]}
        asked = {"appName": "bench", "userId": "u", "sessionId": session, "newMessage": said}
        answer = await self._http.post("/run", asked)
        if not isinstance(answer, list) or "word0" not in str(answer[-1]):
            raise RuntimeError(f"the turn ended otherwise: {str(answer)[-200:]}")


class GoogleAdk:
    """As pip installs it."""

    name = "google-adk"
    package = Package("pip", ("google-adk==2.13.0",), "2.13.0")
    tool = Tool("shell", {"command": "true %d"})
    notes = ("no sandbox; its command line asks for whole answers, so it has no chunks",)
    shows: Shows = "asks for no stream"
    keeps = True

    def settle(self, ground: Ground, url: str) -> None:
        agent = ground.project / "agents" / "bench"
        agent.mkdir(parents=True, exist_ok=True)
        (agent / "__init__.py").write_text("from . import agent\n")
        (agent / "agent.py").write_text(AGENT)
        ground.env |= {
            "GOOGLE_GEMINI_BASE_URL": url.removesuffix("/v1"),
            "GOOGLE_API_KEY": "none",
            "GOOGLE_GENAI_USE_VERTEXAI": "0",
            "ADK_DISABLE_TELEMETRY": "1",
            "OTEL_SDK_DISABLED": "true",
        }

    def start(self) -> tuple[str, ...]:
        return self._program(), "--version"

    def one_shot(self, ground: Ground) -> tuple[str, ...]:
        return self._program(), "run", str(ground.project / "agents" / "bench"), PROMPT

    def _program(self) -> str:
        return str(folder_of(self.package) / "bin" / "adk")

    @asynccontextmanager
    async def serve(self, ground: Ground) -> AsyncIterator[_Serving]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = (self._program(), "api_server", "--port", str(port), str(ground.project / "agents"))
        async with talking.started(command, ground.env, ground.project, merged=True) as process:
            await talking.line_with(process, "running on")
            reading = asyncio.create_task(talking.drain(process))
            async with talking.Http(f"http://127.0.0.1:{port}") as http:
                yield _Serving(process.pid, http)
            reading.cancel()
