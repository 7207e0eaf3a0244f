"""The connection: prompts in line, several clients on one draft, nobody held up, nothing told to strangers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect as dial

from agi.client.rpc import CallFailed, RpcClient, connect
from agi.errors import Unavailable
from agi.models.scripted import Say, Stop, Wait
from agi.protocol.messages import Usage
from agi.protocol.resources import Resource
from agi.sessions.dispatching import Parent
from agi.testing.box import TOKEN, Daemon, daemon_in_a_box, eventually


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with daemon_in_a_box(tmp_path) as box:
        yield box


@pytest.fixture
async def rpc(daemon: Daemon) -> AsyncIterator[RpcClient]:
    async with connect(daemon.url) as client:
        await client.call("create_task", title="Work")
        yield client


async def hear(rpc: RpcClient, method: str, **fields: object) -> dict[str, Any]:
    """The next notification of this name with these fields."""
    async with asyncio.timeout(20):
        async for name, params in rpc.notifications():
            if name == method and fields.items() <= params.items():
                return params
    raise AssertionError(f"no {method}")


async def test_a_prompt_to_a_busy_draft_waits_in_line(daemon: Daemon, rpc: RpcClient) -> None:
    """`queued` says so; both are answered, in order, never two at once."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("One.")).then_says("Two.")
    await rpc.call("draft", role="plan", task="work")

    first = await rpc.call("submit_prompt", content="one")
    second = await rpc.call("submit_prompt", content="two")
    gate.set()
    await hear(rpc, "draft_status", turnCount=2)

    assert (first["queued"], second["queued"]) == (False, True)
    assert [one.messages[-1].parts[0].text for one in daemon.model.requests] == ["one", "two"]


async def test_three_clients_come_to_the_same_end(daemon: Daemon, rpc: RpcClient) -> None:
    """One drafts, one talks, one answers; each hears what the others do."""
    daemon.model.calls("write_file", path="a.txt", content="x").then_says("Written.")
    async with connect(daemon.url) as talker, connect(daemon.url) as answerer:
        await rpc.call("draft", role="build", task="work")
        await talker.call("submit_prompt", content="write it")
        question = await hear(answerer, "approval_requested", state="pending")
        await answerer.call("approve", toolCallId=question["toolCallId"], action="deny", reason="no")
        ends = [await hear(one, "draft_status", turnCount=1) for one in (rpc, talker, answerer)]
        with pytest.raises(CallFailed) as again:
            await rpc.call("approve", toolCallId=question["toolCallId"], action="approve")

    assert ends[0] == ends[1] == ends[2]
    assert again.value.number == -32602
    assert not (daemon.workspace.path / "a.txt").exists()


async def test_a_draft_begun_elsewhere_is_told_from_its_beginning(daemon: Daemon, rpc: RpcClient) -> None:
    """Nothing of a draft that begins while a client is there passes it by."""
    daemon.model.says("Hello.")
    async with connect(daemon.url) as other:
        made = await other.call("draft", role="plan", task="work")
        await other.call("submit_prompt", content="hi")
    said = await hear(rpc, "channel_message", kind="user")
    final = await hear(rpc, "channel_message", kind="final")

    assert (said["content"], final["content"]) == ("hi", "Hello.")
    assert final["sessionId"] == made["sessionId"]


async def test_what_is_said_over_another_surface_is_told_too(daemon: Daemon, rpc: RpcClient) -> None:
    """A draft is a session: whoever posts to it, every client hears of it."""
    daemon.model.says("Hello.")
    made = await rpc.call("draft", role="plan", task="work")

    await daemon.ask("over HTTP", session_id=made["sessionId"])

    assert (await hear(rpc, "channel_message", kind="user"))["content"] == "over HTTP"
    assert (await hear(rpc, "draft_status", turnCount=1))["sessionId"] == made["sessionId"]


async def test_a_failed_turn_is_told_with_what_to_do_and_the_draft_stays(daemon: Daemon, rpc: RpcClient) -> None:
    """As a message of kind `error`; the next prompt is answered."""
    await rpc.call("draft", role="plan", task="work")
    await rpc.call("submit_prompt", content="one")
    failed = await hear(rpc, "channel_message", kind="error")
    await hear(rpc, "draft_status", turnCount=1)
    daemon.model.says("Better.")
    await rpc.call("submit_prompt", content="two")

    assert (failed["code"], bool(failed["hint"])) == ("script_over", True)
    assert (await hear(rpc, "channel_message", kind="final"))["content"] == "Better."


async def test_a_compaction_that_is_undone_is_told_with_how_full_it_is(tmp_path: Path) -> None:
    """To every client, in the file for people, and to whoever asks: it is all of the conversation again."""
    models = {"script": {"contextWindow": 40_000, "maxOutputTokens": 500}}
    async with (
        daemon_in_a_box(tmp_path, config={"providers": {"scripted": {"models": models}}}) as daemon,
        connect(daemon.url) as rpc,
    ):
        await rpc.call("create_task", title="Work")
        made = await rpc.call("draft", role="plan", task="work")
        for number in range(4):
            used = Usage(input_tokens=20_000 + number, output_tokens=9, requests=1)
            daemon.model.plays(Say("word " * 4000), Stop(usage=used))
            await rpc.call("submit_prompt", content="question " * 1000)
            await hear(rpc, "draft_status", turnCount=number + 1)
        daemon.model.says("A short summary.")
        await rpc.call("compact")
        short = await hear(rpc, "draft_status")

        await daemon.post(f"/v1/sessions/{made['sessionId']}/compact", {"undo": True})
        whole = await hear(rpc, "draft_status")
        asked = (await rpc.call("get_draft_status"))["session"]
        path = ".agents/tasks/work/draft.json"
        await eventually(lambda: json.loads(daemon.workspace.read(path))["contextPct"] == whole["contextPct"])

    assert short["contextPct"] < 40 < 50 < whole["contextPct"]
    assert asked["contextPct"] == whole["contextPct"]


@pytest.mark.threat("T40")
async def test_a_client_that_does_not_read_holds_nobody_up(daemon: Daemon, rpc: RpcClient) -> None:
    """The turn runs at its own speed, whoever listens."""
    daemon.model.plays(Say("word " * 100_000, 5))
    async with dial(daemon.url.replace("http", "ws") + "/v1/rpc", proxy=None, max_queue=1, close_timeout=0) as deaf:
        await deaf.send('{"jsonrpc": "2.0", "id": 1, "method": "get_draft_status"}')
        await rpc.call("draft", role="plan", task="work")
        await rpc.call("submit_prompt", content="talk")
        status = await hear(rpc, "draft_status", turnCount=1)

    assert status["status"] == "active"


@pytest.mark.threat("T3")
async def test_nothing_is_told_before_it_is_known_who_asks(tmp_path: Path) -> None:
    """A client without the token hears of no draft."""
    async with (
        daemon_in_a_box(tmp_path, auth="token") as daemon,
        connect(daemon.url, TOKEN) as known,
        dial(daemon.url.replace("http", "ws") + "/v1/rpc", proxy=None) as unknown,
    ):
        await known.call("create_task", title="Work")
        await known.call("draft", role="plan", task="work")
        await hear(known, "draft_status", status="active")
        await unknown.send('{"jsonrpc": "2.0", "id": 1, "method": "get_draft_status"}')
        told = json.loads(await unknown.recv())

    assert told["error"]["data"]["code"] == "unauthorized"


async def test_cancel_with_children_stops_the_workers_too(daemon: Daemon, rpc: RpcClient) -> None:
    """The scope is the client's to choose."""
    daemon.model.plays(Wait(asyncio.Event())).plays(Wait(asyncio.Event()))
    made = await rpc.call("draft", role="plan", task="work")
    await rpc.call("submit_prompt", content="wait")
    worker = await daemon.harness.crew.dispatching.dispatch(
        project=Resource(kind="repositories", name="project", path=str(daemon.workspace.path)),
        role="plan",
        content="work",
        task_slug="work",
        parent=Parent(session_id=made["sessionId"], turn_id="turn_1", call_id="call_1"),
    )

    canceled = await rpc.call("cancel", scope="children")
    await eventually(lambda: daemon.harness.state(worker).turn is None)

    assert len(canceled["canceled"]) == 2
    assert (await rpc.call("await_agent", agentId=worker))["status"] == "canceled"


async def test_the_daemon_stops_with_clients_connected(tmp_path: Path) -> None:
    """They are told to come back; calls that wait are answered with that."""
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.plays(Wait(asyncio.Event()))
        async with connect(daemon.url) as client:
            sent = await client.call("submit_prompt", content="wait", role="plan")
            waiting = asyncio.create_task(client.call("await_agent", agentId=sent["agentId"]))
            await client.call("list_agents")
            daemon.app.stop()
            with pytest.raises(Unavailable):
                await waiting
            with pytest.raises(Unavailable):
                await client.call("list_agents")
