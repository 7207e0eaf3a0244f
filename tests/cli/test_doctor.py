"""`agi doctor`: what is in order, what is not, and what to do."""

from __future__ import annotations

import json


async def findings(cli) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit code, and state and text of each subject (of several, the last)."""
    result = await cli("doctor", "--json")
    told = json.loads(result.out)
    assert told["ok"] == (result.code == 0)
    return result.code, {one["subject"]: (one["state"], one["text"]) for one in told["findings"]}


async def test_an_empty_folder_is_in_order_and_stays_empty(cli):
    """Looking changes nothing."""
    code, found = await findings(cli)

    assert code == 0
    assert {state for state, _ in found.values()} <= {"ok", "note"}
    assert found["model"][1].startswith("demo of scripted would answer")
    assert "none in this version" in found["sandbox"][1]
    assert "a sync takes" in found["disk"][1] or "could not be measured" in found["disk"][1]
    assert not list(cli.project.iterdir())


async def test_people_get_a_line_for_each_finding(cli):
    """With a mark, a subject and a hint where there is one."""
    result = await cli("doctor")

    assert result.code == 0
    assert "✓ python" in result.out
    assert "OPENAI_API_KEY" in result.out


async def test_it_says_which_model_would_answer_and_why(cli):
    """By the same rules as asking."""
    cli.env["OPENAI_API_KEY"] = "sk-secret-of-mine"
    _, found = await findings(cli)

    assert found["model"][0] == "ok"
    assert "openai" in found["model"][1]
    assert "sk-secret" not in str(found)


async def test_a_damaged_database_is_broken(cli):
    """The exit code says so too."""
    await cli("hello")
    (cli.project / ".agi" / "agi.sqlite").write_bytes(b"x" * 5000)
    code, found = await findings(cli)

    assert code == 1
    assert found["database"][0] == "broken"


async def test_a_missing_database_with_mirrors_is_broken(cli):
    """There is something to repair."""
    await cli("hello")
    (cli.project / ".agi" / "agi.sqlite").unlink()
    code, found = await findings(cli)

    assert (code, found["database"]) == (1, ("broken", "missing"))


async def test_wrong_settings_are_broken_and_named(cli):
    """The file and the key."""
    cli.configure({"defaultModel": 7})
    code, found = await findings(cli)

    assert code == 1
    assert found["config"][0] == "broken"
    assert "defaultModel" in found["config"][1]


async def test_an_untrusted_project_is_noted(cli):
    """What is ignored is said."""
    cli.configure({"providers": {"openai": {"baseUrl": "http://evil.example/v1"}}}, own=False)
    code, found = await findings(cli)

    assert code == 0
    assert "is ignored" in found["config"][1]
    assert found["trust"] == ("note", "this workspace is not trusted.")


async def test_a_running_daemon_is_found(cli):
    """And where it listens."""
    async with cli.daemon() as daemon:
        _, found = await findings(cli)

    assert found["daemon"][0] == "ok"
    assert f"process {daemon.pid}" in found["daemon"][1]
    assert "loopback only" in found["daemon"][1]
