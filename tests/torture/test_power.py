"""The power fails: of what was not synced, any part may be gone, reordered or torn. What was acknowledged stays.

A real session is recorded write by write; the disk is then rebuilt as it may have been at a moment of it, and opened.
AGI_POWER says how many moments are tried (default 150), AGI_SEED which. A file that was synced is taken to have its
name; the readable mirrors are taken to have nothing but what was synced.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from tests.torture.invariants import Acknowledged, check_log
from tests.torture.traced import Disk, run_session, strace

from agi.eventlog.log import EventLog
from agi.eventlog.schema import connect
from agi.views.tables import Tables

pytestmark = pytest.mark.slow
MOMENTS = int(os.environ.get("AGI_POWER", "150"))
SEED = int(os.environ.get("AGI_SEED", "1"))
CALLS = "pwrite64,write,ftruncate,fdatasync,fsync"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A session's folder and the record of its writes."""
    root = tmp_path_factory.mktemp("recorded")
    done = run_session(root, *strace("-y", "-xx", "-s", "4000000", "-e", f"trace={CALLS}", output=root / "trace"))
    assert done.returncode == 0, done.stderr
    return root / "project" / ".agi", root / "trace"


@pytest.mark.threat("T49")
@pytest.mark.timeout(7200)
async def test_what_was_acknowledged_survives_a_power_loss_at_any_moment(
    tmp_path: Path, recorded: tuple[Path, Path]
) -> None:
    """The log opens, is whole, and holds every event that anybody was told of before the lights went out."""
    folder, trace = recorded
    chance = random.Random(SEED)
    steps = trace.read_bytes().count(b"\n")
    chosen = set(chance.sample(range(steps), min(MOMENTS, steps)))
    disk, dropped, acknowledged = Disk(), 0, 0
    for step in disk.play(trace):
        if step not in chosen:
            continue
        database = disk.files.get(str(folder / "agi.sqlite"))
        if database is None:
            continue
        told = Acknowledged(disk.said)
        dropped += any(file.since for file in disk.files.values())
        acknowledged = max(acknowledged, len(told.events))
        place = tmp_path / str(step)
        place.mkdir()
        for name in ("agi.sqlite", "agi.sqlite-wal"):
            if (file := disk.files.get(str(folder / name))) is not None:
                (place / name).write_bytes(file.after_power_loss(chance))
        await _check(place, told)
        shutil.rmtree(place)
    print(f"{len(chosen)} moments, {dropped} with writes to lose, up to {acknowledged} events acknowledged")
    assert acknowledged > 10
    assert dropped > len(chosen) // 20


async def _check(place: Path, told: Acknowledged) -> None:
    log = EventLog(place, Tables())
    try:
        check_log(log.read(told.session_id, 0, 10_000) if told.session_id else [], told)
    finally:
        await log.close()
    db = connect(place / "agi.sqlite")
    try:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    finally:
        db.close()
