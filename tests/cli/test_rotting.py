"""Rotting: whatever bit of a database flips, it is mended or told as damage, and the mirrors bring back every event.

AGI_FLIPS sets how many (default 100), AGI_SEED which.
"""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agi.cli import exits
from agi.eventlog.rows import read_page
from agi.views.comparing import COLUMNS

PAGE = 4096
FLIPS = int(os.environ.get("AGI_FLIPS", "100"))
SEED = int(os.environ.get("AGI_SEED", "20261119"))


def write(here) -> Path:
    """A session by a one-shot and its next turn: rows in most tables. Gives the data folder."""
    assert here("Where is this said?").code == exits.OK
    assert here("--continue", "And here?").code == exits.OK
    return here.project / ".agi"


def held(folder: Path) -> dict[str, list[bytes]]:
    """Every event of every session, by its own row."""
    with closing(sqlite3.connect(folder / "agi.sqlite")) as db:
        ids = [row[0] for row in db.execute("SELECT DISTINCT session_id FROM events NOT INDEXED")]
        return {one: [event.line() for event in read_page(db, one, 0, 1000)] for one in ids}


def shown(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """What the tables say beside the events."""
    with closing(sqlite3.connect(folder / "agi.sqlite")) as db:
        db.text_factory = bytes
        return {name: sorted(db.execute(f"SELECT {said} FROM {name}"), key=repr) for name, said in COLUMNS.items()}


def told(here, folder: Path) -> list[str]:
    """What people are told of it: the same queries, by the same indexes, as models."""
    ids = [path.parent.name for path in mirrored(folder)]
    return [here("sessions").out, *(here("sessions", "show", one).out for one in ids)]


def mirrored(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (folder / "sessions").glob("*/events.ndjson*")}


def put(folder: Path, content: bytes) -> None:
    """Have this database and nothing beside it."""
    for path in folder.glob("agi.sqlite*"):
        path.unlink()
    (folder / "agi.sqlite").write_bytes(content)


def places(whole: bytes) -> list[list[int]]:
    """Of each page the bytes that say something."""
    pages = [range(start, start + PAGE) for start in range(0, len(whole), PAGE)]
    return [found for page in pages if (found := [at for at in page if whole[at]])]


@pytest.mark.threat("T46")
def test_whatever_bit_flips_no_command_fails_in_its_own_words_and_no_event_is_lost(here):
    """As often in a page of few bytes as in a full one; whoever finds all in order is right about it."""
    folder = write(here)
    whole, before, mirrors = (folder / "agi.sqlite").read_bytes(), held(folder), mirrored(folder)
    tables, said = shown(folder), told(here, folder)
    pages = places(whole)
    rng = random.Random(SEED)
    for at, bit in [(rng.choice(rng.choice(pages)), rng.randrange(8)) for _ in range(FLIPS)]:
        flipped = whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]

        put(folder, flipped)
        verified = here("log", "verify")
        if not verified.code:
            assert (held(folder), shown(folder)) == (before, tables), (at, bit, verified)
            assert told(here, folder) == said, (at, bit, verified)
        repaired = here("repair")
        for one in (verified, repaired):
            assert one.code in (exits.OK, exits.FAILED), (at, bit, one)
            assert "Please report it" not in one.err, (at, bit, one)
        if not repaired.code:
            assert (held(folder), shown(folder), told(here, folder)) == (before, tables, said), (at, bit, repaired)

        put(folder, flipped)
        brought_back = here("repair", "--from-mirrors")
        assert brought_back.code == exits.OK, (at, bit, brought_back)
        assert (held(folder), shown(folder)) == (before, tables), (at, bit)
        assert mirrored(folder) == mirrors, (at, bit)


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize("arguments", [("repair",), ("repair", "--from-mirrors"), ("--continue", "more")])
def test_a_lease_that_was_given_back_and_rotted_keeps_nobody_from_the_session(here, arguments, bit):
    """What kind of value its end is stands in one byte, before the id of the session."""
    folder = write(here)
    whole = (folder / "agi.sqlite").read_bytes()
    with closing(sqlite3.connect(folder / "agi.sqlite")) as db:
        session_id, owner = db.execute("SELECT session_id, owner FROM leases WHERE expires_at=0").fetchone()
    at = whole.index((session_id + owner).encode()) - 1
    assert whole[at] == 8  # a number that is 0
    put(folder, whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])

    told = here(*arguments)

    assert told.code == exits.OK or "agi repair --from-mirrors" in told.err, told
    assert "Please report it" not in told.err
