"""The loop's ports, played from the record: what verified the changes is read from what was said of it."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.ids import MESSAGE, SESSION, TURN, new_id
from agi.replay.ports import RecordedToolbox
from agi.replay.tape import Tape

NOW = "2026-01-01T00:00:00.000Z"


def checks(message: str):
    """The commands that a turn with this notice is verified by, and what suggests them."""
    session, turn = new_id(SESSION), new_id(TURN)
    said = [
        ev.SessionCreated(id=session, agent="build", workspace_path="/w", project_path="/w", created_at=NOW),
        ev.TurnStarted(message_id=new_id(MESSAGE), agent="build", provider="p", model="m"),
        ev.Notice(code="verification_detected", message=message),
    ]
    with closing(Tape([Event.of(seq, NOW, session, turn, one) for seq, one in enumerate(said, 1)])) as tape:
        tape.turn_id = turn
        found = RecordedToolbox(tape, (), ()).checks()
    return found.commands, found.found


@pytest.mark.parametrize(
    ("commands", "found"),
    [
        (("make test",), ("Makefile",)),
        (("ruff check .", "pytest -q"), ("pyproject.toml", "a rule")),
        (("echo `date`, as ever", "true"), ("AGENTS.md",)),
        (("printf 'a\nb'",), ("Makefile",)),
    ],
)
def test_the_commands_that_were_found_are_those_of_the_notice(commands, found):
    """As the loop says it, whatever characters they have."""
    named = ", ".join(f"`{command}`" for command in commands)
    told = f"Changes are verified by {named}, as {', '.join(found)} suggests. `verify.commands` names others."

    assert checks(told) == (commands, found)


@pytest.mark.parametrize(
    "message", ["", "Changes are verified by `", "Changes are verified by `x`, as", "x suggests. `verify"]
)
def test_another_notice_names_none(message):
    """Nor does one that is cut off."""
    assert checks(message) == ((), ())


@pytest.mark.parametrize("piece", ["`, as ", "`, `", " suggests. `verify", "`, as x suggests. `verif"])
def test_a_long_notice_costs_as_much_as_it_is_long(piece):
    """A cassette may come from a stranger; a pattern that is tried from every place takes many seconds."""
    told = "Changes are verified by `" + piece * (200_000 // len(piece))
    begun = time.process_time()
    checks(told)

    assert time.process_time() - begun < 0.5
