"""A session uses the tools of its project, once the project is trusted and a person agrees."""

from __future__ import annotations

import textwrap
from pathlib import Path

from agi.testing.box import daemon_in_a_box
from agi.trust import set_trust

CODE = """
    from agi_tool import tool

    @tool(kind="read")
    def measure(path: str) -> dict[str, int]:
        return {"size": len(open(path, "rb").read())}
"""


def write(folder: Path, code: str = CODE) -> Path:
    tool = folder / "project/.agi/tools/measure"
    tool.mkdir(parents=True, exist_ok=True)
    (tool / "tool.py").write_text(textwrap.dedent(code))
    (tool / "prompt.txt").write_text("Says how long a file is.")
    (folder / "project/notes.txt").write_text("hello")
    (folder / "home").mkdir(exist_ok=True)
    return tool


def results(events):
    return [event["data"] for event in events if event["type"] in ("tool_call_completed", "tool_call_failed")]


async def test_a_trusted_tool_is_offered_asked_about_and_run(tmp_path: Path) -> None:
    """The model sees its prompt and its schema; a person is asked as about a command."""
    write(tmp_path)
    set_trust(tmp_path / "project", tmp_path / "home", True)
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.calls("measure", path="notes.txt").then_says("Five.")
        turn = await daemon.ask("How long are my notes?")
        question = await turn.question()
        await turn.approve()

        assert await turn.answer() == "Five."
        assert (question["name"], question["rule"], question["risk"]) == ("measure", "kind:exec", "medium")
        offered = {tool.name: tool for tool in daemon.model.requests[0].tools}
        assert offered["measure"].description == "Says how long a file is."
        assert '"size": 5' in str(await daemon.history(turn.session_id))


async def test_an_untrusted_tool_is_not_offered(tmp_path: Path) -> None:
    """Calling it all the same is calling what is not there."""
    write(tmp_path)
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.calls("measure", path="notes.txt").then_says("I cannot.")
        turn = await daemon.ask("How long are my notes?")

        assert await turn.answer() == "I cannot."
        assert "measure" not in {tool.name for tool in daemon.model.requests[0].tools}
        assert (await daemon.get("/v1/tools")).json()["problems"][0]["name"] == "measure"


async def test_a_tool_that_changed_after_it_was_trusted_is_gone(tmp_path: Path) -> None:
    """In a daemon that runs on, from the next turn; and if it changes while a person is asked, it does not run."""
    tool = write(tmp_path)
    set_trust(tmp_path / "project", tmp_path / "home", True)
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.calls("measure", path="notes.txt").then_says("It was not run.").says("Gone.")
        turn = await daemon.ask("How long are my notes?")
        await turn.question()
        (tool / "tool.py").write_text((tool / "tool.py").read_text() + "\n# changed\n")
        await turn.approve()
        assert await turn.answer() == "It was not run."
        assert "no longer trusted as it is" in str(await daemon.history(turn.session_id))

        again = await daemon.ask("And now?")
        assert await again.answer() == "Gone."
        assert "measure" not in {one.name for one in daemon.model.requests[-1].tools}
