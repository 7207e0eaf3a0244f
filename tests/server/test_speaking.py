"""What the daemon says about itself: text for people, JSON for programs, secrets for nobody."""

from __future__ import annotations

import io

import msgspec
import pytest
from tests.conftest import Place

from agi.config.values import LogFormat
from agi.protocol import events as ev
from agi.protocol.messages import Usage
from agi.redaction import Redactor
from agi.server.access import AccessLine
from agi.server.speaking import Speaker

SECRET = "sk-abcdefgh-12345678"
LINE = AccessLine("GET", f"/v1/{SECRET}", 200, 1.25, 10, "token")


@pytest.fixture
def err() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def speaker(err: io.StringIO) -> Speaker:
    speaker = Speaker(io.StringIO(), err)
    speaker.clean = Redactor([SECRET]).clean
    return speaker


def ended() -> ev.Event:
    data = ev.TurnCompleted(message_id=None, stop_reason="end_turn", steps=2, usage=Usage(input_tokens=7), seconds=1.5)
    return ev.Event.of(3, "2026-01-01T00:00:00.000Z", "sess_1", "turn_1", data)


def test_as_text_a_line_is_a_line(speaker: Speaker, err: io.StringIO) -> None:
    """Requests and remarks; turns are not told, and a secret is stars."""
    speaker.log(LINE)
    speaker.tell("agi: warning: mind the gap")
    speaker.hear([ended()])

    assert err.getvalue() == f"GET /v1/{'*' * len(SECRET)} 200 1.2ms 10B token\nagi: warning: mind the gap\n"


def test_as_json_each_line_is_an_object_with_its_level(speaker: Speaker, err: io.StringIO) -> None:
    """The same, and a line for each turn that ended; times are left out of the comparison."""
    speaker.format = "json"
    speaker.log(LINE)
    speaker.tell("agi: warning: mind the gap")
    speaker.hear([ended()])
    speaker.failed("sess_1", RuntimeError(f"no {SECRET}"))

    told = [msgspec.json.decode(line) for line in err.getvalue().splitlines()]
    assert [(one["level"], one["event"]) for one in told] == [
        ("info", "request"),
        ("warning", "told"),
        ("info", "turn_completed"),
        ("error", "run_failed"),
    ]
    assert all(one["ts"].endswith("Z") for one in told)
    assert told[0]["path"] == f"/v1/{'*' * len(SECRET)}"
    assert told[1]["message"] == "mind the gap"
    assert told[2]["usage"]["input_tokens"] == 7
    assert (told[2]["session_id"], told[2]["turn_id"], told[2]["steps"]) == ("sess_1", "turn_1", 2)
    assert SECRET not in err.getvalue()


def test_a_remark_with_line_ends_stays_one_line_of_json(speaker: Speaker, err: io.StringIO) -> None:
    """Whatever an error says, it cannot forge a line of its own."""
    speaker.format = "json"
    speaker.broke(RuntimeError('x\n{"level":"info"}'))

    assert len(err.getvalue().splitlines()) == 1


@pytest.mark.threat("T37")
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_mistake_of_ours_is_told_without_the_secret_it_was_about(
    speaker: Speaker, err: io.StringIO, form: LogFormat
) -> None:
    """Its words, those of its cause, and the lines of source it came from, which may quote one."""
    speaker.format = form
    try:
        try:
            raise KeyError(SECRET)
        except KeyError as cause:
            raise RuntimeError(f"no {SECRET}") from cause
    except RuntimeError as error:
        speaker.broke(error)

    assert "RuntimeError" in err.getvalue()
    assert "*" * len(SECRET) in err.getvalue()
    assert SECRET not in err.getvalue()


def test_nobody_listening_stops_nothing(speaker: Speaker, err: io.StringIO) -> None:
    """A closed stream is no reason to fail."""
    err.close()

    speaker.log(LINE)

    assert err.closed


@pytest.mark.threat("T36")
async def test_where_no_sandbox_can_be_tried_that_is_a_warning_and_what_to_do(
    place: Place, speaker: Speaker, err: io.StringIO, full_disk: None
) -> None:
    """At the start, before anybody has asked anything; the daemon goes on."""
    await speaker.tell_sandbox(place.harness.site())

    assert err.getvalue().startswith(
        "agi: warning: Which sandbox works here could not be tried: no temporary folder can"
    )
    assert "Make room" in err.getvalue()
