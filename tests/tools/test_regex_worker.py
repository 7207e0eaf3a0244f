"""A search for a regular expression in a process of its own."""

import asyncio
import os

import pytest

from agi.errors import Invalid
from agi.tools import regex_worker
from agi.tools.matches import Match, Query
from agi.tools.patterns import has_engine

pytestmark = pytest.mark.skipif(not has_engine(), reason="google-re2 is not installed")


def query(text, **given):
    return Query(**{"text": text, "path": ".", "is_folder": True, "regex": True, **given})


async def test_it_answers_as_the_engine_would(desk):
    """Also about names that are no text."""
    desk.write("a/b", "x1\nx\n")
    desk.write(os.fsdecode(b"caf\xe9"), "x2\n")

    found = await regex_worker.search(desk.workspace, query(r"x\d"))

    assert found.matches == (Match("a/b", 1, "x1"), Match("caf?", 1, "x2"))


async def test_a_refusal_comes_back_as_one(desk):
    """With its reason."""
    with pytest.raises(Invalid, match="missing"):
        await regex_worker.search(desk.workspace, query("("))


async def test_nothing_of_the_workspace_is_imported(desk, tmp_path):
    """A project may hold modules of any name."""
    for name in ("agi", "re2", "msgspec", "sitecustomize", "encodings"):
        desk.write(f"{name}.py", f"open({str(tmp_path / 'canary')!r}, 'w')\n")
        desk.write(f"{name}/__init__.py", f"open({str(tmp_path / 'canary')!r}, 'w')\n")

    assert (await regex_worker.search(desk.workspace, query("canary"))).matches
    assert not (tmp_path / "canary").exists()


async def test_one_that_takes_too_long_is_ended(desk, monkeypatch):
    """And it is said that not everything was searched."""
    desk.write("a", "x\n")
    monkeypatch.setattr(regex_worker, "TIMEOUT_S", 0.0)

    assert (await regex_worker.search(desk.workspace, query("x"))).partial == "the search took too long"


async def test_canceling_ends_the_process(desk):
    """Whoever no longer wants the answer does not pay for it."""
    desk.write("a", "x\n")
    task = asyncio.create_task(regex_worker.search(desk.workspace, query("x")))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
