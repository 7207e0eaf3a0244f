"""The real command, run as people and scripts run it: as a process of its own, with pipes or at a terminal."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

import agi
from agi.cli.main import main
from agi.testing.provider import ProviderServer, Reply

SOURCE = str(Path(agi.__file__).parent.parent)


class Result(msgspec.Struct, frozen=True):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, object]]:
        """stdout as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def types(self) -> list[object]:
        """The types of the events on stdout."""
        return [event["type"] for event in self.events]


class Terminal:
    """A command at a terminal of its own: what it shows, and keys to press."""

    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self.process = process
        self._master = master
        self._shown = bytearray()
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    @property
    def text(self) -> str:
        """Everything shown so far."""
        return self._shown.decode(errors="replace").replace("\r\n", "\n")

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    async def shows(self, text: str, times: int = 1) -> None:
        """Wait until something stands on the screen, so many times."""
        async with asyncio.timeout(20):
            while self.text.count(text) < times:
                self._news.clear()
                await self._news.wait()

    async def ends(self) -> int:
        """Wait for the end; gives the exit code."""
        async with asyncio.timeout(20):
            return await self.process.wait()

    def _read(self) -> None:
        try:
            data = os.read(self._master, 65536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._master)
        self._shown += data
        self._news.set()


class Agi:
    """The command `agi` in a project and a home of its own."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir()
        self.home = root / "home" / ".config" / "agi"
        self.configure({"defaultProvider": "scripted"})
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "home"),
            "PYTHONPATH": SOURCE,
            "PYTHONPYCACHEPREFIX": str(root.parent / "pycache"),
            "PYTHONUTF8": "1",
        }

    async def __call__(self, *arguments: str, stdin: bytes | None = None, env: dict[str, str] | None = None) -> Result:
        """Run it to its end; without `stdin` there is none."""
        process = await self.start(*arguments, stdin=stdin is not None, env=env)
        async with asyncio.timeout(30):
            out, err = await process.communicate(stdin)
        assert process.returncode is not None
        return Result(process.returncode, out.decode(), err.decode())

    async def start(
        self, *arguments: str, stdin: bool = False, env: dict[str, str] | None = None
    ) -> asyncio.subprocess.Process:
        """Start it and go on."""
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "agi.cli.main",
            *arguments,
            cwd=self.project,
            env={**self.env, **(env or {})},
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    @asynccontextmanager
    async def terminal(self, *arguments: str, screen: Sequence[int] = (0, 1, 2)) -> AsyncIterator[Terminal]:
        """Start it at a terminal; `screen` says which of its streams are there."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        streams = [slave if number in screen else asyncio.subprocess.DEVNULL for number in range(3)]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "agi.cli.main",
            *arguments,
            cwd=self.project,
            env=self.env,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            start_new_session=True,
        )
        os.close(slave)
        shown = Terminal(process, master)
        try:
            yield shown
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
                await process.wait()
            asyncio.get_running_loop().remove_reader(master)
            os.close(master)

    def configure(self, settings: dict[str, object], *, own: bool = True) -> None:
        """Write the user's settings, or the project's; the user's never look for models on the machine of the test."""
        folder = self.home if own else self.project / ".agi"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps({"local": {"probe": False}, **settings} if own else settings))

    @asynccontextmanager
    async def answered_by(self, *replies: Reply) -> AsyncIterator[ProviderServer]:
        """Have a scripted provider answer, over the real wire format."""
        async with ProviderServer(replies) as server:
            self.env["OPENAI_BASE_URL"] = server.base_url
            self.configure({"defaultModel": "script"})
            yield server

    @asynccontextmanager
    async def daemon(self, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run `agi serve` until the block is left."""
        process = await self.start("serve", "--port", "0", *arguments)
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(20):
                url = await process.stdout.readline()
            assert url.startswith(b"http://127.0.0.1:"), (url, await process.stderr.read())
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
            await process.communicate()

    def write(self, name: str, text: str) -> Path:
        """Put a file into the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Here:
    """The same command in this process: quicker, where nothing depends on its being one of its own."""

    def __init__(self, cli: Agi, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self.project = cli.project
        self.configure = cli.configure

    def __call__(self, *arguments: str) -> Result:
        """Run it to its end, without a terminal."""
        self._capfd.readouterr()
        code = main(list(arguments))
        return Result(code, *self._capfd.readouterr())


@pytest.fixture
def here(cli: Agi, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Here:
    """The command in this process, in a folder with nothing in it."""
    for name in os.environ:
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", cli.env["HOME"])
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(cli.project)
    return Here(cli, capfd)


@pytest.fixture
def cli(tmp_path: Path) -> Agi:
    """The command, in a folder with nothing in it; a script answers unless a provider is set up."""
    return Agi(tmp_path)
