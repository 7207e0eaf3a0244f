"""The cache on disk: useful, never trusted to be there or to be whole."""

import os
import sqlite3
import subprocess
import sys

import pytest

from agi.index import keeping
from agi.index.finding import Mark
from agi.index.keeping import FILE, Keeping, Kept
from agi.index.symbols import Definition, Symbols

KEPT = Kept(Mark(10, 99), b"digest", Symbols("python", (Definition("f", "function", 1, 2),), {"g": 3}, True))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / ".agi").mkdir()
    return tmp_path / ".agi" / "cache"


def saved(folder):
    first = Keeping(folder)
    first.save([("a.py", KEPT), ("odd\udcff.py", KEPT)], [])
    first.close()


def loaded(folder):
    again = Keeping(folder)
    try:
        return again.load()
    finally:
        again.close()


def test_what_was_saved_is_loaded(folder):
    """Also under names that are no text; what was forgotten is not."""
    saved(folder)
    assert loaded(folder) == {"a.py": KEPT, "odd\udcff.py": KEPT}

    other = Keeping(folder)
    other.save([], ["a.py"])
    other.close()
    assert loaded(folder) == {"odd\udcff.py": KEPT}


def test_it_is_the_owners_alone_and_not_for_git(folder):
    """It may hold names of secret projects, and is of no use to others."""
    saved(folder)

    assert (folder / ".gitignore").read_text() == "*\n"
    assert (folder / FILE).stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("data", [b"", b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_cache_is_made_anew(folder, data):
    """Silently: it only holds what can be found again."""
    saved(folder)
    (folder / FILE).write_bytes(data)
    for end in ("-wal", "-shm"):
        (folder / f"{FILE}{end}").unlink(missing_ok=True)

    assert loaded(folder) == {}
    saved(folder)
    assert loaded(folder)["a.py"] == KEPT


@pytest.mark.parametrize("packed", [b"no zlib", "text", None, 5])
def test_a_row_that_makes_no_sense_discards_all(folder, packed):
    """Somebody else wrote it, so nothing beside it is believed either."""
    saved(folder)
    db = sqlite3.connect(folder / FILE)
    with db:
        db.execute("UPDATE files SET symbols = ? WHERE path = ?", (packed, b"a.py"))
    db.close()

    assert loaded(folder) == {}
    saved(folder)
    assert loaded(folder)["a.py"] == KEPT


def test_other_queries_or_grammars_make_other_symbols(folder, monkeypatch):
    """What an earlier version found is not what this one would find."""
    saved(folder)
    monkeypatch.setattr(keeping, "queries_text", lambda: "something else")

    assert loaded(folder) == {}


def test_another_version_of_a_parser_makes_other_symbols(folder, tmp_path, monkeypatch):
    """It is seen by the folders of what is installed."""
    saved(folder)
    (tmp_path / "site" / "tree_sitter_python-99.0.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, "/nowhere", str(tmp_path / "site")])

    assert loaded(folder) == {}


def test_looking_for_parsers_costs_a_start_little():
    """Every one-shot in a repository comes by here: the standard library's way reads mail headers for it."""
    code = "import sys, agi.index.keeping as one; one._made_by(); print('importlib.metadata' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said == "False\n"


def test_without_a_data_folder_nothing_is_kept(tmp_path):
    """A folder that is none of ours gets none."""
    store = Keeping(tmp_path / ".agi" / "cache")
    store.save([("a.py", KEPT)], [])

    assert store.load() == {}
    assert os.listdir(tmp_path) == []
    assert Keeping(None).load() == {}


@pytest.mark.parametrize("what", [".agi", ".agi/cache", f".agi/cache/{FILE}"])
def test_a_link_in_its_place_is_not_followed(tmp_path, what):
    """A repository that ships one would have us write elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = elsewhere / "file" if what.endswith(FILE) else elsewhere
    if what.endswith(FILE):
        target.write_bytes(b"precious")
    place = tmp_path / "proj" / what
    place.parent.mkdir(parents=True)
    place.symlink_to(target)

    store = Keeping(tmp_path / "proj" / ".agi" / "cache")
    store.save([("a.py", KEPT)], [])
    store.close()

    assert os.listdir(elsewhere) == (["file"] if what.endswith(FILE) else [])
    if what.endswith(FILE):
        assert target.read_bytes() == b"precious"


def test_while_another_writes_nothing_is_lost_but_time(folder, monkeypatch):
    """A cache that is busy is done without; the other's rows stay."""
    saved(folder)
    monkeypatch.setattr(keeping, "_PATIENCE_S", 0.01)
    other = sqlite3.connect(folder / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    mine = Keeping(folder)
    mine.save([("b.py", KEPT)], [])
    other.execute("COMMIT")
    other.close()
    mine.save([("c.py", KEPT)], [])
    mine.close()

    assert sorted(loaded(folder)) == ["a.py", "c.py", "odd\udcff.py"]
