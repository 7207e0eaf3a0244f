"""Jobs by either transport: the same answers, and the same refusals."""

from __future__ import annotations

import pytest

from agi.client.base import Client
from agi.errors import AgiError
from agi.protocol.commands import CreateSession, MoveToBackground

JOB = "job_" + "0" * 32


async def test_a_session_without_jobs_has_none(client: Client) -> None:
    """Both in the list and with the session."""
    session = await client.create_session(CreateSession())

    assert await client.jobs(session.id) == []
    assert session.jobs == ()


async def test_what_is_not_there_is_refused_alike(client: Client) -> None:
    """With the code of what is wrong."""
    session = await client.create_session(CreateSession())
    attempts = [
        lambda: client.job_output(session.id, JOB),
        lambda: client.job_output(session.id, JOB, 7),
        lambda: client.stop_job(session.id, JOB),
        lambda: client.move_to_background(session.id, MoveToBackground()),
        lambda: client.move_to_background(session.id, MoveToBackground(tool_call_id="call_1")),
        lambda: client.jobs("sess_" + "0" * 32),
    ]
    codes = []
    for attempt in attempts:
        with pytest.raises(AgiError) as refused:
            await attempt()
        codes.append(refused.value.code)

    assert codes == [*["job_not_found"] * 3, *["nothing_to_move"] * 2, "session_not_found"]
