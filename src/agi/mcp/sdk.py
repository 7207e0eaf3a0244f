"""The official SDK, brought in when a server is first reached: it takes a second and some tens of megabytes.

May import: errors, extras.
"""

from __future__ import annotations

import asyncio
import importlib
import logging

from agi.errors import Unavailable
from agi.extras import how_to_add


async def load_sdk() -> None:
    """Import the SDK, beside whatever else the daemon does; raises Unavailable if it is not installed."""
    await asyncio.to_thread(_import)


def _import() -> None:
    try:
        importlib.import_module("mcp.client.session")
        importlib.import_module("mcp.client.streamable_http")
    except ImportError as error:
        hint = f"Run `{how_to_add('mcp')}`."
        raise Unavailable(f"MCP servers need the package mcp, which is missing: {error}.", hint=hint) from error
    for name in ("mcp", "client"):
        # What goes wrong is told as a problem; a library that also prints it would write over the answer.
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
