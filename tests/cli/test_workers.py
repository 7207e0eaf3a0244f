"""A worker that an agent started asks: at the command line its question is the user's, as any other of the turn."""

from __future__ import annotations

import json
import re

import pytest
from tests.cli.conftest import Agi

from agi.testing.asked import Asked
from agi.testing.provider import ProviderServer
from agi.testing.replies import Reply, calls, says

LEAD = "---\nname: lead\ntools: [read_file]\npermissions: [agent-draft]\n---\nYou lead.\n"
WRITER = "---\nname: writer\ntools: [write_file]\n---\nYou write.\n"
REPORT = json.dumps({"status": "completed", "summary": "done"})


def script(asked: Asked) -> Reply:
    """The lead has a file written and waits for it; the writer writes it and reports."""
    text = asked.body.decode()
    if "You write." in text:
        return says(REPORT) if asked.question.results else calls(("write_file", {"path": "made.txt", "content": "x"}))
    steps = [
        calls(("draft_agent", {"role": "writer", "prompt": "write it"})),
        calls(("await_agent", {"agent_id": "".join(re.findall(r"sess_[0-9a-f]{32}", text)[:1])})),
        says("All done."),
    ]
    return steps[asked.question.results]


@pytest.fixture
async def led(cli: Agi):
    """A lead and a writer, as the user's own roles."""
    async with ProviderServer(script) as server:
        cli.env["OPENAI_BASE_URL"] = server.base_url
        cli.configure({"defaultModel": "script"})
        (cli.home / "roles").mkdir()
        (cli.home / "roles" / "lead.md").write_text(LEAD)
        (cli.home / "roles" / "writer.md").write_text(WRITER)
        yield cli


async def test_without_a_terminal_a_worker_waits_for_nobody(led):
    """Its call is refused like one of the turn itself: the run ends, says so, and exits with 3."""
    result = await led("--agent", "lead", "have it written", "--timeout", "60")

    assert (result.code, result.out) == (3, "All done.\n")
    assert "refused, since nobody could be asked: write_file (writer)" in result.err


async def test_yes_answers_a_worker_too(led):
    """As far as it answers for the turn itself."""
    result = await led("--agent", "lead", "--yes", "have it written", "--timeout", "60")

    assert (result.code, result.out) == (0, "All done.\n")


async def test_at_a_terminal_a_workers_question_is_put_with_who_asks(led):
    """And the answer goes to the worker."""
    async with led.terminal("--agent", "lead", "have it written") as terminal:
        await terminal.shows("/n/c]: ")
        assert "Asked by the worker writer." in terminal.text
        terminal.type("y\n")

        assert await terminal.ends() == 0
    assert "All done." in terminal.text
