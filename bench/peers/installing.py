"""Peers are installed by name from wherever the user's npm and pip get things, into a folder that is not tracked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.peers.base import Package

ROOT = Path(__file__).parent.parent.parent
CACHE = Path(os.environ.get("AGI_BENCH_CACHE") or ROOT / ".bench")
PATIENCE_S = 300


class Missing(Exception):
    """A peer cannot be had; says why."""


def folder_of(package: Package) -> Path:
    """Where a package of this version is or would be."""
    return CACHE / "peers" / "+".join(package.wants).replace("/", "_").replace("@", "_")


def install(package: Package) -> Path:
    """Make sure that it is there; gives its folder. Raises Missing."""
    folder = folder_of(package)
    if not package.kind or (folder / ".installed").exists():
        return folder
    if package.kind == "npm" and shutil.which("npm") is None:
        raise Missing("there is no npm on this machine")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in _commands(package, folder):
        _run(command, folder)
    (folder / ".installed").touch()
    return folder


def _commands(package: Package, folder: Path) -> list[tuple[str, ...]]:
    if package.kind == "npm":
        quiet = ("--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1")
        return [("npm", "install", *quiet, "--prefix", str(folder), *package.wants)]
    pip = (
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "--retries",
        "1",
    )
    return [(sys.executable, "-m", "venv", str(folder)), (*pip, *package.wants)]


def _run(command: tuple[str, ...], folder: Path) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, cwd=folder)
    except subprocess.TimeoutExpired:
        raise Missing(f"its installation took longer than {PATIENCE_S} s") from None
    if done.returncode:
        raise Missing(f"its installation failed: {reason(done.stderr)}")


def reason(said: str) -> str:
    """The line of an installer's complaint that says most; hosts and paths are left out of it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if "Error:" in line or "notarget" in line or line.startswith("ERROR")]
    words = (telling or lines or ["it does not say why"])[0].removeprefix("npm error").split()
    kept = [word for word in words if "/" not in word and not _is_host(word)]
    return " ".join(kept)[:160]


def _is_host(word: str) -> bool:
    parts = word.strip(".,:'\"()").split(".")
    return len(parts) > 1 and parts[-1].isalpha() and len(parts[-1]) > 1
