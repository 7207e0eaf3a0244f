"""`agi open`: the web page in the user's browser, signed in. May import: errors, client, cli."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from agi.cli import exits
from agi.cli.abbreviations import find_session
from agi.cli.options import Arguments
from agi.cli.output import put, say
from agi.cli.place import place
from agi.client.daemon import DaemonClient
from agi.client.find import open_daemon
from agi.client.settings import ClientSettings
from agi.errors import NotFound


def open_page(arguments: Arguments) -> int:
    """Ask the daemon for a code, and open the browser with it."""
    words = arguments.only(0, 1)
    settings = place(arguments)
    address, url = asyncio.run(_address(settings, words[0] if words else ""))
    if arguments.has("--print") or not _show(url, settings.env):
        put(f"{url}\n")
        say("Open it within a minute; it works once.")
    else:
        say(f"Opened {address} in your browser. If nothing came up: agi open --print")
    return exits.OK


async def _address(settings: ClientSettings, named: str) -> tuple[str, str]:
    client = await open_daemon(settings)
    if not isinstance(client, DaemonClient):
        raise NotFound(
            f"No daemon runs for {settings.project}.",
            code="no_daemon",
            hint="Start one with `agi serve --open`, or name the folder with --project.",
        )
    try:
        session = (await find_session(client, named)).id if named else ""
        url = await client.sign_in_url()
    finally:
        await client.close()
    return url.partition("/#")[0], url + (f"&to=/s/{session}" if session else "")


def _show(url: str, env: Mapping[str, str]) -> bool:
    """Open it in a browser with a window; one in the terminal could show nothing of it."""
    if sys.platform == "linux" and not (env.get("DISPLAY") or env.get("WAYLAND_DISPLAY") or env.get("BROWSER")):
        return False
    import webbrowser  # late: only here

    return webbrowser.open(url)


def open_beside(project: Path) -> None:
    """Run `agi open` in a process that is nobody's child: the daemon lets none of its own descendants sign in."""
    command = [sys.executable, "-m", "agi.cli.main", "open", "--project", str(project)]
    # On stderr: whoever reads the daemon's address from its stdout is not to find a code there.
    subprocess.run(["/bin/sh", "-c", '"$@" >&2 &', "sh", *command], check=False, stdin=subprocess.DEVNULL)  # noqa: S603
