"""A process under strace: killed at its n-th write, or with every write it made to disk recorded.

Needs the program `strace`. May be used by the suites of this folder only.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
WRITES = ("pwrite64", "write", "fdatasync", "fsync", "ftruncate", "rename", "renameat2")
SECTOR = 512
_CALL = re.compile(rb"^(\d+) +(\w+)\((.*)$")
_RESUMED = re.compile(rb"^(\d+) +<\.\.\. (\w+) resumed>")
_FD = re.compile(rb"(\d+)<((?:\\x[0-9a-f]{2})*)>(?:, )?")
_TEXT = re.compile(rb'"((?:\\x[0-9a-f]{2})*)"')


def strace(*options: str, output: Path | str = "/dev/null") -> list[str]:
    """The words that put a process and its threads under strace."""
    found = shutil.which("strace")
    assert found, "strace is missing; scripts/system-tools installs it"
    return [found, "-f", "-qq", "-o", str(output), *options]


def run_session(root: Path, *before: str) -> subprocess.CompletedProcess[bytes]:
    """Run `tests.torture.session` below `root`, behind these words."""
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [*before, sys.executable, "-m", "tests.torture.session", str(root)]
    return subprocess.run(command, capture_output=True, env=env, cwd=ROOT, check=False, timeout=120)


def calls_by_thread(trace: Path) -> dict[str, int]:
    """How often each of the traced calls was made at most by one thread: up to there strace can count."""
    counts: dict[tuple[bytes, str], int] = {}
    for line in trace.read_bytes().splitlines():
        if found := _CALL.match(line):
            key = (found[1], found[2].decode())
            counts[key] = counts.get(key, 0) + 1
    return {name: max([n for (_, one), n in counts.items() if one == name], default=0) for name in WRITES}


@dataclass
class File:
    """What a file surely holds, and what was written to it since it was last synced."""

    surely: bytearray = field(default_factory=bytearray)
    since: list[tuple[int, bytes]] = field(default_factory=list)
    """Writes in their order; one of no bytes cuts the file off at its offset."""

    def sync(self) -> None:
        for offset, data in self.since:
            _apply(self.surely, offset, data)
        self.since.clear()

    def after_power_loss(self, chance: random.Random) -> bytes:
        """One of the states a disk may be in: of what was not synced, any part, in any order, torn at any sector."""
        held = bytearray(self.surely)
        luck = chance.choice(("none", "all", "some", "shuffled"))
        left = [] if luck == "none" else list(self.since)
        if luck == "shuffled":
            chance.shuffle(left)
        for offset, data in left:
            if luck != "all" and chance.random() < 0.5:
                continue
            if luck != "all" and data and chance.random() < 0.3:
                data = data[: chance.randrange(0, len(data) + 1, SECTOR)] or data[:1]
            _apply(held, offset, data)
        return bytes(held)


class Disk:
    """Files as a recorded process wrote them, up to some moment; and what it had acknowledged by then."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.said = b""

    def play(self, trace: Path) -> Iterator[int]:
        """Step through the record; after each step the disk is as it was then. Gives the number of the step."""
        lines = trace.read_bytes().splitlines()
        begun: dict[bytes, str] = {}
        for number, line in enumerate(lines):
            if found := _RESUMED.match(line):
                if (path := begun.pop(found[1], None)) is not None:
                    self.files.setdefault(path, File()).sync()
            elif found := _CALL.match(line):
                self._play(found[1], found[2].decode(), found[3], begun)
            yield number

    def _play(self, thread: bytes, name: str, rest: bytes, begun: dict[bytes, str]) -> None:
        at = _FD.match(rest)
        if at is None:
            return
        path, data = _plain(at[2]).decode(), _TEXT.search(rest)
        if name == "write" and at[1] == b"1" and data:
            self.said += _plain(data[1])
        file = self.files.setdefault(path, File())
        if name == "pwrite64" and data:
            offset = int(rest[data.end() :].split(b",")[2].split(b")")[0].split(b"<")[0])
            file.since.append((offset, _plain(data[1])))
        elif name == "ftruncate":
            file.since.append((int(rest[at.end() :].split(b")")[0].split(b"<")[0]), b""))
        elif name in ("fdatasync", "fsync"):
            if b"unfinished" in rest:
                begun[thread] = path  # it counts when it has returned
            else:
                file.sync()


def _apply(held: bytearray, offset: int, data: bytes) -> None:
    if not data:
        del held[offset:]
        held.extend(bytes(max(0, offset - len(held))))
        return
    held.extend(bytes(max(0, offset - len(held))))
    held[offset : offset + len(data)] = data


def _plain(hexed: bytes) -> bytes:
    return bytes.fromhex(hexed.replace(b"\\x", b"").decode())
