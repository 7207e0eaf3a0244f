"""The store: private, shared, all or nothing, checked when read."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from agi.checkpoints import ledger
from agi.checkpoints.nodes import Change, Node, key_of
from agi.checkpoints.opened import close_store, store_at
from agi.checkpoints.store import FILE, Store, get_blob, put_blob, stored_bytes
from agi.errors import Damaged, DiskFull, StorageError


def keep(store: Store, data: bytes) -> bytes:
    with store.writing() as db:
        put_blob(db, key_of(data), data)
    return key_of(data)


def kept(store: Store, key: bytes, size: int) -> bytes | None:
    with store.reading() as db:
        return get_blob(db, key, size)


@pytest.mark.parametrize("data", [b"", b"x", b"text " * 1000, os.urandom(100_000)], ids=["none", "x", "text", "noise"])
def test_content_comes_back_as_it_was(tmp_path: Path, data: bytes):
    """Small or large, whether it can be packed or not; after a restart too."""
    store = Store(tmp_path / "c")
    key = keep(store, data)
    store.close()

    assert kept(Store(tmp_path / "c"), key, len(data)) == data


def test_it_is_for_its_owner_alone_and_no_business_of_git(tmp_path: Path):
    """0700 and 0600, whatever the umask says; an ignore file of its own."""
    before = os.umask(0)
    try:
        store = Store(tmp_path / ".agi" / "c")
        keep(store, b"x")
    finally:
        os.umask(before)

    assert oct(store.folder.stat().st_mode & 0o777) == "0o700"
    files = {path.name: oct(path.stat().st_mode & 0o777) for path in store.folder.iterdir()}
    assert set(files.values()) == {"0o600"}
    assert (store.folder / ".gitignore").read_text() == "*\n"
    store.close()


def test_the_same_content_is_kept_once(tmp_path: Path):
    """A hundred files with the same bytes take the room of one."""
    store = Store(tmp_path / "c")
    data = os.urandom(200_000)
    for _ in range(100):
        keep(store, data)
    with store.reading() as db:
        assert stored_bytes(db) < 300_000
    store.close()


def test_what_is_not_what_it_was_is_not_given_out(tmp_path: Path):
    """A blob that somebody altered counts as missing."""
    store = Store(tmp_path / "c")
    key = keep(store, b"text " * 1000)
    with store.writing() as db:
        db.execute("UPDATE blobs SET data=zeroblob(10)")

    assert kept(store, key, 5000) is None
    store.close()


def test_a_bomb_is_unpacked_only_as_far_as_it_may_be(tmp_path: Path):
    """What claims to be five bytes is read as five and one, and then is not what it claims."""
    store = Store(tmp_path / "c")
    key = keep(store, b"\0" * 50_000_000)

    assert kept(store, key, 5) is None
    store.close()


def test_what_is_done_in_a_transaction_is_done_together(tmp_path: Path):
    """A failure inside leaves nothing behind."""
    store = Store(tmp_path / "c")

    def fail() -> None:
        with store.writing() as db:
            put_blob(db, key_of(b"x"), b"x")
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        fail()
    assert kept(store, key_of(b"x"), 1) is None
    store.close()


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path):
    """What was there stays; when there is room again, it goes on."""
    store = Store(tmp_path / "c")
    key = keep(store, b"first")
    with store.reading() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(DiskFull, match="disk is full") as caught:
        keep(store, os.urandom(1_000_000))
    assert "checkpoints.enabled" in caught.value.hint
    assert kept(store, key, 5) == b"first"
    with store.reading() as db:
        db.execute("PRAGMA max_page_count=1000000")

    keep(store, os.urandom(1_000_000))
    store.close()


def test_a_damaged_file_is_set_aside(tmp_path: Path):
    """Work goes on with a new one; the old one is kept to be looked at."""
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / FILE).write_bytes(b"this is no database, and never was one" * 100)
    store = Store(folder)
    key = keep(store, b"x")

    assert kept(store, key, 1) == b"x"
    assert [path.name for path in folder.iterdir() if path.name.endswith(".damaged")]
    store.close()


@pytest.mark.threat("T17")
@pytest.mark.parametrize("name", ["", FILE, f"{FILE}-wal"], ids=["folder", "file", "wal"])
def test_a_link_in_its_place_is_refused(tmp_path: Path, name: str):
    """A repository must not make us write somewhere else."""
    elsewhere = tmp_path / "elsewhere"
    folder = tmp_path / "c"
    if name:
        folder.mkdir()
        elsewhere.write_bytes(b"")
    else:
        elsewhere.mkdir()
    (folder / name if name else folder).symlink_to(elsewhere)

    with pytest.raises(StorageError, match="link") as caught:
        keep(Store(folder), b"x")
    assert caught.value.code == "data_folder_linked"


def test_a_newer_store_is_not_touched(tmp_path: Path):
    """It may hold more than this version knows."""
    store = Store(tmp_path / "c")
    keep(store, b"x")
    store.close()
    db = sqlite3.connect(tmp_path / "c" / FILE)
    db.execute("PRAGMA user_version=99")
    db.close()

    with pytest.raises(StorageError, match="newer version"):
        keep(Store(tmp_path / "c"), b"y")


def test_a_store_of_the_version_before_is_brought_up(tmp_path: Path):
    """What it holds can still be taken back; when things happened, nobody knows of it."""
    store = Store(tmp_path / "c")
    key = keep(store, b"x")
    with store.writing() as db:
        ledger.open_step(db, id="ckpt_1", session="s", turn=None, call="", workspace=1, cause="call")
        ledger.add_changes(db, 1, [Change("a", None, Node("file"))])
    store.close()
    db = sqlite3.connect(tmp_path / "c" / FILE)
    for table, column in (("steps", "began"), ("steps", "ended"), ("changes", "at")):
        db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    db.execute("PRAGMA user_version=1")
    db.commit()
    db.close()

    store = Store(tmp_path / "c")
    assert kept(store, key, 1) == b"x"
    with store.writing() as db:
        step = ledger.find_step(db, "ckpt_1")
        assert step is not None
        assert (step.began, step.ended) == (0, 0)
        assert [one.at for one in ledger.changes_of(db, step)] == [0]
        assert ledger.close_step(db, step) is not None
    store.close()


@pytest.mark.threat("T24")
def test_a_store_that_was_made_elsewhere_is_set_aside(tmp_path: Path):
    """It came with a repository, or was copied: nothing in it is believed."""
    store = Store(tmp_path / "c")
    key = keep(store, b"theirs")
    store.close()
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / FILE).write_bytes((tmp_path / "c" / FILE).read_bytes())
    copied = Store(tmp_path / "d")

    assert kept(copied, key, 6) is None
    assert [path.name for path in (tmp_path / "d").iterdir() if path.name.endswith(".foreign")]
    copied.close()
    (tmp_path / "c").rename(tmp_path / "moved")
    moved = Store(tmp_path / "moved")
    assert kept(moved, key, 6) == b"theirs"
    moved.close()


@pytest.mark.parametrize("version", [0, 1, 99])
def test_a_store_of_another_shape_is_set_aside(tmp_path: Path, version: int):
    """Whoever made it."""
    (tmp_path / "c").mkdir()
    db = sqlite3.connect(tmp_path / "c" / FILE)
    db.execute("CREATE TABLE blobs (x)")
    db.execute(f"PRAGMA user_version={version}")
    db.close()
    store = Store(tmp_path / "c")
    key = keep(store, b"x")

    assert kept(store, key, 1) == b"x"
    store.close()


def test_damage_that_shows_later_is_said(tmp_path: Path):
    """A page that cannot be read is no empty answer."""
    store = Store(tmp_path / "c")
    key = keep(store, os.urandom(500_000))
    store.close()
    path = tmp_path / "c" / FILE
    raw = bytearray(path.read_bytes())
    half = len(raw) // 2
    raw[half:] = b"\xaa" * (len(raw) - half)
    path.write_bytes(raw)

    with pytest.raises((Damaged, StorageError)):
        kept(Store(tmp_path / "c"), key, 500_000)


def test_everyone_in_a_process_shares_one_store(tmp_path: Path):
    """Until it is closed; then it is opened anew."""
    one = store_at(tmp_path)
    assert store_at(tmp_path) is one
    keep(one, b"x")
    close_store(tmp_path)
    close_store(tmp_path)

    assert store_at(tmp_path) is not one
    assert kept(store_at(tmp_path), key_of(b"x"), 1) == b"x"
    close_store(tmp_path)


def test_processes_take_turns(tmp_path: Path):
    """Several of them write at once; nothing is lost and nobody is turned away."""
    code = (
        "import sys; from pathlib import Path; from agi.checkpoints.nodes import key_of\n"
        "from agi.checkpoints.store import Store, put_blob\n"
        "store = Store(Path(sys.argv[1]))\n"
        "for n in range(30):\n"
        "    data = f'{sys.argv[2]} {n}'.encode()\n"
        "    with store.writing(durable=False) as db: put_blob(db, key_of(data), data)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "c"), str(n)]) for n in range(4)]
    assert [one.wait(60) for one in running] == [0, 0, 0, 0]
    store = Store(tmp_path / "c")
    with store.reading() as db:
        assert db.execute("SELECT count(*) FROM blobs").fetchone()[0] == 120
    store.close()
