"""`agi serve`: run the daemon. Alone among the faces it reaches for server.

May import: config, environment, errors, client, cli, server.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from agi.cli import exits
from agi.cli.options import Arguments
from agi.cli.place import place
from agi.config import Flags
from agi.environment import forget_keys
from agi.server import serve as daemon


def serve(arguments: Arguments) -> int:
    """Run the daemon until it is told to stop."""
    arguments.only(0)
    where = place(arguments)
    port = arguments.number("--port", least=0, most=65535)
    database = arguments.get("--db")
    settings = daemon.ServeSettings(
        project=where.project,
        home_config=where.home_config,
        env=where.env,
        host=arguments.get("--host") or daemon.LOOPBACK,
        port=None if port is None else int(port),
        database=Path(database).absolute() if database else None,
        expose=arguments.has("--expose"),
        trust_once=arguments.has("--trust"),
        flags=Flags(require_sandbox=arguments.has("--require-sandbox")),
    )
    forget_keys()  # `where.env` has them; whoever can look at this process need not
    ready = partial(_open, where.project) if arguments.has("--open") else None
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(daemon.serve(settings, ready=ready))
    return exits.OK


def _open(project: Path) -> None:
    from agi.cli.open import open_beside  # late: a daemon is no client, and few want the page at once

    open_beside(project)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop where there is one; a daemon lives long enough for it to pay."""
    if sys.platform == "win32":
        return None
    import uvloop  # late: not everywhere

    return uvloop.new_event_loop
