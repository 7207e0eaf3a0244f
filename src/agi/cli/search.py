"""`agi search`: find what was said and done in a project's sessions. May import: counts, errors, protocol, client, cli.

Where the index is still being filled, it is waited for; what it has not come to after a while is said.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import cast, get_args

import msgspec

from agi.cli import exits
from agi.cli.abbreviations import find_session
from agi.cli.display import exact, line
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import put, say
from agi.cli.place import has_sessions, place
from agi.cli.times import local_time
from agi.client.base import Client
from agi.client.find import open_client
from agi.counts import counted
from agi.protocol.messages import Role
from agi.protocol.search import MOST_HITS, Found, FoundKind, Hit, Search
from agi.protocol.times import to_rfc3339

PATIENCE_S = 120.0
"""How long an index that is being filled is waited for."""
_AGO = re.compile(r"(\d{1,5})([dh])", re.ASCII)
_SECONDS = {"d": 86_400, "h": 3_600}


def search(arguments: Arguments) -> int:
    """Find it and print the hits, the best first."""
    asked = _asked(arguments)
    if not asked.q and not any(arguments.has(name) for name in ("--path", "--tool", "--session")):
        raise usage("search", "`agi search` needs words to look for.")
    return asyncio.run(_run(arguments, asked))


def _asked(arguments: Arguments) -> Search:
    words = [*arguments.words, *(arguments.after or ())]
    return Search(
        q=" ".join(words),
        limit=int(arguments.number("--limit", least=1, most=MOST_HITS) or 20),
        kind=cast("FoundKind | None", _one_of(arguments, "--kind", get_args(FoundKind))),
        role=cast("Role | None", _one_of(arguments, "--role", get_args(Role))),
        tool=arguments.get("--tool"),
        path=arguments.get("--path"),
        agent=arguments.get("--agent"),
        since=_moment(arguments.get("--since")),
        until=_moment(arguments.get("--until")),
    )


def _one_of(arguments: Arguments, option: str, choices: tuple[str, ...]) -> str | None:
    value = arguments.get(option)
    if value is not None and value not in choices:
        error = usage("search", f"{option} is one of {', '.join(choices)}, not {value[:40]!r}.")
        error.hint = nearest(value, choices) + error.hint
        raise error
    return value


def _moment(text: str | None) -> str | None:
    """A time as it is sent; so many days or hours ago as the time that was."""
    ago = _AGO.fullmatch(text or "")
    return text if ago is None else to_rfc3339(time.time() - int(ago[1]) * _SECONDS[ago[2]])


async def _run(arguments: Arguments, asked: Search) -> int:
    settings = place(arguments)
    if not has_sessions(settings):
        put(msgspec.json.encode(Found(hits=(), next=None, behind=0, weighed=0)).decode() + "\n"
            if arguments.has("--json") else "No sessions yet.\n")  # fmt: skip
        return exits.OK
    client = await open_client(settings)
    try:
        if (session := arguments.get("--session")) is not None:
            asked = msgspec.structs.replace(asked, session_id=(await find_session(client, session)).id)
        found = await _found(client, asked)
    finally:
        await client.close()
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
    else:
        _print(found)
    return exits.OK


async def _found(client: Client, asked: Search) -> Found:
    """The answer once everything is indexed, or what is known when patience ends."""
    until = time.monotonic() + PATIENCE_S
    found = await client.search(asked)
    if found.behind:
        say(f"Indexing {counted(found.behind, 'event')} first; this happens once.")
    while found.behind and time.monotonic() < until:
        await asyncio.sleep(0.05)
        found = await client.search(asked)
    return found


def _print(found: Found) -> None:
    for hit in found.hits:
        put(f"{local_time(hit.ts)}  {_what(hit):24}  {exact(hit.session_id)}  {line(hit.title or '', 50)}\n")
        put(f"    {line(hit.snippet, 250)}\n")
    if found.hits:
        say("Open one with: agi sessions show ID")
    else:
        put("Nothing was found.\n")
    if found.next:
        say("There are more; --limit shows more of them, --since and --kind narrow it down.")
    if found.behind:
        say(f"About {found.behind:,} events are not searched yet; ask again in a moment.")


def _what(hit: Hit) -> str:
    named = f"{exact(hit.tool)} {'result' if hit.role == 'tool' else 'call'}" if hit.tool else exact(hit.role or "")
    what = named if hit.kind in ("tool", "message") else hit.kind
    return f"{what}{' (taken back)' if hit.reverted else ''}"
