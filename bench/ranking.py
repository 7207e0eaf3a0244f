"""What it costs to find the files a question is about, in a generated tree of 7,000 files."""

from __future__ import annotations

import asyncio
import random
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from agi.index.repo import RepoIndex
from agi.index.selecting import Selector
from agi.workspace.handle import Workspace
from bench.measures import Row

FILES = 7_000
FOLDERS = 400
WORDS = 6_000
NAMES = 30_000
QUESTIONS = 60


def ranking() -> list[Row]:
    """A warm question; beside it what comes before: the first index, and the look after an edit."""
    base = Path(tempfile.mkdtemp(prefix="agi-bench-"))
    try:
        return asyncio.run(_measure(base))
    finally:
        shutil.rmtree(base)


async def _measure(base: Path) -> list[Row]:
    words = _vocabulary()
    files = _tree(base / "tree", words)
    read = _timed(lambda: [file.read_bytes() for file in files])
    with Workspace.open(base / "tree") as workspace:
        index = RepoIndex(base / "cache")
        async with Selector(workspace, base / "cache", index=index) as selector:
            began, cpu = time.perf_counter(), time.process_time()
            stalled = await _stall(selector.refresh())
            first, first_cpu = time.perf_counter() - began, time.process_time() - cpu
            bare = await _ask(selector, words)
            began = time.perf_counter()
            linking = 0.0
            while index.links is None:  # what is not read in time is read by the next
                linking = max(linking, await _stall(selector.link()))
            linked = time.perf_counter() - began
            took = await _ask(selector, words)
            edits = [await _edit(selector, file) for file in files[:7]]
        index.close()
    size = (base / "cache" / "words.sqlite").stat().st_size
    whole = sum(file.stat().st_size for file in files)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    walls, cpus = (sorted(one[n] for one in took) for n in (0, 1))
    late = int(len(took) * 0.95)
    asked = f"p95 {walls[late]:.0f} ms; CPU p50 {statistics.median(cpus):.0f} ms, p95 {cpus[late]:.0f}; 4 to 60 words"
    kept = f"CPU {first_cpu:.1f} s; {whole / 1e6:.0f} MB kept in {size / 1e6:.0f} MB; peak {memory:.0f} MB of memory"
    return [
        Row("question, 7,000 files, warm, p50", statistics.median(walls), "ms", None, "< 100 ms", asked),
        Row("question without who uses whom, p50", statistics.median(one[0] for one in bare), "ms", None, "", ""),
        Row("who uses whom, 7,000 files", linked * 1000, "ms", None, "", f"loop stood still {linking * 1000:.0f} ms"),
        Row("refresh after an edit, 7,000 files", statistics.median(edits) * 1000, "ms", None, "", "in a thread"),
        Row("first index, 7,000 files", first * 1000, "ms", read * 1000, "", kept),
        Row("longest the loop stood still meanwhile", stalled * 1000, "ms", None, "", "as the interpreter is shared"),
    ]


async def _ask(selector: Selector, words: list[str]) -> list[tuple[float, float]]:
    """What each question takes, in ms of wall and CPU time; one before them loads the tables."""
    chance = random.Random(2)
    await selector.select("warm")
    took = []
    for _ in range(QUESTIONS):
        text = " ".join(_some(chance, words, chance.choice((4, 8, 15, 60))))
        began, cpu = time.perf_counter(), time.process_time()
        await selector.select(text)
        took.append(((time.perf_counter() - began) * 1000, (time.process_time() - cpu) * 1000))
    return took


async def _stall(work: Coroutine[Any, Any, object]) -> float:
    """How long the event loop did not come round at most, while something else went on."""
    task = asyncio.ensure_future(work)
    longest, last = 0.0, time.perf_counter()
    while not task.done():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    await task
    return longest


async def _edit(selector: Selector, file: Path) -> float:
    file.write_text(file.read_text() + "\nedited = True\n")  # noqa: ASYNC240
    began = time.perf_counter()
    await selector.refresh()
    return time.perf_counter() - began


def _timed(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _vocabulary() -> list[str]:
    chance = random.Random(1)
    sounds = [a + b for a in "bcdfghjklmnprstvw" for b in ("a", "e", "i", "o", "u", "ar", "en", "il", "on", "us")]
    return ["".join(chance.choices(sounds, k=chance.randint(2, 3))) for _ in range(WORDS)]


def _some(chance: random.Random, words: list[str], count: int) -> list[str]:
    """Words, some of which come up far more often than others, as in any text."""
    return [words[int(len(words) ** chance.random()) - 1] for _ in range(count)]


def _tree(root: Path, words: list[str]) -> list[Path]:
    chance = random.Random(3)
    names = ["_".join(_some(chance, words, chance.choice((1, 1, 2, 2, 3)))) for _ in range(NAMES)]
    files = []
    for n in range(FILES):
        folder = root / words[n % FOLDERS // 20] / words[n % FOLDERS]
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for _ in range(chance.randint(10, 220)):
            a, b, c, d = _some(chance, names, 4)
            lines.append(f"def {a}({b}, {c}): return {d}" if chance.random() < 0.1 else f"    {a}.{b}({c}, {d})")
        files.append(folder / f"{words[n % 997]}_{n}.py")
        files[-1].write_text("\n".join(lines))
    return files
