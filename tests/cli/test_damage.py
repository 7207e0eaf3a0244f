"""A database that is damaged: every command says so, and what helps; none asks for a report."""

from __future__ import annotations

import gc
import json
import os
import sqlite3
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path

import pytest

from agi.cli import exits


def first_session(here) -> str:
    here("hello")
    return json.loads(here("sessions", "--json").out)[0]["id"]


def rot(here) -> None:
    """One byte of one event becomes another, as on a disk that forgets; its page is whole."""
    db = sqlite3.connect(here.project / ".agi" / "agi.sqlite")
    data = "CAST(replace(CAST(data AS BLOB), x'68656c6c6f', x'68ff6c6c6f') AS TEXT)"
    assert db.execute(f"UPDATE events SET data={data} WHERE type='message_added'").rowcount
    db.commit()
    db.close()


def retype(here) -> None:
    """One bit of what kind of value an event's data is: what was text is bytes, the same ones."""
    with closing(sqlite3.connect(here.project / ".agi" / "agi.sqlite")) as db:
        assert db.execute("UPDATE events SET data=CAST(data AS BLOB) WHERE type='message_added'").rowcount
        db.commit()


def test_a_turn_that_comes_upon_a_rotted_text_says_what_helps(here):
    """It is not for anybody to report, and what was said comes back."""
    first_session(here)
    with closing(sqlite3.connect(here.project / ".agi" / "agi.sqlite")) as db:
        content = "CAST(replace(CAST(content AS BLOB), x'68656c6c6f', x'68ff6c6c6f') AS TEXT)"
        assert db.execute(f"UPDATE message_parts SET content={content}").rowcount
        db.commit()

    told = here("--continue", "and?")

    assert told.code == 1
    assert "agi.sqlite is damaged" in told.err
    assert "agi repair --from-mirrors" in told.err
    assert "report it" not in told.err
    gc.collect()  # with the process of the command, what it read would be gone
    assert here("repair", "--from-mirrors").code == 0
    assert here("--continue", "and?").code == 0


def misplace(here) -> None:
    """One bit of the number that an event's row says: the index goes on answering with the one it had."""
    path = here.project / ".agi" / "agi.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        own, ts = (one.encode() for one in db.execute("SELECT session_id, ts FROM events WHERE seq=4").fetchone())
    raw = bytearray(path.read_bytes())
    raw[raw.index(own + bytes([4]) + ts) + len(own)] ^= 1
    path.write_bytes(raw)


def spoil(project: Path, name: str) -> None:
    """Overwrite the first page of a table or an index."""
    path = project / ".agi" / "agi.sqlite"
    db = sqlite3.connect(path)
    root = db.execute("SELECT rootpage FROM sqlite_master WHERE name=?", (name,)).fetchone()[0]
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xaa" * 4096)


@pytest.mark.parametrize("damage", [rot, retype])
@pytest.mark.parametrize(
    "command",
    [
        "repair",
        "log verify {}",
        "sessions export {}",
        "sessions export {} --cassette",
        "replay {}",
        "policy replay {}",
        "search hello",
        "doctor",
    ],
)
def test_a_rotted_text_is_named_as_damage(here, command, damage):
    """Whatever is asked, the way back is said; and it is one."""
    session_id = first_session(here)
    before = here("sessions", "export", session_id)
    damage(here)

    told = here(*command.format(session_id).split())
    assert told.code in (1, 2)
    assert "agi repair --from-mirrors" in told.out + told.err
    assert "went wrong" not in told.err

    gc.collect()  # with the process of the command, what it read would be gone
    assert here("repair", "--from-mirrors").code == 0
    assert here("sessions", "export", session_id).out == before.out


@pytest.mark.parametrize(
    "state", ["json_set(state, '$.agent', 17)", "replace(state, '\"agent\":', '\"agent\";')", "17"]
)
@pytest.mark.parametrize("command", ["sessions show {}", "repair", "log verify {}", "--session {} more"])
def test_a_rotted_row_of_a_session_is_named_as_damage(here, command, state):
    """Its events are as they were written, and the row is made of them again."""
    session_id = first_session(here)
    before = here("sessions", "show", session_id)
    with closing(sqlite3.connect(here.project / ".agi" / "agi.sqlite")) as db:
        db.execute(f"UPDATE sessions SET state={state}")
        db.commit()

    told = here(*command.format(session_id).split())
    assert told.code == 1
    assert "agi repair --from-mirrors" in told.out + told.err
    assert "event" not in told.err
    assert "went wrong" not in told.err

    assert here("repair", "--from-mirrors").code == 0
    assert here("sessions", "show", session_id).out == before.out


def lose(project: Path, which: str) -> None:
    """Take events out of the database; the mirror has them."""
    with closing(sqlite3.connect(project / ".agi" / "agi.sqlite")) as db:
        assert db.execute(f"DELETE FROM events WHERE {which}").rowcount
        db.commit()


@pytest.mark.parametrize("by", ["this process", "a daemon"])
@pytest.mark.parametrize("lost", ["seq=4", "seq>4", "seq>0"], ids=["a hole", "the end", "all"])
async def test_who_reads_a_session_of_which_events_are_lost_is_told_and_does_not_wait(cli, by, lost):
    """Whatever is missing: nobody waits for what never comes, and the way back is one."""
    await cli("hello")
    session_id = json.loads((await cli("sessions", "--json")).out)[0]["id"]
    before = await cli("sessions", "export", session_id)
    await cli("another")  # a database without any event would be made again at the start
    async with cli.daemon() if by == "a daemon" else nullcontext():
        lose(cli.project, f"session_id='{session_id}' AND {lost}")
        told = [await cli(*command, session_id) for command in (("sessions", "export"), ("policy", "replay"))]

    for one in told:
        assert one.code == exits.FAILED
        assert "is damaged" in one.err
        assert "agi repair --from-mirrors" in one.err
    assert before.out.startswith(told[0].out)
    assert (await cli("repair", "--from-mirrors")).code == 0
    assert (await cli("sessions", "export", session_id)).out == before.out


@pytest.mark.parametrize(
    ("command", "damage"),
    [
        ("policy replay {}", "events SET text_id=x'ff' WHERE text_id IS NOT NULL"),
        ("sessions export {}", "events SET seq='zz' WHERE seq=4"),
        ("sessions show {}", "messages SET info=x'ff'"),
        ("sessions show {}", "messages SET turn_id=CAST(turn_id AS BLOB)"),
        ("sessions show {}", "message_parts SET id=CAST(id AS BLOB)"),
        ("sessions show {}", "message_parts SET type=CAST(type AS BLOB)"),
        ("sessions show {}", "message_parts SET content=x'ff'"),
        ("sessions show {}", "message_parts SET content=17"),
        ("search hello", "sessions SET title=CAST(title AS BLOB)"),
        ("search hello", "search_entries SET at='late'"),
        ("search hello", "search_entries SET kind='word'"),
        ("context {}", "events SET text_id=x'ff' WHERE text_id IS NOT NULL"),
        ("gc --dry-run", "sessions SET id=CAST(id AS BLOB)"),
        ("gc --dry-run", "sessions SET updated_at='late'"),
    ],
)
def test_a_value_of_another_kind_is_named_as_damage(here, command, damage):
    """Whichever column it is in: no command stumbles over it, and a repair brings back what was there."""
    session_id = first_session(here)
    before = here("sessions", "show", session_id)
    assert here("search", "hello").code == exits.OK  # its index is made by who searches first
    with closing(sqlite3.connect(here.project / ".agi" / "agi.sqlite")) as db:
        assert db.execute(f"UPDATE {damage}").rowcount
        db.commit()

    told = here(*command.format(session_id).split())
    assert told.code == exits.FAILED
    assert "damaged" in told.err
    assert "agi repair --from-mirrors" in told.err
    assert "went wrong" not in told.err

    assert here("repair", "--from-mirrors").code == 0
    assert here("sessions", "show", session_id).out == before.out


@pytest.mark.parametrize("arguments", [(), ("--from-mirrors",)])
def test_a_row_that_says_another_number_is_named_and_comes_back_to_its_place(here, arguments):
    """Whoever reads by the index sees nothing of it; whoever looks whether all is well does."""
    session_id = first_session(here)
    before = here("sessions", "export", session_id)
    misplace(here)

    doctor, verified = here("doctor"), here("log", "verify")
    repaired = here("repair", *arguments)

    assert "index" in doctor.out
    assert "agi repair" in doctor.out
    assert "database: Event 4 is not as it was written." in verified.out
    assert "The database was rebuilt: 1 session " in repaired.out
    assert "could not be read anywhere" not in repaired.out
    assert here("sessions", "export", session_id).out == before.out
    assert "all intact" in here("log", "verify").out


TABLES = ("meta", "events", "sessions", "leases", "texts", "messages", "turns", "pool")
INDEXES = ("sqlite_autoindex_meta_1", "sqlite_autoindex_events_1", "sessions_recent", "sessions_live")


def garble(project: Path) -> None:
    """Leave nothing of the database that anybody could read."""
    (project / ".agi" / "agi.sqlite").write_bytes(b"nothing of ours" * 1000)


def remove(project: Path) -> None:
    """Leave nothing of the database."""
    (project / ".agi" / "agi.sqlite").unlink()


@pytest.mark.threat("T50")
@pytest.mark.parametrize(
    "damage",
    [*(partial(spoil, name=name) for name in ("meta", "events", "sessions")), garble, remove],
    ids=["meta", "events", "sessions", "garbage", "gone"],
)
async def test_a_daemon_rebuilds_what_is_damaged_when_it_starts(cli, damage):
    """Whatever it is: nobody meets it later who cannot do anything about it, and each event is back."""
    await cli("hello")
    session_id = json.loads((await cli("sessions", "--json")).out)[0]["id"]
    before = (await cli("sessions", "export", session_id)).out
    for path in (cli.project / ".agi").glob("agi.sqlite-*"):
        path.unlink()
    damage(cli.project)
    process = await cli.start("serve", "--port", "0")
    url = await process.stdout.readline()
    process.terminate()
    _, said = await process.communicate()

    assert url.startswith(b"http://")
    assert b"was rebuilt from its mirrors: 1 session, " in said
    assert b" 0 lost" in said
    assert "hello" in before
    assert (await cli("sessions", "export", session_id)).out == before


@pytest.mark.parametrize("name", [*TABLES, *INDEXES])
def test_a_damaged_page_is_rebuilt_or_told_with_what_to_do(here, name):
    """No command asks for a report of it, and `agi repair` mends what a start does not come upon."""
    first_session(here)
    spoil(here.project, name)

    told = here("sessions")
    assert "Please report it" not in told.err
    if told.code:
        assert (told.code, name in INDEXES) == (exits.FAILED, True)
        assert "agi repair" in told.err
    elif name in TABLES:
        assert "was rebuilt from its mirrors: 1 session, " in told.err
    assert here("repair").code == 0
    assert "hello" in here("sessions").out


@pytest.mark.parametrize("left", ["garbage", "nothing"])
def test_each_command_that_only_looks_has_the_same_answer(here, left):
    """Whoever asks two of them is not told two things; and it helps."""
    session_id = first_session(here)
    for path in (here.project / ".agi").glob("agi.sqlite*"):
        path.unlink() if left == "nothing" else path.write_bytes(b"nothing of ours" * 1000)

    told = [here(*words) for words in (["doctor"], ["log", "verify"], ["log", "verify", session_id])]

    assert [one.code for one in told] == [1, 1, 1]
    for one in told:
        said = one.out + one.err
        assert said.count("agi repair") == said.count("agi repair --from-mirrors") > 0, said
    assert here("repair", "--from-mirrors").code == 0
    assert here("log", "verify").code == 0


@pytest.mark.parametrize("thing", ["folder", "pipe"])
@pytest.mark.parametrize(
    "command", ["sessions", "doctor", "log verify", "log verify {}", "repair", "repair --from-mirrors", "hello"]
)
def test_what_stands_in_place_of_the_database_is_named_and_left_there(here, thing, command):
    """It is no damage and no bad disk: it is moved away, and then the mirrors are enough."""
    session_id = first_session(here)
    database = here.project / ".agi" / "agi.sqlite"
    for path in database.parent.glob("agi.sqlite*"):
        path.unlink()
    database.mkdir() if thing == "folder" else os.mkfifo(database)

    told = here(*command.format(session_id).split())
    what = "is a folder, not a database" if thing == "folder" else "is not a regular file, and no database"

    assert told.code == exits.FAILED
    assert f"{database} {what}" in told.out + told.err
    assert "Move it away" in told.out + told.err
    assert database.is_dir() if thing == "folder" else database.is_fifo()

    database.rmdir() if thing == "folder" else database.unlink()
    assert here("repair").code == 0
    assert "hello" in here("sessions").out


@pytest.mark.threat("T50")
@pytest.mark.parametrize("by", ["one-shot", "daemon"])
async def test_an_older_copy_that_was_put_back_is_not_gone_on_from(cli, by):
    """Numbers would be given a second time; who asks is told, nothing is written, and the way back is one."""
    folder = cli.project / ".agi"
    await cli("one")
    with closing(sqlite3.connect(folder / "agi.sqlite")) as db, closing(sqlite3.connect(folder / "kept")) as kept:
        db.backup(kept)
    await cli("--continue", "two")
    (mirror,) = folder.glob("sessions/*/events.ndjson")
    before = (await cli("sessions", "export", mirror.parent.name)).out
    lines = mirror.read_bytes()
    for path in folder.glob("agi.sqlite*"):
        path.unlink()
    (folder / "kept").rename(folder / "agi.sqlite")

    async with cli.daemon() if by == "daemon" else nullcontext():
        refused = await cli("--continue", "three")
        another = await cli("something else")
    after = mirror.read_bytes()
    repaired = await cli("repair", "--from-mirrors")

    assert (refused.code, refused.out, another.code) == (exits.FAILED, "", 0)
    assert f"lacks what {mirror.parent.name} holds after event " in refused.err
    assert "agi repair --from-mirrors" in refused.err
    assert after == lines
    assert repaired.code == 0
    assert (await cli("sessions", "export", mirror.parent.name)).out == before
    assert (await cli("--session", mirror.parent.name, "three")).code == 0


@pytest.mark.parametrize("command", ["policy replay {}", "replay {}", "fork {}"])
def test_what_was_changed_is_neither_judged_nor_played_nor_carried_over(here, command):
    """A fork begins a chain of its own, and would vouch for it."""
    session_id = first_session(here)
    with closing(sqlite3.connect(here.project / ".agi" / "agi.sqlite")) as db:
        db.execute("UPDATE events SET data=replace(data, 'hello', 'hullo') WHERE type='message_added'")
        db.commit()

    told = here(*command.format(session_id).split())

    assert told.code == exits.FAILED
    assert "event 3 is not as it was written" in told.err
    assert "agi repair --from-mirrors" in told.err


def test_a_fork_of_a_log_without_its_end_is_not_made(here):
    """It would call what is left of it whole."""
    session_id = first_session(here)
    lose(here.project, "seq>7")

    told = here("fork", session_id)

    assert told.code == exits.FAILED
    assert "event 8 is not as it was written, and a fork would vouch for it" in told.err
    assert len(json.loads(here("sessions", "--json").out)) == 1


@pytest.mark.parametrize("shape", [0, 3, 65545])
def test_a_shape_that_rotted_is_damage_and_is_made_again(here, shape):
    """Of what the database says of itself; nothing could open it, and nobody would have said what helps."""
    first_session(here)
    before = here("sessions").out
    with closing(sqlite3.connect(here.project / ".agi" / "agi.sqlite")) as db:
        db.execute(f"PRAGMA user_version={shape}")

    assert "agi repair --from-mirrors" in here("sessions").err
    assert here("log", "verify").code == exits.FAILED
    assert "The database was rebuilt" in here("repair").out
    assert here("sessions").out == before


def test_a_newer_version_is_not_called_in_order(here):
    """Nothing of it is changed, either."""
    first_session(here)
    with closing(sqlite3.connect(here.project / ".agi" / "agi.sqlite")) as db:
        db.execute("PRAGMA user_version=99")

    told = here("repair")

    assert told.code == exits.FAILED
    assert "newer version" in told.err
