"""`agi doctor`: what is in order, what is not, and what to do."""

from __future__ import annotations

import json


def findings(here) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit code, and state and text of each subject (of several, the last)."""
    result = here("doctor", "--json")
    told = json.loads(result.out)
    assert told["ok"] == (result.code == 0)
    return result.code, {one["subject"]: (one["state"], one["text"]) for one in told["findings"]}


def test_an_empty_folder_is_in_order_and_stays_empty(here):
    """Looking changes nothing."""
    code, found = findings(here)

    assert code == 0
    assert {state for state, _ in found.values()} <= {"ok", "note"}
    assert found["model"][1].startswith("demo of scripted would answer")
    assert "none in this version" in found["sandbox"][1]
    assert "a sync takes" in found["disk"][1] or "could not be measured" in found["disk"][1]
    assert not list(here.project.iterdir())


def test_people_get_a_line_for_each_finding(here):
    """With a mark, a subject and a hint where there is one."""
    result = here("doctor")

    assert result.code == 0
    assert "✓ python" in result.out
    assert "OPENAI_API_KEY" in result.out


def test_it_says_which_model_would_answer_and_why(here, monkeypatch):
    """By the same rules as asking."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
    _, found = findings(here)

    assert found["model"][0] == "ok"
    assert "openai" in found["model"][1]
    assert "sk-secret" not in str(found)


def test_a_damaged_database_is_broken(here):
    """The exit code says so too."""
    here("hello")
    (here.project / ".agi" / "agi.sqlite").write_bytes(b"x" * 5000)
    code, found = findings(here)

    assert code == 1
    assert found["database"][0] == "broken"


def test_a_missing_database_with_mirrors_is_broken(here):
    """There is something to repair."""
    here("hello")
    (here.project / ".agi" / "agi.sqlite").unlink()
    code, found = findings(here)

    assert (code, found["database"]) == (1, ("broken", "missing"))


def test_wrong_settings_are_broken_and_named(here):
    """The file and the key."""
    here.configure({"defaultModel": 7})
    code, found = findings(here)

    assert code == 1
    assert found["config"][0] == "broken"
    assert "defaultModel" in found["config"][1]


def test_an_untrusted_project_is_noted(here):
    """What is ignored is said."""
    here.configure({"providers": {"openai": {"baseUrl": "http://evil.example/v1"}}}, own=False)
    code, found = findings(here)

    assert code == 0
    assert "is ignored" in found["config"][1]
    assert found["trust"] == ("note", "this workspace is not trusted.")


async def test_a_running_daemon_is_found(cli):
    """And where it listens."""
    async with cli.daemon() as daemon:
        result = await cli("doctor")

    assert f"✓ daemon       process {daemon.pid} at http://127.0.0.1:" in result.out
    assert "loopback only" in result.out
