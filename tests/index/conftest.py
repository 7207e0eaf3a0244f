"""What the tests of the index share: a workspace on disk, and one process that parses for all of a file."""

import os
import time

import pytest

from agi.index.parsing import Parsing
from agi.index.repo import RepoIndex
from agi.workspace.handle import Workspace


class Place:
    """A workspace whose files are written as an editor would."""

    def __init__(self, root):
        self.root = root
        self.workspace = Workspace.open(root)

    def write(self, path, text, *, old=True):
        """Write a file; unless told otherwise, some time ago, so that its time is one to rely on."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        data = text if isinstance(text, bytes) else text.encode()
        fresh = target.with_name(target.name + "~new")
        fresh.write_bytes(data)
        os.replace(fresh, target)
        if old:
            self.settle()

    @staticmethod
    def settle():
        """Let the clock of the disk go on, past the time in which two changes look like one."""
        time.sleep(0.025)


@pytest.fixture
def place(tmp_path):
    """A workspace with a folder for data."""
    root = tmp_path / "proj"
    (root / ".agi").mkdir(parents=True)
    made = Place(root)
    yield made
    made.workspace.close()


@pytest.fixture(scope="module")
def parsing():
    """The process that parses."""
    made = Parsing()
    yield made
    made.close()


@pytest.fixture
def index(place, parsing):
    """The index of that workspace, with a cache."""
    return RepoIndex(place.root / ".agi" / "cache", parsing=parsing)
