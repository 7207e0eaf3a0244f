"""Room set aside for a last word: made late, given up once, made again, and never in anybody's way."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agi.errors import DiskFull
from agi.eventlog.log import EventLog
from agi.eventlog.reserve import AGAIN_S, SIZE, Reserve
from agi.protocol import events as ev
from agi.views.tables import Tables

FULL = ev.Notice(code=ev.DISK_FULL, message="The disk is full.")


def fill(disk: Path, leave: int = 0) -> Path:
    """Take up the room there is, save for `leave` bytes."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)) == 4096:
                pass
        except OSError:
            file.truncate(file.tell() - leave)
    return ballast


async def for_ever(write: Callable[[], Awaitable[object]]) -> None:
    """Use up what room is left in files that are there already."""
    while True:
        await write()


def taken(path: Path) -> int:
    return os.lstat(path).st_blocks * 512


def test_it_takes_real_room_for_the_user_alone(tmp_path: Path) -> None:
    """Blocks of the disk, not a hole in a file; and once for a database, however often it is asked for."""
    reserve = Reserve(tmp_path / "agi.sqlite")

    assert reserve.keep()
    assert reserve.keep()

    assert [path.name for path in tmp_path.iterdir()] == ["agi.sqlite.reserve"]
    assert taken(reserve.path) == os.lstat(reserve.path).st_size == SIZE
    assert os.lstat(reserve.path).st_mode & 0o777 == 0o600


def test_what_was_given_up_is_gone_until_there_is_room(small_disk: Path) -> None:
    """It can be given up once; on a disk with just as much room as it takes, it is not made again."""
    reserve = Reserve(small_disk / "agi.sqlite")
    reserve.keep()
    ballast = fill(small_disk)

    assert reserve.give_up()
    assert reserve.is_spent
    assert not reserve.give_up()
    assert not reserve.keep()
    assert not reserve.path.exists()
    ballast.unlink()
    assert reserve.keep()
    assert not reserve.is_spent


def test_a_disk_without_room_for_a_name_has_none_for_the_reserve(small_disk: Path) -> None:
    """What was given up counts as spent until it is there again, also where not even an empty file can be made."""
    reserve = Reserve(small_disk / "agi.sqlite")
    reserve.keep()
    reserve.give_up()
    subprocess.run(["mount", "-o", "remount,nr_inodes=2", str(small_disk)], check=True)
    (small_disk / "last").touch()

    assert not reserve.keep()
    assert reserve.is_spent
    (small_disk / "last").unlink()
    assert reserve.keep()
    assert not reserve.is_spent


def test_where_the_system_cannot_allocate_room_is_taken_by_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not every system can; whoever writes the log must not fail by it."""
    monkeypatch.delattr(os, "posix_fallocate")
    reserve = Reserve(tmp_path / "agi.sqlite")
    reserve.want()
    reserve.tend()

    assert os.lstat(reserve.path).st_size == SIZE
    assert not reserve.is_spent


def test_a_process_that_did_not_make_it_may_give_it_up(tmp_path: Path) -> None:
    """Several processes share a project; what one of them set aside is there for all."""
    Reserve(tmp_path / "agi.sqlite").keep()

    assert Reserve(tmp_path / "agi.sqlite").give_up()


def test_one_that_a_kill_left_unfinished_is_made_anew(tmp_path: Path) -> None:
    """A file of the name that holds no room is no reserve."""
    reserve = Reserve(tmp_path / "agi.sqlite")
    reserve.path.write_bytes(b"")

    assert not reserve.give_up()
    assert reserve.keep()
    assert taken(reserve.path) == SIZE


@pytest.mark.threat("T17")
def test_a_link_of_its_name_is_neither_followed_nor_removed(tmp_path: Path) -> None:
    """A repository cannot make the harness write, or delete, somewhere else; writing goes on without a reserve."""
    (tmp_path / "precious").write_text("mine")
    reserve = Reserve(tmp_path / "agi.sqlite")
    reserve.path.symlink_to(tmp_path / "precious")

    assert not reserve.keep()
    assert not reserve.give_up()

    assert not reserve.is_spent
    assert reserve.path.is_symlink()
    assert (tmp_path / "precious").read_text() == "mine"


def test_where_there_was_no_room_at_first_it_is_tried_again_after_a_while(small_disk: Path) -> None:
    """A daemon that starts on a full disk gets its reserve when there is room, without looking at every write."""
    now = 0.0
    reserve = Reserve(small_disk / "agi.sqlite", clock=lambda: now)
    ballast = fill(small_disk)
    reserve.want()
    reserve.tend()
    ballast.unlink()

    reserve.tend()
    assert not reserve.path.exists()
    now = AGAIN_S
    reserve.tend()
    assert reserve.path.exists()


async def test_nothing_is_set_aside_until_somebody_asks(log: EventLog, story) -> None:  # type: ignore[no-untyped-def]
    """A run of one question pays nothing for it; a daemon asks once it has started."""
    reserve = log.path.with_name("agi.sqlite.reserve")
    assert not reserve.exists()

    await log.keep_reserve()
    await story.note()  # the writer comes to it between two commits

    assert taken(reserve) == SIZE


@pytest.mark.threat("T47")
async def test_a_last_word_is_written_on_a_full_disk_and_nothing_else_uses_its_room(small_disk: Path, tell) -> None:  # type: ignore[no-untyped-def]
    """The word is durable; everything else is refused whole until there is room to set aside again."""
    log = EventLog(small_disk / ".agi", Tables())
    story = tell(log)
    await story.begin()
    await log.keep_reserve()
    await story.note()
    lease = await log.take_lease(story.id)
    await log.mirrored()
    ballast = fill(small_disk)
    with pytest.raises(DiskFull):
        await for_ever(lambda: story.write(*(ev.Notice(code="n", message="x" * 2000) for _ in range(20))))
    before = log.last_seq(story.id)

    (said,) = await log.append_last_word(story.id, [(story.turn, FULL)], lease=lease)
    with pytest.raises(DiskFull):
        await story.note("me too")

    assert (said.seq, log.last_seq(story.id)) == (before + 1, before + 1)
    ballast.unlink()
    assert (await story.note("on")).seq == before + 2
    assert taken(log.path.with_name("agi.sqlite.reserve")) == SIZE
    await log.close()


async def test_without_a_reserve_a_last_word_is_refused_like_any_other(small_disk: Path, tell) -> None:  # type: ignore[no-untyped-def]
    """Then the disk is simply full; with room again there is nothing to make up for."""
    log = EventLog(small_disk / ".agi", Tables())
    story = tell(log)
    await story.begin()
    lease = await log.take_lease(story.id)
    await log.mirrored()
    ballast = fill(small_disk)
    with pytest.raises(DiskFull):
        await for_ever(lambda: log.append_last_word(story.id, [(story.turn, FULL)], lease=lease))
    before = log.last_seq(story.id)
    ballast.unlink()

    assert (await story.note("on")).seq == before + 1
    await log.close()
