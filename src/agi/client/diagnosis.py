"""Is everything in order here: one finding a subject, each with what to do about it. Looks, and changes nothing.

To be imported late. May import: errors, config, trust, client.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from agi.client.base import ClientSettings
from agi.client.find import open_daemon
from agi.client.inprocess import default_model
from agi.client.running import running_daemon
from agi.config import load_config
from agi.config.files import CONFIG_NAME, PROJECT_DIR
from agi.config.fingerprint import NOTHING
from agi.errors import AgiError, ConfigError
from agi.trust import trust_state

OLDEST_PYTHON = (3, 11)
SLOW_SYNC_MS = 50.0
SYNCS = 5


class Finding(Struct, frozen=True, kw_only=True):
    """What was found about one subject."""

    subject: str
    state: Literal["ok", "note", "broken"]
    text: str
    hint: str = ""


async def diagnose(settings: ClientSettings) -> list[Finding]:
    """Look at everything a first run, or a strange one, may stumble over."""
    found = [_python(), _sqlite(), *_data_folder(settings.project), _database(settings.project)]
    found += [_sync_time(settings.project), await _daemon(settings), _sandbox()]
    found += _settings(settings)
    found += [_program("git", "changes cannot be shown"), _program("rg", "searches are slower", "ripgrep")]
    return found


def _ok(subject: str, text: str) -> Finding:
    return Finding(subject=subject, state="ok", text=text)


def _note(subject: str, text: str, hint: str = "") -> Finding:
    return Finding(subject=subject, state="note", text=text, hint=hint)


def _broken(subject: str, text: str, hint: str = "") -> Finding:
    return Finding(subject=subject, state="broken", text=text, hint=hint)


def _python() -> Finding:
    text = f"{'.'.join(map(str, sys.version_info[:3]))} on {sys.platform}"
    if sys.version_info < OLDEST_PYTHON:
        return _broken("python", text, "agi needs Python 3.11 or newer.")
    return _ok("python", text)


def _sqlite() -> Finding:
    return _ok("sqlite", sqlite3.sqlite_version)


def _data_folder(project: Path) -> Iterator[Finding]:
    if os.access(project, os.W_OK | os.X_OK):
        yield _ok("project", str(project))
    else:
        yield _broken("project", f"{project} cannot be written to.", "Check its permissions.")
    folder = project / PROJECT_DIR
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        yield _ok("data folder", "not there yet; the first session makes it")
        return
    if not os.path.isdir(folder) or os.path.islink(folder):
        yield _broken("data folder", f"{folder} is not a folder.", "Put it elsewhere; agi keeps its data there.")
    elif found.st_uid != os.getuid():
        yield _broken("data folder", f"{folder} belongs to another user.", "Take it over, or work in your own copy.")
    elif found.st_mode & 0o022:
        yield _note("data folder", f"Others can write to {folder}.", f"Run `chmod 700 {folder}`.")
    else:
        yield _ok("data folder", f"{folder} (mode {found.st_mode & 0o777:03o})")


def _database(project: Path) -> Finding:
    path = project / PROJECT_DIR / "agi.sqlite"
    if not path.exists():
        lost = any((project / PROJECT_DIR / "sessions").glob("sess_*/events.ndjson"))
        return _broken("database", "missing", "Run `agi repair`.") if lost else _ok("database", "not there yet")
    try:
        db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        try:
            verdict = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            count = db.execute("SELECT count(*) FROM sessions").fetchone()[0]
        finally:
            db.close()
    except sqlite3.Error as error:
        return _broken("database", f"{path}: {error}", "Run `agi repair`.")
    if verdict != "ok":
        return _broken("database", f"{path}: {verdict}", "Run `agi repair`.")
    return _ok("database", f"readable and whole, {count} sessions")


def _sync_time(project: Path) -> Finding:
    """How long the disk takes to make something durable: every step of a turn waits for that."""
    try:
        descriptor = os.open(project, os.O_TMPFILE | os.O_RDWR, 0o600)
    except (OSError, AttributeError):
        return _note("disk", "the time of a sync could not be measured here")
    try:
        times = sorted(_timed_sync(descriptor) for _ in range(SYNCS))
    finally:
        os.close(descriptor)
    text = f"a sync takes {times[SYNCS // 2]:.1f} ms"
    if times[SYNCS // 2] > SLOW_SYNC_MS:
        return _note("disk", text, "That slows every step of a turn; a local disk is faster.")
    return _ok("disk", text)


def _timed_sync(descriptor: int) -> float:
    began = time.perf_counter()
    os.write(descriptor, bytes(4096))
    os.fsync(descriptor)
    return (time.perf_counter() - began) * 1000


async def _daemon(settings: ClientSettings) -> Finding:
    daemon = running_daemon(settings.project)
    if daemon is None:
        return _ok("daemon", "none is running; commands work without one")
    client = await open_daemon(settings)
    if client is None:
        return _broken(
            "daemon", f"process {daemon.pid} at {daemon.url} does not answer.", "Stop it and start it again."
        )
    await client.close()
    host = daemon.url.partition("//")[2].rpartition(":")[0]
    reach = "loopback only" if host in ("127.0.0.1", "localhost", "[::1]") else "reachable from other machines"
    return _ok("daemon", f"process {daemon.pid} at {daemon.url} ({reach})")


def _sandbox() -> Finding:
    there = "bubblewrap is installed" if shutil.which("bwrap") else "bubblewrap is not installed"
    return _note("sandbox", f"none in this version: commands run as you, once approved ({there})")


def _settings(settings: ClientSettings) -> Iterator[Finding]:
    files = [settings.home_config / CONFIG_NAME, settings.project / PROJECT_DIR / CONFIG_NAME]
    there = [str(path) for path in files if path.exists()]
    try:
        trust = trust_state(settings.project, settings.home_config)
        config = load_config(
            project=settings.project, home_config=settings.home_config, env=settings.env, trusted=trust.trusted
        )
    except ConfigError as error:
        yield _broken("config", error.message, error.hint)
        return
    yield _ok("config", ", ".join(there) or "no files; the defaults count")
    for warning in config.warnings:
        yield _note("config", warning)
    if trust.trusted:
        yield _ok("trust", "this workspace is trusted as it is")
    elif trust.fingerprint == NOTHING:
        yield _ok("trust", "not trusted, and nothing in it needs trust")
    else:
        why = {"changed": "has changed since it was trusted"}.get(trust.reason, "is not trusted")
        yield _note("trust", f"this workspace {why}. {trust.problem}".strip(), "Look at it, then run `agi trust`.")
    yield _model(settings)


def _model(settings: ClientSettings) -> Finding:
    """Which model a question without any option goes to."""
    try:
        agent, choice = default_model(settings)
    except AgiError as error:
        return _broken("model", error.message, error.hint)
    text = f"{choice.model} of {choice.provider} would answer as the agent {agent}: {choice.because}"
    if choice.reason != "nothing_configured":
        return _ok("model", text)
    return _note("model", f"{text}. It is scripted, not an AI model.", "Set OPENAI_API_KEY or OPENAI_BASE_URL.")


def _program(name: str, otherwise: str, called: str = "") -> Finding:
    where = shutil.which(name)
    return _ok(called or name, where) if where else _note(called or name, f"not found: {otherwise}")
