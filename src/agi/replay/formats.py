"""A session as one file: a cassette to be played, its events a line each, or Markdown to be read.

May import: errors, protocol, sessions, replay.
"""

from __future__ import annotations

import asyncio

from agi.errors import Invalid
from agi.replay.cassette import written
from agi.replay.exporting import make_cassette, read_all
from agi.sessions.harness import Harness

FORMATS = ("cassette", "ndjson", "markdown")
PAGE = 200


async def exported(harness: Harness, session_id: str, format: str) -> bytes:
    """The file's bytes; raises NotFound, or Invalid for another format and for a session that is too large."""
    if format not in FORMATS:
        raise Invalid(f"There is no format {format[:40]!r}.", hint=f"There are: {', '.join(FORMATS)}.")
    session = harness.session(session_id)
    if format == "cassette":
        return b"".join(written(await make_cassette(harness, session_id)))
    if format == "ndjson":
        events = await asyncio.to_thread(read_all, harness, harness.state(session_id))
        return b"".join(event.line() + b"\n" for event in events)
    from agi.replay.markdown import markdown

    messages, more = harness.messages(session_id, limit=PAGE, before=None)
    while more and messages:
        page, more = harness.messages(session_id, limit=PAGE, before=messages[0].id)
        messages = [*page, *messages]
    return "".join(markdown(session, messages)).encode(errors="replace")
