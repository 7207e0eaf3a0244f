"""The words of user tools: what was found on disk, what is wrong with one, what a workspace has in the end.

Values only. May import: tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from agi.tools.base import Tool

FOLDER = ".agi/tools"
CODE_NAME = "tool.py"
PROMPT_NAME = "prompt.txt"

DeclaredKind = Literal["read", "write", "exec", "network"]
"""What an author says a tool does. It narrows what the tool can reach, and never what is asked about."""


class ToolProblem(Struct, frozen=True, kw_only=True):
    """Why a tool of the project is not there, for people."""

    name: str
    message: str
    hint: str = ""


class Found(Struct, frozen=True, kw_only=True):
    """A tool as it lies on disk, read once: these bytes are what is run, whatever the disk holds later."""

    name: str
    sources: Mapping[str, str]
    """Its Python files by their path in the tool's folder."""
    prompt: str
    """What prompt.txt says; empty if there is none."""
    digest: str
    """A hash of all that."""


class UserTools(Struct, frozen=True, kw_only=True):
    """What a workspace has of its own: the tools that work, and what is wrong with the others."""

    tools: tuple[Tool, ...] = ()
    problems: tuple[ToolProblem, ...] = ()
