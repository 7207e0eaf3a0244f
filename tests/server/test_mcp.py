"""`/mcp` with the official SDK's client: what is offered, who comes in, questions to a person, cancelling, stopping."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from agi.extras import how_to_add
from agi.models.scripted import Call, Say, Wait
from agi.protocol import rpc
from agi.server.mcp_tools import TOOLS
from agi.testing.box import TOKEN, Daemon, daemon_in_a_box, eventually

GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}
ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
"""The handshake of older revisions, and the newest one, in which every request stands by itself."""


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with daemon_in_a_box(tmp_path, trusted=True) as box:
        yield box


class Person:
    """The user of a client, who answers what it shows."""

    def __init__(self, answer: str = "yes", action: Any = "accept") -> None:
        self.asked: list[str] = []
        self._answer, self._action = answer, action

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        content = {"answer": self._answer} if self._action == "accept" else None
        return types.ElicitResult(action=self._action, content=content)


def client(daemon: Daemon, era: str = "legacy", person: Person | None = None) -> Client:
    return Client(f"{daemon.url}/mcp", mode=era, elicitation_callback=person)


def text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@ERAS
async def test_a_client_asks_an_agent_and_gets_its_answer(daemon: Daemon, era: str) -> None:
    """The answer fits the tool's own schema, which the client checks; a second prompt goes on in the session."""
    daemon.model.says("Hello.").then_says("Hello again.")
    async with client(daemon, era) as mcp:
        first = await mcp.call_tool("prompt_session", {"prompt": "hi", "title": "Greeting"})
        found = first.structured_content
        again = await mcp.call_tool("prompt_session", {"prompt": "again", "session_id": found["session_id"]})
        read = await mcp.call_tool("read_session", {"session_id": found["session_id"]})
        listed = await mcp.call_tool("list_sessions", {})

    assert (found["status"], found["text"], again.structured_content["text"]) == ("completed", "Hello.", "Hello again.")
    assert [one["text"] for one in read.structured_content["messages"]] == ["hi", "Hello.", "again", "Hello again."]
    assert [one["title"] for one in listed.structured_content["sessions"]] == ["Greeting"]


@ERAS
async def test_a_worker_is_drafted_awaited_with_progress_and_killed(daemon: Daemon, era: str) -> None:
    """Seed 001's tools: what happens meanwhile is told, and numbers only grow."""
    gate, told = asyncio.Event(), list[tuple[float, str | None]]()
    daemon.workspace.write("notes.txt", "Buy milk.\n")
    daemon.model.calls("read_file", path="notes.txt").then_plays(Wait(gate), Say("It says: buy milk."))

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))
        gate.set()

    async with client(daemon, era) as mcp:
        drafted = await mcp.call_tool("draft_agent", {"prompt": "What do the notes say?", "role": "plan"})
        worker = drafted.structured_content["agent_id"]
        alive = await mcp.call_tool("list_agents", {})
        result = await mcp.call_tool("await_agent", {"agent_id": worker}, progress_callback=hear)
        killed = await mcp.call_tool("kill_agent", {"agent_id": worker})

    assert worker in [one["agent_id"] for one in alive.structured_content["agents"]]
    assert result.structured_content["status"] == "completed"
    assert result.structured_content["summary"] == "It says: buy milk."
    assert [one for one, _ in told] == sorted({one for one, _ in told})
    assert told[-1][1] == "completed"
    assert killed.structured_content == {"killed": False}


async def test_a_call_that_takes_longer_than_its_patience_says_so(daemon: Daemon) -> None:
    """`running` is an answer: nothing is lost, and the next call goes on waiting."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("At last."))
    async with client(daemon) as mcp:
        waiting = await mcp.call_tool("prompt_session", {"prompt": "think", "timeout_s": 0})
        gate.set()
        session_id, turn_id = (waiting.structured_content[name] for name in ("session_id", "turn_id"))
        await daemon.harness.wait_turn(session_id, turn_id)
        read = await mcp.call_tool("read_session", {"session_id": session_id, "limit": 1})

    assert waiting.structured_content["status"] == "running"
    assert read.structured_content["messages"][0]["text"] == "At last."
    assert read.structured_content["has_more"] is True


@ERAS
async def test_a_call_that_the_client_calls_off_stops_the_turn(daemon: Daemon, era: str) -> None:
    """Cancel means stop: the agent does not work on for nobody."""
    daemon.model.plays(Wait(asyncio.Event()))
    async with client(daemon, era) as mcp:
        call = asyncio.create_task(mcp.call_tool("prompt_session", {"prompt": "go on for ever"}))
        await eventually(lambda: daemon.model.requests)
        call.cancel()
        session = daemon.harness.sessions()[0]
        await eventually(lambda: daemon.harness.session(session.id).status == "canceled")


async def steered(daemon: Daemon, mcp: Client, gate: asyncio.Event) -> tuple[str, str, asyncio.Task[Any]]:
    """A turn of somebody else, and a prompt from here that another client hands to it; it calls a tool, then asks."""
    turn = await daemon.ask("begin")
    await eventually(lambda: daemon.model.requests)
    asked = {"prompt": "use tabs", "session_id": turn.session_id}
    call = asyncio.create_task(mcp.call_tool("prompt_session", asked))
    await eventually(lambda: daemon.harness.state(turn.session_id).queue)
    (waiting,) = daemon.harness.queue.all(turn.session_id)
    await daemon.harness.queue.steer(turn.session_id, waiting.message_id)
    gate.set()
    return turn.session_id, turn.id, call


async def test_a_prompt_that_another_client_hands_to_the_running_turn_is_answered_by_that(daemon: Daemon) -> None:
    """As over HTTP: the answer is that turn's, and so is the id."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Call("list_directory", {"path": "."})).then_says("Tabs.")
    async with client(daemon) as mcp:
        _, turn_id, call = await steered(daemon, mcp, gate)
        answered = (await call).structured_content

    assert (answered["text"], answered["status"], answered["turn_id"]) == ("Tabs.", "completed", turn_id)


async def test_calling_off_a_prompt_that_was_handed_over_stops_the_turn_that_has_it(daemon: Daemon) -> None:
    """Cancel means stop, whichever turn answers."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Call("list_directory", {"path": "."})).plays(Wait(asyncio.Event()))
    async with client(daemon) as mcp:
        session_id, turn_id, call = await steered(daemon, mcp, gate)
        await eventually(lambda: len(daemon.model.requests) == 2)
        call.cancel()
        await eventually(lambda: daemon.harness.turn(session_id, turn_id).status == "canceled")


async def test_a_daemon_that_stops_leaves_the_turn_to_the_next_one(tmp_path: Path) -> None:
    """Stopping is not cancelling: the turn stays open in the log."""
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.plays(Wait(asyncio.Event()))
        async with client(daemon) as mcp:
            call = asyncio.create_task(mcp.call_tool("prompt_session", {"prompt": "go on"}))
            await eventually(lambda: daemon.model.requests)
            daemon.app.stop()
            with pytest.raises(MCPError):
                await call
        (session,) = daemon.harness.sessions()
        assert session.status == "active"


@ERAS
async def test_what_may_run_is_for_the_clients_user_to_say(daemon: Daemon, era: str) -> None:
    """The person is shown the very call; a yes lets it run, and the model that asked had no say in it."""
    person = Person()
    daemon.model.calls("write_file", path="new.txt", content="new\n").then_says("Written.")
    async with client(daemon, era, person) as mcp:
        asked = (await mcp.call_tool("prompt_session", {"prompt": "write"})).structured_content
        (waits,) = asked["pending"]
        given = await mcp.call_tool("approve", {"tool_call_id": waits["tool_call_id"], "action": "approve"})
        await daemon.harness.wait_turn(asked["session_id"], asked["turn_id"])

    assert (asked["status"], asked["activity"], waits["tool_name"]) == ("running", "waiting_approval", "write_file")
    assert given.structured_content == {"ok": True}
    assert "write_file" in person.asked[0]
    assert "new.txt" in person.asked[0]
    assert daemon.workspace.read("new.txt") == "new\n"


@ERAS
@pytest.mark.parametrize(
    ("person", "code"),
    [
        (Person("no"), "user_said_no"),
        (Person(action="decline"), "user_said_no"),
        (Person(action="cancel"), "user_said_no"),
        (Person(""), "user_said_no"),
        (None, "person_needed"),
    ],
    ids=["no", "decline", "cancel", "empty", "nobody to ask"],
)
async def test_without_a_persons_yes_nothing_runs(daemon: Daemon, era: str, person: Person | None, code: str) -> None:
    """Anything but a clear yes is no answer: the call waits on, for whoever may answer it elsewhere."""
    daemon.model.calls("write_file", path="new.txt", content="new\n")
    async with client(daemon, era, person) as mcp:
        asked = (await mcp.call_tool("prompt_session", {"prompt": "write"})).structured_content
        call = {"tool_call_id": asked["pending"][0]["tool_call_id"], "action": "approve"}
        refused = await mcp.call_tool("approve", call)
        read = await mcp.call_tool("read_session", {"session_id": asked["session_id"]})

    assert refused.is_error
    assert f"({code})" in text(refused)
    assert read.structured_content["pending"] == asked["pending"]
    assert not (daemon.workspace.path / "new.txt").exists()


async def test_a_yes_to_one_call_is_none_to_another(daemon: Daemon) -> None:
    """An answer comes back with what it is about; a client that mixes them up is refused."""
    daemon.model.calls("write_file", path="new.txt", content="new\n")
    async with client(daemon, "2026-07-28", Person()) as mcp:
        asked = (await mcp.call_tool("prompt_session", {"prompt": "write"})).structured_content
        yes = types.ElicitResult(action="accept", content={"answer": "yes"})
        refused = await mcp.call_tool(
            "approve",
            {"tool_call_id": asked["pending"][0]["tool_call_id"], "action": "approve"},
            input_responses={"question": yes},
            request_state="call_of_another digest",
        )

    assert "(stale_answer)" in text(refused)
    assert daemon.harness.session(asked["session_id"]).pending_approvals


async def test_what_cannot_be_shown_whole_is_not_asked(daemon: Daemon) -> None:
    """Nobody approves what is left out of the question, nor what hides in it."""
    person = Person("no")
    daemon.model.calls("shell", command=f"echo {'x' * 9_000}; rm -rf notes").then_says("Then not.")
    daemon.model.then_calls("shell", command="echo \u202e fdp.exe")
    async with client(daemon, person=person) as mcp:
        long = (await mcp.call_tool("prompt_session", {"prompt": "long"})).structured_content
        (waits,) = long["pending"]
        refused = await mcp.call_tool("approve", {"tool_call_id": waits["tool_call_id"], "action": "approve"})
        await mcp.call_tool("approve", {"tool_call_id": waits["tool_call_id"], "action": "deny"})
        hidden = (await mcp.call_tool("prompt_session", {"prompt": "hidden"})).structured_content
        (waits,) = hidden["pending"]
        await mcp.call_tool("approve", {"tool_call_id": waits["tool_call_id"], "action": "approve"})

    assert "(too_long_to_show)" in text(refused)
    assert [("\u202e" in one, "\\u202e" in one) for one in person.asked] == [(False, True)]


async def test_a_refusal_needs_no_person(daemon: Daemon) -> None:
    """What does not run does no harm; the agent hears it, and that no person said so."""
    daemon.model.calls("write_file", path="new.txt", content="new\n").then_says("Then not.")
    async with client(daemon) as mcp:
        asked = (await mcp.call_tool("prompt_session", {"prompt": "write"})).structured_content
        call = {"tool_call_id": asked["pending"][0]["tool_call_id"], "action": "deny", "reason": "not now"}
        await mcp.call_tool("approve", call)
        await daemon.harness.wait_turn(asked["session_id"], asked["turn_id"])

    denied = [one for one in await daemon.history(asked["session_id"]) if one["type"] == "approval_denied"]
    assert [one["data"]["cause"] for one in denied] == ["policy"]


@ERAS
async def test_a_project_is_registered_once_the_user_agrees(daemon: Daemon, tmp_path: Path, era: str) -> None:
    """Agents can read what is registered, so a model alone cannot do it; then it can be worked in."""
    (tmp_path / "shop").mkdir()
    person = Person()
    async with client(daemon, era) as mcp:
        refused = await mcp.call_tool("projects_create", {"name": "shop", "path": str(tmp_path / "shop")})
    async with client(daemon, era, person) as mcp:
        await mcp.call_tool("projects_create", {"name": "shop", "path": str(tmp_path / "shop")})
        listed = await mcp.call_tool("projects_list", {})

    assert "(person_needed)" in text(refused)
    assert str(tmp_path / "shop") in person.asked[0]
    assert [one["name"] for one in listed.structured_content["projects"]] == ["project", "shop"]


async def test_a_client_drafts_an_agent_and_talks_to_it(daemon: Daemon) -> None:
    """The methods of `/v1/rpc`, as tools."""
    daemon.model.says("Nothing is missing.")
    async with client(daemon) as mcp:
        await mcp.call_tool("create_task", {"title": "Work"})
        drafted = await mcp.call_tool("draft", {"role": "plan", "task": "work"})
        sent = (await mcp.call_tool("submit_prompt", {"content": "What is missing?"})).structured_content
        await daemon.harness.wait_turn(sent["session_id"], sent["turn_id"])
        status = await mcp.call_tool("get_draft_status", {})
        closed = await mcp.call_tool("undraft", {})

    assert drafted.structured_content["task_slug"] == "work"
    assert status.structured_content["session"]["turn_count"] == 1
    assert closed.structured_content["turns"] == 1


async def test_what_is_not_permitted_is_neither_offered_nor_done(tmp_path: Path) -> None:
    """The user's settings say which; the refusal names the one that is missing."""
    config = {"mcpServer": {"permissions": ["sessions"]}}
    async with daemon_in_a_box(tmp_path, config=config) as daemon, client(daemon) as mcp:
        offered = {one.name for one in (await mcp.list_tools()).tools}
        refused = await mcp.call_tool("draft_agent", {"prompt": "x"})
        elsewhere = await mcp.call_tool("prompt_session", {"prompt": "x", "project": "other"})

    assert offered == {one.name for one in TOOLS if one.permission in (None, "sessions")}
    assert "'agent-draft'" in text(refused)
    assert refused.is_error
    assert "'projects-list'" in text(elsewhere)
    assert elsewhere.is_error


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    """Then the path says so, in the one shape of errors."""
    async with daemon_in_a_box(tmp_path, config={"mcpServer": {"enabled": False}}) as daemon:
        reply = await daemon.post("/mcp", GREETING, ACCEPT)
    assert (reply.status, reply.code) == (403, "mcp_server_off")


async def test_bad_arguments_are_told_with_a_hint(daemon: Daemon) -> None:
    """A model that got it wrong can do better; an unknown tool is an error of the protocol."""
    async with client(daemon) as mcp:
        wrong = await mcp.call_tool("await_agent", {"agent": "sess_1"})
        unknown = await mcp.call_tool("read_session", {"session_id": "sess_1"})
        with pytest.raises(MCPError, match="Did you mean list_agents"):
            await mcp.call_tool("list_agent", {})

    assert wrong.is_error
    assert "the nearest is `agent_id`" in text(wrong)
    assert unknown.is_error
    assert "(session_not_found)" in text(unknown)


async def test_a_mistake_of_ours_is_told_without_its_details(daemon: Daemon, monkeypatch: Any) -> None:
    """The client goes on; what went wrong is for the daemon's log."""
    seen: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: seen.append(context))
    monkeypatch.setattr(daemon.harness, "sessions", lambda **fields: 1 / 0)
    async with client(daemon) as mcp:
        failed = await mcp.call_tool("list_sessions", {})

    assert failed.is_error
    assert "(internal_error)" in text(failed)
    assert "division" not in text(failed)
    assert [type(one["exception"]) for one in seen] == [ZeroDivisionError]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"authorization": "Bearer " + "x" * 32}, 401),
        ({"authorization": ""}, 401),
    ],
)
async def test_the_guard_stands_before_it(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    """Host, Origin, content type and credential are judged as anywhere else."""
    async with daemon_in_a_box(tmp_path, auth="token") as daemon:
        reply = await daemon.post("/mcp", GREETING, {**ACCEPT, **headers})
        assert reply.status == status
        for method in ("GET", "DELETE"):
            assert (await daemon.call(method, "/mcp", None, {**ACCEPT, "authorization": ""})).status == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost:1"])
async def test_a_page_that_rebinds_its_name_does_not_come_in(daemon: Daemon, host: str) -> None:
    """Another name than ours is refused, whoever asks."""
    async with httpx2.AsyncClient() as http:
        reply = await http.post(f"{daemon.url}/mcp", json=GREETING, headers={**ACCEPT, "host": host})
    assert reply.status_code == 403


async def test_an_agents_own_command_does_not_come_in(daemon: Daemon) -> None:
    """What the daemon started is this user too, and still cannot reach its tools, least of all `approve`."""
    script = (
        "import sys, urllib.request as u, urllib.error as e\n"
        "said = {'content-type': 'application/json', 'accept': sys.argv[3]}\n"
        "r = u.Request(sys.argv[1], sys.argv[2].encode(), said)\n"
        "try: print(u.urlopen(r).status)\n"
        "except e.HTTPError as error: print(error.code)\n"
    )
    greeting = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, f"{daemon.url}/mcp", greeting, ACCEPT["accept"]),
        stdout=asyncio.subprocess.PIPE,
        env={"no_proxy": "*"},
    )
    assert (await process.communicate())[0] == b"401\n"


async def test_nobody_is_repeated_what_another_client_was_told(daemon: Daemon) -> None:
    """A stream that broke off is taken up again, but only within its own MCP session, also where ids are alike."""
    one, other = [await _greeted(daemon) for _ in range(2)]
    ask = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "list_sessions", "arguments": {}}}
    await daemon.post("/mcp", ask, {**ACCEPT, **one})
    secret = await daemon.begin(title="A secret")
    told = await daemon.post("/mcp", ask, {**ACCEPT, **other})
    first = next(line for line in told.body.decode().splitlines() if line.startswith("id: ")).removeprefix("id: ")

    replayed: dict[str, bytes] = {}
    for name, session in (("one", one), ("other", other)):
        async with await daemon.open("GET", "/mcp", None, {**ACCEPT, **session, "last-event-id": first}) as response:
            replayed[name] = await anext(aiter(response.chunks()))

    assert b'"sessions":[]' in replayed["one"]
    assert secret.encode() not in replayed["one"]
    assert secret.encode() in replayed["other"]


async def _greeted(daemon: Daemon) -> dict[str, str]:
    reply = await daemon.post("/mcp", GREETING, ACCEPT)
    session = {"mcp-session-id": reply.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    await daemon.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, {**ACCEPT, **session})
    return session


async def test_without_the_package_the_path_says_what_to_install(daemon: Daemon, monkeypatch: Any) -> None:
    """The SDK is an extra; the rest of the daemon does without."""
    monkeypatch.setitem(sys.modules, "agi.server.mcp_server", None)
    reply = await daemon.post("/mcp", GREETING, ACCEPT)
    assert (reply.status, reply.code) == (503, "mcp_missing")
    assert how_to_add("mcp") in reply.json()["error"]["hint"]


async def test_the_token_lets_a_client_in_from_anywhere(tmp_path: Path) -> None:
    """A client that cannot be proved to be this user sends it as a header."""
    async with daemon_in_a_box(tmp_path, auth="token") as daemon:
        reply = await daemon.post("/mcp", GREETING, {**ACCEPT, "authorization": f"Bearer {TOKEN}"})
        assert reply.status == 200


async def test_every_method_of_rpc_is_a_tool_with_the_same_arguments() -> None:
    """One vocabulary: what `/v1/rpc` has in camelCase, MCP has in snake_case. Only a person remembers an answer."""
    left_out = {"approve": {"remember", "digest", "hunks"}}
    by_name = {name: one for one in TOOLS for name in (one.name, one.also) if name}
    for method, params in rpc.METHODS.items():
        if method != "auth":
            takes = set(by_name[method].takes.__struct_fields__)
            assert set(params.__struct_fields__) - left_out.get(method, set()) <= takes, method


async def test_each_tool_says_what_it_takes_gives_and_does(daemon: Daemon) -> None:
    """Schemas without references, and hints that clients decide by whether to ask."""
    async with client(daemon) as mcp:
        tools = {one.name: one for one in (await mcp.list_tools()).tools}

    for tool in tools.values():
        assert tool.description
        assert tool.annotations
        assert tool.input_schema["type"] == "object"
        assert tool.output_schema
        assert tool.output_schema["type"] == "object"
        assert "$ref" not in str(tool.output_schema)
    reading = {name for name, one in tools.items() if one.annotations and one.annotations.read_only_hint}
    assert reading == {
        *("await_agent", "list_agents", "list_roles", "projects_list", "list_tasks", "get_draft_status"),
        *("read_session", "list_sessions"),
    }
    destroying = {name for name, one in tools.items() if one.annotations and one.annotations.destructive_hint}
    assert destroying == {"kill_agent", "undraft", "cancel", "approve"}
