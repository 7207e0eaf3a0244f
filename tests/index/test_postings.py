"""The index file."""

import sqlite3
from array import array

import pytest

from agi.index.postings import FILE, Indexed, Overtaken, Postings


@pytest.fixture
def kept(tmp_path):
    postings = Postings(tmp_path / "cache")
    yield postings
    postings.close()


def put(kept, path, *chunks, stamp="1", gone=()):
    """Index a file whose chunks are given as lists of terms."""
    first = kept.counted().chunks
    rows = {}
    for n, terms in enumerate(chunks):
        for term in terms:
            rows.setdefault(term, array("I")).append((first + n) << 8 | 1)
    kept.change(gone, [Indexed(path, stamp, first, [len(terms) for terms in chunks])], rows)


def test_what_was_put_in_is_there_for_another_process(kept, tmp_path):
    """The file is the index; nothing is in memory only."""
    put(kept, "a.py", ["alpha", "beta"], ["beta"])
    other = Postings(tmp_path / "cache")
    assert dict(other.of(["alpha", "beta", "none"])) == {"alpha": array("I", [1]), "beta": array("I", [1, 257])}
    assert [(file.path, list(file.lengths)) for file in other.files()] == [("a.py", [2, 1])]
    other.close()


def test_a_changed_file_gets_new_chunks_and_its_old_ones_are_dead(kept):
    """Nothing is rewritten."""
    put(kept, "a.py", ["alpha"])
    before = kept.version()
    put(kept, "a.py", ["gamma"], stamp="2")
    assert [(file.stamp, file.first) for file in kept.files()] == [("2", 1)]
    assert (kept.counted().chunks, kept.counted().dead) == (2, 1)
    assert kept.version() != before


def test_two_writers_never_give_one_number_twice(kept, tmp_path):
    """Who comes second is told to look again, and changes nothing."""
    kept.counted()
    other = Postings(tmp_path / "cache")
    put(other, "b.py", ["beta"])
    with pytest.raises(Overtaken):
        kept.change((), [Indexed("a.py", "1", 0, [1])], {"alpha": array("I", [1])})
    assert [file.path for file in kept.files()] == ["b.py"]
    other.close()


def test_the_file_is_private_and_may_vanish_at_any_time(kept, tmp_path):
    """It is a cache: deleting it costs time only."""
    put(kept, "a.py", ["alpha"])
    file = tmp_path / "cache" / FILE
    assert file.stat().st_mode & 0o077 == 0
    for path in (tmp_path / "cache").iterdir():
        path.unlink()
    assert kept.files() == []


def test_a_file_that_is_no_database_or_of_another_version_is_said_to_be_damaged(kept, tmp_path):
    """Whoever uses it removes it then."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / FILE).write_bytes(b"nonsense" * 1000)
    with pytest.raises(sqlite3.DatabaseError):
        kept.files()
    kept.remove()
    assert kept.files() == []
    kept.close()
    db = sqlite3.connect(tmp_path / "cache" / FILE)
    db.execute("PRAGMA user_version=77")
    db.close()
    with pytest.raises(sqlite3.DatabaseError):
        kept.files()


def test_a_link_in_its_place_is_not_followed(kept, tmp_path):
    """What lies in a project must not make us write elsewhere."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        kept.files()
    assert not (tmp_path / "elsewhere").exists()
