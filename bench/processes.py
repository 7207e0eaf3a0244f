"""Starting the programs under measurement and reading what they cost."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
AGI = (str(Path(sys.executable).parent / "agi"),)
TICK = os.sysconf("SC_CLK_TCK")


def environment(home: Path, base_url: str = "") -> dict[str, str]:
    """A clean environment with bytecode caching on, as an installed program has it."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "LANG": "C.UTF-8"}
    if base_url:
        env["OPENAI_BASE_URL"] = base_url
    return env


def run_once(command: tuple[str, ...], env: dict[str, str], cwd: Path) -> tuple[float, float]:
    """Run to the end; returns CPU and wall time in ms, of the whole process tree."""
    began = time.perf_counter()
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    before = os.getcwd()
    os.chdir(cwd)
    try:
        pid = os.posix_spawn(command[0], command, env, file_actions=actions)
    finally:
        os.chdir(before)
        os.close(null)
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with {status}")
    return (usage.ru_utime + usage.ru_stime) * 1000, (time.perf_counter() - began) * 1000


def cpu_of_runs(
    commands: dict[str, tuple[str, ...]], env: dict[str, str], cwd: Path, rounds: int = 9
) -> dict[str, tuple[float, float]]:
    """Run the commands in turns, so that noise hits all alike; median CPU and wall ms of each."""
    for command in commands.values():
        run_once(command, env, cwd)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(run_once(command, env, cwd))
    return {
        name: (statistics.median(cpu for cpu, _ in runs), statistics.median(wall for _, wall in runs))
        for name, runs in found.items()
    }


def cpu_ms(pid: int) -> float:
    """CPU a running process and its ended children have used, in ms (ticks of 10 ms)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(fields[n]) for n in (11, 12, 13, 14)) * 1000 / TICK


def rss_mb(pid: int) -> float:
    """Resident memory in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def provider(*script: str) -> contextlib.AbstractContextManager[str]:
    """The loopback provider server as a process of its own; yields its base URL."""
    return _serving("agi.testing.provider", "--script", *script)


def paced_provider(chunks: int) -> contextlib.AbstractContextManager[str]:
    """The same, sending one chunk at a time."""
    return _serving("bench.paced", str(chunks))


def stamped_provider(words: int, pause: float, block: int = 0) -> contextlib.AbstractContextManager[str]:
    """One whose words say when they were sent, in paragraphs of so many words, or in one."""
    return _serving("bench.stamped", str(words), str(pause), str(block))


@contextlib.contextmanager
def _serving(module: str, *words: str) -> Iterator[str]:
    command = (sys.executable, "-m", module, *words)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.kill()
        process.wait()


class Daemon:
    """A running `agi serve`."""

    def __init__(self, process: subprocess.Popen[str], url: str, token: str) -> None:
        self.pid = process.pid
        self.url = url
        self.token = token


@contextlib.contextmanager
def daemon(project: Path, env: dict[str, str]) -> Iterator[Daemon]:
    """Start a daemon on a free port; yields when it has said its URL."""
    process = subprocess.Popen(
        (*AGI, "serve", "--port", "0", "--project", str(project)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=env,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1].rstrip("/")
        yield Daemon(process, url, json.loads((project / ".agi" / "daemon.json").read_text())["token"])
    finally:
        process.terminate()
        process.wait()


def settle(project: Path, home: Path, model: str = "script") -> None:
    """A project and a user's settings under which nothing is asked and nothing verified."""
    project.mkdir(parents=True, exist_ok=True)
    folder = home / ".config" / "agi"
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "defaultModel": model,
        "approval": {"requireForKinds": []},
        "verify": {"autoVerify": False},
        "agents": {"build": {"maxSteps": 1000}},
    }
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "config.json").chmod(0o600)
