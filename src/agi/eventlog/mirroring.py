"""The mirrors again from the database: what they hold is written anew, and only from a log that is whole.

What a damaged database has lost may be in the mirrors, so it is refused here and nothing is written; a session whose
files cannot be read is left as it is. For a data folder that no other process has open. May import: errors, protocol,
eventlog.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from agi.errors import Damaged
from agi.eventlog import chain
from agi.eventlog.base import Projection
from agi.eventlog.deleting import deleted
from agi.eventlog.mirror import replace_file, session_folder
from agi.eventlog.repair import BATCH, Repair, refuse_used
from agi.eventlog.rows import SELECT, from_row, read_page
from agi.eventlog.salvage import Events, mirrors, read_file, read_mirror, read_snapshot, set_aside_lines
from agi.eventlog.schema import UNREADABLE, connect, unreadable
from agi.protocol.events import Event
from agi.protocol.ids import SESSION, is_id
from agi.protocol.sessions import Session


def rebuild_mirrors(folder: Path, database: Path, projection: Projection) -> Repair:
    """Write anew every mirror that does not say exactly what the database says; raises Damaged if it is not whole.

    And StorageError while somebody has it open. What cannot be read is told in the report, and nothing of that
    session is touched.
    """
    refuse_used(database)
    report = Repair()
    with _reading(database), closing(connect(database)) as db:
        _refuse_holes(db, database)
        _refuse_broken(db, database)
        _refuse_shorter(db, database, folder, projection, report)
        _refuse_fewer(db, database, folder, report)
        projection.epoch = int(db.execute("SELECT value FROM meta WHERE key='epoch'").fetchone()[0])
        for (session_id,) in db.execute("SELECT DISTINCT session_id FROM events ORDER BY session_id").fetchall():
            if not is_id(session_id, SESSION):
                continue  # none of ours; as a path it might lead anywhere
            path = session_folder(folder / "sessions", session_id) / "events.ndjson"
            report.sessions += 1
            _session_again(path, list(_stored(db, session_id)), projection.snapshot(db, session_id), report)
    return report


def count_differing(folder: Path, database: Path) -> int:
    """How many sessions have files that can be read, or are missing, and do not say what the database says."""
    with _reading(database), closing(connect(database)) as db:
        ids = [row[0] for row in db.execute("SELECT DISTINCT session_id FROM events") if is_id(row[0], SESSION)]
        return sum(_differs(db, session_folder(folder / "sessions", one), one) for one in ids)


def _differs(db: sqlite3.Connection, home: Path, session_id: str) -> bool:
    try:
        mirror = read_file(home / "events.ndjson")
    except FileNotFoundError:
        return True
    except OSError:
        return False  # nobody knows, and nobody writes there
    shown = read_snapshot(home / "session.json")
    if shown is None or mirror != _lines(_stored(db, session_id)):
        return True
    # Not by its bytes: it is not written at each event, and the epoch in it may be another.
    there = "SELECT hash FROM events WHERE session_id=? AND seq=?"
    row = db.execute(there, (session_id, shown.last_seq)).fetchone()
    return row is None or (shown.head != "" and chain.digest_of(row[0]) != chain.digest_of(shown.head))


def _lines(events: Iterable[Event]) -> bytes:
    return b"".join(b"%b\n" % event.line() for event in events)


@contextmanager
def _reading(database: Path) -> Iterator[None]:
    """What cannot be read here is damage that a look at all pages did not find."""
    try:
        yield
    except UNREADABLE as error:
        raise unreadable(database, error) from error


def _refuse_holes(db: sqlite3.Connection, database: Path) -> None:
    """What the database lost may be in the mirrors, so they are not to be made from it."""
    holes = "SELECT session_id FROM events GROUP BY session_id HAVING count(*)<>max(seq) OR min(seq)<>1"
    if (row := db.execute(holes).fetchone()) is not None:
        raise _damaged(f"{database} lacks events of {row[0]}.")


def _refuse_broken(db: sqlite3.Connection, database: Path) -> None:
    """What was changed in the database may still be as it was in the mirrors."""
    before: dict[str, str] = {}
    for row in db.execute(f"{SELECT} ORDER BY session_id, seq"):
        event = from_row(row)
        if is_id(event.session_id, SESSION) and not chain.fits(before.get(event.session_id, ""), event):
            raise Damaged(
                f"Event {event.seq} of {event.session_id} in {database} is not as it was written.",
                hint="Run `agi repair --from-mirrors`: it takes what still fits, and says where the chain begins anew.",
            )
        before = {event.session_id: event.hash}


def _refuse_shorter(
    db: sqlite3.Connection, database: Path, folder: Path, projection: Projection, report: Repair
) -> None:
    """Nor an end: a session's row still knows where that was, and a mirror may hold what follows the last event."""
    for session_id, last, head in db.execute("SELECT session_id, max(seq), hash FROM events GROUP BY session_id"):
        if not is_id(session_id, SESSION):
            continue
        snapshot = projection.snapshot(db, session_id)
        if snapshot is None:
            raise _damaged(f"{database} holds events of {session_id}, and does not know it.")
        known = msgspec.json.decode(snapshot, type=Session)
        path = session_folder(folder / "sessions", session_id) / "events.ndjson"
        if known.last_seq > last or _goes_on(path, last, head, report):
            raise _damaged(f"{database} lacks what {session_id} holds after event {last}.")
        if known.last_seq < last or chain.digest_of(known.head) != chain.digest_of(head):
            raise _damaged(f"{database} says of {session_id} that it ends otherwise than its events do.")


def _refuse_fewer(db: sqlite3.Connection, database: Path, folder: Path, report: Repair) -> None:
    """Nor a whole session: all that is left of it is its mirror, unless it was removed."""
    known = {row[0] for row in db.execute("SELECT DISTINCT session_id FROM events")} | {*deleted(db)}
    for path in mirrors(folder):
        session_id = path.parent.name
        if session_id not in known and _events_of(path, report):
            hint = "Run `agi repair --from-mirrors` to bring it back, or remove its folder."
            raise Damaged(f"{database} lacks the session {session_id}.", hint=hint)


def _damaged(text: str) -> Damaged:
    return Damaged(text, hint="Run `agi repair --from-mirrors` to make it again.")


def _goes_on(mirror: Path, last: int, head: str, report: Repair) -> bool:
    """Whether a mirror holds the event that follows the last one."""
    following = _events_of(mirror, report).get(last + 1)
    return following is not None and chain.fits(head, following)


def _events_of(mirror: Path, report: Repair) -> Events:
    """What a mirror holds; only one that is not there holds nothing, one that cannot be read is told."""
    try:
        return read_mirror(mirror)[0]
    except FileNotFoundError:
        pass
    except OSError:
        report.leave(mirror)
    return {}


def _session_again(path: Path, events: list[Event], snapshot: bytes | None, report: Repair) -> None:
    """Write a session's files unless they are right, or one of them could not be read, now or when it was looked at."""
    shown = path.with_name("session.json")
    old, old_shown = _read(path, report), _read(shown, report)
    if old is None or old_shown is None or str(path) in report.unread:
        return
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    report.mirrors += _mirror_again(path, old, events, report)
    if snapshot is not None and snapshot != old_shown:
        replace_file(shown, snapshot)
        report.snapshots += 1


def _read(path: Path, report: Repair) -> bytes | None:
    """What stands in a file, nothing if it is not there; None if that cannot be read, which is told."""
    try:
        return read_file(path)
    except FileNotFoundError:
        return b""
    except OSError:
        report.leave(path)
        return None


def _mirror_again(path: Path, old: bytes, events: list[Event], report: Repair) -> bool:
    """Write a mirror unless it is right; what stood in it and is not in the database is kept beside it."""
    new = _lines(events)
    if old == new:
        return False
    known = {b"", *new.split(b"\n"), *(event.envelope() for event in events)}  # older versions wrote no hashes
    strange = [line for line in old.split(b"\n") if line not in known]
    if strange:
        report.set_aside.append(str(set_aside_lines(path, strange)))
    replace_file(path, new, durable=True)
    return True


def _stored(db: sqlite3.Connection, session_id: str) -> Iterator[Event]:
    last = 0
    while page := read_page(db, session_id, last, BATCH):
        yield from page
        last = page[-1].seq
