"""A bare pydantic-ai agent with one tool."""

from __future__ import annotations

from bench.peers.base import Package, Tool
from bench.peers.installing import folder_of
from bench.peers.scripts import Script


class PydanticAi(Script):
    """A library; the loop around it is ours and keeps nothing."""

    name = "pydantic-ai"
    package = Package("pip", ("pydantic-ai-slim[openai]==2.66.0",), "2.66.0")
    tool = Tool("shell", {"command": "true %d"})
    notes = ("a library in a script: no log, no sandbox, no server",)
    program = "pydantic_loop.py"

    def python(self) -> str:
        return str(folder_of(self.package) / "bin" / "python")
