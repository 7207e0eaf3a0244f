"""`/metrics`: numbers for Prometheus, in its text format. Counts are of this process, gauges of the whole folder.

May import: sessions, telemetry, server.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from agi import __version__
from agi.server.answers import PlainText
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route
from agi.sessions.harness import Harness
from agi.telemetry.families import CONTENT_TYPE, gauge


async def metrics(request: Request[None, None]) -> ASGIApp:
    """Write the numbers down as they are now."""
    lines = (*request.shared.metrics.lines(), *_gauges(request.harness))
    return PlainText("\n".join(lines) + "\n", CONTENT_TYPE)


def _gauges(harness: Harness) -> Iterable[str]:
    log = harness.log
    rows = log.db.execute("SELECT status, count(*) FROM sessions WHERE typeof(status)='text' GROUP BY status")
    by_status = dict(rows.fetchall())  # one that rotted counts nowhere, and keeps nobody from the other numbers
    yield from gauge("agi_sessions", "Sessions, by how they stand.", "status", by_status)
    running = {"": float(len(harness.runners.running()))}
    yield from gauge("agi_sessions_running", "Sessions that this process runs just now.", "", running)
    yield from gauge("agi_log_bytes", "Size of the log's database on disk.", "", {"": _size(log.path)})
    mirror = {"": float(log.mirror.failure is None)}
    yield from gauge("agi_mirror_ok", "Whether the readable copy of the log is kept up.", "", mirror)
    yield from gauge("agi_resident_bytes", "Memory of the daemon.", "", {"": _resident()})
    yield from gauge("agi_build_info", "The version that runs.", "version", {__version__: 1})


def _size(database: Path) -> float:
    total = 0
    for path in (database, database.with_name(database.name + "-wal")):
        with suppress(OSError):
            total += path.stat().st_size
    return float(total)


def _resident() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return float(pages * os.sysconf("SC_PAGESIZE"))


ROUTES = (
    Route(
        method="GET",
        path="/metrics",
        handler=metrics,
        name="getMetrics",
        summary="Numbers about the daemon, as Prometheus reads them.",
        answers={200: bytes},
    ),
)
