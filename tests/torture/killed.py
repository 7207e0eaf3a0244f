"""A real daemon on a project its user trusts, to be started and killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

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

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "agi.cli.main", "serve", "--trust", "--port", "0", "--project", str(self.project)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=self.env,
        )
        assert self.process.stdout is not None
        self.url = (await asyncio.wait_for(self.process.stdout.readline(), 20)).decode().split()[-1].rstrip("/")
        self.client = HttpClient()
        self.headers = {
            "authorization": "Bearer " + json.loads((self.project / ".agi" / "daemon.json").read_text())["token"],
            "content-type": "application/json",
        }

    async def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()
        await self.client.close()

    async def call(self, method: str, path: str, body: object = None) -> dict:
        payload = json.dumps(body).encode() if body is not None else b""
        async with await self.client.request(method, self.url + path, headers=self.headers, body=payload) as response:
            read = json.loads(await response.read())
            assert response.status < 300, read
            return read
