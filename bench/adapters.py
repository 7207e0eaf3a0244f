"""What the model adapters cost: a chunk of a streamed answer, and their import."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator

from bench.measures import Ground, Row
from bench.processes import ROOT, cpu_of_runs, paced_provider, provider
from bench.readers import FORMATS

_CHUNKS = 3000
_PACED = 100
_ROUNDS = 5
_WAYS = ("ours", "floor", "sdk")

Reader = subprocess.Popen[str]
Costs = dict[str, float]
"""CPU µs a chunk, by way."""


def chunks() -> list[Row]:
    """A streamed chunk through each adapter, beside a bare reader of the same bytes and beside the provider's SDK."""
    rows = []
    with provider("stream", "--chunks", str(_CHUNKS)) as fast, paced_provider(_PACED) as slow:
        for format in FORMATS:
            with contextlib.ExitStack() as stack:
                readers = {way: stack.enter_context(_reading(way, format)) for way in _WAYS}
                together, alone = _costs(readers, fast, _CHUNKS), _costs(readers, slow, _PACED)
            rows.append(_chunk_row(f"{format} chunk beside httpx2 + msgspec, CPU", together, alone, "floor", 2))
            rows.append(_chunk_row(f"{format} chunk beside the official SDK, CPU", together, alone, "sdk", 0.5))
    return rows


def imports() -> list[Row]:
    """Importing each adapter into a fresh process, beside httpx2; what a bare interpreter takes is left out."""
    codes = {"nothing": "pass", "httpx2": "import httpx2"}
    codes |= {format: f"import {module}" for format, (module, _name) in FORMATS.items()}
    commands: dict[str, tuple[str, ...]] = {name: (sys.executable, "-c", code) for name, code in codes.items()}
    found = cpu_of_runs(commands, Ground().env, ROOT, rounds=7)
    cost = {name: cpu - found["nothing"][0] for name, (cpu, _wall) in found.items()}
    floor = cost["httpx2"]
    return [
        Row(f"{format} import beside httpx2, CPU", cost[format], "ms", floor, "≤ 3×", _held(cost[format] / floor, 3))
        for format in FORMATS
    ]


def _chunk_row(name: str, together: Costs, alone: Costs, other: str, most: float) -> Row:
    """The bar is held against both: chunks as fast as they can be read, and one at a time, as a model writes."""
    ours, floor = together["ours"], together[other]
    ours_alone, floor_alone = alone["ours"], alone[other]
    verdict = _held(max(ours / floor, ours_alone / floor_alone), most)
    note = f"{verdict}; one at a time {ours_alone:.0f} and {floor_alone:.0f} µs, {ours_alone / floor_alone:.2f}×"
    return Row(name, ours, "µs", floor, f"≤ {most:g}×", note)


def _held(ratio: float, most: float) -> str:
    return "pass" if ratio <= most else "MISS"


def _costs(readers: dict[str, Reader], url: str, count: int) -> Costs:
    """Read in turns, so that noise hits all alike, once to warm up; all must hear the same. Medians."""
    rounds = [{way: _read(reader, url) for way, reader in readers.items()} for _ in range(_ROUNDS + 1)]
    if len({text for answers in rounds for _, text in answers.values()}) != 1:
        raise RuntimeError("the readers did not hear the same")
    return {way: statistics.median(answers[way][0] for answers in rounds[1:]) * 1000 / count for way in readers}


@contextlib.contextmanager
def _reading(way: str, format: str) -> Iterator[Reader]:
    command = (sys.executable, "-m", "bench.readers", way, format)
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=Ground().env, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _read(reader: Reader, url: str) -> tuple[float, str]:
    """One answer: CPU ms and what was said."""
    assert reader.stdin is not None
    assert reader.stdout is not None
    reader.stdin.write(url + "\n")
    reader.stdin.flush()
    told = reader.stdout.readline()
    if not told:
        raise RuntimeError("a reader broke off; what it said is above")
    found = json.loads(told)
    return found["cpu_ms"], found["text"]
