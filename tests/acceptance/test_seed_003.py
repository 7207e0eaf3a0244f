"""Seed 003, in its words, over a real WebSocket: a chat client sends, sees tools at work, approves, comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agi.errors import Invalid
from agi.models.scripted import Say, Wait
from agi.testing.box import TOKEN, Daemon, daemon_in_a_box, eventually


class Client:
    """A chat client: what it says, and what it has been told so far."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.told: list[dict[str, Any]] = []

    async def say(self, type: str, **fields: object) -> None:
        await self._socket.send(json.dumps({"type": type, **fields}))

    async def raw(self, text: str | bytes) -> None:
        await self._socket.send(text)

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(20):
            message: dict[str, Any] = json.loads(await self._socket.recv())
        self.told.append(message)
        return message

    async def until(self, *types: str) -> dict[str, Any]:
        while (message := await self.next())["type"] not in types:
            pass
        return message

    def text(self) -> str:
        return "".join(one["delta"] for one in self.told if one["type"] == "chat.stream.delta")


@asynccontextmanager
async def chatting(daemon: Daemon, **headers: str) -> AsyncIterator[Client]:
    url = daemon.url.replace("http://", "ws://") + "/v1/chat"
    async with connect(url, additional_headers=headers, proxy=None) as socket:
        yield Client(socket)


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with daemon_in_a_box(tmp_path) as box:
        yield box


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Client]:
    async with chatting(daemon) as one:
        yield one


async def test_chat_send_runs_the_loop_and_streams_the_answer(daemon: Daemon, client: Client) -> None:
    """`chat.stream.start` repeats the id and names the turn; deltas follow, then the end with usage and stop reason."""
    daemon.model.says("Hello, you.", size=3)

    await client.say("chat.send", id="1", content="hi")
    end = await client.until("chat.stream.end")

    start = client.told[0]
    assert (start["type"], start["id"]) == ("chat.stream.start", "1")
    assert start["requestId"].startswith("turn_")
    assert start["sessionId"].startswith("sess_")
    assert start["messageId"].startswith("msg_")
    assert client.text() == "Hello, you."
    assert {one["requestId"] for one in client.told} == {start["requestId"]}
    assert end["stopReason"] == "end_turn"
    assert set(end["usage"]) >= {"inputTokens", "outputTokens", "costUsd"}


async def test_tool_calls_and_results_are_relayed(daemon: Daemon, client: Client) -> None:
    """`tool.call` with `toolCallId`, `toolName` and `args`, then `tool.result` with the result."""
    daemon.workspace.write("README.md", "hello\n")
    daemon.model.calls("read_file", path="README.md").then_says("It says hello.")

    await client.say("chat.send", id="1", content="what does it say?")
    await client.until("chat.stream.end")

    call = next(one for one in client.told if one["type"] == "tool.call")
    result = next(one for one in client.told if one["type"] == "tool.result")
    assert (call["toolName"], call["args"]) == ("read_file", {"path": "README.md"})
    assert result["toolCallId"] == call["toolCallId"]
    assert result["toolName"] == "read_file"
    assert result["result"]["ok"] is True
    assert "hello" in result["result"]["parts"][0]["text"]


async def test_an_approval_pauses_the_loop_until_the_client_responds(daemon: Daemon, client: Client) -> None:
    """`tool.approval.request` with `risk`; the call runs after `tool.approval.response`."""
    daemon.model.calls("write_file", path="a.txt", content="x").then_says("Written.")

    await client.say("chat.send", id="1", content="write it")
    request = await client.until("tool.approval.request")
    assert not (daemon.workspace.path / "a.txt").exists()
    await client.say("tool.approval.response", id="2", toolCallId=request["toolCallId"], approved=True)
    await client.until("chat.stream.end")

    assert (request["toolName"], request["args"]["path"]) == ("write_file", "a.txt")
    assert request["risk"] in ("low", "medium", "high")
    assert {"type": "ok", "id": "2"} in client.told
    assert daemon.workspace.read("a.txt") == "x"


async def test_a_refused_call_is_told_and_the_turn_goes_on(daemon: Daemon, client: Client) -> None:
    """`approved: false` is an answer too."""
    daemon.model.calls("write_file", path="a.txt", content="x").then_says("I left it.")

    await client.say("chat.send", id="1", content="write it")
    request = await client.until("tool.approval.request")
    await client.say("tool.approval.response", id="2", toolCallId=request["toolCallId"], approved=False, reason="no")
    resolved = await client.until("tool.approval.resolved")
    result = await client.until("tool.result")
    await client.until("chat.stream.end")

    assert (resolved["approved"], resolved["cause"], resolved["reason"]) == (False, "user", "no")
    assert (result["result"]["ok"], result["result"]["blocked"]) == (False, True)
    assert client.text() == "I left it."


async def test_session_approve_covers_the_tool_but_nothing_that_destroys(daemon: Daemon, client: Client) -> None:
    """That tool for the rest of the session, except calls of the destructive class, which always ask."""
    daemon.workspace.write("build/x", "x")
    daemon.model.calls("shell", command="echo one").then_calls("shell", command="echo two | cat")
    daemon.model.then_calls("shell", command="rm -rf build").then_says("Done.")

    await client.say("chat.send", id="1", content="go")
    first = await client.until("tool.approval.request")
    await client.say(
        "tool.approval.response", id="2", toolCallId=first["toolCallId"], approved=True, sessionApprove=True
    )
    second = await client.until("tool.approval.request")
    await client.say("tool.approval.response", id="3", toolCallId=second["toolCallId"], approved=False)
    await client.until("chat.stream.end")

    assert first["args"]["command"] == "echo one"
    assert second["args"]["command"] == "rm -rf build"
    ran = [one["args"]["command"] for one in client.told if one["type"] == "tool.call"]
    assert ran == ["echo one", "echo two | cat"]


async def test_an_approval_nobody_answers_expires_and_is_no_refusal(tmp_path: Path) -> None:
    """After the configured time it is denied with the cause `expired`, and the loop goes on."""
    async with daemon_in_a_box(tmp_path, config={"approval": {"timeoutSeconds": 0.05}}) as daemon:
        daemon.model.calls("write_file", path="a.txt", content="x").then_says("Nobody said yes.")
        async with chatting(daemon) as client:
            await client.say("chat.send", id="1", content="write it")
            resolved = await client.until("tool.approval.resolved")
            await client.until("chat.stream.end")

    assert (resolved["approved"], resolved["cause"]) == (False, "expired")


async def test_the_gateways_own_patience_is_sixty_seconds(daemon: Daemon, client: Client) -> None:
    """Where the settings say nothing; a turn begun elsewhere waits until it is answered."""
    daemon.model.calls("write_file", path="a.txt", content="x").then_says("ok")

    await client.say("chat.send", id="1", content="write it")
    request = await client.until("tool.approval.request")

    turn = daemon.harness.state(request["sessionId"]).turn
    assert turn is not None
    assert turn.approval_timeout_s == 60.0
    elsewhere = daemon.harness.state((await daemon.ask("hi")).session_id).turn
    assert elsewhere is None or elsewhere.approval_timeout_s is None


async def test_a_client_that_comes_back_gets_what_is_pending(daemon: Daemon) -> None:
    """`session.attached` lists the question; any client may answer it, over any surface."""
    daemon.model.calls("write_file", path="a.txt", content="x").then_says("Written.")
    async with chatting(daemon) as client:
        await client.say("chat.send", id="1", content="write it")
        request = await client.until("tool.approval.request")

    async with chatting(daemon) as back:
        await back.say("session.attach", id="2", sessionId=request["sessionId"])
        attached = await back.next()
        body = {"tool_call_id": request["toolCallId"], "action": "approve"}
        answered = await daemon.post(f"/v1/sessions/{request['sessionId']}/approve", body)
        end = await back.until("chat.stream.end")

    assert (attached["type"], attached["id"], attached["status"]) == ("session.attached", "2", "waiting_approval")
    assert [one["toolCallId"] for one in attached["pending"]] == [request["toolCallId"]]
    assert answered.status == 200
    assert end["stopReason"] == "end_turn"


@pytest.mark.parametrize("with_cursor", [True, False])
async def test_a_client_that_comes_back_in_the_middle_of_a_word_gets_the_rest(
    daemon: Daemon, with_cursor: bool
) -> None:
    """Each character once: from its cursor, or from the open text that it is told."""
    gate = asyncio.Event()
    daemon.model.plays(Say("One two thr", size=2), Wait(gate), Say("ee four.", size=2))
    async with chatting(daemon) as client:
        await client.say("chat.send", id="1", content="count")
        while client.text() != "One two thr":
            await client.next()
        seen, cursor, session_id = client.text()[:], client.told[-1]["cursor"], client.told[-1]["sessionId"]

    async with chatting(daemon) as back:
        where = {"after": cursor} if with_cursor else {}
        await back.say("session.attach", id="2", sessionId=session_id, **where)
        attached = await back.next()
        gate.set()
        await back.until("chat.stream.end")

    before = seen if with_cursor else "".join(one["text"] for one in attached["openText"])
    assert before + back.text() == "One two three four."


async def test_a_preflight_is_a_checklist_that_binds_once_it_is_approved(daemon: Daemon, client: Client) -> None:
    """`preflight.checklist` with steps, cost, permissions and warnings; `preflight.approval` lets exactly that run."""
    steps = [{"description": "Write the notes.", "toolName": "write_file"}, {"description": "Tell."}]
    daemon.model.says(json.dumps({"steps": steps}))
    daemon.model.calls("write_file", path="a.txt", content="A").then_calls("write_file", path="b.txt", content="B")
    daemon.model.says("Done.")

    await client.say("chat.send", id="1", content="go", preflight=True)
    checklist = await client.until("preflight.checklist")
    assert checklist["steps"] == [
        {
            "description": "Write the notes.",
            "toolName": "write_file",
            "risk": "medium",
            "needsApproval": True,
            "id": "step_1",
        },
        {"description": "Tell.", "risk": "low", "needsApproval": False, "id": "step_2"},
    ]
    cost = checklist["estimatedCost"]
    assert (cost["inputTokens"] > 0, cost["outputTokens"] > 0) == (True, True)
    assert [cost[name] for name in ("estimatedUSD", "lowUSD", "highUSD")] == [None] * 3
    assert checklist["requiredPermissions"] == ["write files"]
    assert any("not known" in warning for warning in checklist["warnings"])
    assert not daemon.workspace.was_touched()

    await client.say("preflight.approval", id="2", requestId=checklist["requestId"], approved=True)
    request = await client.until("tool.approval.request")
    assert request["args"]["path"] == "b.txt"
    await client.say("tool.approval.response", id="3", toolCallId=request["toolCallId"], approved=False)
    end = await client.until("chat.stream.end")

    assert end["stopReason"] == "end_turn"
    assert daemon.workspace.read("a.txt") == "A"
    assert not (daemon.workspace.path / "b.txt").exists()
    assert {"type": "ok", "id": "2"} in client.told
    resolved = next(one for one in client.told if one["type"] == "preflight.resolved")
    assert (resolved["approved"], resolved["cause"]) == (True, "user")
    assert client.text() == "Done."


async def test_edited_steps_are_what_is_approved(daemon: Daemon, client: Client) -> None:
    """`editedSteps` in the seed's shape: what is skipped asks if it comes all the same."""
    steps = [{"description": "One.", "toolName": "write_file"}, {"description": "Two.", "toolName": "edit"}]
    daemon.model.says(json.dumps({"steps": steps})).calls("write_file", path="a.txt", content="A").says("Well.")

    await client.say("chat.send", id="1", content="go", preflight=True)
    checklist = await client.until("preflight.checklist")
    bad = [{"description": "One.", "toolName": "no_such_tool"}]
    await client.say("preflight.approval", id="2", requestId=checklist["requestId"], approved=True, editedSteps=bad)
    error = await client.until("error")
    edited = [{"description": "One.", "toolName": "write_file", "skip": True}, {"description": "Two."}]
    await client.say("preflight.approval", id="3", requestId=checklist["requestId"], approved=True, editedSteps=edited)
    request = await client.until("tool.approval.request")
    await client.say("tool.approval.response", id="4", toolCallId=request["toolCallId"], approved=False)
    await client.until("chat.stream.end")

    assert (error["id"], error["code"]) == ("2", "preflight_invalid")
    assert request["toolName"] == "write_file"
    assert not daemon.workspace.was_touched()


async def test_a_refused_preflight_ends_the_turn(daemon: Daemon, client: Client) -> None:
    """`chat.stream.end` with `canceled`; nothing ran, and a second answer is told that it is late."""
    daemon.model.says(json.dumps({"steps": [{"description": "One.", "toolName": "write_file"}]}))

    await client.say("chat.send", id="1", content="go", preflight=True)
    checklist = await client.until("preflight.checklist")
    await client.say("preflight.approval", id="2", requestId=checklist["requestId"], approved=False, reason="no")
    end = await client.until("chat.stream.end")
    await client.say("preflight.approval", id="3", requestId=checklist["requestId"], approved=True)
    late = await client.until("error")

    assert (end["stopReason"], end["note"]) == ("canceled", "The plan was not approved. The reason given: no")
    assert (late["id"], late["code"]) == ("3", "preflight_answered")


async def test_a_client_that_comes_back_gets_the_checklist_that_waits(daemon: Daemon) -> None:
    """`session.attached` carries it; any client may answer."""
    daemon.model.says(json.dumps({"steps": [{"description": "One."}]})).says("Done.")
    async with chatting(daemon) as first:
        await first.say("chat.send", id="1", content="go", preflight=True)
        checklist = await first.until("preflight.checklist")

    async with chatting(daemon) as second:
        await second.say("session.attach", id="2", sessionId=checklist["sessionId"])
        attached = await second.until("session.attached")
        pending = attached["pendingPreflight"]
        await second.say("preflight.approval", id="3", requestId=pending["requestId"], approved=True)
        end = await second.until("chat.stream.end")

    assert pending["digest"] == checklist["digest"]
    assert (attached["status"], end["stopReason"]) == ("waiting_approval", "end_turn")


async def test_a_message_to_a_busy_session_is_queued_and_says_so(daemon: Daemon, client: Client) -> None:
    """Both are answered, in order, each under its own turn."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("One.")).then_says("Two.")
    await client.say("chat.send", id="1", content="a")
    start = await client.until("chat.stream.start")

    await client.say("chat.send", id="2", content="b", sessionId=start["sessionId"])
    queued = await client.until("chat.queued")
    gate.set()
    await client.until("chat.stream.end")
    second = await client.until("chat.stream.start")
    end = await client.until("chat.stream.end")

    assert queued["id"] == second["id"] == "2"
    assert queued["requestId"] == second["requestId"] == end["requestId"] != start["requestId"]
    assert client.text() == "One.Two."


@pytest.mark.parametrize("by", ["requestId", "sessionId"])
async def test_chat_cancel_stops_the_turn(daemon: Daemon, client: Client, by: str) -> None:
    """Named by the turn or by the session; the end says why."""
    daemon.model.plays(Say("One"), Wait(asyncio.Event()))
    await client.say("chat.send", id="1", content="a")
    start = await client.until("chat.stream.start")

    await client.say("chat.cancel", id="2", **{by: start[by]})
    end = await client.until("chat.stream.end")
    await client.say("chat.cancel", id="3", **{by: start[by]})
    error = await client.until("error")

    assert end["stopReason"] == "canceled"
    assert (error["id"], error["code"]) == ("3", "nothing_to_cancel")


async def test_a_turn_that_fails_is_an_error_with_its_turn(daemon: Daemon, client: Client) -> None:
    """And the connection lives on."""
    await client.say("chat.send", id="1", content="a")
    error = await client.until("error")
    await client.say("ping", id="2")

    assert error["requestId"] == client.told[0]["requestId"]
    assert error["message"]
    assert await client.until("pong") == {"type": "pong", "id": "2"}


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("no json", "not JSON"),
        ("[]", "message"),
        ('{"id": "7"}', "type"),
        ('{"type": "chat.shout", "id": "7"}', "chat.shout"),
        ('{"type": "chat.send", "content": "x"}', "id"),
        ('{"type": "chat.send", "id": "7"}', "content"),
        ('{"type": "chat.send", "id": "7", "content": "x", "parts": [{"type":"text","text":"y"}]}', "parts"),
        ('{"type": "chat.send", "id": "7", "content": 7}', "content"),
        ('{"type": "chat.send", "id": "7", "content": "x", "modle": "y"}', "modle"),
        ('{"type": "chat.send", "id": "7", "content": "x", "sessionId": "sess_x"}', "sess_x"),
        ('{"type": "chat.send", "id": "7", "content": "x", "agent": "nobody"}', "nobody"),
        ('{"type": "tool.approval.response", "id": "7", "toolCallId": "call_x"}', "approved"),
        ('{"type": "tool.approval.response", "id": "7", "toolCallId": "call_x", "approved": true}', "call_x"),
        ('{"type": "chat.cancel", "id": "7"}', "requestId"),
        ('{"type": "chat.cancel", "id": "7", "requestId": "turn_x"}', "turn_x"),
        ('{"type": "session.attach", "id": "7", "sessionId": "sess_x"}', "sess_x"),
        ("[" * 100_000, "nested"),
    ],
)
async def test_an_invalid_message_gets_an_error_that_says_which_field(
    daemon: Daemon, client: Client, message: str, says: str
) -> None:
    """Nothing is changed, and the connection lives on."""
    await client.raw(message)
    error = await client.next()
    await client.say("ping", id="8")

    assert error["type"] == "error"
    assert says in error["message"] + error["hint"]
    assert error.get("id") == ("7" if '"id": "7"' in message else None)
    assert (await client.next())["type"] == "pong"
    assert all(one.last_turn_id is None for one in daemon.harness.sessions())


async def test_an_attach_with_a_bad_cursor_is_refused(daemon: Daemon, client: Client) -> None:
    """It says what a cursor looks like."""
    session_id = await daemon.begin()
    await client.say("session.attach", id="1", sessionId=session_id, after="soon")

    assert (await client.next())["code"] == "bad_cursor"


async def test_two_clients_on_one_session_are_told_the_same(daemon: Daemon, client: Client) -> None:
    """Only the id of who sent it differs."""
    daemon.model.says("Hello.", size=2)
    session_id = await daemon.begin()
    async with chatting(daemon) as other:
        await other.say("session.attach", id="a", sessionId=session_id)
        await other.next()
        await client.say("chat.send", id="1", content="hi", sessionId=session_id)
        await client.until("chat.stream.end")
        await other.until("chat.stream.end")

    assert client.text() == other.text() == "Hello."
    assert "id" not in other.told[1]
    assert other.told[1]["requestId"] == client.told[0]["requestId"]


@pytest.mark.parametrize("problem", [RuntimeError("no tools today"), Invalid("no tools today")])
async def test_when_tools_cannot_be_built_the_plain_path_answers(
    daemon: Daemon, client: Client, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    """The turn goes on without those tools, and says so."""

    async def fails(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(daemon.harness.site().own_tools, "joined", fails)
    daemon.model.says("Hello.")

    await client.say("chat.send", id="1", content="hi")
    end = await client.until("chat.stream.end")

    assert (client.text(), end["stopReason"]) == ("Hello.", "end_turn")
    notices = [one["data"]["message"] for one in client.told if one["type"] == "notice"]
    assert any("no tools today" in notice for notice in notices)


@pytest.mark.threat("T3")
async def test_the_first_message_may_be_the_token(tmp_path: Path) -> None:
    """For clients that cannot send headers; whatever else comes first ends the connection."""
    async with daemon_in_a_box(tmp_path, auth="token") as daemon:
        daemon.model.says("Hi.")
        async with chatting(daemon) as client:
            await client.say("auth", token=TOKEN)
            assert (await client.next())["type"] == "ok"
            await client.say("chat.send", id="1", content="hi")
            await client.until("chat.stream.end")
        for first in ({"type": "auth", "token": "wrong-token-altogether"}, {"type": "ping"}):
            async with chatting(daemon) as stranger:
                await stranger.raw(json.dumps(first))
                assert (await stranger.next())["type"] == "error"
                with pytest.raises(ConnectionClosed) as closed:
                    await stranger.next()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 4401
        async with chatting(daemon, authorization=f"Bearer {TOKEN}") as known:
            await known.say("ping")
            assert (await known.next())["type"] == "pong"


@pytest.mark.threat("T3")
@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"origin": "null"}, {"host": "evil.example"}])
async def test_foreign_origins_are_refused_before_they_say_anything(daemon: Daemon, headers: dict[str, str]) -> None:
    """The upgrade itself is refused."""
    with pytest.raises(InvalidStatus) as refused:
        async with chatting(daemon, **headers):
            pass

    assert refused.value.response.status_code in (400, 403, 421)


@pytest.mark.threat("T40")
async def test_a_client_that_does_not_read_holds_nobody_up(daemon: Daemon) -> None:
    """The turn goes on at its own pace; the client gets everything once it reads again."""
    text = " ".join(map(str, range(50_000)))
    daemon.model.says(text, size=100)
    session_id = await daemon.begin()
    async with chatting(daemon) as slow:
        await slow.say("session.attach", id="a", sessionId=session_id)
        await slow.next()
        turn = await daemon.ask("go", session_id=session_id)
        await turn.ended()
        await slow.until("chat.stream.end")

    assert slow.text() == text


async def test_a_stopping_daemon_says_that_it_may_be_back(daemon: Daemon, client: Client) -> None:
    """Close code 1012."""
    await client.say("ping")
    await client.next()

    daemon.app.stop()
    with pytest.raises(ConnectionClosed) as closed:
        await client.next()

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012
    await eventually(lambda: not daemon.problems)
