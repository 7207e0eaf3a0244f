"""The table of what model calls used, by session, model and quarter of an hour, so that any zone has its own days.

Money of calls without a known price is counted as calls, not as 0. May import: protocol, eventlog.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.times import to_millis, to_rfc3339

if TYPE_CHECKING:
    from agi.protocol.overview import UsageReport

QUARTER_MS = 15 * 60 * 1000
DAY_MS = 24 * 60 * 60 * 1000
MOST = 100
"""How many sessions and models are told; the total counts all."""
_SUMS = (
    "sum(u.requests), sum(u.input), sum(u.output), sum(u.cached), sum(u.cache_write), sum(u.reasoning),"
    " sum(u.priced_usd), sum(u.unpriced)"
)
_WHERE = "FROM usage u WHERE u.quarter>=? AND u.quarter<? AND (?='' OR u.session_id=?)"
_MOST_FIRST = f"ORDER BY sum(u.priced_usd) DESC, sum(u.input)+sum(u.output) DESC, 1, 2 LIMIT {MOST}"
_UPSERT = (
    "INSERT INTO usage (session_id, quarter, provider, model, requests, input, output, cached, cache_write, reasoning,"
    " priced_usd, unpriced) VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (session_id, quarter, provider, model)"
    " DO UPDATE SET requests=requests+excluded.requests, input=input+excluded.input, output=output+excluded.output,"
    " cached=cached+excluded.cached, cache_write=cache_write+excluded.cache_write,"
    " reasoning=reasoning+excluded.reasoning, priced_usd=priced_usd+excluded.priced_usd,"
    " unpriced=unpriced+excluded.unpriced"
)


def step(db: sqlite3.Connection) -> None:
    """Make the table, and count what is in the log already."""
    db.execute(
        "CREATE TABLE usage (session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,"
        " quarter INTEGER NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL, requests INTEGER NOT NULL,"
        " input INTEGER NOT NULL, output INTEGER NOT NULL, cached INTEGER NOT NULL, cache_write INTEGER NOT NULL,"
        " reasoning INTEGER NOT NULL, priced_usd REAL NOT NULL, unpriced INTEGER NOT NULL,"
        " PRIMARY KEY (session_id, quarter, provider, model)) WITHOUT ROWID"
    )
    db.execute("CREATE INDEX usage_quarter ON usage (quarter)")
    found = db.execute(
        "SELECT e.session_id, e.ts, e.data FROM events e JOIN sessions s ON s.id=e.session_id"
        " WHERE e.type='usage_recorded'"
    )
    decode = msgspec.json.Decoder(ev.UsageRecorded).decode
    for session_id, ts, data in found.fetchall():
        try:
            _add(db, session_id, ts, decode(data))
        except (msgspec.MsgspecError, ValueError, OverflowError):
            continue  # what cannot be read was never counted


def _usage_recorded(db: sqlite3.Connection, event: Event, data: ev.UsageRecorded) -> None:
    _add(db, event.session_id, event.ts, data)


def _add(db: sqlite3.Connection, session_id: str, ts: str, data: ev.UsageRecorded) -> None:
    used = data.usage
    unpriced = 0 if used.cost_usd is not None else max(1, used.requests)
    db.execute(
        _UPSERT,
        (
            session_id,
            to_millis(ts) // QUARTER_MS,
            data.provider,
            data.model,
            used.requests,
            used.input_tokens,
            used.output_tokens,
            used.cached_tokens,
            used.cache_write_tokens,
            used.reasoning_tokens,
            used.cost_usd or 0.0,
            unpriced,
        ),
    )


def report(db: sqlite3.Connection, *, now_ms: int, days: int, utc_offset: int = 0, session_id: str = "") -> UsageReport:
    """What was used in the last days of a zone `utc_offset` minutes east of UTC, today included."""
    from agi.protocol.overview import DayUsage, ModelUsage, SessionUsage, UsageReport, UsageSum  # late: few ask

    shift = utc_offset * 60_000
    today = (now_ms + shift) // DAY_MS
    since, until = (today - days + 1) * DAY_MS - shift, (today + 1) * DAY_MS - shift
    asked = (since // QUARTER_MS, -(-until // QUARTER_MS), session_id, session_id)
    per_day = f"(u.quarter*{QUARTER_MS}+{shift})/{DAY_MS}"
    by_day = db.execute(f"SELECT {per_day}, {_SUMS} {_WHERE} GROUP BY 1 ORDER BY 1", asked)
    by_model = db.execute(f"SELECT u.provider, u.model, {_SUMS} {_WHERE} GROUP BY 1, 2 {_MOST_FIRST}", asked)
    titled = "u.session_id, (SELECT title FROM sessions WHERE id=u.session_id)"
    by_session = db.execute(f"SELECT {titled}, {_SUMS} {_WHERE} GROUP BY 1 {_MOST_FIRST}", asked)
    total = db.execute(f"SELECT {_SUMS} {_WHERE}", asked).fetchone()
    return UsageReport(
        since=to_rfc3339(since / 1000),
        until=to_rfc3339(until / 1000),
        total=UsageSum(**_sum(total)),
        days=[DayUsage(day=to_rfc3339(day * DAY_MS / 1000)[:10], **_sum(rest)) for day, *rest in by_day],
        models=[ModelUsage(provider=provider, model=model, **_sum(rest)) for provider, model, *rest in by_model],
        sessions=[SessionUsage(session_id=one, title=title, **_sum(rest)) for one, title, *rest in by_session],
    )


def _sum(columns: tuple[Any, ...] | list[Any]) -> dict[str, Any]:
    requests, told, said, cached, written, thought, usd, unpriced = (one or 0 for one in columns)
    return {
        "requests": requests,
        "input_tokens": told,
        "output_tokens": said,
        "cached_tokens": cached,
        "cache_write_tokens": written,
        "reasoning_tokens": thought,
        "cost_usd": None if unpriced or not requests else float(usd),
        "priced_usd": float(usd),
        "unpriced": unpriced,
    }


# Each writer takes the data type it is listed under, which the table's type cannot say.
WRITERS: Mapping[str, Callable[[sqlite3.Connection, Event, Any], None]] = {"usage_recorded": _usage_recorded}
