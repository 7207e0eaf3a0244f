"""`agi search`: find it again, with a daemon or without."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from agi.testing.provider import calls, says


@pytest.fixture(params=["in this process", "by a daemon"])
async def talked(cli, request) -> AsyncIterator[str]:
    """A session with one answered question, reached both ways; gives its id."""
    cli.write("src/parser.py", "def parse_envelope(): pass\n")
    async with cli.answered_by(calls(("read_file", {"path": "src/parser.py"})), says("It is the \x1b[2J needle.")):
        first = await cli("What does the haystack hold?", "--json")
    session_id = str(first.events[0]["session_id"])
    if request.param == "in this process":
        yield session_id
        return
    async with cli.daemon():
        yield session_id


async def test_hits_are_shown_with_what_opens_them(cli, talked):
    """By words, by a part of a name, by a file; nothing of them acts on the terminal."""
    said = await cli("search", "needle")
    named = await cli("search", "envelope", "--kind", "tool")
    touched = await cli("search", "--path", "parser.py", "--kind", "file", "--since", "1d", "--session", talked[-6:])
    opened = await cli("sessions", "show", talked)

    assert (said.code, opened.code) == (0, 0)
    assert talked in said.out
    assert "\\x1b[2J needle" in said.out
    assert "agi sessions show" in said.err
    assert "read_file result" in named.out
    assert "src/parser.py" in touched.out


async def test_programs_get_everything(cli, talked):
    """The same shape as over HTTP."""
    found = json.loads((await cli("search", "haystack", "--json", "--role", "user", "--limit", "1")).out)
    nothing = await cli("search", "zebra")
    later = json.loads((await cli("search", "haystack", "--json", "--until", "1d")).out)

    assert [(hit["session_id"], hit["role"]) for hit in found["hits"]] == [(talked, "user")]
    assert (found["behind"], later["hits"]) == (0, [])
    assert nothing.out == "Nothing was found.\n"


def test_looking_where_nothing_is_makes_nothing(here):
    """No data folder is made by a search."""
    assert here("search", "x").out == "No sessions yet.\n"
    assert json.loads(here("search", "x", "--json").out)["hits"] == []
    assert not (here.project / ".agi").exists()


@pytest.mark.parametrize(
    "words",
    [(), ("x", "--kind", "mesage"), ("x", "--role", "nobody"), ("x", "--limit", "0"), ("x", "--limit", "many")],
)
def test_a_wrong_line_says_what_is_meant(here, words):
    """Before anything is opened."""
    refused = here("search", *words)

    assert refused.code == 2
    assert "agi search --help" in refused.err
    assert not (here.project / ".agi").exists()
