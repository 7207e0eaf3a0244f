"""A search for a regular expression in a process of its own, so that it can be ended whatever the pattern is.

Reads a query from its input, searches the folder it is started in, writes what it found. May import: errors,
tools, workspace.
"""

from __future__ import annotations

import sys
import threading

import msgspec
from msgspec import Struct

from agi.errors import AgiError, Invalid
from agi.tools import plain_search
from agi.tools.inputs import given
from agi.tools.matches import Found, Query
from agi.tools.output import printable
from agi.workspace.handle import Workspace
from agi.workspace.processes import capture

TIMEOUT_S = 20.0
OUTPUT_LIMIT = 8 << 20


class Said(Struct, frozen=True, kw_only=True):
    """What the process found, or why it could not look."""

    found: Found | None = None
    message: str = ""
    hint: str = ""


async def search(workspace: Workspace, query: Query) -> Found:
    """Search in another process; a time-out, or canceling the task, ends it."""
    # Nothing in the folder it works in is imported (-P), nor told to the interpreter by variables (-E).
    argv = [sys.executable, "-E", "-P", "-m", "agi.tools.regex_worker"]
    with workspace.pinned() as folder, given(msgspec.json.encode(query)) as asked:
        answer = await capture(argv, cwd=folder, env={}, timeout_s=TIMEOUT_S, limit=OUTPUT_LIMIT, stdin=asked)
    if answer.timed_out:
        return Found(matches=(), partial="the search took too long")
    said = msgspec.json.decode(answer.stdout, type=Said)
    if said.found is None:
        raise Invalid(said.message, hint=said.hint, code="search_invalid")
    return said.found


def main() -> None:
    """Answer one query."""
    query = msgspec.json.decode(sys.stdin.buffer.read(), type=Query)
    try:
        with Workspace.open(".") as workspace:
            said = Said(found=_written(plain_search.search(workspace, query, threading.Event())))
    except AgiError as error:
        said = Said(message=error.message, hint=error.hint)
    sys.stdout.buffer.write(msgspec.json.encode(said))


def _written(found: Found) -> Found:
    """What was found in a form that can be written down, whatever the names of the files are."""
    matches = tuple(msgspec.structs.replace(one, path=printable(one.path)) for one in found.matches)
    return msgspec.structs.replace(found, matches=matches)


if __name__ == "__main__":
    main()
