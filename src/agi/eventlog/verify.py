"""Looking a session's log through: does the chain hold, in the database and in the mirror, and do both end alike.

Only reads, also files that are damaged; heals nothing, so that what is wrong is still there to be seen.
May import: protocol, eventlog.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
from msgspec import Struct

from agi.errors import Damaged, StorageError
from agi.eventlog import chain
from agi.eventlog.base import Step
from agi.eventlog.mirror import session_folder
from agi.eventlog.rows import PLAIN, SELECT
from agi.eventlog.salvage import mirrors, read_file, read_snapshot
from agi.eventlog.schema import FROM_MIRRORS, UNREADABLE, look_through, refuse_no_file, refuse_shape, unreadable
from agi.protocol.chains import LogCheck, LogFinding, Place, Problem, Span
from agi.protocol.events import Event, parse_envelope
from agi.protocol.ids import SESSION, is_id

MOST = 20
"""Findings that are told of one place."""
Anchor = Callable[[sqlite3.Connection, str], tuple[int, str] | None]
"""Where a session ends by what is known beside its events: the last number, and its hash; may raise Damaged."""
Comparing = Callable[[sqlite3.Connection, str, Iterable[Event]], Sequence[str]]
"""The tables that say something else of a session than its events."""


class Walk:
    """The events of one place, taken in order."""

    def __init__(self, place: Place, known: Mapping[int, str] | None = None) -> None:
        self.place = place
        self._known = known or {}
        """Hashes by another place, for what cannot be read here."""
        self.findings: list[LogFinding] = []
        self.hashes: dict[int, str] = {}
        self.late: list[Span] = []
        self.anew: list[int] = []
        self.last = 0
        self.broke_off = False
        """Whether there may be more events than could be read."""
        self.notes: list[str] = []
        """What is no change and yet to be seen."""
        self._before = ""

    def find(self, problem: Problem, seq: int, message: str) -> None:
        """Note what is wrong."""
        if len(self.findings) < MOST:
            self.findings.append(LogFinding(place=self.place, problem=problem, seq=seq, message=message))

    def take(self, event: Event, reordered: bool = False) -> None:
        """Look at the next event."""
        if event.seq > self.last + 1:
            gone = f"Event {self.last + 1}" + (f" to {event.seq - 1}" if event.seq > self.last + 2 else "")
            problem: Problem = "reordered" if reordered else "missing"
            self.find(problem, self.last + 1, f"{gone} {'stands elsewhere' if reordered else 'is missing'}.")
            self._before = ""
        before = self._before or self._known.get(event.seq - 1, "")
        if not event.hash and self.place == "mirror":
            event.hash = chain.link_late(before, event)  # an older version wrote the line
        elif not event.hash:
            self.find("unchained", event.seq, f"Event {event.seq} has no hash.")
        elif (before or event.seq == 1) and not chain.fits(before, event):
            self.find("changed", event.seq, f"Event {event.seq} is not as it was written.")
        self._note_kind(event)
        self.hashes[event.seq] = self._before = event.hash
        self.last = event.seq

    def skip(self, count: int, message: str) -> None:
        """The next events cannot be read."""
        self.find("changed", self.last + 1, message)
        self.last += count
        if count:
            self._before = ""

    def end(self, seq: int, head: str, who: str) -> None:
        """See that it reaches as far as somebody says, with this hash there."""
        if seq > self.last:
            self.find("truncated", self.last + 1, f"It ends at event {self.last}; {who} knows of {seq}.")
        elif head and chain.digest_of(self.hashes.get(seq, "")) != chain.digest_of(head):
            self.find("changed", seq, f"Event {seq} has another hash than {who} says.")

    def _note_kind(self, event: Event) -> None:
        kind = chain.kind_of(event.hash)
        if kind == "anew":
            self.anew.append(event.seq)
        elif kind == "late":
            follows = self.late and self.late[-1].last == event.seq - 1
            first = self.late.pop().first if follows else event.seq
            self.late.append(Span(first, event.seq))


class LogFiles(Struct, frozen=True):
    """The files of a data folder."""

    folder: Path
    database: Path

    def sessions(self) -> list[str]:
        """Every session that either of them holds; raises StorageError where the database does not say which."""
        found = set(self.mirrored())
        if self.database.exists():
            try:
                with closing(open_to_read(self.database)) as db:
                    rows = db.execute("SELECT DISTINCT CAST(session_id AS BLOB) FROM events").fetchall()
            except UNREADABLE as error:
                raise unreadable(self.database, error) from error
            found |= {one.decode("utf-8", "replace") for (one,) in rows if isinstance(one, bytes)}
        return sorted(one for one in found if is_id(one, SESSION))

    def mirrored(self) -> list[str]:
        """Every session that has a mirror."""
        return [path.parent.name for path in mirrors(self.folder)]

    def refuse_broken(self, steps: Sequence[Step]) -> None:
        """See that each page of the database can be read, each index knows its rows, and we know its shape.

        Raises StorageError.
        """
        with closing(open_to_read(self.database)) as db:
            try:
                refuse_shape(self.database, db, steps)
                said = look_through(db)
            except UNREADABLE as error:
                raise unreadable(self.database, error) from error
        if said:
            raise Damaged(f"{self.database} is damaged: {said}.", hint=FROM_MIRRORS)

    def check(self, session_id: str, anchor: Anchor, head: str = "", *, comparing: Comparing | None = None) -> LogCheck:
        """Look one session through, with `comparing` also what is shown of it.

        Raises StorageError for a database that is out of reach, or older than chains.
        """
        stored = self._stored(session_id, anchor, comparing)
        # Read after the database: what is appended meanwhile may be in the mirror already, but not the other way round.
        mirrored = self._mirrored(session_id, stored)
        is_less = stored.broke_off and mirrored.last > stored.last
        main = mirrored if is_less or not stored.hashes else stored
        found = [*stored.findings, *mirrored.findings, *self._snapshot(session_id, main)]
        head_seq = 0
        if head:
            head_seq = next((seq for seq, one in main.hashes.items() if _is_same(one, head)), 0)
            if not head_seq:
                text = (
                    "No event has the hash that was kept: the log was changed or cut off before it, or chained again."
                )
                found.append(LogFinding(place="head", problem="unknown", seq=0, message=text))
        return LogCheck(
            session_id=session_id,
            intact=not found,
            events=main.last,
            head=main.hashes.get(main.last, ""),
            findings=tuple(sorted(found, key=lambda one: one.seq)),
            late=tuple(main.late),
            anew=tuple(main.anew),
            head_seq=head_seq,
            notes=tuple(mirrored.notes),
        )

    def _stored(self, session_id: str, anchor: Anchor, comparing: Comparing | None) -> Walk:
        walk = Walk("database")
        if not self.database.exists():
            walk.find("missing", 0, f"There is no database {self.database.name}.")
            walk.broke_off = True
            return walk
        try:
            opened = open_to_read(self.database)
        except Damaged as error:
            walk.find("unreadable", 0, error.message)
            walk.broke_off = True
            return walk
        with closing(opened) as db:
            try:
                db.execute("BEGIN")  # the rows and where they end, at one moment
                for event in _rows(db, session_id):
                    if event is None:
                        walk.skip(1, f"Event {walk.last + 1} is not as it was written.")
                    else:
                        walk.take(event)
            except UNREADABLE as error:
                what = "It is damaged: it" if isinstance(unreadable(self.database, error), Damaged) else "It"
                walk.find("unreadable", walk.last + 1, f"{what} cannot be read from event {walk.last + 1} on: {error}.")
                walk.broke_off = True
                return walk
            _hold_against_row(walk, db, session_id, anchor)
            if comparing is not None and walk.last and not walk.findings:
                _hold_against_tables(walk, db, session_id, comparing)
            return walk

    def _mirrored(self, session_id: str, stored: Walk) -> Walk:
        walk = Walk("mirror", stored.hashes)
        path = session_folder(self.folder / "sessions", session_id) / "events.ndjson"
        try:
            *whole, half = read_file(path).split(b"\n")
        except FileNotFoundError:
            walk.find("missing", 0, f"There is no {path.name}.")
            return walk
        except OSError as error:
            walk.find("unreadable", 0, f"{path.name} cannot be read: {error.strerror}.")
            return walk
        lines = [line for line in whole if line]
        is_torn = half != b"" and _parsed(half, session_id) is None
        if half and not is_torn:
            lines.append(half)
        if lines and not _walk_lines(walk, lines, session_id):
            which = f"None of its {len(lines)} lines" if len(lines) > 1 else "Its only line"
            what = "is an event" if len(lines) > 1 else "is no event"
            walk.find("unreadable", 1, f"{which} {what} of this session.")
            return walk
        if is_torn:
            walk.notes.append("The mirror ends in half a line, as a crash leaves it.")
        for seq, link in stored.hashes.items():
            if seq in walk.hashes and walk.hashes[seq] != link:
                walk.find("changed", seq, f"Event {seq} is not the same as in the database.")
                break
        if stored.last > walk.last:
            walk.end(stored.last, "", "the database")
        elif walk.last > stored.last and not stored.broke_off:
            stored.end(walk.last, "", "the mirror")
        return walk

    def _snapshot(self, session_id: str, main: Walk) -> list[LogFinding]:
        snapshot = read_snapshot(session_folder(self.folder / "sessions", session_id) / "session.json")
        if snapshot is None:
            return []  # it can be made again, and tells nothing that the others do not
        against = Walk("session.json")
        against.last, against.hashes = main.last, main.hashes
        against.end(snapshot.last_seq, snapshot.head, "session.json")
        return against.findings


def open_to_read(database: Path) -> sqlite3.Connection:
    """A connection that changes nothing; raises StorageError."""
    refuse_no_file(database)
    try:
        db = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        db.text_factory = _Text
        columns = [row[1] for row in db.execute("PRAGMA table_info(events)")]
    except UNREADABLE as error:
        raise unreadable(database, error) from error
    if not columns:
        db.close()
        raise Damaged(f"{database} holds no log.", hint=FROM_MIRRORS)
    if b"hash" not in columns and "hash" not in columns:
        db.close()
        raise StorageError(
            f"{database} was written by an older version and has no chain yet.",
            code="no_chain",
            hint="Its events are chained when agi next opens it, for example by `agi sessions`.",
        )
    return db


def _hold_against_row(walk: Walk, db: sqlite3.Connection, session_id: str, anchor: Anchor) -> None:
    """See that the events end where the session's row says."""
    try:
        known = anchor(db, session_id)
    except (*UNREADABLE, Damaged):
        walk.find("unreadable", 0, "What the sessions table says of it cannot be read.")
        return
    if known is not None:
        walk.end(*known, "the sessions table")
        if known[0] < walk.last:
            walk.find("unknown", known[0] + 1, f"The sessions table knows of {known[0]} events only.")
    elif walk.last:
        walk.find("unknown", 1, "The sessions table does not know it, so no command finds it.")


def _hold_against_tables(walk: Walk, db: sqlite3.Connection, session_id: str, comparing: Comparing) -> None:
    """See that what is shown of the session is what its events say."""
    events = (event for event in _rows(db, session_id) if event is not None)
    try:
        others = comparing(db, session_id, events)
    except (*UNREADABLE, Damaged):
        walk.find("unreadable", 0, "What is shown of it cannot be read.")
        return
    if others:
        walk.find("changed", 0, f"What is shown of it ({', '.join(others)}) is not what its events say.")


def _rows(db: sqlite3.Connection, session_id: str) -> Iterator[Event | None]:
    """The events of a session; None for one whose row is none, or not the one that the index knows."""
    columns = [_text(row[1]) for row in db.execute("PRAGMA table_info(events)")]
    select = SELECT if "text_id" in columns else PLAIN  # one that no newer agi has opened yet is looked at as it is
    places = db.execute("SELECT id, seq FROM events WHERE session_id=? ORDER BY seq", (session_id,))
    for at, place in places:  # the index says that; each row is asked by itself, or the index would answer for it
        row = db.execute(f"{select} WHERE id=?", (at,)).fetchone()
        event = None if row is None else _event(row)
        is_there = event is not None and (event.session_id, event.seq) == (session_id, place)
        yield event if is_there else None


def _event(row: Sequence[object]) -> Event | None:
    """The event that a row holds, if it holds one."""
    _, seq, *texts, data, link = row
    try:
        ts, own, turn_id, kind, link = (_text(one) for one in (*texts, link))
    except ValueError:
        return None
    if not isinstance(seq, int) or not isinstance(data, _Text):
        return None
    return Event(seq, ts or "", own or "", turn_id, kind or "", bytes(data), link or "")


class _Text(bytes):
    """A text as it stands in the file: what stands there as bytes was not written by us."""


def _text(value: object) -> str | None:
    if value is not None and not isinstance(value, _Text):
        raise ValueError("no text")
    return None if value is None else value.decode()


def _walk_lines(walk: Walk, lines: Sequence[bytes], session_id: str) -> bool:
    """Take a mirror's lines: a line that a crash cut off, and one that two processes wrote, are no change.

    Gives whether any of them is an event; if none is, nothing else is found.
    """
    events = [_parsed(line, session_id) for line in lines]
    present = {event.seq for event in events if event is not None}
    seen: dict[int, bytes] = {}
    strange: list[int] = []
    """Numbers of the lines just before that are no events."""
    if not present:
        return False
    for n, (line, event) in enumerate(zip(lines, events, strict=True)):
        if event is None:
            strange.append(n + 1)
            continue
        _skip_lines(walk, [one for one in strange if not line.startswith(lines[one - 1])], event.seq)
        strange.clear()
        if event.seq in seen or event.seq <= walk.last:
            if seen.get(event.seq) != line:
                walk.find("reordered", event.seq, f"Line {n + 1} holds event {event.seq}, which belongs before it.")
        else:
            is_exact = event.line() == line
            walk.take(event, reordered=walk.last + 1 in present)
            if not is_exact:
                walk.find("changed", event.seq, f"Line {n + 1} is not as it was written.")
            seen[event.seq] = line
    if len(strange) == 1:
        walk.find("truncated", walk.last + 1, f"Line {strange[0]}, the last, is no event; it may have been cut off.")
    elif strange:
        text = f"The last {len(strange)} lines, from line {strange[0]} on, are no events."
        walk.find("truncated", walk.last + 1, text)
    return True


def _skip_lines(walk: Walk, lines: Sequence[int], following: int) -> None:
    """Some lines before an event are none: as many events are lost in them as its number leaves room for."""
    room = following - walk.last - 1
    if not lines:
        return
    if len(lines) == 1 and room == 1:
        walk.skip(1, f"Event {walk.last + 1} should stand in line {lines[0]}, which is no event.")
        return
    lost = max(0, min(len(lines), room))
    text = f"Line {lines[0]} is no event"
    if len(lines) > 1:
        text = f"{len(lines)} lines, from line {lines[0]} on, are no events"
    if lost:
        gone = f"event {walk.last + 1}" if lost == 1 else f"events {walk.last + 1} to {walk.last + lost}"
        text += f"; {gone} should stand there"
    walk.skip(lost, f"{text}.")


def _parsed(line: bytes, session_id: str) -> Event | None:
    try:
        event = parse_envelope(line)
        event.raw.decode()
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return event if event.session_id == session_id and event.seq > 0 else None


def _is_same(link: str, head: str) -> bool:
    return bool(link) and chain.digest_of(link) == chain.digest_of(head)
