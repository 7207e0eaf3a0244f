"""Leases: which process runs a session. Taken before a turn, renewed while it runs, looked at by every append of it.

A lease is free when it has expired or its owner is provably gone (pid and start time). A row that rotted, so that its
values are not what we write, is no lease. Functions work inside a writer's transaction.
May import: errors, eventlog.base.
"""

from __future__ import annotations

import os
import sqlite3
import time

from agi.errors import Conflict, LeaseLost
from agi.eventlog.base import Lease
from agi.protocol.ids import new_id

TTL_S = 30.0
RENEW_S = 10.0
RELEASED = 0
"""Stands for the expiry of a lease that was given back; its generation stays, so that the next one is higher."""


def process_owner() -> str:
    """A name for this process that no other process, now or later, has: pid, start time and boot."""
    return f"{os.getpid()}:{started_at(os.getpid())}:{_boot()}:{new_id('own')[-8:]}"


def take(db: sqlite3.Connection, session_id: str, owner: str, now: float | None = None) -> Lease:
    """Take a session's lease; raises Conflict while another living process holds it."""
    at = time.time() if now is None else now
    held = _held(db, session_id)
    generation = 1
    if held is not None:
        held_by, held_generation, expires_at = held
        if held_by != owner and expires_at > at * 1000 and is_alive(held_by):
            raise Conflict(
                "Another process is running this session.",
                code="session_busy_elsewhere",
                hint=f"It is process {held_by.split(':')[0]}; wait for it, or stop it first.",
            )
        generation = held_generation + 1
    db.execute(
        "INSERT INTO leases VALUES (?,?,?,?) ON CONFLICT (session_id) DO UPDATE SET"
        " owner=excluded.owner, generation=excluded.generation, expires_at=excluded.expires_at",
        (session_id, owner, generation, int((at + TTL_S) * 1000)),
    )
    return Lease(session_id, owner, generation)


def renew(db: sqlite3.Connection, owner: str, now: float | None = None) -> None:
    """Hold on to every lease of this process a little longer, save those it gave back."""
    at = time.time() if now is None else now
    db.execute(
        "UPDATE leases SET expires_at=? WHERE owner=? AND expires_at<>?", (int((at + TTL_S) * 1000), owner, RELEASED)
    )


def release(db: sqlite3.Connection, lease: Lease) -> None:
    """Give a lease back; harmless if it was lost meanwhile."""
    db.execute(
        "UPDATE leases SET expires_at=? WHERE session_id=? AND owner=? AND generation=?",
        (RELEASED, lease.session_id, lease.owner, lease.generation),
    )


def release_all(db: sqlite3.Connection, owner: str) -> None:
    """Give back every lease of a process that stops."""
    db.execute("UPDATE leases SET expires_at=0 WHERE owner=?", (owner,))


def require(db: sqlite3.Connection, lease: Lease) -> None:
    """Refuse to go on if somebody else took the lease: the fence against a process that was only asleep."""
    row = db.execute("SELECT owner, generation FROM leases WHERE session_id=?", (lease.session_id,)).fetchone()
    if row != (lease.owner, lease.generation):
        raise LeaseLost(
            "Another process has taken over this session.", hint="Follow its events; this process stops its turn."
        )


def is_free(db: sqlite3.Connection, session_id: str, now: float | None = None) -> bool:
    """Tell whether nobody living holds the lease."""
    at = time.time() if now is None else now
    held = _held(db, session_id)
    return held is None or held[2] <= at * 1000 or not is_alive(held[0])


def _held(db: sqlite3.Connection, session_id: str) -> tuple[str, int, int] | None:
    """Who has, or had, the lease, in which generation and until when; None if nobody, or nobody can tell."""
    asked = "SELECT CAST(owner AS BLOB), generation, expires_at FROM leases WHERE session_id=?"
    match db.execute(asked, (session_id,)).fetchone():
        case (bytes(owner), int(generation), int(expires_at)):
            return owner.decode(errors="replace"), generation, expires_at
    return None


def is_alive(owner: str) -> bool:
    """Tell whether the process that called itself `owner` may still run; unknown counts as alive.

    What is no such name is nobody's.
    """
    words = owner.split(":")
    if len(words) != 4 or not words[0].isdecimal():
        return False
    pid, started, boot, _ = words
    if boot != _boot():
        return False
    now = started_at(int(pid))
    return now == started or (now == "?" and os.path.exists(f"/proc/{pid}")) or not os.path.exists("/proc/self/stat")


def started_at(pid: int) -> str:
    """When a process began, in the kernel's ticks: `?` if that cannot be told, nothing if it has ended.

    Who was killed and is not yet collected by its parent, as under a supervisor that never does, has ended. Only a
    first thread that is gone before the others leaves a process that goes on.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return "?"
    state, threads, began = fields[0], fields[17], fields[19]
    return "" if state in (b"Z", b"X") and int(threads) <= 1 else began.decode()


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as boot:
            return boot.read(8)
    except OSError:
        return "?"
