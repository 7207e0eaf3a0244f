"""How many of something, in words."""

from __future__ import annotations

from agi.counts import counted


def test_one_is_one_and_all_else_is_several() -> None:
    """None is several, too; and a word may have a plural of its own."""
    told = [counted(n, "session") for n in (0, 1, 2, 1200)]

    assert told == ["0 sessions", "1 session", "2 sessions", "1,200 sessions"]
    assert [counted(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]
