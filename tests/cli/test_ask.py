"""`agi "…"`: the answer on stdout, an exit code that scripts can rely on."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import AsyncExitStack

import pytest

from agi.client.find import open_client
from agi.client.settings import ClientSettings
from agi.models import nearby
from agi.protocol.commands import CreateSession
from agi.testing.provider import calls, fails, says
from agi.testing.replies import breaks

SHELL = ("shell", {"command": "touch made"})
WRITE = ("write_file", {"path": "made.txt", "content": "hi\n"})


async def test_the_answer_goes_to_stdout_and_everything_else_to_stderr(cli):
    """`agi "…" > answer.md` holds the answer and nothing else."""
    async with cli.answered_by(says("Hello\nworld.", chunks=4)) as provider:
        result = await cli("hi", "--model", "other")

    assert (result.code, result.out, result.err) == (0, "Hello\nworld.\n", "")
    assert provider.requests[0].json["model"] == "other"


async def test_without_a_model_it_is_said_how_to_get_one(cli):
    """No answer is made up; the ways to one are commands, and nothing is left behind."""
    cli.configure({})
    result = await cli("What is this?")

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("agi: No model is set up.")
    assert "`agi setup`" in result.err
    assert "`agi models fetch`" in result.err
    assert not (cli.project / ".agi").exists()


def test_a_model_server_on_this_machine_answers_by_itself(here, monkeypatch):
    """Nothing is set up, and it is found; who answers is in the log."""
    command = (sys.executable, "-m", "agi.testing.provider", "--script", "says:From next door.")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().rpartition(":")[2].removesuffix("/v1\n"))
        monkeypatch.setattr(nearby, "PORTS", {"lmstudio": port})
        here.configure({"local": {"probe": True}})
        result = here("hi", "--json")
        server.kill()

    assert result.code == 0
    (started,) = [event["data"] for event in result.events if event["type"] == "turn_started"]
    assert (started["provider"], started["model"]) == ("lmstudio", "script")
    assert "From next door." in result.out


def test_a_named_server_that_does_not_answer_is_an_error_with_its_address(here, monkeypatch):
    """`--provider ollama` needs no settings, but it needs Ollama."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setattr(nearby, "PORTS", {"ollama": port})
    result = here("hi", "--provider", "ollama")

    assert (result.code, result.out) == (2, "")
    assert f"Nothing answers at 127.0.0.1:{port}." in result.err
    assert not list(here.project.iterdir())


async def test_a_script_answers_if_asked_for_and_says_what_it_is(cli):
    """It works with the real tools, and nobody is fooled."""
    cli.configure({})
    cli.write("README.md", "# Shop\n\nSells things.\n")
    result = await cli("What is this?", "--provider", "scripted")

    assert result.code == 0
    assert "Sells things." in result.out
    assert "not an AI model" in result.err
    assert "→ read_file README.md" in result.err


@pytest.mark.threat("T29")
@pytest.mark.parametrize("prompt", ["--yes", "serve", "-", "--settings=x \x1b[31m $(touch made)"])
async def test_a_prompt_after_two_dashes_is_only_a_prompt(cli, prompt):
    """Whatever it says, it is said to the model and changes nothing else."""
    async with cli.answered_by(says("ok")) as provider:
        result = await cli("--", prompt)

    assert (result.code, result.out) == (0, "ok\n")
    assert provider.requests[0].json["messages"][-1]["content"] == prompt  # type: ignore[index]


async def test_a_command_is_one_only_as_the_first_word(cli):
    """`agi --model m sessions` asks about sessions."""
    async with cli.answered_by(says("ok")) as provider:
        result = await cli("--agent", "general", "sessions")

    assert result.code == 0
    assert provider.requests[0].json["messages"][-1]["content"] == "sessions"  # type: ignore[index]


async def test_stdin_is_read_only_when_asked_for(cli):
    """A prompt as an argument means that an open stdin is never waited for; `-` is the prompt from stdin."""
    async with cli.answered_by(says("one"), says("two")) as provider:
        waiting = await cli.start("hello", stdin=True)
        assert await waiting.wait() == 0  # its stdin is open all the while, and silent
        waiting.stdin.close()
        result = await cli("-", stdin="Grüße\n--yes".encode())

    assert result.out == "two\n"
    assert provider.requests[1].json["messages"][-1]["content"] == "Grüße\n--yes"  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Review this.", "-"], "Review this.\n\n+ one\n+ two"),
        (["-", "What is that?"], "+ one\n+ two\n\nWhat is that?"),
        (["-"], "\n+ one\n+ two\n"),
    ],
)
async def test_stdin_goes_with_the_prompt_where_it_is_asked_for(cli, arguments, said):
    """`git diff | agi "Review this." -`: one after the other, a blank line between them."""
    async with cli.answered_by(says("ok")) as provider:
        result = await cli(*arguments, stdin=b"\n+ one\n+ two\n")

    assert result.code == 0
    assert provider.requests[0].json["messages"][-1]["content"] == said  # type: ignore[index]


async def test_a_prompt_is_asked_although_nothing_came_from_stdin(cli):
    """And that nothing came is said."""
    async with cli.answered_by(says("ok")) as provider:
        result = await cli("Review this.", "-", stdin=b"")

    assert (result.code, result.err) == (0, "note: nothing came from stdin.\n")
    assert provider.requests[0].json["messages"][-1]["content"] == "Review this."  # type: ignore[index]


async def test_json_is_the_log_and_nothing_else(cli):
    """One envelope a line, from the session's beginning to its end, with exactly one ending."""
    async with cli.answered_by(says("Hello.", chunks=3)):
        result = await cli("hi", "--json")
    logged = [event for event in result.events if event["type"] != "model_output_delta"]
    mirror = (cli.project / ".agi" / "sessions" / str(logged[0]["session_id"]) / "events.ndjson").read_text()
    kept = [one for one in map(json.loads, mirror.splitlines()) if one["type"] != "model_output_delta"]

    assert result.code == 0
    assert all(one.pop("hash") for one in kept)  # the chain is the file's own
    assert logged == kept
    assert [type for type in result.types if str(type).startswith("turn_c")] == ["turn_completed"]
    assert result.types[-1] == "session_completed"
    deltas = [event["data"] for event in result.events if event["type"] == "model_output_delta"]
    assert "".join(data["delta"] for data in deltas) == "Hello."  # type: ignore[index]


async def test_a_session_goes_on(cli):
    """`--session` and `--continue` ask where the talk was left; only the new answer is printed."""
    async with cli.answered_by(says("one"), says("two"), says("three")) as provider:
        first = await cli("a", "--json")
        session_id = str(first.events[0]["session_id"])
        second = await cli("b", "--session", session_id)
        third = await cli("--continue", "c")

    assert (second.out, third.out) == ("two\n", "three\n")
    said = [message["content"] for message in provider.requests[2].json["messages"] if message["role"] == "user"]  # type: ignore[attr-defined]
    assert said == ["a", "b", "c"]


async def test_a_session_goes_on_by_a_part_of_its_id_and_short_options(cli):
    """The end of an id is enough, as long as only one fits."""
    async with cli.answered_by(says("one"), says("two"), says("three")) as provider:
        session_id = str((await cli("a", "--json")).events[0]["session_id"])
        second = await cli("b", "-s", session_id[-6:])
        third = await cli("-c", "-m", "other", "-a", "general", "c")

    assert (second.out, third.out) == ("two\n", "three\n")
    assert provider.requests[2].json["model"] == "other"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--session", "sess_00000000000000000000000000000000"], "There is no session"),
        (["--continue"], "no session to go on with"),
        (["--agent", "biuld"], "Did you mean build?"),
        (["--provider", "nobody"], "There is no provider"),
        (["--provider", "openai", "--model", "gpt-9000"], "There is no key"),
    ],
)
def test_asking_for_what_does_not_exist_exits_with_2_and_makes_nothing(here, arguments, said):
    """Nothing is asked of anybody, and a folder with nothing in it stays so."""
    result = here("hi", *arguments)

    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert not list(here.project.iterdir())


@pytest.mark.parametrize("option", [["--continue"], ["--session", "3f9a"]])
def test_where_nothing_was_ever_asked_the_hint_names_the_option_that_was_given(here, option):
    """Nobody is told to leave out what they did not say."""
    result = here("hi", *option)

    assert result.code == 2
    assert f"Leave out {option[0]}, or name another --project." in result.err


@pytest.mark.parametrize("answers", ["this process", "a daemon"])
async def test_a_run_that_fails_before_its_turn_leaves_no_session_behind(cli, answers):
    """`--continue` goes on where something was said, whoever answers."""
    async with cli.answered_by(says("one"), says("two")), AsyncExitStack() as stack:
        first = await cli("a")
        cli.configure({})
        if answers == "a daemon":
            await stack.enter_async_context(cli.daemon())
        failed = await cli("b")
        cli.configure({"defaultModel": "script"})
        listed = json.loads((await cli("sessions", "--json")).out)
        second = await cli("--continue", "c")

    assert (first.code, failed.code, second.out) == (0, 2, "two\n")
    assert "Which model of openai is to answer was not said" in failed.err
    assert [one["title"] for one in listed] == ["a"]


async def test_a_session_in_which_nothing_was_said_is_not_gone_on_with(cli):
    """`--continue` takes the latest that has a message."""
    async with cli.answered_by(says("one"), says("two")) as provider:
        await cli("a")
        async with cli.daemon():
            client = await open_client(ClientSettings(project=cli.project, home_config=cli.home, env={}))
            await client.create_session(CreateSession(workspace_path=str(cli.project)))
            await client.close()
            result = await cli("--continue", "b")

    assert result.out == "two\n"
    assert len(provider.requests[1].json["messages"]) > 3  # type: ignore[arg-type]


async def test_a_failed_turn_exits_with_1_and_says_why(cli):
    """The provider's own words reach the user, also that it is asked again; what was said before the failure stays."""
    async with cli.answered_by(fails(401, "That key is not known.")):
        refused = await cli("hi")
    async with cli.answered_by(breaks(says("Half an ans", chunks=2), 3, "reset"), fails(401, "Not any more.")):
        broken = await cli("hi")

    assert (refused.code, refused.out) == (1, "")
    assert "That key is not known." in refused.err
    assert broken.code == 1
    assert broken.out.startswith("Half an ans")
    assert "Asked again at " in broken.err
    assert "Not any more." in broken.err


@pytest.mark.threat("T25")
async def test_without_a_terminal_what_needs_approval_is_refused_and_the_exit_code_is_3(cli):
    """Headless never waits for a person; it says what was refused and how to allow it."""
    async with cli.answered_by(calls(SHELL, WRITE), says("I could not.")) as provider:
        result = await cli("do it")

    assert (result.code, result.out) == (3, "I could not.\n")
    assert "shell touch made" in result.err
    assert "write_file made.txt" in result.err
    assert "--yes" in result.err
    assert not (cli.project / "made").exists()
    assert "nobody is there" in str(provider.requests[1].json["messages"][-1])  # type: ignore[index]


@pytest.mark.threat("T25")
async def test_yes_in_a_workspace_that_is_not_trusted_covers_files_but_no_commands(cli):
    """Exec stays off in an untrusted folder, whatever is approved in advance."""
    async with cli.answered_by(calls(WRITE, SHELL), says("Half done.")):
        result = await cli("do it", "--yes")
        (session,) = json.loads((await cli("sessions", "--json")).out)
        denied = [
            one["data"]
            for one in (await cli("sessions", "export", session["id"])).events
            if one["type"] == "approval_denied"
        ]

    assert (result.code, [one["cause"] for one in denied]) == (3, ["policy"])
    assert (cli.project / "made.txt").read_text() == "hi\n"
    assert not (cli.project / "made").exists()
    assert "--trust" in result.err


@pytest.mark.parametrize("way", ["--trust", "agi trust"])
async def test_yes_in_a_trusted_workspace_covers_commands_too(cli, way):
    """Trust comes from the user: for this run, or until the folder changes."""
    async with cli.answered_by(calls(SHELL), says("Done.")):
        if way == "agi trust":
            await cli("trust")
        result = await cli("--yes", "do it", *([way] if way == "--trust" else []))

    assert (result.code, result.out) == (0, "Done.\n")
    assert (cli.project / "made").exists()


async def test_trust_for_one_run_is_forgotten_after_it(cli):
    """`--trust` leaves no mark."""
    async with cli.answered_by(says("ok")):
        await cli("hi", "--trust")

    assert (await cli("trust", "--list")).out == "No workspace is trusted.\n"


async def test_settings_that_are_ignored_are_said_to_be(cli):
    """A project's own base URL does not get our prompt, and we are told."""
    async with cli.answered_by(says("ours")):
        cli.configure({"providers": {"openai": {"baseUrl": "http://127.0.0.1:9/v1"}}}, own=False)
        result = await cli("hi")

    assert result.out == "ours\n"
    assert "`providers.openai.baseUrl` is ignored" in result.err


@pytest.mark.parametrize("answers", ["this process", "a daemon"])
async def test_settings_that_are_ignored_are_named_before_the_error_they_lead_to(cli, answers):
    """A provider of an untrusted project is unknown for a reason, and the reason comes first."""
    cli.configure({"providers": {"local": {"baseUrl": "http://127.0.0.1:9/v1"}}}, own=False)
    async with AsyncExitStack() as stack:
        if answers == "a daemon":
            await stack.enter_async_context(cli.daemon())
        result = await cli("hi", "--provider", "local")

    first, *rest = result.err.splitlines()
    assert result.code == 2
    assert first.startswith("note: ")
    assert "`providers.local.baseUrl` is ignored, since this workspace is not trusted" in first
    assert "agi trust" in first
    assert rest[0] == "agi: There is no provider 'local'."


async def test_the_step_limit_exits_with_4(cli):
    """A turn that was stopped is not an answer."""
    async with cli.answered_by(*[calls(("git_status", {}))] * 3):
        cli.configure({"defaultModel": "script", "agents": {"build": {"maxSteps": 2}}})
        result = await cli("hi")

    assert result.code == 4
    assert "step limit" in result.err
    assert "agents.<name>.maxSteps in config.json raises it." in result.err


async def test_a_budget_that_is_used_up_says_which_setting_it_is(cli):
    """And exits with 4 as well."""
    async with cli.answered_by(*[calls(("git_status", {}))] * 3):
        cli.configure({"defaultModel": "script", "budget": {"steps": 1}})
        result = await cli("hi")

    assert result.code == 4
    assert "budget or budget.perTurn in config.json raises it; for all of a session, budget.perSession." in result.err


async def test_a_failed_verification_exits_with_1(cli):
    """Work that does not pass its own check did not succeed."""
    async with cli.answered_by(calls(WRITE), says("Done."), says("Still done.")):
        cli.configure({"defaultModel": "script", "verify": {"commands": ["! ls | grep -q ."], "maxAttempts": 1}})
        result = await cli("hi", "--yes", "--trust")

    assert result.code == 1
    assert "✗ verification failed: ! ls | grep -q ." in result.err


async def test_what_failed_before_is_said_to_and_exits_with_1_all_the_same(cli):
    """A script that goes on after 0 must not go on with failing tests, whoever broke them."""
    async with cli.answered_by(calls(WRITE), says("Done."), says("Still done.")):
        cli.configure({"defaultModel": "script", "verify": {"commands": ["false"], "maxAttempts": 1}})
        result = await cli("hi", "--yes", "--trust")

    assert result.code == 1
    assert "→ before any change: false" in result.err
    assert "– fails before any change: false (exit 1)" in result.err
    assert "– fails as before: false (exit 1)" in result.err


async def test_an_unreadable_prompt_is_replaced_not_refused(cli):
    """Bytes that are no UTF-8 cannot be stored; the rest of the prompt counts."""
    async with cli.answered_by(says("ok")) as provider:
        result = await cli(b"caf\xe9".decode("utf-8", "surrogateescape"))

    assert result.code == 0
    assert provider.requests[0].json["messages"][-1]["content"] == "caf\ufffd"  # type: ignore[index]


async def test_a_damaged_database_is_rebuilt_and_said_to_be(cli):
    """A one-shot goes on where the mirror has it."""
    async with cli.answered_by(says("one"), says("two")):
        await cli("a")
        (cli.project / ".agi" / "agi.sqlite").write_bytes(b"not a database at all" * 500)
        result = await cli("--continue", "b")

    assert (result.code, result.out) == (0, "two\n")
    assert "the database was missing, damaged or made elsewhere and was rebuilt" in result.err
