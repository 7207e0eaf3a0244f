"""What the log knows of a conversation without anybody's summary: the to-do list, files, commands, what was asked.

Read for a compaction, so that none of it hangs on how well a model sums up. Bounded, newest first; what was taken back
does not count. May import: protocol, policy, views.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct, field

from agi.policy.evidence import Check
from agi.protocol.jobs import Job
from agi.protocol.parts import Json, ToolCallContent
from agi.protocol.sessions import PendingApproval
from agi.views.rows import as_written
from agi.views.segments import segments
from agi.views.state import SessionState

MOST_CALLS = 2000
"""How many of the latest calls are looked at."""
MOST_ASKED = 40
"""How many of the latest messages of the user."""
_CALLS = """
SELECT p.content FROM messages m JOIN message_parts p ON p.message_id=m.id
WHERE m.session_id=? AND m.position>? AND m.position<=? AND NOT m.dropped AND m.status='complete' AND p.type='tool_call'
ORDER BY m.position DESC, p."index" DESC LIMIT ?"""
# The id and the name are a result's first two fields: its output, which may be long, is read only where it is needed.
_RESULTS = """
SELECT head, CASE
  WHEN instr(head, '"name":"write_file"') OR instr(head, '"name":"edit"') OR instr(head, '"name":"apply_patch"')
  THEN json_extract(content, '$.result') END
FROM (
  SELECT p.content AS content, substr(p.content, 1, 200) AS head
  FROM messages m JOIN message_parts p ON p.message_id=m.id
  WHERE m.session_id=? AND m.position>? AND m.position<=? AND NOT m.dropped
  AND m.role='tool' AND m.status='complete' AND p.type='tool_result'
  ORDER BY m.position DESC, p."index" DESC LIMIT ?)"""
_ASKED = """
SELECT m.id, m.info, p.content FROM messages m JOIN message_parts p ON p.message_id=m.id
WHERE m.session_id=? AND m.position>? AND m.position<=? AND NOT m.dropped AND m.role='user' AND p.type='text'
ORDER BY m.position DESC, p."index" LIMIT ?"""
_ID = re.compile(r'^\{"id":"([^"]{1,120})"')
_decode_call = msgspec.json.Decoder(ToolCallContent).decode


class _Said(Struct, frozen=True):
    text: str = ""
    origin: str = ""


class _Changed(Struct, frozen=True):
    path: str = ""
    change: str = ""
    files: tuple[_Changed, ...] = ()


class Made(Struct, frozen=True):
    """A call that was made."""

    id: str
    name: str
    args: Raw
    ok: bool


class Recorded(Struct, kw_only=True):
    """All of it; lists are in the order in which things happened."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    """What the user said: ids of messages, and their text."""
    calls: list[Made] = field(default_factory=list)
    changed: dict[str, str] = field(default_factory=dict)
    """Files that were changed, and how last."""
    jobs: tuple[Job, ...] = ()
    checks: tuple[Check, ...] = ()
    """The last run of each verification command."""
    pending: tuple[PendingApproval, ...] = ()
    added: dict[str, str] = field(default_factory=dict)
    """What the harness told beside the head: the keys of sections, and the messages that say them."""


def recorded(db: sqlite3.Connection, state: SessionState) -> Recorded:
    """Read it from the log as it stands."""
    found = Recorded(
        jobs=tuple(state.jobs),
        checks=tuple({one.command: one for one in state.ledger.checks if not one.baseline}.values()),
        pending=tuple(state.turn.pending) if state.turn else (),
        added={key: told.message_id for key, told in state.context.added.items()},
    )
    with as_written("a message"):
        _read(db, state, found)
    return found


def _read(db: sqlite3.Connection, state: SessionState, found: Recorded) -> None:
    done = _changes(db, state, found)
    for (content,) in _rows(db, state, _CALLS, MOST_CALLS):
        call = _decode_call(content)
        found.calls.append(Made(call.id, call.name, call.args, call.id in done))
    found.calls.reverse()
    for message_id, info, content in _rows(db, state, _ASKED, MOST_ASKED):
        if not msgspec.json.decode(info, type=_Said).origin:
            found.asked.append((message_id, msgspec.json.decode(content, type=_Said).text))
    found.asked.reverse()


def _changes(db: sqlite3.Connection, state: SessionState, found: Recorded) -> set[str]:
    """Note which files were changed, last change first; gives the calls that went well."""
    done: set[str] = set()
    changed: dict[str, str] = {}
    for head, result in _rows(db, state, _RESULTS, MOST_CALLS):
        named = _ID.match(head)
        if named is not None:
            done.add(named[1])
        if result is not None:
            whole = msgspec.convert(_json(result), _Changed)
            for one in whole.files or (whole,):
                if one.path and one.change != "unchanged":
                    changed.setdefault(one.path, one.change or "written")
    found.changed = dict(reversed(changed.items()))
    return done


def _json(text: str) -> Json:
    value = msgspec.json.decode(text)
    return value if isinstance(value, dict) else {}


def _rows(db: sqlite3.Connection, state: SessionState, query: str, most: int) -> Iterator[tuple[str, ...]]:
    """Rows of the conversation, newest first."""
    left = most
    for first, last in reversed(segments(state.reverts)):
        for row in db.execute(query, (state.id, first, last, left)).fetchall():
            left -= 1
            yield row
        if left <= 0:
            return
