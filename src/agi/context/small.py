"""What a small model is told of the workspace: its files by name, little else.

Knowing the names turns "search for the configuration" into reading the right file. Bounded, sorted, and the same bytes
as long as no file comes or goes: what a small model reads, it reads slowly. The project's rules and the agent's prompt
are left out, and said to be; they would cost more than the model can make of them. May import: workspace, context.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agi.agents.base import Agent
from agi.context.base import AGENT, RULES, SESSION, WORKSPACE, Piece
from agi.context.prefix import tools_piece
from agi.protocol.tools import ToolDefinition
from agi.workspace.handle import Entry, Workspace

MOST_CHARS = 600
"""About 180 tokens for names, and half as many for the folders of those left out."""
MOST_LOOKED_AT = 2_000
LONGEST_PROMPT = 600


NOT_TOLD = "a small model is not told it"


def small_pieces(
    agent: Agent, workspace: Workspace, *, session_prompt: str | None, tools: Sequence[ToolDefinition]
) -> list[Piece]:
    """The short prefix: the files, and the session's own wish; what other models are told too is left out."""
    wish = _flat(session_prompt or "")
    shown = wish[:LONGEST_PROMPT]
    cut = f"longer than {LONGEST_PROMPT} characters" if len(wish) > len(shown) else ""
    return [
        Piece(name=AGENT, source=f"agent {agent.name}", refused=NOT_TOLD),
        Piece(name=WORKSPACE, source="files", text=file_names(workspace)),
        Piece(name=RULES, source="files", refused=NOT_TOLD),
        tools_piece(agent, tools),
        *([Piece(name=SESSION, source="user", text=shown, longer=cut)] if wish else []),
    ]


def file_names(workspace: Workspace) -> str:
    """Name the files, nearest first; of folders that do not fit, how many files are in them."""
    listing = workspace.walk(limit=MOST_LOOKED_AT)
    files = [
        _flat(entry.name) for entry in listing.entries if entry.kind == "file" and "/." not in f"/{_folder(entry)}"
    ]
    return _named(files) if files else "This project has no files yet."


def _named(files: list[str]) -> str:
    """All names where they fit; else the nearest ones, and the rest by folder."""
    ordered = sorted(files, key=lambda name: (name.count("/"), name))
    shown, room = 0, MOST_CHARS
    while shown < len(ordered) and room >= len(ordered[shown]) + 2:
        room -= len(ordered[shown]) + 2
        shown += 1
    rest = Counter(name.rpartition("/")[0] for name in ordered[shown:])
    folders = ", ".join(f"{folder or '.'}/ ({count} more)" for folder, count in sorted(rest.items()))
    names = ", ".join(sorted(ordered[:shown]))
    return f"Files of this project: {names}" + (f"; {_whole(folders)}" if folders else "")


def _whole(folders: str) -> str:
    """As many of the folders as fit, none of them in part."""
    room = MOST_CHARS // 2
    return folders if len(folders) <= room else folders[: folders.rfind(", ", 0, room)] + " …"


def _folder(entry: Entry) -> str:
    return entry.name.rpartition("/")[0]


def _flat(text: str) -> str:
    """One line without control characters: a file's name must not be able to say something of its own."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
