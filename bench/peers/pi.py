"""pi: `pi -p`, over Chat Completions; a process of it has one session."""

from __future__ import annotations

import json

from bench.peers.base import PROMPT, Ground, Package, Shows, Tool
from bench.peers.installing import folder_of


class Pi:
    """As npm installs it, with the Node it asks for."""

    name = "pi"
    package = Package("npm", ("@earendil-works/pi-coding-agent@0.87.1", "node@22"), "0.87.1")
    tool = Tool("bash", {"command": "true %d"})
    notes = ("no sandbox; one session a process; prints the answer at the end; run by Node 22",)
    shows: Shows = "at the end"
    keeps = True

    def settle(self, ground: Ground, url: str) -> None:
        model = {"id": "script", "name": "script", "contextWindow": 200_000, "maxTokens": 8_000}
        script = {"baseUrl": url, "api": "openai-completions", "apiKey": "none", "models": [model]}
        ground.write(".pi/agent/models.json", json.dumps({"providers": {"script": script}}))
        ground.env |= {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}

    def start(self) -> tuple[str, ...]:
        return (*self._command(), "--version")

    def one_shot(self, ground: Ground) -> tuple[str, ...]:
        return (*self._command(), "-p", "--provider", "script", "--model", "script", PROMPT)

    def serve(self, ground: Ground) -> None:
        return None

    def _command(self) -> tuple[str, ...]:
        programs = folder_of(self.package) / "node_modules" / ".bin"
        return str(programs / "node"), str(programs / "pi")
