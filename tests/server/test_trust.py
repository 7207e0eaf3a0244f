"""Trust over HTTP: asked, given, lost by a change, taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agi.testing.box import Daemon, daemon_in_a_box


@pytest.fixture
async def stranger(tmp_path: Path) -> AsyncIterator[Daemon]:
    """A daemon in a workspace nobody trusts yet."""
    async with daemon_in_a_box(tmp_path) as box:
        box.workspace.write(".agi/config.json", '{"verify": {"commands": ["make check"]}}')
        yield box


async def test_trust_is_given_and_taken_back(stranger: Daemon) -> None:
    """The answer is always how the workspace stands now, and the harness goes by it."""
    path = str(stranger.workspace.path)
    assert (await stranger.get("/v1/trust")).json() == {
        "path": path,
        "trusted": False,
        "reason": "never_trusted",
        "changed": [],
        "problem": "",
    }

    given = (await stranger.call("PUT", "/v1/trust", {"path": path, "trusted": True})).json()
    assert (given["trusted"], given["reason"]) == (True, "trusted")
    assert (await stranger.get("/v1/health")).json()["trusted"] is True

    taken = (await stranger.call("PUT", "/v1/trust", {"path": path, "trusted": False})).json()
    assert (taken["trusted"], taken["reason"]) == (False, "never_trusted")
    assert (await stranger.get("/v1/health")).json()["trusted"] is False


async def test_what_changed_must_be_trusted_again(stranger: Daemon) -> None:
    """And it is said what that is."""
    path = str(stranger.workspace.path)
    await stranger.call("PUT", "/v1/trust", {"path": path, "trusted": True})
    stranger.workspace.write(".agi/config.json", '{"verify": {"commands": ["rm -rf /"]}}')

    now = (await stranger.get(f"/v1/trust?path={path}")).json()

    assert (now["trusted"], now["reason"], now["changed"]) == (False, "changed", [".agi/config.json"])


async def test_a_folder_that_is_not_there_cannot_be_trusted(stranger: Daemon) -> None:
    """404; asking about it is no error."""
    reply = await stranger.call("PUT", "/v1/trust", {"path": "/nowhere/at/all", "trusted": True})
    assert reply.status == 404
    assert (await stranger.get("/v1/trust?path=/nowhere/at/all")).json()["trusted"] is False


async def test_the_folder_of_ones_own_settings_cannot_be_trusted(stranger: Daemon) -> None:
    """It could trust itself; the answer says why not."""
    above = str(stranger.workspace.path.parent)
    reply = await stranger.call("PUT", "/v1/trust", {"path": above, "trusted": True})
    assert (reply.status, reply.code) == (422, "config_invalid")
    assert (await stranger.get(f"/v1/trust?path={above}")).json()["problem"]
