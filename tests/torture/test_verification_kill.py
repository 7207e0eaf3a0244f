"""kill -9 a real daemon while it finds out what fails already: the change it was asked for is made once, after it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest
from tests.torture.killed import KilledDaemon

from agi.testing.provider import ProviderServer
from agi.testing.replies import Reply, calls, says
from agi.testing.scripts import Asked

pytestmark = pytest.mark.slow
GATED = "echo x >> ../ran; touch ../here; until test -f ../go; do sleep 0.05; done; exit 3"
"""Waits the first time, until somebody lets it; and always fails."""


class Daemon(KilledDaemon):
    """Its verification waits, and its log can be read."""

    def __init__(self, root: Path, base_url: str) -> None:
        verify = {"commands": [GATED], "maxAttempts": 1}
        # Without a sandbox: the command waits for a file beside the project.
        sandbox = {"mode": "off"}
        super().__init__(root, base_url, {"approval": {"requireForKinds": []}, "verify": verify, "sandbox": sandbox})

    def log(self) -> list[tuple[str, dict]]:
        db = sqlite3.connect(self.project / ".agi" / "agi.sqlite")
        try:
            rows = db.execute("SELECT type, data FROM events ORDER BY session_id, seq").fetchall()
        finally:
            db.close()
        return [(kind, json.loads(data)) for kind, data in rows]


def script(asked: Asked) -> Reply:
    """One command that leaves a line behind, then text."""
    is_done = any(message["role"] == "tool" for message in asked.json["messages"])
    return says("Done.") if is_done else calls(("shell", {"command": "echo line >> made.txt"}))


async def until(condition) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - files, and another process
            await asyncio.sleep(0.01)


@pytest.mark.threat("T43")
@pytest.mark.timeout(120)
async def test_a_change_that_waited_for_the_baseline_is_made_once_after_a_kill(tmp_path):
    """The daemon dies while the baseline runs; the next one takes it anew, then makes the change it was asked for."""
    async with ProviderServer(script, record=False) as provider:
        daemon = Daemon(tmp_path, provider.base_url)
        await daemon.start()
        session = (await daemon.call("POST", "/v1/sessions", {}))["id"]
        await daemon.call("POST", f"/v1/sessions/{session}/messages", {"parts": [{"type": "text", "text": "go"}]})
        await until((tmp_path / "here").exists)
        assert not (daemon.project / "made.txt").exists()
        await daemon.kill()
        (tmp_path / "go").touch()

        await daemon.start()
        await until(lambda: any(kind == "turn_completed" for kind, _ in daemon.log()))
        await daemon.kill()

    assert (daemon.project / "made.txt").read_text() == "line\n"
    log = daemon.log()
    runs = [(one["baseline"], one["status"]) for kind, one in log if kind == "verification_completed"]
    assert runs == [(True, "not_run"), (True, "failed"), (False, "failed")]
    (call,) = [one for kind, one in log if kind == "tool_call_completed"]
    assert call["tool_result"]["ok"] is True
    assert "interrupted" not in call
    (ended,) = [one for kind, one in log if kind == "turn_completed"]
    assert ended["verification"] == "pre_existing"
