"""What the index costs on a generated repository of 5,000 files: made, brought up to date after an edit, drawn."""

from __future__ import annotations

import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agi.index.parsing import Parsing
from agi.index.repo import RepoIndex
from agi.workspace.handle import Workspace
from bench.measures import Row

FILES = 5_000
ROUNDS = 15
BUDGET = 2_000
WORDS = ("alpha", "config", "request", "handler", "parse", "token", "buffer", "stream", "order", "price", "cache")


def grow(root: Path) -> None:
    """Six functions a file; each calls four others, most of them in a few files that many use."""
    chance = random.Random(1)
    names = [["_".join(chance.choices(WORDS, k=3)) for _ in range(6)] for _ in range(FILES)]
    for number in range(FILES):
        lines = []
        for function in range(6):
            lines.append(f"def {names[number][function]}_{number}_{function}(value, other):")
            for _ in range(4):
                used, at = int(FILES * chance.random() ** 3), chance.randrange(6)
                lines.append(f"    value = {names[used][at]}_{used}_{at}(value, other)")
            lines.append("    return value\n")
        folder = root / f"pkg{number // 20 % 50:02}" / f"mod{number // 1000:03}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number % 20:02}.py").write_text("\n".join(lines))


def repomap() -> list[Row]:
    """The index, cold and warm."""
    folder = Path(tempfile.mkdtemp(prefix="agi-bench-"))
    parsing = Parsing()
    try:
        root = folder / "tree"
        (root / ".agi").mkdir(parents=True)
        grow(root)
        time.sleep(0.1)  # files this young are looked at twice
        with Workspace.open(root) as workspace:
            return _rows(root, workspace, parsing)
    finally:
        parsing.close()
        shutil.rmtree(folder, ignore_errors=True)


def _rows(root: Path, workspace: Workspace, parsing: Parsing) -> list[Row]:
    cache = root / ".agi" / "cache"
    index = RepoIndex(cache, parsing=parsing)
    cold = _timed(lambda: index.refresh(workspace, seconds=600))
    first = _timed(lambda: index.map(BUDGET))
    updates, draws, still, spent = [], [], [], []
    edited = root / "pkg03" / "mod001" / "f05.py"
    source = edited.read_text()
    for number in range(ROUNDS):
        fresh = edited.with_suffix(".new")
        fresh.write_text(f"{source}\n\ndef added_{number}(value):\n    return added_{number - 1}(value)\n")
        os.replace(fresh, edited)
        began = time.process_time()
        updates.append(_timed(lambda: index.refresh(workspace)))
        spent.append((time.process_time() - began) * 1000)
        if f"added_{number}" not in str(index.symbols("pkg03/mod001/f05.py")):
            raise RuntimeError("the edit was not taken in")
        draws.append(_timed(lambda: index.map(BUDGET, ["pkg03/mod001/f05.py"])))
        time.sleep(0.05)
        index.refresh(workspace)
        still.append(_timed(lambda: index.refresh(workspace)))
    loaded = _timed(lambda: RepoIndex(cache, parsing=parsing).refresh(workspace))
    tree, middle = f"{FILES:,} files", statistics.median
    return [
        Row("repo map, cold build per 1,000 files", cold / FILES * 1000, "ms", None, "", "parsed in another process"),
        Row(f"repo map, {tree}: first map", first, "ms", None, "", "all edges are worked out"),
        Row(
            f"repo map, {tree}: update after an edit",
            statistics.median(updates),
            "ms",
            None,
            "< 50 ms",
            _spread(updates, spent),
        ),
        Row(f"repo map, {tree}: update, nothing changed", middle(still), "ms", None, "", _spread(still)),
        Row(f"repo map, {tree}: ranks and map after an edit", middle(draws), "ms", None, "", _spread(draws)),
        Row(f"repo map, {tree}: another process, from the cache", loaded, "ms", None, "", ""),
    ]


def _spread(values: list[float], spent: list[float] | None = None) -> str:
    told = f"{min(values):.0f} to {max(values):.0f} ms"
    return f"{told}; CPU in this process {statistics.median(spent):.0f} ms" if spent else told


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000
