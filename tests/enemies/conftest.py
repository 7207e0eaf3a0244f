"""What the enemies' tests share: the real daemon in a process of its own, and raw words to it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import agi
from agi.sandbox.ladder import Ladder

SOURCE = str(Path(agi.__file__).parent.parent)
FREE = {"approval": {"requireForKinds": []}, "verify": {"autoVerify": False}}
"""Settings of a user who is asked about nothing."""

needs_a_sandbox = pytest.mark.skipif(not Ladder(os.environ).rung.confines, reason="no sandbox works on this machine")


async def speak(port: int, request: str, *headers: str, body: bytes = b"") -> tuple[int, str]:
    """Say something to a port word by word; gives the status and the whole answer."""
    length = [f"Content-Length: {len(body)}"] if body else []
    raw = "\r\n".join([f"{request} HTTP/1.1", *headers, *length, "Connection: close", "", ""]).encode() + body
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(raw)
        async with asyncio.timeout(10):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            said = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
            head += (await reader.readexactly(int(said[1]) if said else 0)).decode("latin-1")
        return int(head.split()[1]), head
    finally:
        writer.close()


UPGRADE = (
    *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)


class Served:
    """A running `agi serve`: the user's own, as settings have it, asked by a stranger or by the user."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.config = self.home / ".config" / "agi"
        for place in (self.project, self.config):
            place.mkdir(parents=True)
        self.configure(defaultProvider="scripted")
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONPATH": SOURCE, "PYTHONUTF8": "1"}
        self.port = 0
        self.said = ""
        """What it wrote to its log, once it has ended."""
        self.process: asyncio.subprocess.Process

    def configure(self, **settings: object) -> None:
        """Write the user's settings."""
        (self.config / "config.json").write_text(json.dumps({"local": {"probe": False}, **settings}))

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run the command to its end, without a terminal."""
        process = await self._start(*arguments)
        async with asyncio.timeout(30):
            out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode()

    async def _start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "agi.cli.main", *arguments),
            cwd=self.project,
            env=self.env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    @asynccontextmanager
    async def serving(self, *arguments: str) -> AsyncIterator[Served]:
        """Serve until the block is left."""
        self.process = await self._start("serve", "--port", "0", *arguments)
        assert self.process.stdout is not None
        async with asyncio.timeout(20):
            url = (await self.process.stdout.readline()).decode()
        self.port = int(url.strip().rsplit(":", 1)[1]) if url else 0
        try:
            assert url
            yield self
        finally:
            if self.process.returncode is None:
                self.process.terminate()
            _, said = await self.process.communicate()
            self.said = said.decode()

    @property
    def token(self) -> str:
        """What its user could read in `daemon.json`."""
        return str(json.loads((self.project / ".agi" / "daemon.json").read_text())["token"])

    async def ask(self, request: str, *headers: str, body: bytes = b"") -> tuple[int, str]:
        """Ask it by its own name."""
        return await speak(self.port, request, f"Host: 127.0.0.1:{self.port}", *headers, body=body)

    async def sessions(self) -> list[dict[str, object]]:
        """What there is in it, as its user sees it."""
        _, answer = await self.ask("GET /v1/sessions")
        found: list[dict[str, object]] = json.loads(answer.partition("\r\n\r\n")[2])["sessions"]
        return found


@pytest.fixture
def served(tmp_path: Path) -> Served:
    """A daemon that can be started; its project and its user are new."""
    return Served(tmp_path)


def holders(secret: bytes, *folders: Path) -> list[str]:
    """The files below these folders that hold something, by their names."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if secret in path.read_bytes()]


def shown_of(pid: int) -> bytes:
    """What anybody may see of a process, and what its user may."""
    return b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
