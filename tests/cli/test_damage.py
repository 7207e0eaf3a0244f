"""A database that is damaged: every command says so, and what helps; none asks for a report."""

from __future__ import annotations

import json
import sqlite3

import pytest


def first_session(here) -> str:
    here("hello")
    return json.loads(here("sessions", "--json").out)[0]["id"]


def rot(here) -> None:
    """One byte of one event becomes another, as on a disk that forgets; its page is whole."""
    db = sqlite3.connect(here.project / ".agi" / "agi.sqlite")
    data = "CAST(replace(CAST(data AS BLOB), x'68656c6c6f', x'68ff6c6c6f') AS TEXT)"
    assert db.execute(f"UPDATE events SET data={data} WHERE type='message_added'").rowcount
    db.commit()
    db.close()


@pytest.mark.parametrize(
    "command",
    [
        "repair",
        "sessions export {}",
        "sessions export {} --cassette",
        "replay {}",
        "policy replay {}",
        "search hello",
        "doctor",
    ],
)
def test_a_rotted_byte_is_named_as_damage(here, command):
    """Whatever is asked, the way back is said; and it is one."""
    session_id = first_session(here)
    before = here("sessions", "export", session_id)
    rot(here)

    told = here(*command.format(session_id).split())
    assert told.code in (1, 2)
    assert "agi repair --from-mirrors" in told.out + told.err
    assert "went wrong" not in told.err

    assert here("repair", "--from-mirrors").code == 0
    assert here("sessions", "export", session_id).out == before.out
