"""What a checkpoint costs: the first look at a workspace of 5,000 files, and the look after one of them was edited."""

from __future__ import annotations

import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agi.checkpoints.store import Store
from agi.checkpoints.tracking import Tracker
from agi.protocol.checkpoints import CheckpointPolicy
from agi.workspace.handle import Workspace
from bench.measures import Row

FILES = 5000
FOLDERS = 300
ROUNDS = 15


def checkpoint() -> list[Row]:
    """Beside a bare walk that asks for the status of every file, and a bare read of all of them."""
    base = Path(tempfile.mkdtemp(prefix="agi-bench-"))
    try:
        root = base / "tree"
        files = _tree(root)
        with Workspace.open(root) as workspace:
            store = Store(base / "checkpoints")
            tracker = Tracker(store, workspace, CheckpointPolicy())
            first, first_cpu = _timed(lambda: tracker.look())
            read, _ = _timed(lambda: [file.read_bytes() for file in files])
            warm, floors = _edits(tracker, files)
            size = (base / "checkpoints" / "objects.sqlite").stat().st_size
            store.close()
        whole = sum(file.stat().st_size for file in files)
    finally:
        shutil.rmtree(base)
    wall, cpu = (statistics.median(one[n] for one in warm) for n in (0, 1))
    again = f"CPU {cpu:.0f} ms; slowest {max(one[0] for one in warm):.0f} ms"
    kept = f"CPU {first_cpu:.0f} ms; {whole / 1e6:.0f} MB kept in {size / 1e6:.0f} MB; once a workspace"
    return [
        Row("checkpoint after an edit, 5,000 files", wall, "ms", statistics.median(floors), "< 50 ms", again),
        Row("first checkpoint, 5,000 files", first, "ms", read, "", kept),
    ]


def _edits(tracker: Tracker, files: list[Path]) -> tuple[list[tuple[float, float]], list[float]]:
    warm, floors = [], []
    for n in range(ROUNDS):
        begun = tracker.begin(id=f"ckpt_{n}", session="sess_1", turn=None, call="")
        files[n].write_bytes(files[n].read_bytes() + b"\n# edited\n")
        warm.append(_timed(lambda begun=begun: tracker.end(begun.step)))  # type: ignore[misc]
        floors.append(_timed(lambda: _walked(str(tracker.workspace.root)))[0])
    return warm, floors


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU time in ms."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


def _walked(folder: str) -> int:
    count = 0
    with os.scandir(folder) as found:
        for item in found:
            item.stat(follow_symlinks=False)
            count += _walked(item.path) if item.is_dir(follow_symlinks=False) else 1
    return count


def _tree(root: Path) -> list[Path]:
    chance = random.Random(1)
    words = Path(random.__file__).read_text().split()
    files = []
    for n in range(FILES):
        folder = root / f"part{n % FOLDERS // 20}" / f"module{n % FOLDERS}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = (" ".join(chance.choices(words, k=8)) for _ in range(chance.randint(20, 300)))
        files.append(folder / f"file_{n}.py")
        files[-1].write_text("\n".join(lines))
    return files
