"""The client of `/v1/rpc`: calls at the same time, errors as errors, an end that everybody notices."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agi.client.rpc import CallFailed, connect, connect_to
from agi.errors import Unavailable
from agi.testing.box import daemon_in_a_box


async def test_calls_may_be_made_at_the_same_time(tmp_path: Path) -> None:
    """Each gets its own answer; what is None is left out."""
    async with daemon_in_a_box(tmp_path) as daemon, connect(daemon.url) as rpc:
        made = await asyncio.gather(*(rpc.call("create_task", title=f"Task {n}", slug=None) for n in range(20)))

    assert [one["taskSlug"] for one in made] == [f"task-{n}" for n in range(20)]


async def test_an_error_has_number_code_and_hint(tmp_path: Path) -> None:
    """What the daemon says is wrong comes as one exception."""
    async with daemon_in_a_box(tmp_path) as daemon, connect(daemon.url) as rpc:
        with pytest.raises(CallFailed) as failed:
            await rpc.call("no_such_method")

    assert (failed.value.number, failed.value.code) == (-32601, "method_not_found")
    assert failed.value.hint


async def test_the_notifications_end_with_the_connection(tmp_path: Path) -> None:
    """Also for one that comes late."""
    async with daemon_in_a_box(tmp_path) as daemon, connect(daemon.url) as rpc:
        daemon.app.stop()
        heard = [told async for told in rpc.notifications()]
        again = [told async for told in rpc.notifications()]

    assert heard == again == []


async def test_nobody_there_is_said_with_what_to_do(tmp_path: Path) -> None:
    """No daemon at that address, and none for that project."""
    with pytest.raises(Unavailable) as nobody:
        async with connect("http://127.0.0.1:1"):
            pass
    with pytest.raises(Unavailable) as none:
        connect_to(tmp_path)

    assert "agi serve" in nobody.value.hint
    assert "agi serve" in none.value.hint
