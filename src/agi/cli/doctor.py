"""`agi doctor`: is everything in order? May import: client, cli."""

from __future__ import annotations

import asyncio

import msgspec

from agi.cli import exits
from agi.cli.display import exact
from agi.cli.options import Arguments
from agi.cli.output import put
from agi.cli.place import place
from agi.client.diagnosis import diagnose

MARKS = {"ok": "✓", "note": "–", "warning": "!", "broken": "✗"}


def doctor(arguments: Arguments) -> int:
    """Tell what was found; gives 1 if something is broken."""
    arguments.only(0)
    found = asyncio.run(diagnose(place(arguments)))
    broken = [one for one in found if one.state == "broken"]
    if arguments.has("--json"):
        put(msgspec.json.encode({"ok": not broken, "findings": found}).decode() + "\n")
    else:
        for one in found:
            put(f"{MARKS[one.state]} {one.subject:12} {exact(one.text)}\n")
            if one.hint:
                put(f"  {'':12} {exact(one.hint)}\n")
    return exits.FAILED if broken else exits.OK
