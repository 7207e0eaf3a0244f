"""The harness in this process, as a client: what is particular to it."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from agi.client.find import open_in_process
from agi.client.inprocess import InProcessClient, answering_model, sandbox, tool_names
from agi.errors import DiskFull, Invalid, StorageError
from agi.models import nearby
from agi.protocol.commands import CreateSession, PostMessage
from agi.testing.provider import ProviderServer


async def started(client: InProcessClient, here) -> str:
    session = await client.create_session(CreateSession(workspace_path=str(here.project)))
    await client.post_message(session.id, PostMessage(content="hello"))
    return session.id


@pytest.mark.parametrize(
    ("cause", "kind"), [(DiskFull("The disk is full."), DiskFull), (RuntimeError("oh"), StorageError)], ids=str
)
async def test_whoever_follows_hears_that_the_runner_died(here, cause, kind):
    """A turn that nobody runs any more is not waited for."""
    client = open_in_process(here.settings)
    session_id = await started(client, here)

    async def follow() -> None:
        async for _ in client.follow(session_id):
            pass

    following = asyncio.create_task(follow())
    await asyncio.sleep(0.05)
    client._harness.runners.on_failure(session_id, cause)
    with pytest.raises(kind):
        await asyncio.wait_for(following, 5)
    with pytest.raises(kind):
        await follow()
    await client.close()


async def test_a_lease_that_could_not_be_renewed_stops_nobody(here):
    """It is tried again; the turn itself goes on."""
    client = open_in_process(here.settings)
    session_id = await started(client, here)
    client._harness.runners.on_failure("", DiskFull("The disk is full."))
    types = [event.type async for event in _until_end(client, session_id)]
    await client.close()

    assert types[-1] == "session_completed"


async def _until_end(client: InProcessClient, session_id: str):
    async for event in client.follow(session_id):
        yield event
        if event.type == "session_completed":
            break


async def test_a_rebuilt_database_is_said_to_be(here):
    """Losing the database loses nothing, but one should know."""
    first = open_in_process(here.settings)
    await first.create_session(CreateSession(workspace_path=str(here.project)))
    assert first.notice == ""
    await first.close()
    for path in here.data.glob("agi.sqlite*"):
        path.unlink()
    second = open_in_process(here.settings)

    assert "rebuilt from its mirrors: 1 session, " in second.notice
    assert len(await second.sessions()) == 1
    await second.close()


async def test_a_data_folder_that_cannot_be_used_is_said_to_be(here):
    """Something else in its place is an error with a name, not a page of Python."""
    here.data.write_text("a file")

    with pytest.raises(StorageError, match="is no folder"):
        open_in_process(here.settings)


async def test_the_default_model_is_told_without_opening_a_log(here):
    """Looking creates nothing."""
    agent, choice = await answering_model(here.settings)

    assert (agent, choice.provider, choice.reason) == ("build", "scripted", "configured")
    assert not here.data.exists()


async def test_a_server_of_this_machine_is_looked_for(here, monkeypatch):
    """As it would be in a session, and in the list of models too."""
    async with ProviderServer([], models=("qwen3-8b",)) as server:
        monkeypatch.setattr(nearby, "PORTS", {"vllm": int(server.url.rpartition(":")[2])})
        here.configure("{}")
        _, choice = await answering_model(here.settings)
        client = open_in_process(here.settings)
        models = await client.models()
        await client.close()

    assert (choice.provider, choice.model, choice.reason) == ("vllm", "qwen3-8b", "detected")
    assert [(one.provider, one.id) for one in models.models] == [("vllm", "qwen3-8b")]
    assert models.default == choice


async def test_where_there_is_no_model_the_list_says_why(here):
    """It is empty, and no failure."""
    here.configure("{}")
    client = open_in_process(here.settings)
    models = await client.models()
    await client.close()

    assert (models.models, models.default) == ((), None)
    assert models.problem.startswith("No model is set up.")


async def test_a_default_model_that_cannot_be_is_an_error(here):
    """And names what is wrong."""
    here.configure('{"defaultProvider": "nobody"}')

    with pytest.raises(Invalid, match="nobody"):
        await answering_model(here.settings)


async def test_what_a_wish_asks_for_is_tried_without_opening_a_log(here):
    """The same refusals as in a session, and nothing is made."""
    with pytest.raises(Invalid, match="There is no agent"):
        await answering_model(here.settings, agent="biuld")
    with pytest.raises(Invalid, match="There is no provider"):
        await answering_model(here.settings, provider="nobody")
    with pytest.raises(Invalid, match="has no model"):
        await answering_model(here.settings, provider="scripted", model="other")

    assert (await answering_model(here.settings, agent="plan", provider="scripted"))[0] == "plan"
    assert not here.data.exists()


async def test_trust_for_one_run_counts_in_a_trial_too(here):
    """What would answer then is what is told."""
    here.data.mkdir()
    (here.data / "config.json").write_text('{"providers": {"local": {"baseUrl": "http://127.0.0.1:9"}}}')
    with pytest.raises(Invalid):
        await answering_model(here.settings, provider="local", model="m")

    _, choice = await answering_model(replace(here.settings, trust_once=True), provider="local", model="m")
    assert choice.model == "m"


def test_where_a_sandbox_is_required_and_none_works_no_command_may_run(here, no_sandbox):
    """That, and why."""
    assert (sandbox(here.settings).rung, sandbox(here.settings).no_commands) == ("none", "")
    here.data.mkdir()
    (here.data / "config.json").write_text('{"sandbox": {"mode": "require"}}')

    assert "require" in sandbox(here.settings).no_commands


def test_tools_are_known_by_every_name():
    """Aliases count."""
    assert {"shell", "shell.run", "read_file"} <= tool_names()
