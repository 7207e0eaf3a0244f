"""The house has one-way arrows: a room knows those below it and none above (see ARCHITECTURE.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import agi

ROOT = Path(agi.__file__).parent

LEVELS = [
    {"counts", "environment", "errors", "explain", "extras", "redaction"},
    {"protocol", "net", "media"},
    {"config", "trust", "rendering"},
    {"sandbox"},
    {"eventlog", "workspace", "models", "policy", "telemetry"},
    {"editing", "checkpoints", "jobs", "skills", "index"},
    {"tools", "agents", "views"},
    {"usertools", "mcp"},
    {"context"},
    {"loop"},
    {"sessions"},
    {"replay"},
    {"server"},
]
"""Each level may use those before it; rooms of one level do not know each other, except where ALSO says so."""
ALSO = {"views": {"eventlog"}, "protocol": set(), "trust": {"config"}}
FACES = {
    "client": {"counts", "errors", "extras", "protocol", "config", "trust", "net", "redaction"},
    "cli": {"counts", "environment", "errors", "extras", "protocol", "config", "trust", "client", "net"},
    "tui": {"counts", "errors", "extras", "protocol", "config", "client"},
    "web": set(),
    "testing": {"*"},
}
LATE = {
    ("client/inprocess.py", "sessions"),
    ("client/inprocess.py", "eventlog"),
    ("client/inprocess.py", "tools"),
    ("client/inprocess.py", "skills"),
    ("client/inprocess.py", "replay"),
    ("cli/sources.py", "replay"),
    ("cli/replay.py", "replay"),
    ("client/mcp_servers.py", "mcp"),
    ("client/mcp_servers.py", "sessions"),
    ("client/crew.py", "sessions"),
    ("client/weights.py", "models"),
    ("cli/serve.py", "server"),
    ("cli/mcp.py", "server"),
    ("cli/tui.py", "tui"),
    ("cli/exits.py", "eventlog"),
    ("cli/log.py", "eventlog"),
    ("cli/log.py", "views"),
    ("cli/repair.py", "eventlog"),
    ("cli/repair.py", "views"),
}
"""The few arrows that skip a level, imported late: the in-process transport, `serve` and `mcp serve`, `tui`, `repair`,
weights."""


def room(module: str) -> str:
    return module.split(".")[1] if module.startswith("agi.") else ""


def imports(path: Path) -> list[str]:
    """Every module of ours a file imports, at the top or inside a function; type-only imports do not count."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module] + [f"{node.module}.{alias.name}" for alias in node.names if node.module == "agi"]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [name for name in found if name.startswith("agi.") and name != "agi.__version__"]


def allowed(name: str) -> set[str]:
    if name in FACES:
        return FACES[name] | {name}
    level = next(n for n, rooms in enumerate(LEVELS) if name in rooms)
    below = set().union(*LEVELS[:level])
    return below | ALSO.get(name, set()) | {name}


FILES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem != "__init__")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_from_its_own_room_and_those_below(path):
    """An arrow that points upward is a wall in the wrong place."""
    where = path.relative_to(ROOT)
    own = where.parts[0].removesuffix(".py")
    may = allowed(own)
    wrong = {
        name
        for name in imports(path)
        if room(name) and room(name) not in may and "*" not in may and (str(where), room(name)) not in LATE
    }
    assert not wrong


def test_every_room_has_its_place():
    """A new room is put on a level before it is used."""
    rooms = {path.stem if path.is_file() else path.name for path in ROOT.iterdir()}
    rooms -= {"__init__", "__pycache__", "py"}
    assert rooms <= set().union(*LEVELS) | set(FACES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_opens_with_what_it_is(path):
    """The first thing in a file says what lives there."""
    assert ast.get_docstring(ast.parse(path.read_text()))
