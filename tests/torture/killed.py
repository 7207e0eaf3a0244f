"""A real daemon on a project its user trusts, to be started and killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from tests.torture.forked import Forked

from agi.net.http import HttpClient


class KilledDaemon:
    """Started again and again on one folder; each time it dies without a word."""

    def __init__(self, root: Path, base_url: str, settings: dict) -> None:
        self.root = root
        self.project = root / "project"
        self.project.mkdir()
        config = root / "config" / "agi"
        config.mkdir(parents=True)
        (config / "config.json").write_text(json.dumps({"defaultModel": "script", **settings}))
        (config / "config.json").chmod(0o600)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "XDG_CONFIG_HOME": str(root / "config"),
            "OPENAI_BASE_URL": base_url,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }

    @property
    def command(self) -> list[str]:
        """What follows `agi`."""
        return ["serve", "--trust", "--port", "0", "--project", str(self.project)]

    async def start(self) -> None:
        await self.launch()
        await self.ready()

    async def launch(self) -> None:
        """Begin to start it."""
        with self.told.open("ab") as told:
            self.process: asyncio.subprocess.Process | Forked = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "agi.cli.main", *self.command),
                stdout=asyncio.subprocess.PIPE,
                stderr=told,
                env=self.env,
            )

    @property
    def told(self) -> Path:
        """What it said on stderr, kept on another disk than its own may be."""
        return self.root.parent / f"{self.root.name}.err"

    async def ready(self) -> None:
        """Wait until it answers; then it can be called."""
        assert self.process.stdout is not None
        said = await asyncio.wait_for(self.process.stdout.readline(), 20)
        assert said, f"it did not start: {self.told.read_text()[-1000:]}"
        self.url = said.decode().split()[-1].rstrip("/")
        self.client = HttpClient()
        self.headers = {
            "authorization": "Bearer " + json.loads((self.project / ".agi" / "daemon.json").read_text())["token"],
            "content-type": "application/json",
        }

    async def kill(self) -> None:
        await self.die()
        await self.client.close()

    async def die(self) -> None:
        """At once, also in the middle of its start."""
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def call(self, method: str, path: str, body: object = None) -> dict:
        payload = json.dumps(body).encode() if body is not None else b""
        async with await self.client.request(method, self.url + path, headers=self.headers, body=payload) as response:
            read = json.loads(await response.read())
            assert response.status < 300, read
            return read

    async def pending(self, path: str) -> dict:
        """What the session at this path is asked to approve, once it is."""
        async with asyncio.timeout(20):
            while not (asked := (await self.call("GET", path))["pending_approvals"]):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        return {"turn_id": asked[0]["turn_id"], "tool_call_id": asked[0]["tool_call_id"]}

    async def idle(self, path: str, patience: float = 20) -> None:
        """Wait until the session at this path has nothing to do."""
        async with asyncio.timeout(patience):
            while (await self.call("GET", path))["activity"] != "idle":  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)
