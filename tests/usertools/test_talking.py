"""Talking with the program inside: it runs where it was judged to run, or not at all."""

from __future__ import annotations

import pytest

from agi.errors import Unavailable
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.usertools.cells import cell_to_run
from agi.usertools.talking import Limits, talk

from .conftest import LADDERS

LIMITS = Limits(seconds=20, output=10_000, answer=10_000)


async def test_a_tool_does_not_run_where_less_holds_it_than_was_said(tmp_path, monkeypatch):
    """Not even when its sandbox is built again after it failed."""
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    ladder = Ladder(env)
    cell = Cell(ladder, Confinement(workspace=tmp_path.resolve()))
    if not cell.rung.confines:
        pytest.skip(f"no sandbox works here: {cell.rung.why}")
    monkeypatch.setattr("agi.sandbox.ladder.find_namespaces", lambda *_: None)
    monkeypatch.setattr("agi.sandbox.ladder.find_trusted", lambda *_: None)
    monkeypatch.setattr("agi.sandbox.ladder.landlock_version", lambda: 0)
    ladder.failed()

    for narrowed in (cell, cell_to_run(cell, "read")):
        with pytest.raises(Unavailable) as refused:
            await talk(b"{}", cwd=tmp_path, cell=narrowed, limits=LIMITS, on_bytes=lambda *_: None)
        assert refused.value.code == "sandbox_changed"


async def test_where_a_sandbox_is_required_no_tool_runs_without(tmp_path):
    """As for commands."""
    cell = Cell(LADDERS["none"], Confinement(workspace=tmp_path.resolve(), must_confine=True))

    with pytest.raises(Unavailable) as refused:
        await talk(b"{}", cwd=tmp_path, cell=cell_to_run(cell, "write"), limits=LIMITS, on_bytes=lambda *_: None)

    assert refused.value.code == "sandbox_required"
