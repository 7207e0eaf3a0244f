"""A server as the SDK makes one: tools of several kinds, a resource, a prompt. `--http FD`: at a socket it is given."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import sys

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import ToolAnnotations

app = MCPServer("good")
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@app.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@app.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
def look(what: str) -> str:
    """Look something up here."""
    return f"\x1b[31m{what}\x1b[0m is here\u200b"


@app.tool()
def variable(name: str) -> str:
    """Say what a variable holds."""
    return os.environ.get(name, "<unset>")


@app.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("it went wrong")


@app.tool()
def draw() -> Image:
    """Draw a dot."""
    return Image(data=PIXEL, format="png")


@app.tool()
def much(size: int) -> str:
    """Say a lot."""
    return "x" * size


@app.tool()
def die() -> str:
    """End in the middle of a call."""
    os._exit(3)


@app.tool()
async def work(ctx: Context, marker: str = "") -> str:
    """Work for ever, and say so."""
    await ctx.report_progress(1, 3, "halfway")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        if marker:
            os.close(os.open(marker, os.O_CREAT | os.O_WRONLY))
        raise
    return "done"


@app.resource("notes://today")
def today() -> str:
    """What is on today."""
    return "buy bread"


@app.prompt()
def review(name: str) -> str:
    """Ask for a review."""
    return f"Review {name}, please."


if __name__ == "__main__":
    if sys.argv[1:2] == ["--http"]:
        import uvicorn  # late: most of them speak over pipes

        served = uvicorn.Server(uvicorn.Config(app.streamable_http_app(), log_level="warning"))
        served.run([socket.socket(fileno=int(sys.argv[2]))])
    else:
        app.run()
