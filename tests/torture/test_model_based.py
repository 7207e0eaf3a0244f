"""Random requests and restarts against a model of a few lines: whatever the order, the daemon and the model agree.

A real harness, guard and server on a socket; the model of an agent is a script. AGI_SEQUENCES says how many sequences
are tried (default 25), up to AGI_STEPS steps each (default 12).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, ScriptedModel, Step
from agi.protocol.parts import plain_text
from agi.testing.box import Daemon, Reply, daemon_in_a_box

pytestmark = pytest.mark.slow
SEQUENCES = int(os.environ.get("AGI_SEQUENCES", "25"))
STEPS = int(os.environ.get("AGI_STEPS", "12"))
OF_THE_END = ("last_seq", "head", "updated_at")
"""What every event changes about a session."""
TITLES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=30)


def decide(request: ModelRequest) -> tuple[Step, ...]:
    """A question that says `run` is answered after a command, which must be approved; any other at once."""
    last = request.messages[-1]
    asked = [plain_text(one.parts) for one in request.messages if one.role == "user" and not one.origin]
    if last.role != "tool" and asked[-1].startswith("run"):
        return (Call("shell", {"command": "true"}),)
    return (Say(f"You said: {asked[-1]}"),)


class Known:
    """What the model knows of one session."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.waiting = False
        self.title: str | None = None
        self.seen = 0


class DaemonMachine(RuleBasedStateMachine):
    """The requests, and what must come of each."""

    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        self.known: dict[str, Known] = {}
        self.deleted: set[str] = set()
        self._start()

    def _start(self) -> None:
        self.stack = contextlib.AsyncExitStack()
        script = ScriptedModel.from_function(decide)
        box = daemon_in_a_box(self.folder, model=script, trusted=True, config={"verify": {"autoVerify": False}})
        self.daemon: Daemon = self.loop.run_until_complete(self.stack.enter_async_context(box))

    def teardown(self) -> None:
        self.loop.run_until_complete(self.stack.aclose())
        self.loop.close()
        shutil.rmtree(self.folder)

    def call(self, method: str, path: str, body: object = None) -> Reply:
        return self.loop.run_until_complete(self.daemon.call(method, path, body))

    def session(self, session_id: str) -> dict[str, Any]:
        return dict(self.call("GET", f"/v1/sessions/{session_id}").json())

    def settle(self, session_id: str) -> dict[str, Any]:
        """Wait until the session is at rest: idle, or waiting for an answer."""

        async def wait() -> dict[str, Any]:
            async with asyncio.timeout(20):
                while True:
                    told = (await self.daemon.get(f"/v1/sessions/{session_id}")).json()
                    if told["activity"] in ("idle", "waiting_approval"):
                        return dict(told)
                    await asyncio.sleep(0.002)

        return self.loop.run_until_complete(wait())

    @rule(target=sessions)
    def create(self) -> str:
        reply = self.call("POST", "/v1/sessions", {})
        assert reply.status == 201
        session_id = str(reply.json()["id"])
        assert session_id not in self.known
        self.known[session_id] = Known()
        return session_id

    @rule(session_id=sessions, text=st.sampled_from(["say one", "say two", "run it", "run that"]))
    def ask(self, session_id: str, text: str) -> None:
        known = self.known[session_id]
        reply = self.call("POST", f"/v1/sessions/{session_id}/messages", {"parts": [{"type": "text", "text": text}]})
        assert reply.status == 202
        known.asked.append(text)
        told = self.settle(session_id)
        known.waiting = told["activity"] == "waiting_approval"
        assert known.waiting or not text.startswith("run")

    @rule(session_id=sessions, action=st.sampled_from(["approve", "deny"]))
    def answer(self, session_id: str, action: str) -> None:
        known, path = self.known[session_id], f"/v1/sessions/{session_id}/approve"
        pending = self.session(session_id)["pending_approvals"]
        if not known.waiting:
            assert pending == []
            assert self.call("POST", path, {"tool_call_id": "call_x", "action": action}).status in (404, 409)
            return
        body = {"tool_call_id": pending[0]["tool_call_id"], "turn_id": pending[0]["turn_id"], "action": action}
        assert self.call("POST", path, body).status == 200
        assert self.call("POST", path, body).status == 409
        known.waiting = self.settle(session_id)["activity"] == "waiting_approval"

    @rule(session_id=sessions)
    def cancel(self, session_id: str) -> None:
        known = self.known[session_id]
        reply = self.call("POST", f"/v1/sessions/{session_id}/cancel", {})
        assert (reply.status == 200) == known.waiting, reply
        if not known.waiting:
            assert reply.code == "nothing_to_cancel"
        known.waiting = self.settle(session_id)["activity"] == "waiting_approval"

    @rule(session_id=sessions, title=TITLES)
    def rename(self, session_id: str, title: str) -> None:
        reply = self.call("PATCH", f"/v1/sessions/{session_id}", {"title": title})
        assert reply.status in (200, 422)
        if reply.status == 200:
            self.known[session_id].title = reply.json()["title"]

    @rule(session_id=consumes(sessions))
    def delete(self, session_id: str) -> None:
        while self.known[session_id].waiting:
            assert self.call("DELETE", f"/v1/sessions/{session_id}").code == "session_running"
            self.cancel(session_id)
        assert self.call("DELETE", f"/v1/sessions/{session_id}").status == 204
        assert self.call("GET", f"/v1/sessions/{session_id}").code == "session_not_found"
        del self.known[session_id]
        self.deleted.add(session_id)

    @rule()
    @precondition(lambda self: self.known)
    def restart(self) -> None:
        """The daemon stops in the middle of whatever it does, and starts again."""
        self.loop.run_until_complete(self.stack.aclose())
        self._start()
        for session_id, known in self.known.items():
            assert (self.settle(session_id)["activity"] == "waiting_approval") == known.waiting

    @rule(body=st.sampled_from([[], {"parts": 7}, {"content": 1}, {"role": "king", "content": "x"}, "text", None]))
    @precondition(lambda self: self.known)
    def nonsense(self, body: object) -> None:
        """Bad input is refused and changes nothing; only a turn that a restart took up may say so meanwhile."""
        session_id = next(iter(self.known))
        before = self.session(session_id)
        assert 400 <= self.call("POST", f"/v1/sessions/{session_id}/messages", body).status < 500
        after = self.session(session_id)
        added = self.loop.run_until_complete(self.daemon.history(session_id))[before["last_seq"] :]
        assert {event["type"] for event in added} <= {"turn_resumed"}
        assert {**after, **{name: before[name] for name in OF_THE_END}} == before

    @invariant()
    def the_daemon_and_the_model_agree(self) -> None:
        listed = {one["id"] for one in self.call("GET", "/v1/sessions?limit=1000").json()["sessions"]}
        assert listed == set(self.known)
        for session_id, known in self.known.items():
            history = self.loop.run_until_complete(self.daemon.history(session_id))
            assert [event["seq"] for event in history] == list(range(1, len(history) + 1))
            assert len(history) >= known.seen
            known.seen = len(history)
            said = [event["data"]["message"] for event in history if event["type"] == "message_added"]
            texts = [one["parts"][0]["text"] for one in said if not one.get("origin")]
            assert texts == known.asked
            if known.title is not None:
                assert self.session(session_id)["title"] == known.title
            started = [event for event in history if event["type"] == "tool_call_started"]
            ended = [event["data"]["tool_call_id"] for event in history if event["type"] == "tool_call_completed"]
            assert len(ended) == len(set(ended)) >= len(started)


TestDaemon = DaemonMachine.TestCase
TestDaemon.settings = settings(
    max_examples=SEQUENCES,
    stateful_step_count=STEPS,
    deadline=None,
    derandomize="AGI_SEED" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
TestDaemon.pytestmark = [pytest.mark.slow, pytest.mark.timeout(14400), pytest.mark.threat("T56")]
