"""crush: `crush run`, over Chat Completions; a process of it has one session."""

from __future__ import annotations

import json

from bench.peers.base import PROMPT, Ground, Package, Shows, Tool
from bench.peers.installing import folder_of


class Crush:
    """As npm installs it; its package fetches the program from elsewhere, which must be reachable too."""

    name = "crush"
    package = Package("npm", ("@charmland/crush@0.96.1",), "0.96.1")
    tool = Tool("bash", {"command": "true %d", "description": "nothing"})
    notes = ("no sandbox; one session a process",)
    shows: Shows = "as it comes"
    keeps = True

    def settle(self, ground: Ground, url: str) -> None:
        model = {"id": "script", "name": "script", "context_window": 200_000, "default_max_tokens": 8_000}
        script = {"type": "openai", "base_url": url, "api_key": "none", "models": [model]}
        chosen = {"model": "script", "provider": "script"}
        settings = {
            "providers": {"script": script},
            "models": {"large": chosen, "small": chosen},
            "options": {"disable_provider_auto_update": True, "disable_metrics": True},
            "permissions": {"allowed_tools": ["bash"]},
        }
        ground.write(".config/crush/crush.json", json.dumps(settings))
        ground.env |= {"CRUSH_DISABLE_PROVIDER_AUTO_UPDATE": "1", "CRUSH_DISABLE_METRICS": "1", "DO_NOT_TRACK": "1"}

    def start(self) -> tuple[str, ...]:
        return self._program(), "--version"

    def one_shot(self, ground: Ground) -> tuple[str, ...]:
        return self._program(), "run", "--quiet", PROMPT

    def serve(self, ground: Ground) -> None:
        return None

    def _program(self) -> str:
        return str(folder_of(self.package) / "node_modules" / ".bin" / "crush")
