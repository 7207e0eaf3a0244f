"""`agi doctor`: what is in order, what is not, and what to do."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from agi.client import reaching
from agi.extras import how_to_add
from agi.models import nearby
from agi.testing.provider import ProviderServer


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
    assert {state for subject, (state, _) in found.items() if subject != "sandbox"} <= {"ok", "note"}
    assert found["model"][0] == "note"
    assert found["model"][1].startswith("demo of scripted would answer")
    assert found["sandbox"][1].partition(";")[0].partition(":")[0] in ("namespaces", "bubblewrap", "landlock", "none")
    assert "a sync takes" in found["disk"][1] or "could not be measured" in found["disk"][1]
    assert not list(here.project.iterdir())


def test_people_get_a_line_for_each_finding(here):
    """With a mark, a subject and a hint where there is one."""
    result = here("doctor")

    assert result.code == 0
    assert "✓ python" in result.out
    assert "`agi setup`" in result.out


def test_an_extra_that_is_missing_is_named_with_the_command_that_adds_it(here, monkeypatch):
    """What is there is listed; what is not is good to know, and nothing is broken."""
    monkeypatch.setattr("agi.client.machine.is_missing", lambda extra: extra == "otel")
    result = here("doctor")

    assert result.code == 0
    assert "✓ extras       local, mcp, providers, tui\n" in result.out
    assert "– extras       otel is not installed\n" in result.out
    assert f"To have it, run `{how_to_add('otel')}`.\n" in result.out


def test_without_a_model_it_is_broken_and_says_what_to_do(here):
    """Nothing could be answered."""
    here.configure({})
    code, found = findings(here)

    assert (code, found["model"]) == (1, ("broken", "No model is set up."))


async def test_a_server_of_this_machine_is_found(here, monkeypatch):
    """And said to be."""
    async with ProviderServer([], models=("qwen3-8b",)) as server:
        monkeypatch.setattr(nearby, "PORTS", {"vllm": (port := int(server.url.rpartition(":")[2]))})
        here.configure({"local": {"probe": True}})
        code, found = await served(here)

    text = f"qwen3-8b of vllm would answer as the agent build: vLLM answers at 127.0.0.1:{port}"
    assert (code, found["model"]) == (0, ("ok", text))


def test_it_says_which_model_would_answer_and_why(here, monkeypatch):
    """By the same rules as asking."""
    here.configure({})
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


async def served(here) -> tuple[int, dict[str, tuple[str, str]]]:
    """The findings, looked for while a server of this process answers."""
    return await asyncio.to_thread(findings, here)


async def test_a_server_that_settings_name_is_asked_for_its_models(here, monkeypatch):
    """It answers, and says with what; the key goes with the question."""
    async with ProviderServer([], models=tuple(f"model-{n}" for n in range(7))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
        here.configure({"defaultModel": "model-6"})
        code, found = await served(here)
        here.configure({"defaultModel": "model-9"})
        other_code, other = await served(here)

    listed = "model-0, model-1, model-2, model-3, model-4 and 2 more"
    assert (code, found["provider"]) == (0, ("ok", f"openai: {server.base_url} answers, with {listed}"))
    assert (other_code, other["provider"][0]) == (0, "warning")
    assert "model-9 is not among them" in other["provider"][1]
    assert "sk-secret" not in str(found)


@pytest.mark.parametrize(("default", "code", "state"), [("local", 1, "broken"), ("openai", 0, "warning")])
def test_a_server_that_cannot_be_reached_is_broken_only_if_a_question_would_go_there(
    here, monkeypatch, default, code, state
):
    """Another one may rest."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
    providers = {"local": {"baseUrl": url}}
    here.configure({"defaultProvider": default, "defaultModel": "gpt-5.1", "providers": providers})
    exit_code, found = findings(here)

    assert (exit_code, found["provider"][0]) == (code, state)
    assert f"local: {url} could not be reached" in found["provider"][1]


def test_a_server_that_says_nothing_is_not_waited_for(here, monkeypatch):
    """Two seconds are enough to know."""
    monkeypatch.setattr(reaching, "LIMIT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        here.configure({"defaultModel": "m"})
        code, found = findings(here)

    assert (code, found["provider"][0]) == (1, "broken")


@pytest.mark.threat("T24")
def test_a_base_url_of_a_project_that_is_not_trusted_is_not_contacted(here):
    """Looking must not tell a stranger that one looks."""
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        stranger.setblocking(False)
        url = f"http://127.0.0.1:{stranger.getsockname()[1]}/v1"
        here.configure({"providers": {"theirs": {"baseUrl": url}}}, own=False)
        _, found = findings(here)
        with pytest.raises(BlockingIOError):
            stranger.accept()

    assert "provider" not in found


def test_a_data_folder_that_others_can_look_into_is_a_warning(here):
    """It holds what was said; it is nobody else's."""
    here("hello")
    private = findings(here)[1]["data folder"]
    (here.project / ".agi").chmod(0o755)
    code, found = findings(here)

    assert private[0] == "ok"
    assert (code, found["data folder"][0]) == (0, "warning")
    assert "mode 755" in found["data folder"][1]


def test_tools_that_do_not_exist_are_a_warning(here):
    """An agent without the tool it was given is not what its maker meant."""
    agents = {"reviewer": {"tools": ["search", "fs.read", "grep"]}, "other": {"tools": ["search"]}}
    (here.project / ".agi").mkdir(mode=0o700)
    (here.project / ".agi" / "agents.json").write_text(json.dumps(agents))
    code, found = findings(here)

    assert (code, found["agents"]) == (0, ("warning", "reviewer names tools that do not exist: grep"))


def test_a_sandbox_that_is_required_and_not_there_is_broken(here, no_sandbox):
    """No command would run."""
    here.configure({"sandbox": {"mode": "require"}})
    code, found = findings(here)

    assert (code, found["sandbox"][0]) == (1, "broken")


@pytest.mark.threat("T36")
def test_where_nothing_holds_commands_that_is_said_and_why(here, no_sandbox):
    """With what would help."""
    code, found = findings(here)

    assert (code, found["sandbox"][0]) == (0, "warning")
    assert "commands run as you" in found["sandbox"][1]
    assert "bubblewrap: not installed" in found["sandbox"][1]


def test_where_no_sandbox_can_be_tried_that_is_said_with_what_to_do(here, full_disk):
    """No command runs until then, so it is broken."""
    code, found = findings(here)

    assert (code, found["sandbox"][0]) == (1, "broken")
    assert "No space left on device" in found["sandbox"][1]


async def test_a_running_daemon_is_found(cli):
    """And where it listens."""
    async with cli.daemon() as daemon:
        result = await cli("doctor")

    assert f"✓ daemon       process {daemon.pid} at http://127.0.0.1:" in result.out
    assert "loopback only" in result.out


def test_skills_that_do_not_count_are_named(here):
    """With where to look; skills that do are counted, and where there are none nothing is said."""
    assert "skills" not in findings(here)[1]
    for name in ("good", "bad"):
        folder = here.project / ".claude/skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text("---\nname: good\ndescription: Does a thing.\n---\n")

    code, found = findings(here)

    assert (code, found["skills"]) == (0, ("warning", "1 can be used, 1 do not count: bad"))
