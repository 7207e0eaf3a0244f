"""`agi repair`: losing the database or a mirror loses nothing."""

from __future__ import annotations

import json
import signal

from agi.testing.provider import says
from agi.testing.replies import breaks


async def first_session(cli) -> str:
    await cli("hello")
    return json.loads((await cli("sessions", "--json")).out)[0]["id"]


async def test_a_lost_database_is_rebuilt_from_the_mirrors(cli):
    """The sessions are there again, event for event."""
    session_id = await first_session(cli)
    before = await cli("sessions", "export", session_id)
    (cli.project / ".agi" / "agi.sqlite").unlink()
    repaired = await cli("repair")

    assert repaired.code == 0
    assert "The database was rebuilt: 1 sessions" in repaired.out
    assert (await cli("sessions", "export", session_id)).out == before.out


async def test_a_lost_mirror_is_rebuilt_from_the_database(cli):
    """And a second look finds everything in order."""
    session_id = await first_session(cli)
    mirror = cli.project / ".agi" / "sessions" / session_id / "events.ndjson"
    before = mirror.read_text()
    mirror.unlink()
    repaired = await cli("repair")
    again = await cli("repair")

    assert "One mirror was written anew." in repaired.out
    assert mirror.read_text() == before
    assert "So are their mirrors." in again.out


async def test_it_can_be_told_to_rebuild_in_any_case(cli):
    """The old database is set aside, not deleted."""
    await first_session(cli)
    repaired = await cli("repair", "--from-mirrors")

    assert "The database was rebuilt: 1 sessions" in repaired.out
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


async def test_where_nothing_is_there_is_nothing_to_repair(cli):
    """No folder is made."""
    result = await cli("repair")

    assert result.code == 2
    assert not list(cli.project.iterdir())
