"""A workspace that is watched, and calls that change it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from agi.checkpoints.composing import Plan
from agi.checkpoints.nodes import Change
from agi.checkpoints.reverting import carry_out, catch_up, plan_revert
from agi.checkpoints.store import Store
from agi.checkpoints.tracking import Closed, Tracker
from agi.protocol.checkpoints import CheckpointPolicy
from agi.protocol.ids import CHECKPOINT, new_id
from agi.workspace.handle import Workspace


class Watched:
    """A folder, its store, and whoever works in it."""

    def __init__(self, base: Path) -> None:
        self.root = base / "work"
        self.root.mkdir()
        self.data = base / "data"
        self.store = Store(self.data / "checkpoints")
        self.workspace = Workspace.open(self.root)
        self.policy = CheckpointPolicy()
        self._trackers: dict[str, Tracker] = {}

    def tracker(self, session: str = "sess_1") -> Tracker:
        """One tracker a session, as turns have."""
        return self._trackers.setdefault(session, Tracker(self.store, self.workspace, self.policy))

    def step(self, work: Callable[[], object], session: str = "sess_1", **fields: object) -> Closed | None:
        """A call that changes files, watched."""
        tracker = self.tracker(session)
        also = fields.pop("also", ())
        begun = tracker.begin(
            id=new_id(CHECKPOINT),
            session=session,
            turn="turn_1",
            call="call_1",
            also=also,
            **fields,  # type: ignore[arg-type]
        )
        work()
        return tracker.end(begun.step, also=also)  # type: ignore[arg-type]

    def changes(self, work: Callable[[], object], **fields: object) -> list[tuple[str, str]]:
        """What a call is seen to have done, by path: `added`, `modified`, `deleted`."""
        closed = self.step(work, **fields)
        return [] if closed is None else [told(one.change) for one in closed.changes]

    def plan(self, *steps: Closed | None, session: str = "sess_1", forced: tuple[str, ...] = ()) -> Plan:
        """How to take these steps back."""
        ids = [one.step.id for one in steps if one is not None]
        catch_up(self.tracker(session), session)
        return plan_revert(self.tracker(session), session, ids, wanted=lambda paths: paths, forced=lambda paths: forced)

    def revert(self, *steps: Closed | None, session: str = "sess_1", forced: tuple[str, ...] = ()) -> Closed | None:
        """Take these steps back."""
        plan = self.plan(*steps, session=session, forced=forced)
        return carry_out(self.tracker(session), plan.moves, id=new_id(CHECKPOINT), session=session)

    def write(self, name: str, content: str | bytes, mode: int | None = None) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            path.chmod(mode)

    def tree(self) -> dict[str, object]:
        """Everything there is: content and permissions of files, targets of links, folders."""
        found: dict[str, object] = {}
        for folder, folders, files in os.walk(self.root):
            for name in (*folders, *files):
                path = Path(folder) / name
                key = str(path.relative_to(self.root))
                if path.is_symlink():
                    found[key] = f"-> {os.readlink(path)}"
                elif path.is_dir():
                    found[key] = oct(path.stat().st_mode & 0o777)
                else:
                    found[key] = (path.read_bytes(), oct(path.stat().st_mode & 0o777))
        return found


def told(change: Change) -> tuple[str, str]:
    if change.before is None:
        return change.path, "added"
    return change.path, "deleted" if change.after is None else "modified"


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    yield made
    made.workspace.close()
    made.store.close()


SWAP = """
import os, sys
os.chdir(sys.argv[1])
print("ready", flush=True)
while True:
    for name in ("real", "link"):
        os.rename(name, "door")
        os.rename("door", name)
"""


@pytest.fixture
def swapping() -> Callable[[Path], AbstractContextManager[None]]:
    """Another process that lets `door` be now the folder `real`, now the `link`."""

    @contextmanager
    def swap(folder: Path) -> Iterator[None]:
        with subprocess.Popen([sys.executable, "-I", "-S", "-c", SWAP, folder], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            try:
                yield
                assert process.poll() is None
            finally:
                process.kill()

    return swap
