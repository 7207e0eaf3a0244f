"""Seed 001, in its words, over a real WebSocket: an agent is drafted, talked to, undrafted; also after a restart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agi.client.rpc import CallFailed, RpcClient, connect
from agi.models.scripted import Call, Say, ScriptedModel, Stop, Wait
from agi.protocol.messages import Usage
from agi.testing.box import TOKEN, Daemon, daemon_in_a_box, eventually

ANALYST = """---
name: product-analyst
description: Finds out what is wanted.
tools: [read_file, search]
permissions: [agent-draft, projects-list, projects-create]
---
You are a product analyst.
"""
DEV = """---
name: dotnet-dev
description: Builds it.
tools: [read_file, write_file]
---
You build.
"""


def model_with(window: int) -> dict[str, Any]:
    return {"defaultProvider": "scripted", "providers": {"scripted": {"models": {"script": {"contextWindow": window}}}}}


MODEL = model_with(1000)


class Tui:
    """A client, and what it was told so far."""

    def __init__(self, rpc: RpcClient) -> None:
        self.rpc = rpc
        self.call = rpc.call
        self.told: list[tuple[str, dict[str, Any]]] = []
        self._notifications = rpc.notifications()

    async def hear(self, method: str, fits: Callable[..., object] = lambda told: True) -> dict[str, Any]:
        """What is told next under this name."""
        async with asyncio.timeout(20):
            async for name, params in self._notifications:
                self.told.append((name, params))
                if name == method and fits(params):
                    return params
        raise AssertionError(f"no {method}")

    def text(self) -> str:
        return "".join(
            told["content"] for name, told in self.told if name == "channel_message" and told["kind"] == "text"
        )


@asynccontextmanager
async def tui(daemon: Daemon, token: str = "") -> AsyncIterator[Tui]:
    async with connect(daemon.url, token) as rpc:
        yield Tui(rpc)


@asynccontextmanager
async def harness_at(folder: Path, **settings: Any) -> AsyncIterator[Daemon]:
    """A daemon with two roles and a task."""
    project = folder / "project"
    (project / ".agi" / "roles").mkdir(parents=True, exist_ok=True)
    (project / ".agi" / "roles" / "product-analyst.md").write_text(ANALYST)
    (project / ".agi" / "roles" / "dotnet-dev.md").write_text(DEV)
    async with daemon_in_a_box(folder, **{"config": MODEL, "trusted": True, **settings}) as box:
        yield box


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with harness_at(tmp_path) as box:
        yield box


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Tui]:
    async with tui(daemon) as one:
        await one.call("create_task", project="project", title="Checkout", slug="checkout")
        yield one


async def drafted(client: Tui, role: str = "product-analyst") -> dict[str, Any]:
    return dict(await client.call("draft", role=role, project="project", task="checkout"))


def draft_json(daemon: Daemon) -> dict[str, Any]:
    return dict(json.loads(daemon.workspace.read(".agents/tasks/checkout/draft.json")))


async def test_draft_binds_an_agent_to_an_existing_task(daemon: Daemon, client: Tui) -> None:
    """`draft {role, project, task}` → `{sessionId, taskSlug, project}`; `draft.json` has the fields of DraftSession."""
    made = await drafted(client)

    assert made["sessionId"].startswith("sess_")
    assert (made["taskSlug"], made["project"]) == ("checkout", "project")
    written = draft_json(daemon)
    assert set(written) >= {
        *("sessionId", "role", "taskSlug", "taskDir", "channelId", "startedAt", "lastActivityAt", "turnCount"),
        *("status", "cumulativeCostUsd", "lastInputTokens", "lastOutputTokens", "contextWindow", "maxOutputTokens"),
    }
    assert (written["role"], written["status"], written["turnCount"]) == ("product-analyst", "active", 0)
    assert written["taskDir"] == ".agents/tasks/checkout/"


async def test_draft_already_active_and_no_draft_have_their_numbers(daemon: Daemon, client: Tui) -> None:
    """-32004 and -32005, each with what to do; a task that is not there is no draft."""
    with pytest.raises(CallFailed) as nothing:
        await client.call("undraft")
    with pytest.raises(CallFailed) as no_task:
        await client.call("draft", role="product-analyst", project="project", task="nothing")
    await drafted(client)
    with pytest.raises(CallFailed) as second:
        await drafted(client, "dotnet-dev")

    assert (nothing.value.number, nothing.value.code) == (-32005, "no_active_draft")
    assert (no_task.value.number, no_task.value.code) == (-32602, "task_not_found")
    assert (second.value.number, second.value.code) == (-32004, "draft_active")
    assert second.value.hint
    assert (await client.call("get_draft_status"))["session"]["role"] == "product-analyst"


async def test_submit_prompt_routes_to_the_draft_and_streams_as_channel_message(daemon: Daemon, client: Tui) -> None:
    """The prompt goes to the draft, whatever `role` says; text comes as it is said, then `draft_status`."""
    daemon.model.says("Hello, what do you need?", size=5)
    made = await drafted(client)

    sent = await client.call("submit_prompt", content="hi", role="dotnet-dev", taskSlug="other")
    status = await client.hear("draft_status", lambda told: told["turnCount"] == 1)

    assert (sent["sessionId"], sent["taskSlug"]) == (made["sessionId"], "checkout")
    assert client.text() == "Hello, what do you need?"
    kinds = [told["kind"] for name, told in client.told if name == "channel_message"]
    assert (kinds[0], kinds[-1]) == ("user", "final")
    assert status["sessionId"] == made["sessionId"]
    assert set(status) >= {"sessionId", "role", "turnCount", "costUsd", "contextPct", "lastActivity"}
    assert "You are a product analyst." in daemon.model.requests[0].system


async def test_follow_up_turns_see_the_whole_conversation(daemon: Daemon, client: Tui) -> None:
    """Seed: the agent sees the full prior conversation."""
    daemon.model.says("One.").then_says("Two.")
    await drafted(client)
    await client.call("submit_prompt", content="first")
    await client.hear("draft_status", lambda told: told["turnCount"] == 1)

    await client.call("submit_prompt", content="second")
    await client.hear("draft_status", lambda told: told["turnCount"] == 2)

    assert [message.role for message in daemon.model.requests[1].messages] == ["user", "assistant", "user"]


async def test_metrics_are_captured_after_each_turn(daemon: Daemon, client: Tui) -> None:
    """Cost adds up, tokens are those of the last call, context is input by window."""
    daemon.model.plays(Say("One."), Stop(usage=Usage(input_tokens=200, output_tokens=7, requests=1, cost_usd=0.25)))
    daemon.model.plays(Say("Two."), Stop(usage=Usage(input_tokens=340, output_tokens=9, requests=1, cost_usd=0.5)))
    await drafted(client)
    await client.call("submit_prompt", content="first")
    await client.hear("draft_status", lambda told: told["turnCount"] == 1)
    await client.call("submit_prompt", content="second")

    told = await client.hear("draft_status", lambda told: told["turnCount"] == 2)
    status = (await client.call("get_draft_status"))["session"]

    assert told["contextPct"] == 34.0
    assert told["costUsd"] == status["cumulativeCostUsd"]
    assert (status["lastInputTokens"], status["lastOutputTokens"], status["contextWindow"]) == (340, 9, 1000)
    await eventually(lambda: draft_json(daemon)["turnCount"] == 2)
    assert draft_json(daemon)["contextPct"] == 34.0


async def test_undraft_gives_a_summary_and_the_session_stays(daemon: Daemon, client: Tui) -> None:
    """`{sessionId, taskSlug, turns, cost}`; `draft.json` says closed; another draft can begin."""
    daemon.model.says("Hello.")
    made = await drafted(client)
    await client.call("submit_prompt", content="hi")
    await client.hear("draft_status", lambda told: told["turnCount"] == 1)

    closed = await client.call("undraft")

    assert (closed["sessionId"], closed["taskSlug"], closed["turns"]) == (made["sessionId"], "checkout", 1)
    assert set(closed) >= {"cost", "durationS"}
    assert await client.call("get_draft_status") == {"active": False}
    await eventually(lambda: draft_json(daemon)["status"] == "closed")
    assert (await daemon.get(f"/v1/sessions/{made['sessionId']}")).status == 200
    assert (await drafted(client, "dotnet-dev"))["sessionId"] != made["sessionId"]


async def test_undrafting_in_the_middle_of_a_turn_stops_it(daemon: Daemon, client: Tui) -> None:
    """Nothing runs on for a draft that is closed."""
    daemon.model.plays(Say("Half"), Wait(asyncio.Event()))
    made = await drafted(client)
    await client.call("submit_prompt", content="hi")
    await client.hear("channel_message", lambda told: told["kind"] == "text")

    await client.call("undraft")

    session = (await daemon.get(f"/v1/sessions/{made['sessionId']}")).json()
    assert (session["status"], session["activity"]) == ("canceled", "idle")


async def test_any_client_of_the_project_sees_talks_to_and_undrafts_it(daemon: Daemon, client: Tui) -> None:
    """A second client is told what the first one says, and the other way round."""
    daemon.model.says("Hello, both.")
    await drafted(client)
    async with tui(daemon) as second:
        assert (await second.call("get_draft_status"))["session"]["role"] == "product-analyst"
        await client.call("submit_prompt", content="from the first")
        said = await second.hear("channel_message", lambda told: told["kind"] == "user")
        await second.hear("draft_status", lambda told: told["turnCount"] == 1)
        await second.call("undraft")
    closed = await client.hear("draft_status", lambda told: told["status"] == "closed")

    assert said["content"] == "from the first"
    assert second.text() == "Hello, both."
    assert closed["turnCount"] == 1


async def test_a_client_that_leaves_in_the_middle_loses_nothing(daemon: Daemon, client: Tui) -> None:
    """The turn belongs to the daemon; who comes later finds the question and answers it."""
    daemon.model.calls("write_file", path="a.txt", content="x").then_says("Written.")
    async with tui(daemon) as first:
        await first.call("draft", role="dotnet-dev", project="project", task="checkout")
        await first.call("submit_prompt", content="write it")
        await first.hear("approval_requested", lambda told: told["state"] == "pending")
    async with tui(daemon) as second:
        (pending,) = (await second.call("get_draft_status"))["pending"]
        await second.call("approve", turnId=pending["turnId"], toolCallId=pending["toolCallId"], action="approve")
        answered = await second.hear("approval_requested")
        await second.hear("draft_status", lambda told: told["turnCount"] == 1)

    assert (pending["toolName"], pending["args"]["path"], pending["role"]) == ("write_file", "a.txt", "dotnet-dev")
    assert answered["state"] == "approved"
    assert daemon.workspace.read("a.txt") == "x"


async def test_the_draft_is_there_after_a_restart_and_a_turn_in_the_middle_goes_on(tmp_path: Path) -> None:
    """Better than the seed: the turn that was cut off is answered without anybody asking again."""
    model = ScriptedModel().plays(Say("Half of it, " * 50, 10), Wait(asyncio.Event()))
    async with harness_at(tmp_path, model=model) as before, tui(before) as client:
        await client.call("create_task", project="project", title="Checkout", slug="checkout")
        made = await drafted(client)
        await client.call("submit_prompt", content="tell me")
        await client.hear("channel_message", lambda told: told["kind"] == "text")
    (tmp_path / "project" / ".agents" / "tasks" / "checkout" / "draft.json").write_text("not what was written")

    again = ScriptedModel().says("The whole of it.").then_says("And more.")
    async with harness_at(tmp_path, model=again) as after, tui(after) as client:
        await eventually(lambda: draft_json(after)["turnCount"] == 1)
        status = (await client.call("get_draft_status"))["session"]
        sent = await client.call("submit_prompt", content="and?")
        await client.hear("draft_status", lambda told: told["turnCount"] == 2)

    assert (status["sessionId"], status["role"], status["turnCount"]) == (made["sessionId"], "product-analyst", 1)
    assert sent["sessionId"] == made["sessionId"]
    assert [message.role for message in again.requests[1].messages] == ["user", "assistant", "user"]


async def test_a_draft_json_that_came_with_a_repository_is_not_believed(daemon: Daemon, client: Tui) -> None:
    """Nothing is drafted because a file says so, and it is replaced by the truth."""
    planted = {"sessionId": "sess_x", "status": "active", "role": "product-analyst", "taskSlug": "checkout"}
    daemon.workspace.write(".agents/tasks/checkout/draft.json", json.dumps(planted))

    assert await client.call("get_draft_status") == {"active": False}
    made = await drafted(client)

    assert draft_json(daemon)["sessionId"] == made["sessionId"]


async def test_a_damaged_session_is_told_closed_and_a_fresh_draft_possible(tmp_path: Path) -> None:
    """`submit_prompt` says so with -32005; other sessions are as before."""
    async with harness_at(tmp_path) as daemon, tui(daemon) as client:
        await client.call("create_task", project="project", title="Checkout", slug="checkout")
        other = await daemon.begin()
        made = await drafted(client)
        db = daemon.harness.log

        await db.maintain(lambda found: found.execute("UPDATE sessions SET state='{' WHERE id=?", (made["sessionId"],)))
        db.projection.rolled_back()  # nothing is remembered either, as after a restart
        with pytest.raises(CallFailed) as closed:
            await client.call("submit_prompt", content="hi")

        assert closed.value.number == -32005
        assert "damaged" in closed.value.message
        assert "raft the role again" in closed.value.hint
        status = await client.call("get_draft_status")
        assert status["active"] is False
        assert status["closed"]["sessionId"] == made["sessionId"]
        assert "damaged" in status["closed"]["closedReason"]
        fresh = await drafted(client)
        assert fresh["sessionId"] != made["sessionId"]
        assert "closed" not in await client.call("get_draft_status")
        assert (await daemon.get(f"/v1/sessions/{other}")).status == 200


async def test_a_draft_with_a_hole_in_its_log_is_closed_at_the_start(tmp_path: Path) -> None:
    """An event is missing: the draft is closed, said, and nothing else is affected."""
    async with harness_at(tmp_path, model=ScriptedModel().says("One.")) as daemon, tui(daemon) as client:
        await client.call("create_task", project="project", title="Checkout", slug="checkout")
        made = await drafted(client)
        await client.call("submit_prompt", content="hi")
        await client.hear("draft_status", lambda told: told["turnCount"] == 1)
        gone = (made["sessionId"],)
        await daemon.harness.log.maintain(
            lambda db: db.execute("DELETE FROM events WHERE session_id=? AND seq=4", gone)
        )

    async with harness_at(tmp_path) as daemon, tui(daemon) as client:
        status = await client.call("get_draft_status")
        assert status["active"] is False
        assert "damaged" in status["closed"]["closedReason"]
        assert (await drafted(client))["taskSlug"] == "checkout"


async def test_roles_projects_and_tasks_are_listed_and_made(daemon: Daemon, client: Tui, tmp_path: Path) -> None:
    """What `draft` presupposes can be found out and made over the same connection."""
    (tmp_path / "elsewhere").mkdir()
    (daemon.workspace.path / ".agi" / "roles" / "broken.md").write_text("no front matter")

    await client.call("create_project", name="shop", path=str(tmp_path / "elsewhere"))
    projects = (await client.call("list_projects"))["projects"]
    made = await client.call("create_task", project="shop", title="Ship it, soon!")
    tasks = (await client.call("list_tasks", project="shop"))["tasks"]
    listed = await client.call("list_roles", project="project")

    assert [one["name"] for one in projects] == ["project", "shop"]
    assert made == {"taskSlug": "ship-it-soon", "taskDir": ".agents/tasks/ship-it-soon/"}
    assert [(one["taskSlug"], one["title"]) for one in tasks] == [("ship-it-soon", "Ship it, soon!")]
    roles = {one["name"]: one for one in listed["roles"]}
    assert roles["product-analyst"]["permissions"] == ["agent-draft", "projects-list", "projects-create"]
    assert roles["dotnet-dev"]["permissions"] == []
    assert [one["path"] for one in listed["problems"]] == [".agi/roles/broken.md"]


async def test_one_draft_in_each_project_and_many_in_the_daemon(daemon: Daemon, client: Tui, tmp_path: Path) -> None:
    """Two projects have a draft each; each prompt goes to the project it names."""
    (tmp_path / "elsewhere").mkdir()
    await client.call("create_project", name="shop", path=str(tmp_path / "elsewhere"))
    await client.call("create_task", project="shop", title="Ship")
    daemon.model.says("In the shop.").then_says("At home.")
    here = await drafted(client)
    there = await client.call("draft", role="plan", project="shop", task="ship")

    in_shop = await client.call("submit_prompt", content="there?", project="shop")
    await client.hear("draft_status", lambda told: (told["project"], told["turnCount"]) == ("shop", 1))
    at_home = await client.call("submit_prompt", content="here?", project="project")
    await client.hear("draft_status", lambda told: (told["project"], told["turnCount"]) == ("project", 1))

    assert (in_shop["sessionId"], at_home["sessionId"]) == (there["sessionId"], here["sessionId"])
    assert {one["sessionId"] for one in (await client.call("list_agents"))["agents"]} == {
        here["sessionId"],
        there["sessionId"],
    }


async def test_without_a_draft_submit_prompt_dispatches_a_worker(daemon: Daemon, client: Tui) -> None:
    """An autonomous run with a structured result; the task's record names it."""
    daemon.model.calls("write_file", path="a.txt", content="x").then_says("Wrote a.txt.")

    sent = await client.call("submit_prompt", content="write it", role="dotnet-dev", taskSlug="checkout")
    question = await client.hear("approval_requested")
    alive = (await client.call("list_agents"))["agents"]
    early = await client.call("await_agent", agentId=sent["agentId"], timeoutS=0.01)
    await client.call("approve", turnId=sent["turnId"], toolCallId=question["toolCallId"], action="approve")
    result = await client.call("await_agent", agentId=sent["agentId"])

    assert [(one["kind"], one["status"], one["role"]) for one in alive] == [
        ("worker", "waiting_approval", "dotnet-dev")
    ]
    assert early["status"] == "running"
    assert (result["status"], result["summary"]) == ("completed", "Wrote a.txt.")
    assert result["changes"] == [{"path": "a.txt", "status": "added"}]
    assert set(result) >= {"agentId", "status", "summary", "changes", "artifacts", "verification", "usage"}
    assert set(result["usage"]) >= {"inputTokens", "outputTokens", "costUsd"}
    gone = await client.hear("pool_status", lambda told: not told["agents"])
    assert gone == {"agents": []}
    await eventually(lambda: '"Wrote a.txt."' in daemon.workspace.read(".agents/tasks/checkout/task.json"))
    (task,) = (await client.call("list_tasks"))["tasks"]
    assert [(one["role"], one["kind"], one["status"]) for one in task["work"]] == [
        ("dotnet-dev", "worker", "completed")
    ]


async def test_kill_agent_stops_a_worker(daemon: Daemon, client: Tui) -> None:
    """`{killed: true}`, once; its result says that it was canceled."""
    daemon.model.plays(Wait(asyncio.Event()))
    sent = await client.call("submit_prompt", content="work", role="dotnet-dev")

    first = await client.call("kill_agent", agentId=sent["agentId"])
    second = await client.call("kill_agent", agentId=sent["agentId"])

    assert (first, second) == ({"killed": True}, {"killed": False})
    assert (await client.call("await_agent", agentId=sent["agentId"]))["status"] == "canceled"


async def test_a_drafted_agent_with_agent_draft_has_workers_of_its_own(daemon: Daemon, client: Tui) -> None:
    """It drafts, awaits, and tells the user; the worker's question reaches the user too."""

    def decide(request: Any) -> list[Any]:
        if "You build." in request.system:
            if request.messages[-1].role == "tool":
                return [Say('{"status": "completed", "summary": "Built it."}')]
            return [Call("write_file", {"path": "b.txt", "content": "y"})]
        last = request.messages[-1]
        if last.role == "user":
            return [Call("draft_agent", {"role": "dotnet-dev", "prompt": "build it"})]
        text = last.parts[0].content.parts[0].text
        if text.startswith("Merged"):
            return [Say("The worker says: Built it.")]
        found = json.loads(text)
        if "summary" in found:
            return [Call("merge_agent", {"agent_id": found["agent_id"]})]
        return [Call("await_agent", {"agent_id": found["agent_id"]})]

    daemon.model._decide = decide
    made = await drafted(client)
    await client.call("submit_prompt", content="have it built")
    question = await client.hear("approval_requested")
    pending = (await client.call("get_draft_status"))["pending"]
    await client.call("approve", toolCallId=question["toolCallId"], action="approve")
    taking = await client.hear("approval_requested", lambda told: told["role"] == "product-analyst")
    await client.call("approve", toolCallId=taking["toolCallId"], action="approve")
    await client.hear("draft_status", lambda told: told["turnCount"] == 1)

    assert question["role"] == "dotnet-dev"
    assert [one["toolCallId"] for one in pending] == [question["toolCallId"]]
    assert client.text() == "The worker says: Built it."
    assert daemon.workspace.read("b.txt") == "y"
    parents = {one["parentId"] for name, told in client.told if name == "pool_status" for one in told["agents"]}
    assert made["sessionId"] in parents


async def test_a_role_without_permissions_has_only_tools_that_look(daemon: Daemon, client: Tui) -> None:
    """Permissions gate the harness tools."""
    daemon.model.says("Hi.").then_says("Hi.")
    await drafted(client, "dotnet-dev")
    await client.call("submit_prompt", content="hi")
    await client.hear("draft_status", lambda told: told["turnCount"] == 1)
    await client.call("undraft")
    await drafted(client)
    await client.call("submit_prompt", content="hi")
    await client.hear("draft_status", lambda told: told["role"] == "product-analyst" and told["turnCount"] == 1)

    without, permitted = ({tool.name for tool in request.tools} for request in daemon.model.requests)
    assert without == {"read_file", "write_file", "list_agents", "list_roles", "list_tasks"}
    assert permitted == {
        *("read_file", "search", "list_agents", "list_roles", "list_tasks"),
        *("draft_agent", "await_agent", "kill_agent", "merge_agent", "list_projects", "create_project"),
    }


async def test_permissions_of_an_untrusted_project_do_not_count(tmp_path: Path) -> None:
    """Its roles are text; what they ask for is said not to count."""
    roles = tmp_path / "project" / ".agi" / "roles"
    roles.mkdir(parents=True)
    (roles / "product-analyst.md").write_text(ANALYST)
    async with daemon_in_a_box(tmp_path, config=MODEL) as daemon, tui(daemon) as client:
        listed = await client.call("list_roles")

    analyst = next(one for one in listed["roles"] if one["name"] == "product-analyst")
    assert analyst["permissions"] == []
    assert "not trusted" in listed["problems"][0]["message"]


async def test_cancel_stops_the_drafts_turn_and_the_draft_stays(daemon: Daemon, client: Tui) -> None:
    """`cancel {}` means the draft; with nothing to stop it says so."""
    daemon.model.plays(Say("Half"), Wait(asyncio.Event()))
    await drafted(client)
    await client.call("submit_prompt", content="hi")
    await client.hear("channel_message", lambda told: told["kind"] == "text")

    canceled = await client.call("cancel")
    await client.hear("draft_status", lambda told: told["turnCount"] == 1)
    with pytest.raises(CallFailed) as nothing:
        await client.call("cancel")

    assert len(canceled["canceled"]) == 1
    assert nothing.value.code == "nothing_to_cancel"
    assert (await client.call("get_draft_status"))["active"] is True


async def test_compact_works_and_is_announced(tmp_path: Path) -> None:
    """Better than the seed: `/compact` is feasible; every client hears `context_compacted` and how full it is now."""
    model = ScriptedModel()
    for number in range(4):
        used = Usage(input_tokens=20_000 + number, output_tokens=9, requests=1)
        model.plays(Say(f"Answer {number}. " + "word " * 4000), Stop(usage=used))
    model.says("A short summary.")
    async with harness_at(tmp_path, model=model, config=model_with(40_000)) as daemon, tui(daemon) as client:
        await client.call("create_task", project="project", title="Checkout", slug="checkout")
        made = await drafted(client)
        for number in range(4):
            await client.call("submit_prompt", content=f"question {number} " + "word " * 1000)
            await client.hear("draft_status", lambda told, turns=number + 1: told["turnCount"] == turns)
        before = (await client.call("get_draft_status"))["session"]

        done = await client.call("compact", focus="the questions")
        told = await client.hear("context_compacted")
        await client.hear("draft_status")
        after = (await client.call("get_draft_status"))["session"]

    assert done["preTokens"] > done["postTokens"] > 0
    assert (told["sessionId"], told["trigger"]) == (made["sessionId"], "manual")
    assert (told["preTokens"], told["postTokens"]) == (done["preTokens"], done["postTokens"])
    assert after["contextPct"] < before["contextPct"]


async def test_compact_without_a_draft_or_with_nothing_to_compact_says_so(daemon: Daemon, client: Tui) -> None:
    """-32005, or why there is nothing to do."""
    with pytest.raises(CallFailed) as nobody:
        await client.call("compact")
    await drafted(client)
    with pytest.raises(CallFailed) as nothing:
        await client.call("compact")

    assert nobody.value.number == -32005
    assert nothing.value.code == "nothing_to_compact"


async def test_the_token_may_come_as_the_first_call(tmp_path: Path) -> None:
    """A client that cannot send headers calls `auth`; whoever does not is told and sent away."""
    from websockets.asyncio.client import connect as dial
    from websockets.exceptions import ConnectionClosed

    async with harness_at(tmp_path, auth="token") as daemon:
        url = daemon.url.replace("http", "ws") + "/v1/rpc"
        async with dial(url, proxy=None) as socket:
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "auth", "params": {"token": TOKEN}}))
            assert json.loads(await socket.recv())["result"] == {"ok": True}
            await socket.send('{"jsonrpc": "2.0", "id": 2, "method": "list_agents"}')
            assert json.loads(await socket.recv())["result"] == {"agents": []}
        async with dial(url, proxy=None) as socket:
            await socket.send('{"jsonrpc": "2.0", "id": 1, "method": "list_agents"}')
            assert json.loads(await socket.recv())["error"]["data"]["code"] == "unauthorized"
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4401
        async with tui(daemon, TOKEN) as client:
            assert await client.call("list_agents") == {"agents": []}
