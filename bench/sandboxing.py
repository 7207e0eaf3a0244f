"""What a sandbox costs: `true` in it beside `true` without, in a workspace with a repository."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import CONFINING, Ladder
from agi.workspace.processes import child_environment, run_command
from bench.measures import Row

ROUNDS = 60
BAR_MS = 10.0


def sandbox() -> list[Row]:
    """Each rung there is, in turns with plain commands; the least and the median of what it adds."""
    with tempfile.TemporaryDirectory(prefix="agi-bench-") as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        taken = asyncio.run(_measure(Path(folder).resolve()))
    return [_row(rung, taken[rung], taken["plain"]) for rung in taken if rung != "plain"]


async def _measure(workspace: Path) -> dict[str, list[float]]:
    env = child_environment(os.environ, os.getpid())
    ladders = {name: Ladder(env, tried=[name]) for name in CONFINING}
    cells: dict[str, Cell | None] = {"plain": None}
    for rung, ladder in ladders.items():
        if ladder.rung.name == rung:
            cells[rung] = Cell(ladder, Confinement(workspace=workspace))
    taken: dict[str, list[float]] = {rung: [] for rung in cells}
    for _ in range(ROUNDS):
        for rung, cell in cells.items():
            taken[rung].append(await _once(workspace, env, cell))
    return taken


async def _once(workspace: Path, env: dict[str, str], cell: Cell | None) -> float:
    began = time.perf_counter()
    result = await run_command("true", cwd=workspace, timeout_s=30, env=env, on_output=lambda *_: None, cell=cell)
    if result.exit_code != 0:
        raise RuntimeError(f"`true` failed: {result.stderr.head}")
    return (time.perf_counter() - began) * 1000


def _row(rung: str, taken: list[float], plain: list[float]) -> Row:
    over = min(taken) - min(plain)
    bar = f"≤ {BAR_MS:g} ms over, {'pass' if over <= BAR_MS else 'MISS'}" if rung == "bubblewrap" else "none set"
    between = statistics.median(taken) - statistics.median(plain)
    note = f"over plain: least {over:.1f} ms, median {between:.1f} ms, {ROUNDS} rounds"
    return Row(f"`true` in {rung}", min(taken), "ms", min(plain), bar, note)
