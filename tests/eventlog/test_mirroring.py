"""Mirroring anew: the mirrors come back from the database, and take over no damage of it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from agi.errors import Damaged
from agi.eventlog import salvage
from agi.eventlog.mirroring import rebuild_mirrors
from agi.eventlog.repair import rebuild_database
from agi.protocol.ids import SESSION, new_id
from agi.views.tables import Tables


def test_deleted_mirrors_come_back_from_the_database(told):
    """Byte by byte, private, with their snapshots; those that are right are not touched."""
    snapshot = told.mirror.with_name("session.json")
    before = told.mirror.read_bytes()
    shutil.rmtree(told.mirror.parent)

    report = rebuild_mirrors(told.folder, told.database, Tables())
    inode = told.mirror.stat().st_ino
    again = rebuild_mirrors(told.folder, told.database, Tables())

    assert told.mirror.read_bytes() == before
    assert json.loads(snapshot.read_bytes())["id"] == told.id
    assert {path.stat().st_mode & 0o777 for path in (told.mirror, snapshot)} == {0o600}
    assert told.mirror.parent.stat().st_mode & 0o777 == 0o700
    assert (report.sessions, report.mirrors, again.mirrors) == (1, 1, 0)
    assert told.mirror.stat().st_ino == inode


def test_a_mirror_that_is_put_right_keeps_what_only_it_had(told):
    """Lines the database does not have are set aside before the mirror is written anew."""
    right = told.mirror.read_bytes()
    told.mirror.write_bytes(right[:100] + b"\nonly here\n" + right)

    report = rebuild_mirrors(told.folder, told.database, Tables())

    assert told.mirror.read_bytes() == right
    assert Path(report.set_aside[0]).read_bytes() == right[:100] + b"\nonly here\n"


def test_mirrors_are_not_made_from_a_database_with_a_hole(told):
    """They may have what it lost; made again from them, it has it too."""
    kept = told.mirror.read_bytes()
    told.sql("DELETE FROM events WHERE seq=5")

    with pytest.raises(Damaged) as refused:
        rebuild_mirrors(told.folder, told.database, Tables())
    assert "--from-mirrors" in refused.value.hint
    assert told.mirror.read_bytes() == kept

    rebuild_database(told.folder, told.database, Tables())
    assert told.look().intact


@pytest.mark.parametrize(
    "change",
    [
        "state=json_set(state, '$.agent', 17)",
        "state=json_set(state, '$.head', replace(json_extract(state, '$.head'), 'a', 'b'))",
        "state=json_set(state, '$.last_seq', 9), last_seq=9",
        "state=json_set(state, '$.last_seq', 7), last_seq=7",
        "last_seq=9",
    ],
)
def test_a_rotted_row_of_a_session_makes_no_snapshot(told, change):
    """Its events know better where the session ends, and the row is made of them again."""
    snapshot = told.mirror.with_name("session.json")
    before = snapshot.read_bytes()
    told.sql(f"UPDATE sessions SET {change}")
    assert told.first()[0] == "database"

    with pytest.raises(Damaged) as refused:
        rebuild_mirrors(told.folder, told.database, Tables())
    assert "--from-mirrors" in refused.value.hint
    assert snapshot.read_bytes() == before

    rebuild_database(told.folder, told.database, Tables())
    rebuild_mirrors(told.folder, told.database, Tables())
    assert told.look().intact


def test_mirrors_are_not_in_order_where_the_database_lost_a_whole_session(told):
    """Its mirror is all that is left of it; one that was removed has left only what is still to be removed."""
    kept = told.mirror.read_bytes()
    told.sql("DELETE FROM events", "DELETE FROM sessions")

    with pytest.raises(Damaged) as refused:
        rebuild_mirrors(told.folder, told.database, Tables())
    assert told.id in refused.value.message
    assert "--from-mirrors" in refused.value.hint
    told.sql(f"INSERT INTO meta VALUES ('deleted:{told.id}', '')")
    assert rebuild_mirrors(told.folder, told.database, Tables()).sessions == 0
    assert told.mirror.read_bytes() == kept


def test_a_mirror_that_holds_nothing_is_no_lost_session(told):
    """What was set aside of a log that nobody could read may stand there."""
    other = told.mirror.parent.with_name(new_id(SESSION))
    other.mkdir()
    (other / "events.ndjson").write_bytes(b"no event\n")

    assert rebuild_mirrors(told.folder, told.database, Tables()).sessions == 1


def test_an_id_that_leads_elsewhere_is_not_mirrored(told):
    """Ids in a database may be somebody else's as well."""
    shutil.rmtree(told.mirror.parent)
    told.sql("UPDATE events SET session_id='../../../escaped'")

    rebuild_mirrors(told.folder, told.database, Tables())

    assert not list(told.folder.parent.rglob("escaped*"))
    assert not (told.folder.parent.parent / "escaped").exists()


def standing(folder: Path) -> dict[Path, tuple[object, ...]]:
    """What is in a folder, and since when it stands as it does."""
    found = ((path, path.lstat()) for path in folder.rglob("*"))
    return {
        path: (at.st_ino, at.st_mode, at.st_mtime_ns, path.read_bytes() if stat.S_ISREG(at.st_mode) else b"")
        for path, at in found
    }


@pytest.fixture
def unreadable(monkeypatch) -> Callable[..., None]:
    """Makes a file fail when it is opened to be read: each time, or only so many times."""

    def fail(path: Path, code: int, times: int = 1000) -> None:
        really, left = os.open, [times]

        def opened(name, flags, *more, **named):
            if Path(name) == path and not flags & os.O_WRONLY and left[0]:
                left[0] -= 1
                raise OSError(code, os.strerror(code), str(path))
            return really(name, flags, *more, **named)

        monkeypatch.setattr(salvage.os, "open", opened)

    return fail


@pytest.mark.parametrize("times", [1, 1000])
@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ESTALE])
@pytest.mark.parametrize("name", ["events.ndjson", "session.json"])
def test_what_cannot_be_read_is_named_and_nothing_of_that_session_is_touched(told, unreadable, name, code, times):
    """It may hold what the database lost; also where only the first look failed."""
    (told.mirror if name == "session.json" else told.mirror.with_name("session.json")).write_bytes(b"no event\n")
    before = standing(told.mirror.parent)
    unreadable(told.mirror.with_name(name), code, times)

    report = rebuild_mirrors(told.folder, told.database, Tables())

    assert report.unread == [str(told.mirror.with_name(name))]
    assert (report.mirrors, report.set_aside) == (0, [])
    assert standing(told.mirror.parent) == before


def test_a_mirror_that_cannot_be_read_keeps_the_end_that_the_database_lost(told, unreadable):
    """It is not cut to what is left; once it can be read again, all events come back."""
    kept = told.mirror.read_bytes()
    head = json.loads(told.lines()[4])["hash"]
    told.sql(
        "DELETE FROM events WHERE seq>5",
        f"UPDATE sessions SET last_seq=5, state=json_set(state, '$.last_seq', 5, '$.head', '{head}')",
    )
    unreadable(told.mirror, errno.EACCES, times=1)

    report = rebuild_mirrors(told.folder, told.database, Tables())
    assert report.unread == [str(told.mirror)]
    assert told.mirror.read_bytes() == kept

    rebuild_database(told.folder, told.database, Tables())
    assert told.look().intact


def test_a_session_that_may_be_lost_is_named_where_its_mirror_cannot_be_read(told, unreadable):
    """The database does not know it, and nobody can tell whether anything is in it."""
    other = told.mirror.parent.with_name(new_id(SESSION)) / "events.ndjson"
    other.parent.mkdir()
    other.write_bytes(b"")
    unreadable(other, errno.EIO)

    assert rebuild_mirrors(told.folder, told.database, Tables()).unread == [str(other)]


@pytest.mark.parametrize("name", ["events.ndjson", "session.json"])
@pytest.mark.parametrize("thing", ["folder", "pipe"])
def test_what_is_no_file_is_named_and_left_where_it_stands(told, name, thing):
    """It was put there by somebody, who knows what for; nothing is left beside it."""
    path = told.mirror.with_name(name)
    path.unlink()
    path.mkdir() if thing == "folder" else os.mkfifo(path)
    before = standing(told.mirror.parent)

    report = rebuild_mirrors(told.folder, told.database, Tables())
    rebuilt = rebuild_database(told.folder, told.database, Tables())

    assert report.unread == [str(path)]
    assert rebuilt.unread == ([str(path)] if path == told.mirror else [])
    assert standing(told.mirror.parent) == before


def test_a_file_in_place_of_a_sessions_folder_is_named_and_left(told):
    """No folder can be made there."""
    shutil.rmtree(told.mirror.parent)
    told.mirror.parent.write_bytes(b"mine")

    reports = [make(told.folder, told.database, Tables()) for make in (rebuild_mirrors, rebuild_database)]

    assert [report.unread[:1] for report in reports] == [[str(told.mirror)]] * 2
    assert told.mirror.parent.read_bytes() == b"mine"
