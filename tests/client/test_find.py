"""Which way to the sessions: the daemon that runs, else this process."""

from __future__ import annotations

import fcntl
import json
import os
import socket

import pytest
from msgspec.structs import replace

from agi.client.find import open_client
from agi.errors import Invalid


async def test_without_a_daemon_the_harness_runs_here(here):
    """Nothing is started behind the user's back."""
    client = await open_client(here.settings)

    assert client.where == "this process"
    await client.close()


async def test_a_running_daemon_is_used_but_not_for_trust_of_one_run(here):
    """What holds for one run only is not told to somebody who lives longer."""
    async with here.daemon():
        shared = await open_client(here.settings)
        alone = await open_client(replace(here.settings, trust_once=True))

        assert shared.where.startswith("http://127.0.0.1:")
        assert alone.where == "this process"
        await shared.close()
        await alone.close()


async def test_a_daemon_that_does_not_answer_is_passed_by(here):
    """A port where nobody listens costs a moment, not the answer."""
    here.data.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    path = here.data / "daemon.json"
    path.write_text(json.dumps({"url": f"http://127.0.0.1:{port}", "pid": os.getpid(), "token": "t"}))
    path.chmod(0o600)
    lock = os.open(here.data / "daemon.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    client = await open_client(here.settings)
    os.close(lock)

    assert client.where == "this process"
    await client.close()


async def test_before_the_harness_opens_here_a_check_may_refuse(here):
    """Then nothing is made; a daemon checks for itself."""

    def refuse() -> None:
        raise Invalid("No.")

    with pytest.raises(Invalid):
        await open_client(here.settings, check=refuse)
    assert not here.data.exists()
    async with here.daemon():
        shared = await open_client(here.settings, check=refuse)
        await shared.close()
