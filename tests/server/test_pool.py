"""`GET /v1/pool`, and what of workers is seen and done over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from agi.models.scripted import Call, Say, Wait
from agi.testing.box import daemon_in_a_box, eventually

LEAD = "---\nname: lead\ntools: [read_file]\npermissions: [agent-draft]\n---\nYou lead.\n"
WRITER = "---\nname: writer\ntools: [write_file]\n---\nYou write.\n"


async def test_workers_are_listed_answered_at_the_root_and_stopped_with_it(tmp_path: Path) -> None:
    """One look at the pool and at the root shows who works for whom and what waits for a person."""
    roles = tmp_path / "project" / ".agi" / "roles"
    roles.mkdir(parents=True)
    (roles / "lead.md").write_text(LEAD)
    (roles / "writer.md").write_text(WRITER)
    gate = asyncio.Event()

    def decide(request: Any) -> list[Any]:
        told = [part.content.parts[0].text for one in request.messages if one.role == "tool" for part in one.parts]
        if "You write." in request.system:
            return [Wait(gate), Say("never")] if told else [Call("write_file", {"path": "a.txt", "content": "x"})]
        if not told:
            return [Call("draft_agent", {"role": "writer", "prompt": "write"})]
        return [Call("await_agent", json.loads(told[0]))]

    config = {"defaultProvider": "scripted", "verify": {"autoVerify": False}}
    async with daemon_in_a_box(tmp_path, config=config, trusted=True) as daemon:
        daemon.model._decide = decide
        session = (await daemon.post("/v1/sessions", {"agent": "lead"})).json()["id"]
        at = f"/v1/sessions/{session}"
        await daemon.post(f"{at}/messages", {"content": "go", "wait": False})
        pending: list[Any] = []
        while not pending:
            pending = (await daemon.get(at)).json()["pending_approvals"]
            await asyncio.sleep(0)
        agents = (await daemon.get("/v1/pool")).json()["agents"]
        answered = await daemon.post(f"{at}/approve", {"tool_call_id": pending[0]["tool_call_id"], "action": "approve"})
        await eventually(lambda: len(daemon.model.requests) == 4)
        canceled = await daemon.post(f"{at}/cancel", {"scope": "children"})
        await eventually(lambda: not daemon.harness.crew.pool.agents())

        assert [(one["role"], one["parentId"], one["status"]) for one in agents] == [
            ("writer", session, "waiting_approval")
        ]
        assert (pending[0]["path"], pending[0]["session_id"]) == (["writer"], agents[0]["sessionId"])
        assert answered.status == 200
        assert canceled.json()["status"] == "canceled"
        assert (await daemon.get(f"/v1/sessions/{agents[0]['sessionId']}")).json()["status"] == "canceled"
        bad = await daemon.post(f"{at}/cancel", {"scope": "everything"})
        assert bad.status == 422
