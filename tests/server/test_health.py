"""Whether it is there, and how it stands, without a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from agi import __version__
from agi.testing.box import Daemon, daemon_in_a_box

KEY = "sk-canary-0123456789abcdef"


async def test_being_there_is_all_that_is_said(daemon: Daemon) -> None:
    """Exactly this, to anybody."""
    reply = await daemon.get("/healthz")
    assert (reply.status, reply.body) == (200, b'{"status":"ok"}')


async def test_health_tells_version_storage_sandbox_and_providers(daemon: Daemon) -> None:
    """What a person should know at a glance."""
    await daemon.begin()
    health = (await daemon.get("/v1/health")).json()
    assert (health["status"], health["version"], health["trusted"]) == ("ok", __version__, True)
    assert health["project"] == str(daemon.workspace.path)
    database = str(daemon.workspace.path / ".agi/agi.sqlite")
    assert health["storage"] == {"path": database, "epoch": 1, "sessions": 1, "mirror_ok": True}
    assert health["sandbox"]["rung"] in ("namespaces", "bubblewrap", "landlock", "none")
    assert health["sandbox"]["gaps"]
    assert health["default_model"]["provider"] == "scripted"
    assert {"name": "openai", "enabled": True, "configured": False} in health["providers"]


@pytest.mark.threat("T36")
async def test_where_nothing_holds_commands_that_is_a_warning(daemon: Daemon, no_sandbox: None) -> None:
    """Said with what was tried."""
    health = (await daemon.get("/v1/health")).json()

    assert (health["sandbox"]["rung"], health["sandbox"]["network"]) == ("none", "on")
    assert "without a sandbox" in health["sandbox"]["warning"]
    assert health["sandbox"]["warning"] in health["warnings"]


@pytest.mark.threat("T36")
async def test_where_no_sandbox_can_be_tried_that_is_a_warning_and_the_rest_is_told(
    daemon: Daemon, full_disk: None
) -> None:
    """Nothing is said of what holds commands, since nobody knows."""
    health = (await daemon.get("/v1/health")).json()

    assert health["sandbox"] is None
    assert any("No space left on device" in warning for warning in health["warnings"])
    assert health["providers"]


@pytest.mark.threat("T37")
async def test_a_key_is_configured_but_never_told(tmp_path: Path) -> None:
    """No answer holds it."""
    config = {"providers": {"openai": {"apiKey": KEY}}}
    async with daemon_in_a_box(tmp_path, config=config) as daemon:
        replies = [await daemon.get(path) for path in ("/v1/health", "/v1/models", "/v1/agents", "/openapi.json")]
        assert {"name": "openai", "enabled": True, "configured": True} in replies[0].json()["providers"]
        assert not any(KEY.encode() in reply.body for reply in replies)


async def test_settings_that_cannot_be_read_are_a_warning(daemon: Daemon) -> None:
    """Health is the page one looks at when something is wrong, so it answers all the same."""
    daemon.workspace.write(".agi/config.json", "{")
    reply = await daemon.get("/v1/health")
    assert reply.status == 200
    assert any("config.json" in warning for warning in reply.json()["warnings"])
