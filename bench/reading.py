"""What the reading tools cost on a tree of 50,000 files, beside the programs that ask the same of it."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Raw

from agi.tools.base import Registry, ToolCall, ToolContext
from agi.tools.builtin import builtin_tools
from agi.workspace.handle import Workspace
from bench.measures import Row

FILES = 50_000
ROUNDS = 11
WORDS = ("alpha", "config", "request", "handler", "parse", "token", "buffer", "stream", "value", "error", "retry")
ENDINGS = (".py", ".py", ".js", ".ts", ".md", ".go", ".rs", ".json", ".txt", ".c")


def grow(root: Path) -> None:
    """A repository of small files, twenty a folder; ten of them hold what is looked for."""
    chance = random.Random(4)
    for number in range(FILES):
        folder = root / f"pkg{number // 20 % 50:02}" / f"mod{number // 1000:03}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = ["_".join(chance.choices(WORDS, k=3)) + " = " + " ".join(chance.choices(WORDS, k=5)) for _ in range(30)]
        if number % 5000 == 7:
            lines.append("the_needle = found")
        (folder / f"f{number % 20:02}{chance.choice(ENDINGS)}").write_text("\n".join(lines) + "\n")
    (root / ".gitignore").write_text("*.pyc\nbuild/\n/dist\nnode_modules\n")
    quiet = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "user.name=b", "-c", "user.email=b@b")
    for command in ("init -q .", "add -A", "commit -qm first"):
        subprocess.run(["git", *quiet, *command.split(" ")], cwd=root, check=True, capture_output=True)


class Desk:
    """The tools on that tree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.registry = Registry(builtin_tools())
        self.context = ToolContext(
            workspace=Workspace.open(root),
            artifacts=root.parent / "artifacts" / "turn",
            artifact_ref="artifacts/turn",
            output=lambda *_: None,
        )

    async def use(self, name: str, **given: object) -> None:
        result = await self.registry.invoke(self.context, ToolCall("call", name, Raw(json.dumps(given).encode())))
        if not result.ok:
            raise RuntimeError(result.error)


async def _beside(desk: Desk, name: str, given: dict[str, object], program: list[str]) -> tuple[float, float]:
    """A tool and a program in turns, so that noise hits both alike; the median of each in ms."""
    ours, floor = [], []

    async def tool() -> None:
        await desk.use(name, **given)

    def run() -> None:
        subprocess.run(program, cwd=desk.root, check=True, capture_output=True)

    for number in range(ROUNDS + 2):
        began = time.perf_counter()
        await tool()
        between = time.perf_counter()
        await asyncio.to_thread(run)
        if number >= 2:
            ours.append((between - began) * 1000)
            floor.append((time.perf_counter() - between) * 1000)
    return statistics.median(ours), statistics.median(floor)


def _measured(measure: Callable[[Desk], list[Row]]) -> list[Row]:
    folder = Path(tempfile.mkdtemp(prefix="agi-bench-"))
    try:
        (folder / "tree").mkdir()
        grow(folder / "tree")
        return measure(Desk(folder / "tree"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def search() -> list[Row]:
    """A text that ten of the files have, and one that none has, beside ripgrep."""
    return _measured(_search)


def _search(desk: Desk) -> list[Row]:
    rows = []
    for what, given in {
        "ten matches": {"query": "the_needle"},
        "a pattern": {"query": r"the_n\w+dle =", "regex": True},
        "files only": {"query": "the_needle", "files_only": True},
    }.items():
        program = ["rg", "--no-config", str(given["query"]), "./"]
        ours, floor = asyncio.run(_beside(desk, "search", given, program))
        rows.append(Row(f"search {FILES:,} files, {what}", ours, "ms", floor, "≤ 1.3×", "floor: ripgrep itself"))
    return rows


def repo_tree() -> list[Row]:
    """The tree as it is shown first, beside what git lists."""
    return _measured(_repo_tree)


def _repo_tree(desk: Desk) -> list[Row]:
    ours, floor = asyncio.run(_beside(desk, "repo_tree", {}, ["git", "ls-files"]))
    return [Row(f"repo_tree of {FILES:,} files", ours, "ms", floor, "≤ 1.5×", "floor: git ls-files")]
