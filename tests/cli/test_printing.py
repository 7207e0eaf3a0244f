"""A turn as it is told: the answer on stdout, the rest on stderr, each character once."""

from __future__ import annotations

import json

import msgspec
import pytest

from agi.cli.printing import JsonPrinter, TextPrinter
from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.messages import Message
from agi.protocol.parts import Reasoning, Text
from agi.protocol.tools import ToolCall, ToolResult


def event(data: ev.EventData) -> Event:
    return Event.of(1, "2026-01-01T00:00:00.000Z", "sess_1", "turn_1", data)


def delta(text: str, offset: int = 0, *, part: str = "p1", kind: str = "text") -> Event:
    return event(ev.ModelOutputDelta(message_id="m", part_id=part, kind=kind, delta=text, offset=offset))  # type: ignore[arg-type]


def completed(*parts: Text | Reasoning) -> Event:
    message = Message(id="m", role="assistant", parts=parts, created_at="", status="complete")
    return event(ev.ModelOutputCompleted(message=message))


@pytest.fixture
def told(capfd):
    """Show events to a printer; gives what it wrote."""

    def show(*events: Event, printer=None) -> tuple[str, str]:
        printer = printer or TextPrinter()
        for one in events:
            printer.show(one)
        printer.finish()
        return capfd.readouterr()

    return show


def test_text_comes_once_however_it_arrives(told):
    """Live pieces, the same pieces again, and the whole message make one text."""
    out, err = told(delta("Hel"), delta("lo", 3), delta("Hello", 0), completed(Text(text="Hello!", id="p1")))

    assert (out, err) == ("Hello!\n", "")


def test_another_part_begins_a_new_paragraph(told):
    """What was said before and after a tool call does not run together."""
    assert told(delta("One."), delta("Two.", part="p2"))[0] == "One.\n\nTwo.\n"
    assert told(delta("One.\n"), delta("Two.\n", part="p2"))[0] == "One.\n\nTwo.\n"
    assert told(delta("One.\n\n"), delta("Two.", part="p2"))[0] == "One.\n\nTwo.\n"


def test_an_answer_without_words_leaves_stdout_empty(told):
    """No line break without a line."""
    assert told(completed()) == ("", "")


def test_what_the_model_thinks_aloud_is_no_answer(told):
    """Reasoning is in the log, not on stdout."""
    assert told(delta("hm", kind="reasoning"), completed(Reasoning(text="hm", id="p1"))) == ("", "")


def test_control_characters_pass_through_a_pipe(told):
    """Who pipes wants the text itself."""
    assert told(delta("\x1b[31mred"))[0] == "\x1b[31mred\n"


def test_tools_and_verification_are_told_on_stderr(told):
    """One line a step, what failed with its reason."""
    call = ToolCall("call_1", "shell", msgspec.Raw(b'{"command": "make"}'))
    good, bad = (ToolResult(id="call_1", ok=ok, parts=(), error="" if ok else "exit 2\nmore") for ok in (True, False))
    out, err = told(
        event(ev.ToolCallStarted(tool_call=call, kind="exec")),
        event(ev.ToolCallCompleted(tool_call_id="call_1", name="shell", tool_result=good, message_id="m")),
        event(ev.ToolCallCompleted(tool_call_id="call_1", name="shell", tool_result=bad, message_id="m")),
        event(ev.VerificationCompleted(verification_id="v", command="make", attempt=1, status="passed")),
        event(ev.VerificationCompleted(verification_id="v", command="make", attempt=2, status="failed", exit_code=2)),
        event(ev.VerificationCompleted(verification_id="v", command="", attempt=0, status="not_run", reason="None.")),
        event(ev.Notice(code="x", message="A setting is ignored.")),
    )

    assert out == ""
    assert err.splitlines() == [
        "→ shell make",
        "✓ shell",
        "✗ shell: exit 2 more",
        "✓ verified: make",
        "✗ verification failed: make (exit 2)",
        "– not verified: None.",
        "note: A setting is ignored.",
    ]


@pytest.mark.parametrize("printer", [TextPrinter, JsonPrinter])
def test_the_scripted_stand_in_is_always_named(told, printer):
    """Nobody takes the demo for an AI model."""
    started = event(ev.TurnStarted(message_id="m", agent="build", provider="scripted", model="demo"))

    assert "not an AI model" in told(started, printer=printer())[1]


def test_an_event_of_an_unknown_type_is_skipped_as_text_and_kept_as_json(told):
    """New kinds of events break nobody."""
    new = Event(3, "2026-01-01T00:00:00.000Z", "sess_1", None, "moon_landed", b'{"crew":3}')

    assert told(new) == ("", "")
    assert json.loads(told(new, printer=JsonPrinter())[0])["data"] == {"crew": 3}
