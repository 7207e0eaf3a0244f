"""`agi repair`: make the log whole again from what is left of it; for a data folder that nobody works in meanwhile.

May import: counts, errors, config, client, cli; and, alone among the faces, eventlog and views.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from agi.cli import exits
from agi.cli.display import exact
from agi.cli.options import Arguments
from agi.cli.output import put
from agi.cli.place import project_of, refuse_no_folders
from agi.client.running import locked
from agi.config.files import PROJECT_DIR
from agi.counts import counted
from agi.errors import Conflict, Damaged, NotFound, StorageError
from agi.eventlog import leases
from agi.eventlog.links import refuse_links_within
from agi.eventlog.mirroring import count_differing, rebuild_mirrors
from agi.eventlog.repair import (
    Repair,
    alone_at,
    is_anything,
    is_damaged,
    needs_rebuild,
    rebuild_database,
)
from agi.eventlog.schema import STEPS, connect, refuse_shape
from agi.views.comparing import is_rotted
from agi.views.tables import Tables


def repair(arguments: Arguments) -> int:
    """Rebuild the database where that is needed or wanted, else the mirrors; tell what was done."""
    arguments.only(0)
    project = project_of(arguments)
    data = project / PROJECT_DIR
    database = data / "agi.sqlite"
    refuse_links_within(data)
    refuse_no_folders(data, data / "sessions")
    if not is_anything(database, data):
        raise NotFound(f"There are no sessions in {project}.", hint="Name another folder with --project.")
    with locked(project), alone_at(database):  # daemons are kept out, and so is every other start
        _refuse_while_running(database)
        is_wanted = arguments.has("--from-mirrors") or needs_rebuild(database, data)
        is_rebuilt = is_wanted or is_damaged(database) or is_rotted(database)
        if not is_rebuilt:
            with closing(connect(database)) as db:
                refuse_shape(database, db, (*STEPS, *Tables.steps))
        make = rebuild_database if is_rebuilt else rebuild_mirrors
        try:
            report = make(data, database, Tables())
            differing = count_differing(data, database) if is_rebuilt else 0
        except OSError as error:
            text = f"{error.filename or data} cannot be written: {error.strerror}."
            raise StorageError(text, hint="Check the disk, what stands there, and who may write to it.") from error
    _tell(report, is_rebuilt)
    _tell_losses(report, is_rebuilt)
    _tell_differing(differing)
    return exits.FAILED if report.unread else exits.OK


def _tell(report: Repair, is_rebuilt: bool) -> None:
    sessions = counted(report.sessions, "session")
    if is_rebuilt:
        put(f"The database was rebuilt: {sessions} with {counted(report.events, 'event')}.\n")
    else:
        put(f"The database is in order: {sessions}. {_mirrored(report)}\n")


def _mirrored(report: Repair) -> str:
    """What became of the files beside it."""
    kinds = ((report.mirrors, "mirror", "mirrors"), (report.snapshots, "session.json", "session.json"))
    made = [f"one {name}" if count == 1 else f"{count:,} {names}" for count, name, names in kinds if count]
    if not made:
        return "So are the mirrors that could be read." if report.unread else "So are their mirrors."
    text = " and ".join(made)
    verb = "was" if report.mirrors + report.snapshots == 1 else "were"
    return f"{text[0].upper()}{text[1:]} {verb} written anew."


def _tell_differing(count: int) -> None:
    if count:
        whose = "One session's files do" if count == 1 else f"The files of {count:,} sessions do"
        put(f"{whose} not say the same: run `agi repair`, which writes them anew.\n")


def _tell_losses(report: Repair, is_rebuilt: bool) -> None:
    if report.lost:
        put(f"{counted(report.lost, 'event')} could not be read anywhere; a notice stands in the place of each.\n")
    for place in report.anew[:20]:
        session_id, _, seq = place.partition(":")
        put(
            f"The chain of {exact(session_id)} begins anew at event {seq}: what stood there is not as it was written.\n"
        )
    if len(report.anew) > 20:
        put(f"… and at {len(report.anew) - 20} more; see `agi log verify`.\n")
    for path in report.unread:
        put(f"Could not be read, and stays where it is: {exact(path)}\n")
    if report.unread:
        again = "agi repair --from-mirrors" if is_rebuilt else "agi repair"
        put(f"Check the disk and who may read it, or move away what is no file; then run `{again}`.\n")
    for path in report.set_aside:
        put(f"Set aside: {exact(path)}\n")


def _refuse_while_running(database: Path) -> None:
    """One-shots need no daemon; their leases tell that they run. An unreadable database tells nothing."""
    if not database.exists():
        return
    try:
        db = connect(database)
    except Damaged:
        return
    try:
        found = [row[0] for row in db.execute("SELECT session_id FROM leases").fetchall()]
        busy = [session_id for session_id in found if not leases.is_free(db, session_id)]
    except sqlite3.DatabaseError:
        return
    finally:
        db.close()
    if busy:
        hint = "Wait for it, or stop the `agi` that runs it."
        raise Conflict(f"The session {busy[0]} is running.", code="session_running", hint=hint)
