"""`/v1/mcp`: how servers stand, over HTTP; no request can name a program."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from agi.testing.box import daemon_in_a_box

RAW = Path(__file__).parent.parent / "mcp" / "servers" / "raw.py"


def name(folder: Path, *mode: str) -> None:
    entry = {"command": sys.executable, "args": ["-S", str(RAW), *mode]}
    (folder / "home").mkdir(exist_ok=True)
    (folder / "home" / "mcp.json").write_text(json.dumps({"mcpServers": {"mine": entry}}))


async def test_servers_are_listed_tried_and_approved(tmp_path: Path) -> None:
    """From idle to ready to changed to approved."""
    async with daemon_in_a_box(tmp_path) as daemon:
        assert (await daemon.get("/v1/mcp")).json() == {"servers": [], "problems": [], "enabled": True}
        name(tmp_path, "changing", str(tmp_path / "news"))
        (server,) = (await daemon.get("/v1/mcp")).json()["servers"]
        assert (server["name"], server["source"], server["state"]) == ("mine", "user", "idle")

        tried = (await daemon.post("/v1/mcp/mine/test")).json()
        assert (tried["state"], [tool["name"] for tool in tried["tools"]]) == ("ready", ["mcp__mine__echo"])
        assert tried["start_ms"] > 0

        name(tmp_path, "plain")
        (server,) = (await daemon.get("/v1/mcp")).json()["servers"]
        assert server["tools"] == []
        assert "+argument: plain" in server["changes"][0]["diff"]
        approved = (await daemon.post("/v1/mcp/mine/approve", {})).json()
        assert (len(approved["tools"]), approved["changes"]) == (1, [])


@pytest.mark.threat("T7")
async def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    """And a request that names a program is refused as malformed."""
    name(tmp_path, "plain")
    async with daemon_in_a_box(tmp_path) as daemon:
        for verb in ("test", "approve"):
            reply = await daemon.post(f"/v1/mcp/nobody/{verb}", {})
            assert (reply.status, reply.code) == (404, "mcp_not_found")
        assert (await daemon.post("/v1/mcp/mine/approve", {"tool": "nothing"})).status == 404
        assert (await daemon.post("/v1/mcp/mine/test", {"command": "id"})).status == 422
        assert (await daemon.post("/v1/mcp", {"mcpServers": {}})).status == 405
