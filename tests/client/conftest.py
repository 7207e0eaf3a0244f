"""A project, a home, and the two ways to its sessions: in this process, and a daemon as a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import agi
from agi.client.base import Client
from agi.client.find import open_client, open_in_process
from agi.client.settings import ClientSettings

SOURCE = str(Path(agi.__file__).parent.parent)


class Here:
    """A folder with a home beside it."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir()
        self.data = self.project / ".agi"
        self.home = root / "home" / ".config" / "agi"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(root / "home")}
        self.configure('{"defaultProvider": "scripted", "local": {"probe": false}}')

    def configure(self, text: str) -> None:
        """Write the user's settings."""
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "config.json").write_text(text)

    @property
    def settings(self) -> ClientSettings:
        """What a client is told."""
        return ClientSettings(project=self.project, home_config=self.home, env=self.env)

    @asynccontextmanager
    async def daemon(self) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run `agi serve` until the block is left."""
        arguments = (sys.executable, "-m", "agi.cli.main", "serve", "--port", "0", "--project", str(self.project))
        env = {**self.env, "PYTHONPATH": SOURCE}
        process = await asyncio.create_subprocess_exec(
            *arguments, env=env, stdout=-1, stderr=asyncio.subprocess.DEVNULL
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(20):
                assert await process.stdout.readline()
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
            await process.communicate()


@pytest.fixture
def here(tmp_path: Path) -> Here:
    """A folder with nothing in it; a script answers."""
    return Here(tmp_path)


@pytest.fixture(params=["in this process", "a daemon"])
async def client(here: Here, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """Every way to the sessions of a folder."""
    if request.param == "a daemon":
        async with here.daemon():
            made = await open_client(here.settings)
            assert made.where.startswith("http://")
            yield made
            await made.close()
    else:
        local = open_in_process(here.settings)
        yield local
        await local.close()
