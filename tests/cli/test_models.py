"""`agi models`: which models can be asked, what they hold and what they cost; with a daemon or without."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from agi.cli.model_table import HANDFUL
from agi.testing.model_server import ModelServer, Refusal

ENTRIES = [
    {
        "id": f"model-{number}",
        "max_model_len": 1000 * number,
        "pricing": {"prompt": "0.000001", "completion": "0.00001"},
    }
    for number in range(1, 12)
]


@pytest.fixture(params=["in this process", "by a daemon"])
async def way(cli, request) -> AsyncIterator[str]:
    """A server of one's own and a key for OpenAI, reached both ways."""
    async with ModelServer({"/v1/models": {"object": "list", "data": ENTRIES}}) as server:
        cli.env["OPENAI_API_KEY"] = "sk-canary-123456"
        cli.configure({"providers": {"lab": {"baseUrl": f"{server.url}/v1"}}})
        if request.param == "in this process":
            yield request.param
            return
        async with cli.daemon():
            yield request.param


async def test_a_handful_of_each_provider_is_shown(cli, way):
    """With window and prices; the default is marked and explained, and how to see the rest is said."""
    shown = await cli("models")
    rows = [line.split() for line in shown.out.splitlines()]

    assert shown.code == 0
    assert rows[0] == ["PROVIDER", "MODEL", "WINDOW", "IN", "OUT", "NOTE"]
    assert rows[1] == ["*", "openai", "gpt-5-mini", "400k", "0.25", "2.00"]
    assert ["lab", "model-1", "1k", "1.00", "10.00"] in rows
    assert sum(row[0] == "lab" for row in rows) == HANDFUL
    assert "5 more: --all" in shown.out
    assert "* answers by default: providers.openai.apiKey or OPENAI_API_KEY is set." in shown.err
    assert "canary" not in shown.out + shown.err


async def test_all_of_one_provider_are_shown(cli, way):
    """And nothing of the others."""
    shown = await cli("models", "list", "--provider", "lab", "--all")
    lines = shown.out.splitlines()

    assert [line.split()[1] for line in lines[1:]] == [entry["id"] for entry in ENTRIES]
    assert "openai" not in shown.out


async def test_programs_get_everything(cli, way):
    """One JSON value on stdout: every model with what is known of it, and the default."""
    shown = await cli("models", "--json")
    told = json.loads(shown.out)
    first = next(one for one in told["models"] if one["provider"] == "lab")

    assert len(told["models"]) > 50
    assert told["default"]["model"] == "gpt-5-mini"
    assert first["context_window"] == 1000
    assert first["price"] == {"input_usd": 1.0, "output_usd": 10.0, "cache_read_usd": None, "cache_write_usd": None}
    assert [one["id"] for one in json.loads((await cli("models", "--provider", "lab", "--json")).out)["models"]] == [
        entry["id"] for entry in ENTRIES
    ]


def test_looking_makes_no_data_folder(here):
    """Who only wants to know has not begun to work here."""
    assert here("models").code == 0
    assert not (here.project / ".agi").exists()


async def test_a_server_that_does_not_answer_is_a_note(cli):
    """The rest is listed all the same."""
    async with ModelServer({"/v1/models": Refusal(500)}) as server:
        cli.env["OPENAI_API_KEY"] = "sk-canary-123456"
        cli.configure({"providers": {"lab": {"baseUrl": f"{server.url}/v1"}}})
        shown = await cli("models")
        lab = await cli("models", "--provider", "lab")

    assert shown.code == 0
    assert "gpt-5-mini" in shown.out
    assert f"lab: {server.url} answered with status 500" in shown.err
    assert (lab.code, lab.out) == (0, "")
    assert "answered with status 500" in lab.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("models", "--provider", "opnai"), "No provider 'opnai' is set up."),
        (("models", "lst"), "Did you mean list?"),
        (("models", "list", "more"), "does not take 'list more'"),
        (("models", "--limit", "3"), "There is no option '--limit'"),
    ],
)
def test_what_is_mistyped_is_said(here, arguments, words):
    """With what to do, and without a list."""
    shown = here(*arguments)

    assert shown.code == 2
    assert words in shown.err
    assert shown.out == ""


def test_where_nothing_answers_the_reason_is_said(here):
    """The list is empty, and what is missing is named."""
    here.configure({"defaultProvider": "openai"})
    shown = here("models")

    assert shown.code == 0
    assert "OPENAI_API_KEY" in shown.err
