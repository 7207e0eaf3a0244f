"""The index follows the workspace."""

import os
import threading

import pytest

from agi.index import building
from agi.index.building import bring_up_to_date
from agi.index.postings import Postings
from agi.workspace.handle import Workspace


class Site:
    """A workspace and an index of it."""

    def __init__(self, folder):
        self.root = folder / "project"
        self.root.mkdir()
        self.workspace = Workspace.open(self.root)
        self.kept = Postings(folder / "cache")
        self.stop = threading.Event()

    def write(self, path, content):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def build(self):
        return bring_up_to_date(self.workspace, self.kept, self.stop)

    def having(self, term):
        """The paths of live files with a term."""
        owners = {file.first + n: file.path for file in self.kept.files() for n in range(len(file.lengths))}
        rows = dict(self.kept.of([term]))
        return {owners[posting >> 8] for posting in rows.get(term, ()) if posting >> 8 in owners}


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    made.kept.close()
    made.workspace.close()


def test_only_what_changed_is_indexed_again(site):
    """An edit costs one file, not the project."""
    site.write("a.py", "alpha")
    site.write("b.py", "beta")
    assert site.build().indexed == 2
    site.write("b.py", "gamma ray")
    (site.root / "a.py").unlink()
    built = site.build()
    assert (built.indexed, built.gone, built.complete) == (1, 1, True)
    assert (site.having("alpha"), site.having("beta"), site.having("gamma")) == (set(), set(), {"b.py"})
    assert site.build().indexed == 0


def test_an_edit_that_keeps_size_and_time_is_seen(site):
    """A formatter may put the old time back; the system's own stamp tells."""
    site.write("a.py", "alpha")
    os.utime(site.root / "a.py", ns=(1, 1))
    site.build()
    site.write("a.py", "gamma")
    os.utime(site.root / "a.py", ns=(1, 1))
    site.build()
    assert site.having("gamma") == {"a.py"}


def test_ignored_files_links_and_pipes_are_passed_over(site, tmp_path):
    """What .gitignore names is not ours to index, nor what lies outside."""
    (tmp_path / "secret").write_text("treasure")
    (site.root / "link.py").symlink_to(tmp_path / "secret")
    os.mkfifo(site.root / "pipe")
    site.write(".gitignore", "out/\n")
    site.write("out/made.py", "treasure")
    site.write("node_modules/x.js", "treasure")
    site.write("a.py", "alpha")
    site.build()
    assert {file.path for file in site.kept.files()} == {".gitignore", "a.py"}
    assert site.having("treasur") == set()


def test_huge_and_binary_files_are_known_by_their_paths_only(site):
    """They cost nothing, and can still be named."""
    site.write("huge.js", "alpha " * 300_000)
    site.write("image.png", b"\x89PNG\0alpha")
    site.build()
    chunks = {file.path: len(file.lengths) for file in site.kept.files()}
    assert chunks["huge.js"] == chunks["image.png"] == 0


def test_a_name_that_is_no_text_does_not_stop_the_rest(site):
    """File names are bytes; some are not UTF-8."""
    with open(os.fsencode(site.root) + b"/bad\xff.py", "wb") as file:
        file.write(b"alpha")
    site.write("good.py", "alpha")
    built = site.build()
    assert built.complete
    assert site.having("alpha") == {"good.py"}


def test_a_build_that_is_stopped_goes_on_where_it_was(site, monkeypatch):
    """Batches are kept as they are done."""
    monkeypatch.setattr(building, "BATCH_FILES", 2)
    for n in range(5):
        site.write(f"f{n}.py", "alpha")
    real = site.workspace.read_bytes

    def read_three(path, limit):
        if path == "f3.py":
            site.stop.set()
        return real(path, limit)

    monkeypatch.setattr(site.workspace, "read_bytes", read_three)
    built = site.build()
    assert not built.complete
    site.stop.clear()
    assert site.build().indexed == 5 - built.indexed
    assert len(site.having("alpha")) == 5


def test_a_worn_index_is_made_anew(site, monkeypatch):
    """Dead chunks do not pile up."""
    monkeypatch.setattr(building, "_FEW", 3)
    for n in range(6):
        site.write("a.py", f"alpha{n} " * (n + 1))
        site.build()
    assert site.kept.counted().dead <= 4


def test_in_a_tree_that_is_too_large_what_is_deepest_is_left_out(site, monkeypatch):
    """And it is said that not all is in it."""
    monkeypatch.setattr(building, "MOST_FILES", 2)
    for path in ("a.py", "b.py", "deep/c.py"):
        site.write(path, "alpha")
    assert not site.build().complete
    assert site.having("alpha") == {"a.py", "b.py"}
