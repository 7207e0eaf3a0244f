"""A real daemon on a disk that is full, or fails: requests are told so, nothing is half done, and it goes on after."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.torture.killed import KilledDaemon
from tests.torture.traced import strace

from agi.testing.box import eventually
from agi.testing.provider import ProviderServer
from agi.testing.replies import Reply, calls, says, waits
from agi.testing.scripts import Asked

pytestmark = pytest.mark.slow
SETTINGS = {"verify": {"autoVerify": False}}
KINDS = (  # a notice by its code
    "SELECT seq, CASE type WHEN 'notice' THEN json_extract(data, '$.code') ELSE type END"
    " FROM events ORDER BY session_id, seq"
)
MESSAGE = {"parts": [{"type": "text", "text": "go"}]}


def script(asked: Asked) -> Reply:
    return says("An answer.")


class Faulty(KilledDaemon):
    """A daemon whose disk can be made to fail."""

    async def start(self, *before: str) -> None:
        serve = (sys.executable, "-m", "agi.cli.main", *self.command)
        with self.told.open("ab") as told:
            self.process = await asyncio.create_subprocess_exec(
                *(*before, *serve), stdout=asyncio.subprocess.PIPE, stderr=told, env=self.env
            )
        await self.ready()

    async def post(self, path: str, body: object) -> tuple[int, dict]:
        payload = json.dumps(body).encode()
        async with await self.client.request("POST", self.url + path, headers=self.headers, body=payload) as response:
            return response.status, json.loads(await response.read())

    async def answered(self, session_id: str) -> None:
        """Ask, and wait until it was answered."""
        status, told = await self.post(f"/v1/sessions/{session_id}/messages", {"content": "still there?"})
        assert (status, told.get("turn_status")) == (200, "completed"), told

    def log(self) -> list[tuple[int, str]]:
        db = sqlite3.connect(self.project / ".agi" / "agi.sqlite")
        try:
            assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            return db.execute(KINDS).fetchall()
        finally:
            db.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of three megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Take up all the room there is, to the last byte."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 512, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return ballast


@pytest.mark.threat("T47")
@pytest.mark.timeout(120)
async def test_a_full_disk_is_507_and_changes_nothing_until_there_is_room(small_disk: Path) -> None:
    """Messages and new sessions are refused whole, reading goes on, and with room again so does everything."""
    async with ProviderServer(script, record=False) as provider:
        daemon = Faulty(small_disk, provider.base_url, SETTINGS)
        await daemon.start()
        session = (await daemon.call("POST", "/v1/sessions", {}))["id"]
        await daemon.answered(session)
        before = daemon.log()
        ballast = fill(small_disk)

        refused = [await daemon.post(f"/v1/sessions/{session}/messages", MESSAGE) for _ in range(3)]
        refused += [await daemon.post("/v1/sessions", {})]
        listed = await daemon.call("GET", f"/v1/sessions/{session}/messages")
        during = daemon.log()
        ballast.unlink()
        await daemon.answered(session)
        await daemon.kill()

    assert {(status, told["error"]["code"]) for status, told in refused} == {(507, "disk_full")}
    assert during == before
    assert len(listed["messages"]) == 2
    assert [seq for seq, _ in daemon.log()] == list(range(1, len(daemon.log()) + 1))


@pytest.mark.threat("T47")
@pytest.mark.timeout(120)
async def test_a_turn_that_meets_a_full_disk_goes_on_when_there_is_room(small_disk: Path) -> None:
    """What the model said may have to be asked for again; the turn is neither lost nor answered twice."""
    gate = asyncio.Event()
    held = waits(says("A long answer. " * 200, chunks=4), 2, gate)

    async with ProviderServer(lambda asked: held) as provider:
        daemon = Faulty(small_disk, provider.base_url, SETTINGS)
        await daemon.start()
        session = (await daemon.call("POST", "/v1/sessions", {}))["id"]
        status, _ = await daemon.post(f"/v1/sessions/{session}/messages", MESSAGE)
        await eventually(lambda: provider.requests)
        ballast = fill(small_disk)
        gate.set()
        await eventually(lambda: f"running {session} failed: The disk is full" in daemon.told.read_text())
        stuck = (await daemon.call("GET", f"/v1/sessions/{session}"))["status"]
        ballast.unlink()
        async with asyncio.timeout(60):
            while (await daemon.call("GET", f"/v1/sessions/{session}"))["activity"] != "idle":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        now = await daemon.call("GET", f"/v1/sessions/{session}")
        await daemon.kill()

    assert status == 202
    assert stuck == "active"
    assert now["status"] == "completed"
    assert [kind for _, kind in daemon.log()].count("turn_completed") == 1


class Moment:
    """Where in a turn the disk is full: the model says nothing yet, it speaks, or a command runs."""

    def __init__(self, name: str, project: Path) -> None:
        self._name = name
        self._project = project
        self._gate = asyncio.Event()

    def script(self, asked: Asked) -> Reply:
        """Decided by the conversation alone, so that a turn that is taken up again comes to its end."""
        if self._name == "running" and not any(message["role"] == "tool" for message in asked.json["messages"]):
            os.mkfifo(self._project / "gate")
            return calls(("shell", {"command": "echo ran >> ran.txt; read line < gate; echo told"}))
        return waits(says("An answer. " * 200, chunks=4), 2 * (self._name == "speaking"), self._gate)

    async def comes(self, provider: ProviderServer) -> None:
        """Return when the turn has come to it."""
        await eventually(lambda: provider.requests)
        if self._name == "running":
            await eventually(lambda: (self._project / "ran.txt").exists() and (self._project / "ran.txt").read_text())

    async def passes(self) -> None:
        """Let the turn go on."""
        self._gate.set()
        if self._name == "running":
            await asyncio.to_thread((self._project / "gate").write_text, "go on\n")  # waits until the command reads


@pytest.mark.threat("T47")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", ["asking", "speaking", "running"])
async def test_a_turn_pauses_with_an_event_on_a_full_disk_and_goes_on_when_there_is_room(
    small_disk: Path, name: str
) -> None:
    """The room set aside takes the notice and nothing else; with room again the turn ends, and nothing ran twice."""
    moment = Moment(name, small_disk / "project")
    async with ProviderServer(moment.script) as provider:
        daemon = Faulty(small_disk, provider.base_url, {**SETTINGS, "approval": {"requireForKinds": []}})
        reserve = daemon.project / ".agi" / "agi.sqlite.reserve"
        await daemon.start()
        await eventually(reserve.exists)
        session = (await daemon.call("POST", "/v1/sessions", {}))["id"]
        await daemon.post(f"/v1/sessions/{session}/messages", MESSAGE)
        await moment.comes(provider)
        ballast = fill(small_disk)
        await moment.passes()
        await eventually(lambda: "disk_full" in [kind for _, kind in daemon.log()])
        paused = daemon.log()
        refused = [await daemon.post(f"/v1/sessions/{session}/messages", MESSAGE) for _ in range(3)]
        during, kept = daemon.log(), reserve.exists()
        ballast.unlink()
        async with asyncio.timeout(60):
            while (await daemon.call("GET", f"/v1/sessions/{session}"))["activity"] != "idle":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        await daemon.answered(session)
        await daemon.kill()

    kinds = [kind for _, kind in daemon.log()]
    assert (kept, reserve.exists()) == (False, True)
    assert {(status, told["error"]["code"]) for status, told in refused} == {(507, "disk_full")}
    assert during == paused
    assert kinds[kinds.index("disk_full") + 1 :].count("turn_resumed") == kinds.count("disk_full") == 1
    assert (kinds.count("turn_completed"), kinds.count("turn_failed")) == (2, 0)
    assert [seq for seq, _ in daemon.log()] == list(range(1, len(kinds) + 1))
    if name == "running":
        assert (daemon.project / "ran.txt").read_text() == "ran\n"


@pytest.mark.threat("T47")
@pytest.mark.timeout(120)
async def test_an_answer_to_a_question_is_refused_whole_on_a_full_disk_and_can_be_given_again(small_disk: Path) -> None:
    """Nothing is half granted: the question stays, and the call runs once, after the yes that was durable."""
    replies = iter([calls(("shell", {"command": "echo ran >> ran.txt"})), says("Done.")])
    async with ProviderServer(lambda asked: next(replies)) as provider:
        daemon = Faulty(small_disk, provider.base_url, SETTINGS)
        await daemon.start()
        session = f"/v1/sessions/{(await daemon.call('POST', '/v1/sessions', {}))['id']}"
        await daemon.post(f"{session}/messages", MESSAGE)
        asked = await daemon.pending(session)
        ballast = fill(small_disk)
        yes = {**asked, "action": "approve"}
        refused = await daemon.post(f"{session}/approve", yes)
        waiting = await daemon.pending(session)
        ran = (daemon.project / "ran.txt").exists()
        ballast.unlink()
        await daemon.call("POST", f"{session}/approve", yes)
        await daemon.idle(session)
        await daemon.kill()

    assert (refused[0], refused[1]["error"]["code"], waiting, ran) == (507, "disk_full", asked, False)
    assert (daemon.project / "ran.txt").read_text() == "ran\n"
    assert [kind for _, kind in daemon.log()].count("turn_completed") == 1


@pytest.mark.threat("T48")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("fault", ["fdatasync:error=EIO:when=24+", "pwrite64:error=EIO:when=400+"])
async def test_a_failing_disk_stops_the_log_and_nothing_acknowledged_is_lost(tmp_path: Path, fault: str) -> None:
    """After a failed sync nothing more is claimed; started again on a sound disk, all that was promised is there."""
    accepted: list[str] = []
    async with ProviderServer(script, record=False) as provider:
        daemon = Faulty(tmp_path, provider.base_url, SETTINGS)
        name = fault.split(":")[0]
        await daemon.start(*strace("-e", f"trace={name}", "-e", f"inject={fault}"))
        session = (await daemon.call("POST", "/v1/sessions", {}))["id"]
        refused: list[tuple[int, str]] = []
        for _ in range(400):
            status, told = await daemon.post(f"/v1/sessions/{session}/messages", MESSAGE)
            if status != 202:
                refused.append((status, told["error"]["code"]))
                if len(refused) == 2:
                    break
            else:
                accepted.append(told["turn_id"])
                await asyncio.sleep(0.005)
        await stop_traced(daemon)

        await daemon.start()
        await daemon.answered(session)
        await daemon.kill()

    kept = stored_turns(daemon)
    assert {code for _, code in refused} == {"storage_failed"}
    assert {status for status, _ in refused} == {500}
    assert set(accepted) <= kept
    assert [seq for seq, _ in daemon.log()] == list(range(1, len(daemon.log()) + 1))


async def stop_traced(daemon: Faulty) -> None:
    """Kill the daemon, not strace, which would let it live on."""
    pid = json.loads((daemon.project / ".agi" / "daemon.json").read_text())["pid"]
    os.kill(pid, 9)
    await daemon.process.wait()
    await daemon.client.close()


def stored_turns(daemon: Faulty) -> set[str]:
    db = sqlite3.connect(daemon.project / ".agi" / "agi.sqlite")
    try:
        rows = db.execute("SELECT turn_id FROM events WHERE type='message_added'").fetchall()
    finally:
        db.close()
    return {row[0] for row in rows}
