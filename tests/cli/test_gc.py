"""`agi gc`: what takes room, and making some; with a daemon or without."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from agi.cli.gc import amount, days, size
from agi.errors import ConfigError
from agi.testing.provider import says


@pytest.fixture(params=["in this process", "by a daemon"])
async def asked(cli, request) -> AsyncIterator[str]:
    """One session; gives its id."""
    async with cli.answered_by(says("Hi.")):
        first = await cli("hello there", "--json")
    session_id = str(first.events[0]["session_id"])
    if request.param == "in this process":
        yield session_id
        return
    async with cli.daemon():
        yield session_id


async def test_what_takes_room_is_said_and_nothing_goes_without_a_limit(cli, asked):
    """By kind, in units people read."""
    looked = await cli("gc", "--dry-run")
    done = await cli("gc")

    assert looked.code == done.code == 0
    assert looked.out.startswith("1 session, ")
    for kind in ("database", "mirrors", "attachments", "artifacts", "checkpoints", "other"):
        assert f"\n  {kind}" in looked.out
    assert looked.out.endswith("Nothing is to be removed.\n")
    assert "Nothing was removed." in done.out
    assert len(json.loads((await cli("sessions", "--json")).out)) == 1


async def test_old_sessions_are_shown_and_then_removed(cli, asked):
    """The one that was named in the dry run."""
    looked = await cli("gc", "--dry-run", "--older-than", "0h")
    kept = json.loads((await cli("gc", "--json", "--older-than", "0h", "--keep", "1")).out)
    done = json.loads((await cli("gc", "--json", "--max-size", "0", "--yes")).out)

    assert f"would be removed: {asked}" in looked.out
    assert "hello there" in looked.out
    assert kept["sessions"] == []
    assert [(one["id"], one["reason"]) for one in done["sessions"]] == [(asked, "size")]
    assert (await cli("sessions")).out == "No sessions yet.\n"


async def test_sessions_are_not_removed_unless_somebody_says_so(cli, asked):
    """Without a terminal that takes --yes; nothing is gone before."""
    done = await cli("gc", "--older-than", "0h")

    assert done.code == 2
    assert "1 session would be removed for good" in done.err
    assert "--yes" in done.err
    assert len(json.loads((await cli("sessions", "--json")).out)) == 1


async def test_a_folder_without_sessions_has_nothing_to_remove(cli):
    """And none is made by looking."""
    done = await cli("gc")
    assert (done.code, done.out) == (0, "No sessions yet.\n")
    assert not (cli.project / ".agi" / "agi.sqlite").exists()


@pytest.mark.parametrize(
    "arguments",
    [("--older-than", "soon"), ("--older-than", "-1d"), ("--max-size", "2XB"), ("--keep", "-1"), ("everything",)],
)
async def test_what_is_not_understood_removes_nothing(cli, asked, arguments):
    """It is said before anything is looked at."""
    done = await cli("gc", *arguments)
    assert done.code == 2
    assert len(json.loads((await cli("sessions", "--json")).out)) == 1


def test_ages_and_sizes_are_written_as_people_do():
    """With a unit, or in days and bytes."""
    assert [days(text) for text in ("90d", "12h", "2w", "1.5", None)] == [90, 0.5, 14, 1.5, None]
    assert [size(text) for text in ("2GB", "1.5 MB".replace(" ", ""), "10kb", "7", None)] == [
        *(2 * 10**9, 1_500_000, 10_000, 7, None)
    ]
    assert [amount(count) for count in (0, 999, 1500, 2 * 10**9, 10**13)] == [
        *("0 B", "999 B", "1.5 KB", "2.0 GB", "10.0 TB")
    ]
    with pytest.raises(ConfigError):
        size("1e9")
