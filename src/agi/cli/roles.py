"""`agi roles`: who can be drafted here, and which files of roles do not count. May import: errors, client, cli."""

from __future__ import annotations

import msgspec

from agi.cli import exits
from agi.cli.display import exact, line
from agi.cli.options import Arguments
from agi.cli.output import put, say
from agi.cli.place import place
from agi.client.crew import offered_roles

_WIDEST = 32


def roles(arguments: Arguments) -> int:
    """List them."""
    arguments.only(0)
    found = offered_roles(place(arguments))
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    widest = min(max((len(one.name) for one in found.roles), default=0), _WIDEST)
    for one in found.roles:
        permitted = f" [{', '.join(one.permissions)}]" if one.permissions else ""
        put(f"{exact(one.name):{widest}}  {one.source:7}  {line(one.description, 80)}{permitted}\n")
    for problem in found.problems:
        say(f"{exact(problem.path)}: {line(problem.message, 500)} {line(problem.hint, 300)}".rstrip())
    return exits.OK
