"""Rotting: whatever bit of a database flips, it is mended or told as damage, and the mirrors bring back every event."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agi.cli import exits
from agi.eventlog.log import EventLog
from agi.eventlog.rows import read_page
from agi.protocol import events as ev
from agi.protocol.context import ContextSection
from agi.protocol.messages import Message
from agi.protocol.parts import Text
from agi.views.tables import Tables

TS = "2026-01-01T00:00:00.000Z"
SESSIONS = ("sess_01a1f2626ea77000bf5316baeefc283d", "sess_01a1f2631b0c7000a4d29c07716e8f52")
FLIPS = 100
SEED = 20261119


async def write(folder: Path) -> None:
    """Two sessions that share a text, the same bytes each time."""
    log = EventLog(folder, Tables(), clock=lambda: 1_767_225_600.0)
    section = ContextSection(name="rules", source="AGENTS.md", tokens=7, digest="d" * 16, text="Be brief.\n" * 40)
    for session_id in SESSIONS:
        asked = Message(
            id=f"msg_{session_id[5:]}", role="user", parts=(Text(text="Grüße"),), created_at=TS, status="complete"
        )
        turn = f"turn_{session_id[5:]}"
        created = ev.SessionCreated(id=session_id, agent="build", workspace_path="/w", project_path="/w", created_at=TS)
        head = ev.ContextAssembled(cause="first_turn", agent="build", provider="p", model="m", sections=(section,))
        await log.append(session_id, [(None, created), (turn, ev.MessageAdded(message=asked)), (turn, head)])
        for n in range(4, 16):
            await log.append(session_id, [(turn, ev.Notice(code="note", message=f"Nr. {n}"))])
    await log.close()


def held(folder: Path) -> dict[str, list[bytes]]:
    """Every event of every session, by its own row."""
    with closing(sqlite3.connect(folder / "agi.sqlite")) as db:
        ids = [row[0] for row in db.execute("SELECT DISTINCT session_id FROM events NOT INDEXED")]
        return {one: [event.line() for event in read_page(db, one, 0, 1000)] for one in ids}


def mirrored(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (folder / "sessions").glob("*/events.ndjson*")}


def put(folder: Path, content: bytes) -> None:
    """Have this database and nothing beside it."""
    for path in folder.glob("agi.sqlite*"):
        path.unlink()
    (folder / "agi.sqlite").write_bytes(content)


@pytest.mark.threat("T46")
def test_whatever_bit_flips_no_command_fails_in_its_own_words_and_no_event_is_lost(here):
    """Of all bytes of the file that say something; a repair that finds all in order is right about it."""
    folder = here.project / ".agi"
    asyncio.run(write(folder))
    whole, before, mirrors = (folder / "agi.sqlite").read_bytes(), held(folder), mirrored(folder)
    places = [at for at, byte in enumerate(whole) if byte]
    rng = random.Random(SEED)
    for at, bit in [(rng.choice(places), rng.randrange(8)) for _ in range(FLIPS)]:
        flipped = whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]

        put(folder, flipped)
        verified, repaired = here("log", "verify"), here("repair")
        for told in (verified, repaired):
            assert told.code in (exits.OK, exits.FAILED), (at, bit, told)
            assert "Please report it" not in told.err, (at, bit, told)
        assert repaired.code or held(folder) == before, (at, bit, repaired)

        put(folder, flipped)
        brought_back = here("repair", "--from-mirrors")
        assert brought_back.code == exits.OK, (at, bit, brought_back)
        assert held(folder) == before, (at, bit)
        assert mirrored(folder) == mirrors, (at, bit)
