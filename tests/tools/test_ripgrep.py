"""Searching with ripgrep."""

import os

import pytest

from agi.errors import Invalid
from agi.tools import ripgrep
from agi.tools.matches import Match, Query
from agi.workspace.processes import find_program

needs_ripgrep = pytest.mark.skipif(find_program("rg", os.environ["PATH"]) is None, reason="ripgrep (rg) is not on PATH")
pytestmark = needs_ripgrep


async def search(desk, **asked):
    query = Query(**{"text": "hit", "path": ".", "is_folder": True, **asked})
    return await ripgrep.search(desk.workspace, ripgrep.find_ripgrep(desk.workspace), query)


async def test_a_single_file_is_read_through_an_open_descriptor(desk):
    """Its name is not looked up a second time, so it cannot be swapped for another."""
    desk.write("a/--files", "one\nhit\n")

    found = await search(desk, path="a/--files", is_folder=False)

    assert found.matches == (Match("a/--files", 2, "hit"),)


@pytest.mark.parametrize("text", ["--files", "-e", "--pre=touch canary", "-"])
async def test_a_query_never_becomes_an_option(desk, text):
    """Whatever it begins with, it is looked for."""
    desk.write("a", f"x {text}\n")

    assert (await search(desk, text=text)).matches == (Match("a", 1, f"x {text}"),)
    assert desk.tree().keys() == {"a"}


async def test_a_glob_never_becomes_an_option(desk):
    """Nor does a glob."""
    desk.write("a", "hit\n")

    assert (await search(desk, glob="--files")).matches == ()


async def test_a_name_with_colons_and_newlines_is_told_from_the_line(desk):
    """The file's name ends where ripgrep says it ends."""
    desk.write("a:1:b", "hit\n")

    assert (await search(desk)).matches == (Match("a:1:b", 1, "hit"),)


async def test_a_pattern_that_is_none_is_refused_with_ripgreps_words(desk):
    """The model can correct it."""
    with pytest.raises(Invalid, match="unclosed group"):
        await search(desk, text="(", regex=True)
