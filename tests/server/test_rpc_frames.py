"""JSON-RPC 2.0 as its specification has it: over a real socket, with everything a client may get wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from agi.models.scripted import Say, Wait
from agi.server.rpc_frames import MOST_IN_A_BATCH, Asked, Wrong, read
from agi.testing.box import Daemon, daemon_in_a_box


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with daemon_in_a_box(tmp_path) as box:
        yield box


@pytest.fixture
async def socket(daemon: Daemon) -> AsyncIterator[ClientConnection]:
    async with connect(daemon.url.replace("http", "ws") + "/v1/rpc", proxy=None) as one:
        yield one


async def said(socket: ClientConnection, text: str | bytes) -> Any:
    """Send something and give the answer; what is told unasked is passed over."""
    await socket.send(text)
    async with asyncio.timeout(10):
        while isinstance(heard := json.loads(await socket.recv()), dict) and "method" in heard:
            pass
    return heard


@pytest.mark.parametrize("id", ['"a"', "1", "-7", "1.5", "null", '""', "12345678901234567890", '"\\u00e9"'])
async def test_ids_of_every_kind_come_back_as_they_were(socket: ClientConnection, id: str) -> None:
    """A text, a number, also a broken or huge one, and null."""
    answer = await said(socket, f'{{"jsonrpc": "2.0", "id": {id}, "method": "list_agents"}}')

    assert answer == {"jsonrpc": "2.0", "result": {"agents": []}, "id": json.loads(id)}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", -32700),
        ("{", -32700),
        ('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', -32700),
        ('[{"jsonrpc": "2.0", "method": "list_agents", "id": "1"}, {"jsonrpc": "2.0", "method"', -32700),
        ("[" * 10_000, -32700),
        ("[]", -32600),
        ("1", -32600),
        ("null", -32600),
        ('"text"', -32600),
        ('{"foo": "boo"}', -32600),
        ('{"jsonrpc": "1.0", "id": null, "method": "list_agents"}', -32600),
        ('{"jsonrpc": 2.0, "id": null, "method": "list_agents"}', -32600),
        ('{"jsonrpc": "2.0", "id": null, "method": 1, "params": "bar"}', -32600),
        ('{"jsonrpc": "2.0", "id": null, "method": "list_agents", "params": "bar"}', -32600),
        ('{"jsonrpc": "2.0", "id": {}, "method": "list_agents"}', -32600),
        ('{"jsonrpc": "2.0", "id": true, "method": "list_agents"}', -32600),
    ],
)
async def test_what_is_no_request_is_told_and_the_connection_lives_on(
    socket: ClientConnection, text: str, number: int
) -> None:
    """A parse error or an invalid request, with the id null and what to do."""
    answer = await said(socket, text)

    assert (answer["error"]["code"], answer["id"]) == (number, None)
    assert answer["error"]["data"]["hint"]
    assert (await said(socket, '{"jsonrpc": "2.0", "id": 1, "method": "list_agents"}'))["id"] == 1


@pytest.mark.parametrize("name", ["draft_it", "rpc.discover", "", "__class__"])
async def test_an_unknown_method_is_told_with_the_nearest(socket: ClientConnection, name: str) -> None:
    """-32601."""
    answer = await said(socket, json.dumps({"jsonrpc": "2.0", "id": "x", "method": name}))

    assert (answer["error"]["code"], answer["id"]) == (-32601, "x")
    if name == "draft_it":
        assert "Did you mean draft" in answer["error"]["data"]["hint"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("draft", {"role": "build"}),
        ("draft", {"role": 1, "project": "project", "task": "x"}),
        ("draft", {"role": "build", "project": "project", "task": "x", "more": 1}),
        ("draft", {"role": "nobody", "project": "project", "task": "x"}),
        ("draft", {"role": "build", "project": "nowhere", "task": "x"}),
        ("draft", {"role": "build", "project": "project", "task": "../../etc"}),
        ("submit_prompt", {}),
        ("submit_prompt", {"content": ""}),
        ("submit_prompt", {"content": "hi", "role": "nobody"}),
        ("create_task", {"title": "t", "slug": "../up"}),
        ("create_task", {"title": " \u200b "}),
        ("create_project", {"name": "x", "path": "relative"}),
        ("create_project", {"name": "a/b", "path": "/"}),
        ("await_agent", {"agentId": "sess_x"}),
        ("await_agent", {"agentId": "x", "timeoutS": -1}),
        ("kill_agent", {"agentId": "x"}),
        ("approve", {"toolCallId": "call_x", "action": "approve"}),
        ("approve", {"toolCallId": "call_x", "action": "maybe"}),
        ("cancel", {"sessionId": "sess_x"}),
        ("list_tasks", {"project": "nowhere"}),
        ("list_agents", ["too", "many"]),
    ],
)
async def test_what_a_method_cannot_take_is_told_and_changes_nothing(
    socket: ClientConnection, method: str, params: object
) -> None:
    """-32602, with a code for programs and a hint for people."""
    answer = await said(socket, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))

    assert answer["error"]["code"] == -32602
    assert answer["error"]["data"]["code"]
    assert answer["error"]["data"]["hint"]
    alive = await said(socket, '{"jsonrpc": "2.0", "id": 2, "method": "list_agents"}')
    assert alive["result"] == {"agents": []}


async def test_parameters_may_come_in_order(socket: ClientConnection) -> None:
    """By position as by name."""
    answer = await said(
        socket, '{"jsonrpc": "2.0", "id": 1, "method": "create_task", "params": ["project", "A title", "a-slug"]}'
    )

    assert answer["result"]["taskSlug"] == "a-slug"


async def test_a_notification_is_obeyed_and_not_answered(socket: ClientConnection) -> None:
    """Neither with a result nor with an error."""
    await socket.send('{"jsonrpc": "2.0", "method": "create_task", "params": {"title": "Quiet"}}')
    await socket.send('{"jsonrpc": "2.0", "method": "no_such_thing"}')
    await socket.send('{"jsonrpc": "2.0", "method": "undraft"}')

    answer = await said(socket, '{"jsonrpc": "2.0", "id": 1, "method": "list_tasks"}')

    assert answer["id"] == 1
    assert [one["title"] for one in answer["result"]["tasks"]] == ["Quiet"]


async def test_a_batch_is_answered_together_and_in_order(socket: ClientConnection) -> None:
    """The specification's own example: requests, a notification, nonsense and an unknown method."""
    batch = [
        {"jsonrpc": "2.0", "method": "list_agents", "id": "1"},
        {"jsonrpc": "2.0", "method": "list_agents"},
        {"foo": "boo"},
        1,
        {"jsonrpc": "2.0", "method": "foo.get", "id": "5"},
        {"jsonrpc": "2.0", "method": "list_projects", "id": "9"},
    ]

    answers = await said(socket, json.dumps(batch))

    assert [one["id"] for one in answers] == ["1", None, None, "5", "9"]
    assert [one.get("error", {}).get("code") for one in answers] == [None, -32600, -32600, -32601, None]


async def test_a_batch_of_notifications_is_not_answered(socket: ClientConnection) -> None:
    """Not even with an empty list."""
    await socket.send('[{"jsonrpc": "2.0", "method": "list_agents"}, {"jsonrpc": "2.0", "method": "undraft"}]')

    assert (await said(socket, '{"jsonrpc": "2.0", "id": 7, "method": "list_agents"}'))["id"] == 7


async def test_a_slow_call_does_not_hold_up_the_next_one(daemon: Daemon, socket: ClientConnection) -> None:
    """`await_agent` waits; what comes after it is answered meanwhile."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("done"))
    started = await said(socket, '{"jsonrpc": "2.0", "id": 1, "method": "submit_prompt", "params": {"content": "x"}}')
    agent = started["result"]["agentId"]
    await socket.send(
        json.dumps({"jsonrpc": "2.0", "id": "slow", "method": "await_agent", "params": {"agentId": agent}})
    )

    quick = await said(socket, '{"jsonrpc": "2.0", "id": "quick", "method": "list_projects"}')
    gate.set()
    slow = await said(socket, '{"jsonrpc": "2.0", "method": "list_projects"}')

    assert (quick["id"], slow["id"], slow["result"]["summary"]) == ("quick", "slow", "done")


def test_a_batch_that_is_too_long_is_refused_as_one() -> None:
    """A hundred requests at once are enough."""
    one = '{"jsonrpc": "2.0", "id": 1, "method": "list_agents"}'

    messages, is_batch = read("[" + ",".join([one] * (MOST_IN_A_BATCH + 1)) + "]")

    assert not is_batch
    assert isinstance(messages[0], Wrong)


def test_members_nobody_knows_are_skipped() -> None:
    """Others may write more into a request than the specification names."""
    messages, _ = read('{"jsonrpc": "2.0", "id": 1, "method": "x", "params": {}, "traceparent": "00-1"}')

    assert messages == [Asked(method="x", params=b"{}", id=b"1")]
