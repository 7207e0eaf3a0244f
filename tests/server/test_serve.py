"""The daemon from its start to its stop, as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from agi.config import Flags
from agi.config.daemon import read_record
from agi.errors import ConfigError, Conflict
from agi.net.http import HttpClient
from agi.server.daemon import Berth
from agi.server.serve import ServeSettings, serve

SCRIPT = """
import asyncio, pathlib, sys
from agi.server.serve import ServeSettings, serve
folder = pathlib.Path(sys.argv[1])
port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
asyncio.run(serve(ServeSettings(project=folder / "project", home_config=folder / "home", env={}, port=port)))
"""

UNCONFINED = f"""
from agi.sandbox import ladder
ladder.find_namespaces, ladder.find_trusted, ladder.landlock_version = lambda *_: None, lambda *_: None, lambda: 0
{SCRIPT}"""
"""The same on a machine on which no sandbox works."""

ASKED_FOR_LATER = (
    "starlette",
    "anyio",
    "click",
    "websockets",
    "multiprocessing",
    "agi.client.base",
    "agi.client.daemon",
    "agi.config.narrowing",
    "agi.eventlog.deleting",
    "agi.eventlog.follow",
    "agi.models",
    "agi.protocol.search",
    "agi.rendering",
    "agi.server.chat",
    "agi.server.mcp",
    "agi.server.openapi",
    "agi.server.page",
    "agi.server.rpc",
    "agi.tools",
    "agi.loop",
    "agi.jobs",
    "agi.context",
    "agi.sessions.runner",
    "agi.server.health",
    "agi.server.messages",
    "agi.server.sessions",
    "agi.views.search_index",
    "agi.sandbox",
    "agi.usertools",
    "agi.workspace.handle",
    "uvicorn",
    "http",
    "email",
    "json",
    "shutil",
    "random",
    "ctypes",
)
"""What a daemon does not need to say that it is there."""
LOADED = """
import asyncio, os, pathlib, sys
import agi.cli.serve
from agi.environment import forget_keys
from agi.server.serve import ServeSettings, serve
forget_keys()
folder = pathlib.Path(sys.argv[1])
def ready():
    print(*sys.modules, flush=True)
    os._exit(0)
settings = ServeSettings(project=folder / "project", home_config=folder / "home", env={}, port=0)
asyncio.run(serve(settings, ready=ready))
"""


MADE = """
import re, sys
import msgspec.json
def noting(make, makers):
    def made(*said, **more):
        makers.add(sys._getframe(1).f_globals["__name__"])
        return make(*said, **more)
    return made
patterns, decoders = set(), set()
re.compile = noting(re.compile, patterns)
msgspec.json.Decoder = noting(msgspec.json.Decoder, decoders)
import agi.cli.main, agi.cli.serve
for makers in (patterns, decoders):
    print(*(name for name in makers if name.startswith("agi.")))
"""


class Process:
    """A running `serve`, and what it said."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self.data = folder / "project/.agi"
        self.url = ""

    async def ready(self) -> None:
        assert self.process.stdout is not None
        self.url = (await self.process.stdout.readline()).decode().strip()

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        if self.process.returncode is None:
            self.process.send_signal(how)
        _, err = await self.process.communicate()
        return self.process.returncode or 0, err.decode()


@contextlib.asynccontextmanager
async def running(folder: Path, *arguments: str, script: str = SCRIPT) -> AsyncIterator[Process]:
    (folder / "project").mkdir(exist_ok=True)
    (folder / "home").mkdir(exist_ok=True)
    if not (folder / "home/config.json").exists():
        (folder / "home/config.json").write_text('{"defaultProvider": "scripted"}')
    command = (sys.executable, "-c", script, str(folder), *arguments)
    pipe = asyncio.subprocess.PIPE
    process = Process(await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe), folder)
    try:
        yield process
    finally:
        if process.process.returncode is None:
            process.process.kill()
            await process.process.communicate()


async def said_by(script: str, *arguments: str) -> bytes:
    """What a fresh interpreter prints, without anybody's keys in its environment."""
    env = {"PATH": os.environ["PATH"]}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, *arguments, stdout=-1, env=env)
    out, _ = await process.communicate()
    return out


async def get(url: str) -> tuple[int, bytes]:
    async with HttpClient() as http, await http.request("GET", url) as response:
        return response.status, await response.read()


async def test_the_url_is_printed_when_it_answers_and_the_record_tells_the_same(tmp_path: Path) -> None:
    """One line on stdout, nothing before it can be asked; `daemon.json` is private and gone at the end."""
    async with running(tmp_path) as daemon:
        await daemon.ready()
        assert await get(f"{daemon.url}/healthz") == (200, b'{"status":"ok"}')
        record = read_record(daemon.data)
        assert record is not None
        assert (record.url, record.pid) == (daemon.url, daemon.process.pid)
        assert stat.S_IMODE((daemon.data / "daemon.json").stat().st_mode) == 0o600
        status, _ = await get(f"{daemon.url}/v1/sessions")

        code, err = await daemon.stop()

    assert status == 200
    assert code == 0
    assert not (daemon.data / "daemon.json").exists()
    assert "agi: sandbox: " in err or "without a sandbox" in err
    assert "not trusted" not in err
    assert "GET /v1/sessions 200 " in err
    assert record.token not in err
    assert "Traceback" not in err


@pytest.mark.threat("T54")
async def test_a_second_daemon_refuses_and_names_the_first(tmp_path: Path) -> None:
    """`daemon_running`, with the process and the address of the owner."""
    async with running(tmp_path) as first:
        await first.ready()
        async with running(tmp_path) as second:
            _, err = await second.process.communicate()
        assert f"process {first.process.pid} at {first.url}" in err.decode()
        assert await get(f"{first.url}/healthz") == (200, b'{"status":"ok"}')
        await first.stop()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_streams_and_leaves_cleanly(tmp_path: Path, how: signal.Signals) -> None:
    """An open stream does not hold the daemon up, and is ended properly."""
    async with running(tmp_path) as daemon:
        await daemon.ready()
        async with HttpClient() as http:
            headers = {"content-type": "application/json"}
            async with await http.request("POST", f"{daemon.url}/v1/sessions", headers=headers, body=b"{}") as made:
                session_id = msgspec.json.decode(await made.read())["id"]
            stream = await http.request("GET", f"{daemon.url}/v1/sessions/{session_id}/events")
            reading = asyncio.create_task(stream.read())

            code, err = await asyncio.wait_for(daemon.stop(how), 4)

            assert b"session_created" in await reading
    assert code == 0
    assert "Traceback" not in err
    assert not (daemon.data / "daemon.json").exists()


async def test_the_configured_limits_hold_from_the_start_and_it_is_told(tmp_path: Path) -> None:
    """What is over them goes in the background; one line says so."""
    async with running(tmp_path) as daemon:
        await daemon.ready()
        headers = {"content-type": "application/json"}
        async with (
            HttpClient() as http,
            await http.request("POST", f"{daemon.url}/v1/sessions", headers=headers, body=b"{}") as made,
        ):
            assert made.status == 201
        _, untouched = await daemon.stop()
    (tmp_path / "home/config.json").write_text('{"retention": {"maxAgeDays": 1e-9}}')
    async with running(tmp_path) as daemon:
        await daemon.ready()
        assert daemon.process.stderr is not None
        async with asyncio.timeout(20):
            while b"retention" not in (told := await daemon.process.stderr.readline()):
                pass
        left = msgspec.json.decode((await get(f"{daemon.url}/v1/sessions"))[1])["sessions"]
        await daemon.stop()

    assert "retention" not in untouched
    assert told.startswith(b"agi: retention: 1 session removed as configured")
    assert left == []


async def test_what_was_said_is_there_after_a_restart(tmp_path: Path) -> None:
    """The log outlives the process."""
    async with running(tmp_path) as daemon:
        await daemon.ready()
        async with HttpClient() as http:
            body, headers = b'{"prompt": "hello"}', {"content-type": "application/json"}
            async with await http.request("POST", f"{daemon.url}/v1/one-shot", headers=headers, body=body) as reply:
                said = msgspec.json.decode(await reply.read())
        await daemon.stop()
    async with running(tmp_path) as again:
        await again.ready()
        status, listed = await get(f"{again.url}/v1/sessions/{said['session_id']}/messages")
        await again.stop()
    assert status == 200
    assert msgspec.json.decode(listed)["messages"][-1]["id"] == said["message"]["id"]


async def test_a_lost_database_is_rebuilt_and_said(tmp_path: Path) -> None:
    """Loudly, on stderr."""
    async with running(tmp_path) as daemon:
        await daemon.ready()
        async with HttpClient() as http:
            headers = {"content-type": "application/json"}
            await (await http.request("POST", f"{daemon.url}/v1/sessions", headers=headers, body=b"{}")).read()
        await daemon.stop()
    for name in os.listdir(daemon.data):
        if name.startswith("agi.sqlite"):
            (daemon.data / name).unlink()
    async with running(tmp_path) as again:
        await again.ready()
        _, listed = await get(f"{again.url}/v1/sessions")
        _, err = await again.stop()
    assert len(msgspec.json.decode(listed)["sessions"]) == 1
    assert "was rebuilt from its mirrors: 1 session, " in err


def settings(folder: Path, **fields: object) -> ServeSettings:
    return msgspec.structs.replace(ServeSettings(project=folder, home_config=folder / "home", env={}), **fields)


async def test_a_port_that_was_asked_for_and_is_taken_is_an_error(tmp_path: Path) -> None:
    """Another port would not be what was asked for."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(Conflict, match=str(port)) as refused:
            await serve(settings(tmp_path, port=port), out=io.StringIO(), err=io.StringIO())
    assert refused.value.code == "port_taken"
    assert read_record(tmp_path / ".agi") is None


@pytest.mark.threat("T36")
async def test_where_nothing_holds_commands_the_log_says_so_at_the_start(tmp_path: Path) -> None:
    """Loudly, with what was tried, before anybody has asked anything."""
    async with running(tmp_path, script=UNCONFINED) as daemon:
        await daemon.ready()
        assert daemon.process.stderr is not None
        async with asyncio.timeout(20):
            said = (await daemon.process.stderr.readline()).decode()
        code, _ = await daemon.stop()

    assert code == 0
    assert said.startswith("agi: warning: commands run without a sandbox: they can do what you can (namespaces: not")
    assert "bubblewrap: not installed" in said
    assert "Landlock: not offered" in said


@pytest.mark.threat("T36")
async def test_where_a_sandbox_is_required_and_none_can_be_tried_it_does_not_start(
    tmp_path: Path, full_disk: None
) -> None:
    """What is not known to hold does not hold; it says what to do."""
    required = settings(tmp_path, flags=Flags(require_sandbox=True))
    with pytest.raises(ConfigError, match=r"No space left on device.*Make room") as refused:
        await serve(required, out=io.StringIO(), err=io.StringIO())

    assert (refused.value.code, read_record(tmp_path / ".agi")) == ("sandbox_required", None)


@pytest.mark.threat("T36")
async def test_where_a_sandbox_is_required_and_none_works_it_does_not_start(tmp_path: Path, no_sandbox: None) -> None:
    """It says why and what would help, has answered nobody, and leaves its place free."""
    required = settings(tmp_path, flags=Flags(require_sandbox=True))
    (tmp_path / ".agi").mkdir()
    (tmp_path / ".agi" / "config.json").write_text('{"sandbox": {"mode": "off"}}')
    out = io.StringIO()
    with pytest.raises(
        ConfigError, match=r"no sandbox works here \(namespaces: not .*; bubblewrap: not installed"
    ) as refused:
        await serve(required, out=out, err=io.StringIO())

    assert (refused.value.code, out.getvalue(), read_record(tmp_path / ".agi")) == ("sandbox_required", "", None)
    assert "agi doctor" in refused.value.hint
    Berth(tmp_path / ".agi").leave()


@pytest.mark.threat("T6")
async def test_another_address_than_loopback_needs_to_be_exposed(tmp_path: Path) -> None:
    """Never by accident."""
    with pytest.raises(ConfigError) as refused:
        await serve(settings(tmp_path, host="0.0.0.0"), out=io.StringIO(), err=io.StringIO())
    assert refused.value.code == "expose_needed"
    assert not (tmp_path / ".agi").exists()


async def test_a_daemon_that_nobody_has_asked_yet_has_loaded_no_surface_but_the_first(tmp_path: Path) -> None:
    """It listens sooner: sockets, forms, the page, the document and the tools are loaded by whoever needs them."""
    (tmp_path / "project").mkdir()
    out = await said_by(LOADED, str(tmp_path))

    loaded = out.decode().splitlines()[-1].split()
    assert "agi.server.app" in loaded
    assert not set(ASKED_FOR_LATER) & set(loaded)


async def test_patterns_and_decoders_are_made_by_who_needs_them() -> None:
    """A start makes no decoder, and the patterns of settings, of the words of commands and of a mirror's names."""
    patterns, decoders = (await said_by(MADE)).decode().split("\n")[:2]

    assert set(patterns.split()) <= {"agi.config.settings", "agi.protocol.commands", "agi.eventlog.mirror"}
    assert decoders == ""
