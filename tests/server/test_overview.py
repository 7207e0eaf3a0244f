"""`GET /v1/inbox` and `GET /v1/usage`: what waits for a person anywhere, and what was used; unknown is never 0."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from agi.models.scripted import Call, Say
from agi.protocol.events import UsageRecorded
from agi.protocol.messages import Usage
from agi.testing.box import Daemon, daemon_in_a_box, eventually

LEAD = "---\nname: lead\ntools: [read_file]\npermissions: [agent-draft]\n---\nYou lead.\n"
WRITER = "---\nname: writer\ntools: [write_file]\n---\nYou write.\n"


async def test_the_inbox_has_every_question_with_what_exactly_is_asked(daemon: Daemon) -> None:
    """The oldest first, as the session itself has it, and gone once it is answered."""
    daemon.model.calls("shell", command="rm -rf build").then_calls("write_file", path="a.txt", content="x\n")
    first = await daemon.ask("clean")
    await first.question()
    second = await daemon.ask("write")
    question = await second.question()

    found = (await daemon.get("/v1/inbox")).json()
    item = found["items"][0]
    refused = await daemon.post(
        f"/v1/sessions/{item['session_id']}/approve",
        {
            "tool_call_id": item["id"],
            "turn_id": item["turn_id"],
            "digest": item["approval"]["digest"],
            "action": "deny",
        },
    )

    assert found["total"] == 2
    assert [one["session_id"] for one in found["items"]] == [first.session_id, second.session_id]
    assert item["approval"]["input"] == {"command": "rm -rf build"}
    assert (item["kind"], item["approval"]["risk"], item["root_id"]) == ("approval", "high", first.session_id)
    assert item["title"] == "clean"
    assert "+x" in found["items"][1]["approval"]["preview"]
    assert found["items"][1]["id"] == question["tool_call_id"]
    assert refused.status == 200
    assert [one["id"] for one in (await daemon.get("/v1/inbox")).json()["items"]] == [question["tool_call_id"]]


async def test_a_workers_question_says_for_whom_it_works(tmp_path: Path) -> None:
    """With the path of roles; the row of the session at the top counts it as waiting below."""
    roles = tmp_path / "project" / ".agi" / "roles"
    roles.mkdir(parents=True)
    (roles / "lead.md").write_text(LEAD)
    (roles / "writer.md").write_text(WRITER)

    def decide(request: Any) -> list[Any]:
        told = [part.content.parts[0].text for one in request.messages if one.role == "tool" for part in one.parts]
        if "You write." in request.system:
            return [Say("done")] if told else [Call("write_file", {"path": "a.txt", "content": "x"})]
        if not told:
            return [Call("draft_agent", {"role": "writer", "prompt": "write"})]
        return [Call("await_agent", json.loads(told[0]))]

    config = {"defaultProvider": "scripted", "verify": {"autoVerify": False}}
    async with daemon_in_a_box(tmp_path, config=config, trusted=True) as daemon:
        daemon.model._decide = decide
        root = (await daemon.post("/v1/sessions", {"agent": "lead", "title": "the lead"})).json()["id"]
        await daemon.post(f"/v1/sessions/{root}/messages", {"content": "go", "wait": False})
        await eventually(lambda: daemon.harness.inbox().items)
        item = (await daemon.get("/v1/inbox")).json()["items"][0]
        rows = {one["id"]: one async for one in _rows(daemon)}
        await daemon.post(f"/v1/sessions/{root}/cancel", {"scope": "children"})

    assert (item["path"], item["role"], item["root_id"], item["title"]) == (["writer"], "writer", root, "the lead")
    worker = rows[item["session_id"]]
    assert (worker["kind"], worker["parent_id"], worker["waiting"], worker["is_open"]) == ("worker", root, 1, True)
    assert (rows[root]["waiting"], rows[root]["waiting_below"], rows[root]["activity"]) == (0, 1, "waiting_approval")


async def _rows(daemon: Daemon) -> Any:
    stream = daemon.stream("/v1/watch")
    told = json.loads((await anext(stream)).data)
    await stream.aclose()
    for row in told["sessions"]:
        yield row


async def test_a_preflight_waits_in_the_inbox(daemon: Daemon) -> None:
    """With its steps, its cost and what it needs, and the digest to answer with."""
    steps = {"steps": [{"description": "write it", "toolName": "write_file", "target": "a.txt"}]}
    daemon.model.says(json.dumps(steps)).then_says("done")
    session = await daemon.begin()
    await daemon.post(f"/v1/sessions/{session}/messages", {"content": "do", "wait": False, "preflight": True})
    await eventually(lambda: daemon.harness.inbox().items)

    item = (await daemon.get("/v1/inbox")).json()["items"][0]

    assert (item["kind"], item["id"], item["approval"]) == ("preflight", item["turn_id"], None)
    assert item["preflight"]["steps"][0]["target"] == "a.txt"
    assert item["preflight"]["digest"]


async def test_an_empty_inbox_is_empty(daemon: Daemon) -> None:
    """Sessions that ask nothing are not in it."""
    await daemon.begin()
    assert (await daemon.get("/v1/inbox")).json() == {"items": [], "total": 0}


async def test_usage_is_summed_by_day_model_and_session(daemon: Daemon) -> None:
    """Money of a call without a price is unknown: the sum says how much is known, and of how many it is not."""
    both, known = await daemon.begin(title="both"), await daemon.begin(title="known")
    for session, cost in ((both, 0.5), (both, None), (known, 0.25)):
        used = Usage(input_tokens=10, output_tokens=5, requests=1, cost_usd=cost)
        event = UsageRecorded(message_id="", provider="p", model="m", usage=used)
        await daemon.harness.log.append(session, [(None, event)])
    told = (await daemon.get("/v1/usage")).json()
    one = (await daemon.get(f"/v1/usage?session_id={known}&days=1&utc_offset=840")).json()

    total = told["total"]
    assert (total["requests"], total["input_tokens"], total["output_tokens"]) == (3, 30, 15)
    assert (total["cost_usd"], total["priced_usd"], total["unpriced"]) == (None, 0.75, 1)
    by_session = {row["title"]: (row["cost_usd"], row["requests"]) for row in told["sessions"]}
    assert by_session == {"both": (None, 2), "known": (0.25, 1)}
    assert [row["requests"] for row in told["models"]] == [3]
    assert sum(row["requests"] for row in told["days"]) == 3
    assert (one["total"]["cost_usd"], one["total"]["unpriced"]) == (0.25, 0)


async def test_nothing_used_has_no_cost_rather_than_none_at_all(daemon: Daemon) -> None:
    """Without a request there is nothing to know a price of."""
    told = (await daemon.get("/v1/usage")).json()
    assert (told["total"]["requests"], told["total"]["cost_usd"], told["days"]) == (0, None, [])


async def test_bad_questions_about_usage_are_refused(daemon: Daemon) -> None:
    """With what is wrong."""
    replies = await asyncio.gather(
        *(daemon.get(f"/v1/usage?{query}") for query in ("days=0", "days=x", "utc_offset=900", "week=1"))
    )
    assert [reply.status for reply in replies] == [422] * 4
    assert (await daemon.get("/v1/usage?session_id=sess_" + "0" * 32)).status == 404
