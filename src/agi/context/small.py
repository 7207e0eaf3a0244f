"""What a small model is told of the workspace: its files by name, little else.

Knowing the names turns "search for the configuration" into reading the right file. Bounded, sorted, and the same bytes
as long as no file comes or goes: what a small model reads, it reads slowly. The project's rules and the agent's prompt
are left out; they would cost more than the model can make of them. May import: workspace.
"""

from __future__ import annotations

from collections import Counter

from agi.workspace.handle import Entry, Workspace

MOST_CHARS = 600
"""About 180 tokens for names, and half as many for the folders of those left out."""
MOST_LOOKED_AT = 2_000
LONGEST_PROMPT = 600


def small_system(workspace: Workspace, session_prompt: str | None = None) -> str:
    """Name the files, nearest first; of folders that do not fit, how many files are in them."""
    listing = workspace.walk(limit=MOST_LOOKED_AT)
    files = [
        _flat(entry.name) for entry in listing.entries if entry.kind == "file" and "/." not in f"/{_folder(entry)}"
    ]
    told = _named(files) if files else "This project has no files yet."
    wish = _flat(session_prompt or "")[:LONGEST_PROMPT]
    return f"{told}\n{wish}".strip()


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
