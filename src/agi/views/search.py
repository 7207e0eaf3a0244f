"""Searching the index: words and filters in, the best hits out.

Of a word that is everywhere only the newest matches are weighed, so that an answer never takes long. Deleted sessions
are gone from the index, unlisted ones never were in it; what was taken back is found and marked. For a connection of
its own: on a large log this is no short read. May import: errors, protocol, views.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Sequence

import msgspec

from agi.errors import BadRequest, Invalid
from agi.protocol.search import LONGEST_QUERY, MOST_HITS, Found, Hit, Search
from agi.protocol.times import to_millis
from agi.views.rows import as_text, as_written
from agi.views.search_index import behind, entry_at, is_made
from agi.views.segments import Revert, counts, segments
from agi.views.snippets import snippet
from agi.views.tables import QUEUED
from agi.views.terms import Term, expression, parse_terms

MOST_WEIGHED = 4_000
SHORTEST_BEGINNING = 2
WEIGHT = {"title": 2.0, "message": 1.5, "file": 1.2, "tool": 1.0}
"""What people and agents said counts more than what tools put out."""
_CURSOR = re.compile(r"(\d{1,18})-(\d{1,6})", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,3})?Z)?", re.ASCII)
_DAY_MS = 86_400_000
_REVERTS = msgspec.json.Decoder(list[Revert]).decode
_TOUCHED = "SELECT entry FROM search_files WHERE path=? OR path LIKE ? ESCAPE '!' OR path LIKE ? ESCAPE '!'"

Candidate = tuple[int, float, int, str]
"""An entry: its id, how well it fits, when, its kind."""

Filters = tuple[list[str], list[object]]
"""Conditions in SQL, and the values they wait for."""


def search(db: sqlite3.Connection, asked: Search) -> Found:
    """The best hits; raises Invalid or BadRequest for what cannot be looked for."""
    terms = _checked(asked)
    top, skipped = _position(asked.cursor)
    filters = _filters(asked)
    left = behind(db)
    if not is_made(db):
        return Found(hits=(), next=None, behind=left, weighed=0)
    if top is None:
        top = int(db.execute("SELECT coalesce(max(id), 0) FROM search_entries").fetchone()[0])
    found = _candidates(db, asked, terms, filters, top)
    with as_written("an entry of the search index"):
        found.sort(key=lambda one: (-one[1] * WEIGHT[one[3]], -one[2], -one[0]))
    end = skipped + asked.limit
    sessions: dict[str, _Session] = {}
    hits = [hit for one in found[skipped:end] if (hit := _hit(db, one, terms, sessions)) is not None]
    return Found(hits=tuple(hits), next=f"{top}-{end}" if end < len(found) else None, behind=left, weighed=len(found))


def _checked(asked: Search) -> tuple[Term, ...]:
    if not 1 <= asked.limit <= MOST_HITS:
        raise Invalid(f"limit is from 1 to {MOST_HITS}.", code="limit_invalid", hint="Page on with `next`.")
    if len(asked.q) > LONGEST_QUERY:
        raise Invalid(f"More than {LONGEST_QUERY} characters.", code="query_too_long", hint="Send a few words.")
    terms = parse_terms(asked.q)
    if not terms and asked.q.strip():
        raise Invalid(
            f"There is no word in {asked.q[:80]!r}.", code="query_without_words", hint="Send a word with a letter."
        )
    if not terms and not (asked.path or asked.session_id or asked.tool):
        hint = "Send words in `q`, or a path, a tool or a session."
        raise Invalid("There is nothing to look for.", code="query_empty", hint=hint)
    if short := next((term.text for term in terms if term.begins and len(term.text) < SHORTEST_BEGINNING), None):
        hint = f"Send at least {SHORTEST_BEGINNING} letters before the *."
        raise Invalid(f"Too many words begin with {short!r}.", code="beginning_too_short", hint=hint)
    return terms


def _position(cursor: str | None) -> tuple[int | None, int]:
    if cursor is None:
        return None, 0
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        hint = "Send the `next` of the page before."
        raise BadRequest(f"{cursor[:40]!r} is no position in an answer.", code="bad_cursor", hint=hint)
    return int(match[1]), int(match[2])


def _candidates(
    db: sqlite3.Connection, asked: Search, terms: tuple[Term, ...], filters: Filters, top: int
) -> list[Candidate]:
    """The newest entries that fit, with their scores."""
    conditions, values = filters
    words = "search_words w CROSS JOIN search_entries e ON e.id=w.rowid" if terms else "search_entries e"
    at = "w.rowid" if terms else "e.id"
    # Weighing a beginning means putting together all words that have it, once more: it is told newest first instead.
    score = "-bm25(search_words)" if terms and not any(term.begins for term in terms) else "0.0"
    first, last = _range(db, asked.session_id, top)
    where = ["search_words MATCH ?"] if terms else []
    where += [f"{at}>=?", f"{at}<=?", *conditions]
    return db.execute(
        f"SELECT e.id, {score}, e.at, e.kind FROM {words} CROSS JOIN sessions s ON s.id=e.session_id"  # noqa: S608 - our own words
        f" WHERE {' AND '.join(where)} ORDER BY {at} DESC LIMIT {MOST_WEIGHED}",
        (*([expression(terms)] if terms else []), first, last, *values),
    ).fetchall()


def _range(db: sqlite3.Connection, session_id: str | None, top: int) -> tuple[int, int]:
    """Where in the index a session can be: the index skips what is outside without looking at it."""
    if session_id is None:
        return 0, top
    row = db.execute("SELECT min(id), max(id) FROM search_entries WHERE session_id=?", (session_id,)).fetchone()
    return (row[0], min(row[1], top)) if row[0] is not None else (1, 0)


def _filters(asked: Search) -> Filters:
    where, values = ["s.listed"], list[object]()
    for column, value in (("e.session_id", asked.session_id), ("e.role", asked.role), ("e.tool", asked.tool),
                          ("e.kind", asked.kind), ("s.agent", asked.agent)):  # fmt: skip
        if value is not None:
            where.append(f"{column}=?")
            values.append(value)
    if asked.workspace_path is not None:
        where.append("s.project_path IN (?, ?)")
        values += [asked.workspace_path, _real(asked.workspace_path)]
    for sign, text, extra in ((">=", asked.since, 0), ("<", asked.until, _DAY_MS)):
        if text is not None:
            where.append(f"e.at{sign}?")
            values.append(_moment(text) + (extra if len(text) == 10 else 0))
    if asked.path is not None:
        own = asked.kind == "file"
        turns = f"e.turn_id IN (SELECT turn_id FROM search_entries WHERE id IN ({_TOUCHED}))"  # noqa: S608 - our own
        where.append(f"e.id IN ({_TOUCHED})" if own else turns)
        values += _paths(asked.path)
    return where, values


def _paths(path: str) -> list[str]:
    """The file itself, what is below it if it is a folder, and files of that name wherever they are."""
    plain = path.strip().removeprefix("./").rstrip("/")
    if not plain or "\0" in plain:
        raise Invalid("There is no path to look for.", code="path_invalid", hint="Send a file or a folder.")
    escaped = plain.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return [plain, f"{escaped}/%", f"%/{escaped}"]


def _real(path: str) -> str:
    return os.path.realpath(path) if "\0" not in path else path


def _moment(text: str) -> int:
    if _TIME.fullmatch(text) is None:
        hint = "Write 2026-01-31, or 2026-01-31T18:05:00Z."
        raise Invalid(f"{text[:40]!r} is no time.", code="time_invalid", hint=hint)
    return to_millis(text if len(text) > 10 else f"{text}T00:00:00Z")


class _Session:
    """What is known of a session that has hits: its title, and which part of its log is the conversation."""

    def __init__(self, db: sqlite3.Connection, session_id: str) -> None:
        row = db.execute(
            "SELECT title, coalesce(json_extract(state, '$.reverts'), '[]') FROM sessions WHERE id=?", (session_id,)
        ).fetchone()
        with as_written("a session"):
            self.title = None if row is None or row[0] is None else as_text(row[0])
            reverts: Sequence[Revert] = _REVERTS(row[1]) if row else []
        self._kept = segments(reverts) if reverts else None

    def is_reverted(self, db: sqlite3.Connection, seq: int, message_id: str | None) -> bool:
        if self._kept is None:
            return False
        row = db.execute("SELECT position FROM messages WHERE id=?", (message_id,)).fetchone() if message_id else None
        position = row[0] if row else seq
        return position < QUEUED and not counts(position, self._kept)


def _hit(
    db: sqlite3.Connection, candidate: Candidate, terms: tuple[Term, ...], sessions: dict[str, _Session]
) -> Hit | None:
    entry_id, score, _, kind = candidate
    found = entry_at(db, entry_id)
    if found is None:
        return None
    entry, session_id, seq, ts = found
    session = sessions.get(session_id)
    if session is None:
        session = sessions[session_id] = _Session(db, session_id)
    shown, marks = snippet(entry.text, terms)
    turn = db.execute("SELECT turn_id FROM search_entries WHERE id=?", (entry_id,)).fetchone()
    return Hit(
        session_id=session_id,
        title=session.title,
        kind=entry.kind,
        seq=seq,
        ts=ts,
        snippet=shown,
        marks=marks,
        score=round(score * WEIGHT[kind], 4),
        role=entry.role,
        turn_id=turn[0] if turn else None,
        message_id=entry.message_id,
        tool_call_id=entry.call_id,
        tool=entry.tool or None,
        paths=entry.paths,
        reverted=entry.kind != "title" and session.is_reverted(db, seq, entry.message_id),
    )
