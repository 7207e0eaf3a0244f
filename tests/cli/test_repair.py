"""`agi repair`: losing the database or a mirror loses nothing."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agi.cli import repair as repairs
from agi.eventlog.schema import connect
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


def lose_events(project: Path, session_id: str, after: int) -> None:
    """As a database that was put back from an old copy: whole, and not all there is."""
    with closing(sqlite3.connect(project / ".agi" / "agi.sqlite")) as db:
        db.execute("DELETE FROM events WHERE session_id=? AND seq>?", (session_id, after))
        db.commit()


@pytest.mark.parametrize("witness", ["mirror", "row"])
def test_a_database_that_lost_its_end_is_not_what_mirrors_are_made_from(here, witness):
    """A mirror that goes on where it ends, or its own row, tells; and the events come back from the mirror."""
    session_id = first_session(here)
    before = here("sessions", "export", session_id).out
    mirror = here.project / ".agi" / "sessions" / session_id / "events.ndjson"
    lines = mirror.read_bytes()
    lose_events(here.project, session_id, after=3)
    if witness == "row":
        mirror.unlink()
    else:
        with closing(sqlite3.connect(here.project / ".agi" / "agi.sqlite")) as db:
            db.execute("UPDATE sessions SET last_seq=3, state=json_set(state, '$.last_seq', 3)")
            db.commit()

    refused = here("repair")
    mirror.write_bytes(lines)
    mended = here("repair", "--from-mirrors")

    assert refused.code != 0
    assert f"lacks what {session_id} holds after event 3" in refused.err
    assert "agi repair --from-mirrors" in refused.err
    assert not list(mirror.parent.glob("*.damaged-*"))
    assert mended.code == 0
    assert here("sessions", "export", session_id).out == before


def test_a_session_that_the_database_lost_is_told_and_comes_back(here):
    """As from an older copy of it that was put back; all that is left is the mirror."""
    session_id = first_session(here)
    before = here("sessions", "export", session_id).out
    here("another")
    with closing(sqlite3.connect(here.project / ".agi" / "agi.sqlite")) as db:
        db.execute("DELETE FROM events WHERE session_id=?", (session_id,))
        db.execute("DELETE FROM sessions WHERE id=?", (session_id,))
        db.commit()

    refused = here("repair")
    mended = here("repair", "--from-mirrors")

    assert refused.code == 1
    assert f"lacks the session {session_id}" in refused.err
    assert "agi repair --from-mirrors" in refused.err
    assert mended.code == 0
    assert here("sessions", "export", session_id).out == before


def test_a_session_that_no_command_would_find_is_told_and_comes_back(here):
    """Its events are there, its row is not."""
    session_id = first_session(here)
    before = here("sessions", "export", session_id).out
    with closing(sqlite3.connect(here.project / ".agi" / "agi.sqlite")) as db:
        db.execute("DELETE FROM sessions")
        db.commit()

    looked, refused = here("log", "verify", session_id), here("repair")
    mended = here("repair", "--from-mirrors")

    assert "The sessions table does not know it" in looked.out
    assert "agi repair --from-mirrors" in looked.out
    assert "and does not know it" in refused.err
    assert mended.code == 0
    assert here("sessions", "export", session_id).out == before


@pytest.mark.parametrize("name", ["agi.sqlite", "sessions", "sessions/{}", "sessions/{}/events.ndjson"])
def test_nothing_is_repaired_through_a_link(here, tmp_path, name):
    """It may have come with a repository, and lead to the log of another project."""
    path = here.project / ".agi" / name.format(first_session(here))
    other = tmp_path / "other"
    path.rename(other)
    path.symlink_to(other)
    before = standing(tmp_path)

    refused = [here("repair"), here("repair", "--from-mirrors")]

    assert all(f"{path.name} is a link" in one.err and one.code != 0 for one in refused)
    assert standing(tmp_path) == before


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


@pytest.mark.parametrize("arguments", [(), ("--from-mirrors",)])
def test_it_refuses_while_an_idle_process_has_the_database_open(here, arguments):
    """It would go on in a file that is set aside, and its mirrors in files that are replaced."""
    first_session(here)
    folder = here.project / ".agi"
    with closing(connect(folder / "agi.sqlite")):
        before = standing(folder / "sessions")
        refused = here("repair", *arguments)

    assert (refused.code, refused.out) == (1, "")
    assert "agi.sqlite is in use." in refused.err
    assert "Stop the `agi` that has it open" in refused.err
    assert standing(folder / "sessions") == before
    assert not list(folder.glob("*.damaged-*"))
    assert here("repair", *arguments).code == 0


@pytest.mark.parametrize("arguments", [(), ("--from-mirrors",)])
def test_who_starts_while_it_repairs_waits_and_opens_what_is_there_then(here, arguments, monkeypatch):
    """A session that somebody began meanwhile would be in what is set aside."""
    first_session(here)
    name = "rebuild_database" if arguments else "rebuild_mirrors"
    make, waiting = getattr(repairs, name), []

    def begin_meanwhile(folder: Path, *others: object) -> object:
        try:
            with (folder / "agi.sqlite.lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting.append(name)
        return make(folder, *others)

    monkeypatch.setattr(repairs, name, begin_meanwhile)

    assert here("repair", *arguments).code == 0
    assert waiting == [name]


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


STRACE, SETPRIV = shutil.which("strace"), shutil.which("setpriv")
NO_POWER = "-dac_override,-dac_read_search,-fowner"
AS_OTHERS = [str(SETPRIV), f"--inh-caps={NO_POWER}", f"--bounding-set={NO_POWER}"] if os.getuid() == 0 else []
"""The words that take from root what no other user has."""


def run(here, before: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, behind these words."""
    words = [*before, sys.executable, "-m", "agi.cli.main", *arguments]
    return subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=here.project, env=dict(os.environ), timeout=50
    )


@pytest.mark.parametrize("arguments", [(), ("--from-mirrors",)])
@pytest.mark.parametrize("why", ["closed", "the disk fails"])
def test_a_mirror_that_cannot_be_read_is_named_and_stays_as_it_is(here, why, arguments):
    """It may hold what the database lost; once it can be read again, that comes back."""
    session_id = first_session(here)
    before = here("sessions", "export", session_id).out
    mirror = here.project / ".agi" / "sessions" / session_id / "events.ndjson"
    kept = mirror.read_bytes()
    head = json.loads(kept.splitlines()[2])["hash"]
    lose_events(here.project, session_id, after=3)
    with closing(sqlite3.connect(here.project / ".agi" / "agi.sqlite")) as db:
        db.execute(f"UPDATE sessions SET last_seq=3, state=json_set(state, '$.last_seq', 3, '$.head', '{head}')")
        db.commit()
    if why == "closed":
        if os.getuid() == 0 and SETPRIV is None:
            pytest.skip("needs setpriv, to be kept out as others are")
        mirror.chmod(0)
        told = run(here, AS_OTHERS, "repair", *arguments)
        mirror.chmod(0o600)
    else:
        if STRACE is None:
            pytest.skip("needs strace, to make a disk fail")
        failing = ["-e", "trace=read", "-e", "inject=read:error=EIO", "-P", str(mirror)]
        told = run(here, [STRACE, "-f", "-qq", "-o", "/dev/null", *failing], "repair", *arguments)

    assert told.returncode == 1, told
    assert f"Could not be read, and stays where it is: {mirror}" in told.stdout
    assert "So are their mirrors." not in told.stdout
    assert mirror.read_bytes() == kept

    assert here("repair", "--from-mirrors").code == 0
    assert here("sessions", "export", session_id).out == before


@pytest.mark.parametrize("arguments", [(), ("--from-mirrors",)])
@pytest.mark.parametrize("thing", ["folder", "pipe", "socket"])
def test_what_stands_in_place_of_a_mirror_is_named_and_left_there(here, thing, arguments):
    """Its owner moves it away, and then the mirror comes back from the database."""
    session_id = first_session(here)
    mirror = here.project / ".agi" / "sessions" / session_id / "events.ndjson"
    mirror.unlink()
    if thing == "folder":
        mirror.mkdir()
    elif thing == "pipe":
        os.mkfifo(mirror)
    else:
        os.mknod(mirror, stat.S_IFSOCK | 0o600)
    before = standing(mirror.parent)

    told, looked = here("repair", *arguments), here("log", "verify", session_id)
    stands = standing(mirror.parent)
    mirror.rmdir() if thing == "folder" else mirror.unlink()

    assert told.code == looked.code == 1
    assert f"Could not be read, and stays where it is: {mirror}" in told.out
    assert "move away what is no file" in told.out
    assert "None" not in looked.out
    assert stands == before
    assert "One mirror " in here("repair").out
    assert here("log", "verify").code == 0


@pytest.mark.parametrize("arguments", [(), ("--from-mirrors",)])
@pytest.mark.parametrize("name", [".agi", ".agi/sessions"])
@pytest.mark.parametrize("thing", ["file", "pipe"])
def test_what_stands_in_place_of_a_folder_is_named_and_left_there(here, name, thing, arguments):
    """Nothing is made or made again around it."""
    first_session(here)
    path = here.project / name
    shutil.rmtree(path)
    path.write_text("mine") if thing == "file" else os.mkfifo(path)
    before = standing(here.project)

    told = here("repair", *arguments)

    assert (told.code, told.out) == (1, "")
    assert f"{path} is no folder." in told.err
    assert "Move it away" in told.err
    assert standing(here.project) == before


@pytest.mark.parametrize("arguments", [(), ("--from-mirrors",)])
@pytest.mark.parametrize("name", ["sessions", "sessions/{}"])
def test_a_folder_of_sessions_that_is_closed_is_named_and_left_as_it_is(here, name, arguments):
    """What is in it is not lost, and not to be made again from less."""
    if os.getuid() == 0 and SETPRIV is None:
        pytest.skip("needs setpriv, to be kept out as others are")
    session_id = first_session(here)
    before = here("sessions", "export", session_id).out
    folder = here.project / ".agi" / name.format(session_id)
    folder.chmod(0)
    told = run(here, AS_OTHERS, "repair", *arguments)
    folder.chmod(0o700)

    assert told.returncode == 1
    assert str(folder) in told.stdout + told.stderr
    assert "went wrong" not in told.stderr
    assert here("sessions", "export", session_id).out == before
    assert here("log", "verify").code == 0


def test_a_folder_that_may_not_be_written_to_is_named(here):
    """The disk may be mounted to be read only; nothing is left half done."""
    if os.getuid() == 0 and SETPRIV is None:
        pytest.skip("needs setpriv, to be kept out as others are")
    mirror = here.project / ".agi" / "sessions" / first_session(here) / "events.ndjson"
    mirror.write_bytes(b"no event\n")
    mirror.parent.chmod(0o500)
    before = standing(mirror.parent)
    told = run(here, AS_OTHERS, "repair")
    mirror.parent.chmod(0o700)

    assert told.returncode == 1
    assert f"{mirror.parent}" in told.stderr
    assert "cannot be written: Permission denied." in told.stderr
    assert "went wrong" not in told.stderr
    assert {path: at for path, at in standing(mirror.parent).items() if path != mirror.parent} == before


def change(path: Path, database: Path, session_id: str) -> None:
    """The same event becomes another in both copies, so that neither fits."""
    path.write_bytes(path.read_bytes().replace(b"hello", b"hallo", 1))
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("UPDATE events SET data=replace(data, 'hello', 'hillo') WHERE type='message_added'").rowcount
        db.commit()


def test_where_mirrors_are_not_as_the_new_database_it_is_said_what_comes_next(here):
    """They were read, not written; after the next step all is as the database says."""
    session_id = first_session(here)
    mirror = here.project / ".agi" / "sessions" / session_id / "events.ndjson"
    change(mirror, here.project / ".agi" / "agi.sqlite", session_id)

    rebuilt = here("repair", "--from-mirrors")
    looked = here("log", "verify")
    again = here("repair")

    assert "One session's files do not say the same: run `agi repair`, which writes them anew." in rebuilt.out
    assert looked.code == 1
    assert "One mirror and one session.json were written anew." in again.out
    assert here("log", "verify").code == 0
    assert "do not say the same" not in here("repair", "--from-mirrors").out


@pytest.mark.parametrize("name", ["events.ndjson", "session.json"])
@pytest.mark.parametrize("content", [None, b"no event\n"])
def test_a_file_that_is_missing_or_bad_is_told_and_then_written_anew(here, name, content):
    """Each of the two is called by its name."""
    path = here.project / ".agi" / "sessions" / first_session(here) / name
    here("repair")
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)

    rebuilt = here("repair", "--from-mirrors")
    mended = here("repair")
    again = here("repair")

    assert "One session's files do not say the same" in rebuilt.out
    assert "mirror and" in mended.out if name == "events.ndjson" else "One session.json was written anew." in mended.out
    assert "So are their mirrors." in again.out


def test_a_snapshot_that_was_changed_is_said_to_be_written_anew(here):
    """Nothing else was."""
    path = here.project / ".agi" / "sessions" / first_session(here) / "session.json"
    here("repair")
    right = path.read_bytes()
    path.write_bytes(b"{}")

    mended = here("repair")

    assert "One session.json was written anew." in mended.out
    assert "mirrors" not in mended.out
    assert path.read_bytes() == right


def test_where_the_mirrors_say_the_same_nothing_comes_next(here):
    """The new database has another epoch, which tells nothing about the log."""
    first_session(here)

    for _ in range(2):
        assert "do not say the same" not in here("repair", "--from-mirrors").out
