"""The whole run: round by round everyone in turns; what is done is kept, so that a run that broke off goes on."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.peers import costs, report
from bench.peers.base import Peer
from bench.peers.installing import CACHE, ROOT, Missing, install
from bench.peers.known import APART, CONFINED, OURS, OURS_OPEN, PEERS
from bench.peers.measuring import MEASURES, Stand

PAGE = ROOT / "docs" / "benchmarks.md"


class Run(msgspec.Struct):
    """What a run has found so far."""

    began: str
    loads: list[float] = []
    found: dict[str, dict[str, list[float]]] = {}
    """By peer and figure, a number a round."""
    done: list[str] = []
    """Peer, measure and round, of what is measured."""
    skipped: dict[str, str] = {}
    """Who is missing or failed, and why."""


class Keeper:
    """A run on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self.run = msgspec.json.decode(path.read_bytes(), type=Run)
        except (OSError, msgspec.DecodeError):
            self.run = Run(began=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))

    def take(self, key: str, peer: str, figures: dict[str, float]) -> None:
        """Keep what one measure of one peer gave in one round."""
        for figure, value in figures.items():
            self.run.found.setdefault(peer, {}).setdefault(figure, []).append(value)
        self.run.done.append(key)
        self.run.loads.append(os.getloadavg()[0])
        self.save()

    def save(self) -> None:
        """Write it whole or not at all."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(self.run))
        fresh.replace(self._path)

    def finish(self) -> None:
        """Move it out of the way of the next run."""
        self._path.replace(self._path.with_name("last-run.json"))


def peers(names: Sequence[str] = (), *, rounds: int = 0, page: Path | None = PAGE) -> str:
    """Measure everyone, or those named; gives the page's part and puts it there if everyone was measured."""
    costs.adopt_orphans()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    keeper = Keeper(CACHE / ("run.json" if not names else "run-some.json"))
    run = keeper.run
    stands: dict[str, Stand] = {}
    for peer in PEERS:
        if not names or peer.name in names:
            _stand_up(peer, stands, run)
    try:
        for number in range(rounds or max(usual for _, usual in MEASURES.values())):
            for measure, (_, usual) in MEASURES.items():
                if number < (rounds or usual):
                    _round(measure, number, stands, keeper)
        whole = True
    except KeyboardInterrupt:
        whole = False  # what there is is told; the next run goes on from here
    for stand in stands.values():
        shutil.rmtree(stand.ground.root, ignore_errors=True)
    measured = page_of(run, [peer for peer in PEERS if peer.name in run.found])
    if page is not None and not names:
        page.write_text(report.put_into(page.read_text(), measured))
    if whole:
        keeper.finish()
    return measured


def _round(measure: str, number: int, stands: dict[str, Stand], keeper: Keeper) -> None:
    """One measure, once of everyone; a peer that fails it is not asked again."""
    for name, stand in stands.items():
        key = f"{name}/{measure}/{number}"
        if key in keeper.run.done or f"{name}, {measure}" in keeper.run.skipped:
            continue
        began = time.perf_counter()
        try:
            keeper.take(key, name, MEASURES[measure][0](stand))
        except Exception as problem:  # a peer's failure is its figure
            keeper.run.skipped[f"{name}, {measure}"] = _told(problem)
            keeper.save()
        print(f"{key} {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)


def _stand_up(peer: Peer, stands: dict[str, Stand], run: Run) -> None:
    print(f"{peer.name} …", file=sys.stderr, flush=True)
    try:
        install(peer.package)
        stands[peer.name] = Stand(peer)
        run.skipped.pop(peer.name, None)
    except Missing as missing:
        run.skipped[peer.name] = str(missing)
    except Exception as problem:
        run.skipped[peer.name] = f"does not answer: {_told(problem)}"


def _told(problem: Exception) -> str:
    words = " ".join(f"{type(problem).__name__}: {problem}".split()).replace("|", "/")
    return words.replace(str(ROOT), "…")[:300]


def page_of(run: Run, peers: Sequence[Peer]) -> str:
    """What a run says, with who it was measured of and where."""
    loads = f"{min(run.loads):.1f} – {max(run.loads):.1f}" if run.loads else "unknown"
    about = {
        "when": run.began,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "load average": loads,
        "rounds": ", ".join(f"{name} {_rounds_of(name, run)}" for name in MEASURES),
    }
    about |= {peer.name: f"{peer.package.version}; {'; '.join(peer.notes)}" for peer in peers}
    found = {peer.name: run.found[peer.name] for peer in peers}
    spread = report.ranges(found, list(found))
    quiet = [peer.name for peer in peers if peer.shows == "at the end"]
    open_ones = [peer.name for peer in peers if peer.name not in (OURS, *APART, *CONFINED)]
    matches = report.Match("in a sandbox", OURS, CONFINED), report.Match("without one", OURS_OPEN, open_ones)
    field = report.Field(OURS, APART, {"chunk_cpu": quiet}, matches)
    whole = report.page_of(found, about, run.skipped, field)
    return f"{whole}\n\nLeast and most of the rounds:\n\n{spread}"


def _rounds_of(measure: str, run: Run) -> int:
    """How many were had, by whoever had fewest of those that had one."""
    had: dict[str, int] = {}
    for key in run.done:
        name, of, _ = key.rsplit("/", 2)
        if of == measure:
            had[name] = had.get(name, 0) + 1
    return min(had.values(), default=0)
