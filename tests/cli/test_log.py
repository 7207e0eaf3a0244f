"""`agi log verify`: is the log as it was written; what the screen says, and how it ends."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest


def talk(here) -> str:
    here("hello")
    return json.loads(here("sessions", "--json").out)[0]["id"]


def test_a_log_as_it_was_written_is_intact_and_its_head_is_shown(here):
    """The head is the one the session has everywhere."""
    session_id = talk(here)
    head = json.loads(here("sessions", "--json").out)[0]["head"]
    result = here("log", "verify")

    assert (result.code, result.err) == (0, "")
    assert f"{session_id}  " in result.out
    assert f"head: {head}" in result.out
    assert "1 session: all intact." in result.out


@pytest.mark.threat("T46")
def test_a_changed_byte_is_found_and_the_command_fails(here):
    """The first event that it concerns is named."""
    session_id = talk(here)
    db = sqlite3.connect(here.project / ".agi" / "agi.sqlite")
    db.execute("UPDATE events SET data=replace(data, 'hello', 'hallo') WHERE type='message_added'")
    db.commit()
    db.close()
    result = here("log", "verify", session_id[-6:], "--json")
    found = json.loads(result.out)[0]

    assert result.code == 1
    assert (found["intact"], found["findings"][0]["place"], found["findings"][0]["problem"]) == (
        False,
        "database",
        "changed",
    )
    assert "NOT as it was written" in here("log", "verify").out


def test_a_head_that_was_kept_vouches_for_what_came_before_it(here):
    """Also after the session went on; another one is refused."""
    session_id = talk(here)
    head = json.loads(here("sessions", "--json").out)[0]["head"]
    here("--continue", "and?")
    kept = here("log", "verify", session_id, "--head", head)
    other = here("log", "verify", session_id, "--head", "f" * 64)

    assert (kept.code, other.code) == (0, 1)
    assert "The hash you kept is that of event" in kept.out
    assert "No event has the hash that was kept" in other.out


def test_what_is_wrong_with_the_command_line_is_said(here):
    """Nothing is looked at, and the code says so."""
    talk(here)
    for words in (
        ["log"],
        ["log", "check"],
        ["log", "verify", "nobody"],
        ["log", "verify", "--head", "f" * 64],
        ["log", "verify", "x", "--all"],
        ["log", "verify", "x", "--head", "beef"],
    ):
        result = here(*words)
        assert (result.code, result.out) == (2, ""), words


def test_a_folder_without_sessions_has_nothing_to_verify(here):
    """And nothing is made by looking."""
    result = here("log", "verify")
    assert (result.code, result.out) == (0, "No sessions yet.\n")
    assert not (here.project / ".agi" / "agi.sqlite").exists()


def empty(database: Path) -> None:
    """As a crash of the disk may leave it: the name, and nothing in it."""
    database.write_bytes(b"")


def without_tables(database: Path) -> None:
    database.unlink()
    with closing(sqlite3.connect(database)) as db:
        db.execute("VACUUM")


@pytest.mark.parametrize("lose", [empty, without_tables])
def test_a_database_without_a_log_is_damage_where_mirrors_hold_one(here, lose):
    """No older version wrote that; and what is said helps."""
    session_id = talk(here)
    lose(here.project / ".agi" / "agi.sqlite")

    told = here("log", "verify")

    assert told.code == 1
    assert "agi.sqlite holds no log." in told.out
    assert f"{session_id}  " in told.out
    assert "`agi repair --from-mirrors`" in told.err
    assert here("repair", "--from-mirrors").code == 0
    assert here("log", "verify").code == 0


@pytest.mark.parametrize("lose", [empty, without_tables])
def test_a_database_in_which_nobody_said_anything_yet_has_nothing_to_verify(here, lose):
    """Without mirrors there is nothing to bring back."""
    (here.project / ".agi").mkdir()
    (here.project / ".agi" / "agi.sqlite").touch()
    lose(here.project / ".agi" / "agi.sqlite")

    assert here("log", "verify") == here("log", "verify", "--all")
    assert (here("log", "verify").code, here("log", "verify").out) == (0, "No sessions yet.\n")


async def test_it_looks_also_while_a_daemon_runs(cli):
    """The files are only read."""
    async with cli.daemon():
        await cli("hello")
        result = await cli("log", "verify")

    assert (result.code, "all intact" in result.out) == (0, True)


def test_a_damaged_database_is_said_with_what_to_do(here):
    """Also for programs; a repair makes it again, whether it is told how or not."""
    talk(here)
    database = here.project / ".agi" / "agi.sqlite"
    with open(database, "r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 8192)
    damaged = database.read_bytes()
    told, listed = here("log", "verify"), here("log", "verify", "--json")
    found = json.loads(listed.out)[0]["findings"]

    assert (told.code, listed.code) == (1, 1)
    assert "database: It is damaged" in told.out
    assert "agi repair --from-mirrors" in told.out + told.err
    assert "report it" not in told.err + listed.err
    assert [(one["place"], one["problem"]) for one in found] == [("database", "unreadable")]
    for words in (["repair"], ["repair", "--from-mirrors"]):
        database.write_bytes(damaged)
        assert "The database was rebuilt: 1 session with" in here(*words).out, words
        assert here("log", "verify").code == 0, words


def test_a_damaged_database_without_mirrors_is_no_empty_folder(here):
    """What it held cannot be told, and that is not the same as nothing."""
    session_id = talk(here)
    (here.project / ".agi" / "sessions" / session_id / "events.ndjson").unlink()
    for path in (here.project / ".agi").glob("agi.sqlite*"):
        path.write_bytes(b"nothing of ours" * 1000)
    told, listed = here("log", "verify"), here("log", "verify", "--json")
    named = here("log", "verify", session_id)

    assert (told.code, told.out) == (1, "")
    assert (listed.code, listed.out) == (1, "[]\n")
    assert (named.code, named.out) == (1, "")
    assert all("is not a readable database" in one.err for one in (told, listed, named))


def test_what_would_mend_it_is_said_at_the_end(here):
    """The mirrors from the database, the database from the mirrors, or one after the other; and then it is so."""
    session_id = talk(here)
    mirror = here.project / ".agi" / "sessions" / session_id / "events.ndjson"
    database = "UPDATE events SET data=replace(data, 'hello', 'hallo')"
    assert "agi repair" not in here("log", "verify").out
    for is_mirror, is_database, words in (
        (True, False, [["repair"]]),
        (False, True, [["repair", "--from-mirrors"]]),
        (True, True, [["repair", "--from-mirrors"], ["repair"]]),
    ):
        if is_mirror:
            mirror.write_bytes(mirror.read_bytes().replace(b'"seq":4,', b'"seq":"x",'))
        if is_database:
            db = sqlite3.connect(here.project / ".agi" / "agi.sqlite")
            db.execute(database)
            db.commit()
            db.close()
        said = here("log", "verify").out
        assert [f"`agi {' '.join(one)}`" in said for one in words] == [True] * len(words), said
        assert ("--from-mirrors" in said) == is_database
        for one in words:
            assert here(*one).code == 0
        assert here("log", "verify").code == 0, words


def test_a_mirror_that_no_repair_would_touch_is_to_be_looked_at_first(here):
    """What stands in its place is somebody's; one that is only missing is written anew."""
    session_id = talk(here)
    mirror = here.project / ".agi" / "sessions" / session_id / "events.ndjson"
    mirror.unlink()
    missing = here("log", "verify")
    mirror.mkdir()
    stands = here("log", "verify")

    assert (missing.code, stands.code) == (1, 1)
    assert "mirror: There is no events.ndjson." in missing.out
    assert missing.out.splitlines()[-1] == "`agi repair` writes the mirrors anew from the database."
    assert stands.out.splitlines()[-2:] == [
        "Check the disk and who may read the mirrors, or move away what is no file.",
        "After that, `agi repair` writes the mirrors anew from the database.",
    ]
    mirror.rmdir()
    assert here("repair").code == here("log", "verify").code == 0


def test_a_session_that_is_not_there_is_told_in_the_words_of_every_other_command(here):
    """The same thing has the same name wherever it is asked for."""
    talk(here)

    for name in ("nope", "sess_00000000000000000000000000000000"):
        looked, shown = here("log", "verify", name), here("sessions", "show", name)
        assert looked.code == shown.code == 2
        assert looked.err.splitlines()[0] == shown.err.splitlines()[0] == f"agi: There is no session '{name}'."
