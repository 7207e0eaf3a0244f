"""`agi tui`: the conversation on a whole screen.

Only says where and with what it begins; the interface itself is imported late, and only here.
May import: errors, client, trust, cli; late: tui.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from agi.cli import exits
from agi.cli.abbreviations import find_session
from agi.cli.display import Screen
from agi.cli.latest import latest_session
from agi.cli.options import Arguments, usage
from agi.cli.output import put
from agi.cli.place import has_sessions, place
from agi.cli.trusting import ask_trust
from agi.client.base import Client
from agi.client.settings import ClientSettings
from agi.errors import NotFound

LEFT_BEHIND = 4000
"""Characters of the last answer that stay on the normal screen."""


def tui(arguments: Arguments) -> int:
    """Show the interface until the user leaves it."""
    arguments.only(0)
    if arguments.has("--session") and arguments.has("--continue"):
        raise usage("tui", "--session and --continue exclude each other.")
    settings = place(arguments)
    from agi.tui.fit import check_fit  # late, as all of that room: other commands do without

    check_fit(settings.env)
    from agi.tui.tokens import PALETTES

    theme = arguments.get("--theme") or ""
    if theme and theme not in PALETTES:
        raise usage("tui", f"There is no theme {theme[:40]!r}: {', '.join(PALETTES)}.")
    if not arguments.has("--trust"):
        ask_trust(settings)
    said = asyncio.run(_run(arguments, replace(settings, trust_once=arguments.has("--trust"), tell=None), theme))
    if said.strip():
        text = said if len(said) <= LEFT_BEHIND else f"…{said[-LEFT_BEHIND:]}"
        put(Screen().show(text.rstrip("\n")) + "\n")
    return exits.OK


async def _run(arguments: Arguments, settings: ClientSettings, theme: str) -> str:
    from agi.tui.run import Opening, run

    async def find(client: Client) -> str:
        if named := arguments.get("--session"):
            return (await find_session(client, named)).id
        if arguments.has("--continue"):
            return (await latest_session(client, str(settings.project))).id
        return ""

    async def check() -> None:
        """Looking for a session in a folder without any makes none."""
        if (arguments.has("--session") or arguments.has("--continue")) and not has_sessions(settings):
            raise NotFound(f"There are no sessions in {settings.project}.", hint="Name the folder with --project.")

    opening = Opening(
        settings=settings,
        theme=theme,
        agent=arguments.get("--agent"),
        provider=arguments.get("--provider"),
        model=arguments.get("--model"),
    )
    return await run(opening, find, check)
