"""The edit engine: envelope patches on a file of 500 lines, parsed, matched and put in place, one after another.

Beside each figure stands a floor: a file of the same size written beside the old one and renamed over it, with the same
syncing. In memory (tmpfs) the engine itself shows; on the disk it is the disk.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from agi.editing.changing import change_files
from agi.editing.patches import paths_of
from agi.editing.reading import read_patch
from agi.editing.sections import take_patch
from agi.workspace.handle import Workspace
from bench.measures import Row

LINES = 500
MEMORY = Path("/dev/shm")


def patch() -> list[Row]:
    """Patches a second: in memory, on the disk, and on the disk without waiting for it."""
    rows = []
    if MEMORY.is_dir():
        rows.append(_row("envelope patches, in memory", MEMORY, 3000, "≥ 1,000/s"))
    rows.append(_row("envelope patches, on disk, synced", Path(tempfile.gettempdir()), 300, ""))
    with mock.patch("os.fsync", return_value=None):
        rows.append(_row("envelope patches, on disk, not synced", Path(tempfile.gettempdir()), 2000, ""))
    return rows


def _row(name: str, where: Path, count: int, bar: str) -> Row:
    folder = Path(tempfile.mkdtemp(prefix="agi-bench-", dir=where))
    try:
        floor = _rate(count, _writer(folder))
        before = time.process_time()
        ours = _rate(count, _patcher(folder))
        cpu = (time.process_time() - before) / (count + 20) * 1e6
    finally:
        shutil.rmtree(folder)
    return Row(name, ours, "/s", floor, bar, f"{cpu:.0f} µs of CPU each; floor: write beside and rename")


def _rate(count: int, step: Callable[[int], None]) -> float:
    for number in range(20):
        step(number)
    began = time.perf_counter()
    for number in range(20, 20 + count):
        step(number)
    return count / (time.perf_counter() - began)


def _lines() -> list[str]:
    return [f"    value_{number} = compute({number}, 'some text')  # line {number}" for number in range(LINES)]


def _writer(folder: Path) -> Callable[[int], None]:
    data = "\n".join(_lines()).encode()
    (folder / "floor.py").write_bytes(data)

    def write(_: int) -> None:
        with open(folder / "floor.tmp", "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(folder / "floor.tmp", folder / "floor.py")

    return write


def _patcher(folder: Path) -> Callable[[int], None]:
    lines = _lines()
    (folder / "ours.py").write_text("\n".join(lines) + "\n")
    workspace = Workspace.open(folder)

    def apply(number: int) -> None:
        at = 3 + number * 37 % (LINES - 6)
        new = f"    value_{at} = other({number})"
        body = [*(" " + line for line in lines[at - 3 : at]), "-" + lines[at], "+" + new]
        body += [" " + line for line in lines[at + 1 : at + 4]]
        lines[at] = new
        text = "\n".join(["*** Begin Patch", "*** Update File: ours.py", "@@", *body, "*** End Patch"])
        sections = read_patch(text, workspace.exists)
        paths = [path for section in sections for path in paths_of(section)]
        change_files(workspace, paths, lambda draft: take_patch(draft, sections))

    return apply
