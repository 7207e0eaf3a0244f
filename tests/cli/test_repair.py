"""`agi repair`: losing the database or a mirror loses nothing."""

from __future__ import annotations

import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agi.testing.provider import says
from agi.testing.replies import breaks


def first_session(here) -> str:
    here("hello")
    return json.loads((here("sessions", "--json")).out)[0]["id"]


def standing(folder: Path) -> dict[Path, tuple[int, ...]]:
    """What is in a folder, and since when it stands as it does."""
    return {path: ((at := path.stat()).st_mode, at.st_size, at.st_mtime_ns) for path in folder.rglob("*")}


def test_a_lost_database_is_rebuilt_from_the_mirrors(here):
    """The sessions are there again, event for event."""
    session_id = first_session(here)
    before = here("sessions", "export", session_id)
    (here.project / ".agi" / "agi.sqlite").unlink()
    repaired = here("repair")

    assert repaired.code == 0
    assert "The database was rebuilt: 1 session " in repaired.out
    assert (here("sessions", "export", session_id)).out == before.out


def test_a_lost_mirror_is_rebuilt_from_the_database(here):
    """And a second look finds everything in order."""
    session_id = first_session(here)
    mirror = here.project / ".agi" / "sessions" / session_id / "events.ndjson"
    before = mirror.read_text()
    mirror.unlink()
    repaired = here("repair")
    again = here("repair")

    assert "One mirror was written anew." in repaired.out
    assert mirror.read_text() == before
    assert "So are their mirrors." in again.out


def test_it_can_be_told_to_rebuild_in_any_case(here):
    """The old database is set aside, not deleted."""
    first_session(here)
    repaired = here("repair", "--from-mirrors")

    assert "The database was rebuilt: 1 session " in repaired.out
    assert "Set aside: " in repaired.out


async def test_it_refuses_while_a_daemon_runs(cli):
    """The database is not taken away from under somebody."""
    async with cli.daemon() as daemon:
        await cli("hello")
        result = await cli("repair", "--from-mirrors")

    assert (result.code, result.out) == (1, "")
    assert f"process {daemon.pid}" in result.err
    assert "Stop it first." in result.err


async def test_it_refuses_while_a_one_shot_runs(cli):
    """A turn without a daemon counts as well."""
    async with cli.answered_by(breaks(says("Begun and", chunks=2), 3, "stall")):
        running = await cli.start("hi")
        assert await running.stdout.readexactly(5) == b"Begun"
        result = await cli("repair")
        running.send_signal(signal.SIGINT)
        await running.communicate()

    assert result.code == 1
    assert "is running" in result.err


def test_where_nothing_is_there_is_nothing_to_repair(here):
    """No folder is made."""
    result = here("repair")

    assert result.code == 2
    assert not list(here.project.iterdir())


@pytest.mark.parametrize("arguments", [(), ("--from-mirrors",)])
@pytest.mark.parametrize("left", ["nothing in it", "no tables", "no database"])
def test_what_holds_no_session_is_left_as_it_is(here, left, arguments):
    """A folder where nobody has said anything yet is told as one; no database is made there."""
    folder = here.project / ".agi"
    (folder / "sessions").mkdir(parents=True)
    database = folder / "agi.sqlite"
    if left == "nothing in it":
        database.touch()
    elif left == "no tables":
        with closing(sqlite3.connect(database)) as db:
            db.execute("VACUUM")
    before = standing(folder)

    result = here("repair", *arguments)

    assert (result.code, result.out) == (2, "")
    assert "There are no sessions in " in result.err
    assert standing(folder) == before


def test_a_page_that_nobody_has_read_yet_is_damage_too(here):
    """The database is looked through as a whole, and rebuilt where a page of it cannot be read."""
    first_session(here)
    database = here.project / ".agi" / "agi.sqlite"
    whole = database.read_bytes()
    for page in range(2, len(whole) // 4096, 7):
        database.write_bytes(whole[: (page - 1) * 4096] + b"\xff" * 4096 + whole[page * 4096 :])
        repaired = here("repair")
        assert (repaired.code, repaired.out[:24]) == (0, "The database was rebuilt"), page
