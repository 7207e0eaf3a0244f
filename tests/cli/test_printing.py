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


def ran(output: str, *, ok: bool = True, kind: str = "exec") -> tuple[Event, Event]:
    """A call that begins, and its end with what it said."""
    call = ToolCall("call_1", "shell", msgspec.Raw(b'{"command": "make"}'))
    result = ToolResult(id="call_1", ok=ok, parts=(Text(text=output),), error="" if ok else "exit code 2")
    done = ev.ToolCallCompleted(tool_call_id="call_1", name="shell", tool_result=result, message_id="m")
    return event(ev.ToolCallStarted(tool_call=call, kind=kind)), event(done)


def piece(text: str, call_id: str = "call_1") -> Event:
    return event(ev.ToolOutputDelta(tool_call_id=call_id, channel="stdout", chunk=text, offset=0))


def test_why_a_command_failed_is_told_once(told):
    """A call that was canceled has no other words than that."""
    begun, done = ran("exit code 2", ok=False)

    assert told(begun, done)[1].splitlines() == ["→ shell make", "✗ shell: exit code 2"]


def test_a_commands_output_is_shown_while_it_runs(told):
    """Set in, its first lines at once, its last ones at the end, and no line twice."""
    numbers = "".join(f"{n}\n" for n in range(1, 31))
    begun, done = ran(f"{numbers}[exit code 0]")
    live = told(begun, piece("1\n2\n3\n4\n5\n6"))[1]
    whole = told(begun, piece(numbers), done)[1]

    assert live.splitlines() == ["→ shell make", *(f"    {n}" for n in range(1, 6))]
    assert whole.splitlines() == [
        "→ shell make",
        *(f"    {n}" for n in range(1, 6)),
        "    … 15 lines",
        *(f"    {n}" for n in range(21, 31)),
        "✓ shell",
    ]


def test_a_failed_commands_last_words_are_shown(told):
    """Also those of one that failed at once; how it ended is said once."""
    assert told(*ran("No rule to make target.\n[exit code 2]", ok=False))[1].splitlines() == [
        "→ shell make",
        "    No rule to make target.",
        "✗ shell: exit code 2",
    ]


def test_what_other_tools_find_is_for_the_model(told):
    """A file that was read is not poured onto the screen."""
    assert "secret" not in told(*ran("secret\n", kind="read"))[1]
    assert told(piece("unknown\n", "call_9")) == ("", "")


def test_a_verification_shows_what_it_said_like_any_command(told):
    """Its failure is where one looks."""
    started = ev.VerificationStarted(verification_id="v", command="make test", attempt=1)
    failed = ev.VerificationCompleted(
        verification_id="v",
        command="make test",
        attempt=1,
        status="failed",
        exit_code=2,
        output="1 failed\n[exit code 2]",
    )

    assert told(event(started), event(failed))[1].splitlines() == [
        "→ verify: make test",
        "    1 failed",
        "✗ verification failed: make test (exit 2)",
    ]


def test_a_review_that_lets_a_change_pass_is_told(told):
    """A rejected change tells itself, as a call that failed."""
    accepted = ev.PatchReviewed(tool_call_id="c", verdict="accept", reason="As asked.\x1b[2J", reviewer="p/m")

    assert told(event(accepted))[1] == "✓ reviewed: As asked.\\x1b[2J\n"
    assert told(event(msgspec.structs.replace(accepted, verdict="reject")))[1] == ""


def test_a_provider_that_is_busy_is_said_to_be(told):
    """Nobody wonders why nothing happens."""
    busy = ev.ModelBackedOff(
        provider="p", model="m", code="c", reason="p is busy.", attempt=2, resume_at="2026-01-01T00:00:10.000Z"
    )

    bare = msgspec.structs.replace(busy, reason="p answered 502: a web page")

    assert told(event(busy))[1].startswith("note: p is busy. Asked again at ")
    assert told(event(bare))[1].startswith("note: p answered 502: a web page. Asked again at ")


def test_a_verification_that_has_nothing_to_run_is_not_mentioned(told):
    """Only what was meant to run and did not is worth a line."""
    nothing = ev.VerificationCompleted(verification_id="v", command="", attempt=0, status="not_run", reason="None.")
    refused = ev.VerificationCompleted(verification_id="v", command="make", attempt=1, status="not_run", reason="No.")

    assert told(event(nothing)) == ("", "")
    assert told(event(refused))[1] == "– not verified: No.\n"


def test_what_failed_before_is_told_from_what_fails_now(told):
    """Nobody is blamed for what was broken; what was told elsewhere is not told again."""

    def done(status: str, **kept: object) -> str:
        told_of = ev.VerificationCompleted(
            verification_id="v", command="make", attempt=1, status=status, exit_code=2, **kept
        )
        return told(event(told_of))[1].removesuffix("\n")

    started = ev.VerificationStarted(verification_id="v", command="make", attempt=0, baseline=True)
    assert told(event(started))[1] == "→ before any change: make\n"
    assert done("passed", baseline=True) == "✓ passes before any change: make"
    assert done("failed", baseline=True) == "– fails before any change: make (exit 2)"
    assert done("not_run", baseline=True, reason="Slow.") == "– not known what fails before any change: Slow."
    assert done("failed", pre_existing=True) == "– fails as before: make (exit 2)"
    assert done("passed", reason="Files changed while it ran: a.") == "– make: Files changed while it ran: a."
    assert done("failed", known=True, baseline=True) == done("passed", tool_call_id="c") == ""


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
        event(ev.Notice(code="x", message="A setting is ignored.")),
    )

    assert out == ""
    assert err.splitlines() == [
        "→ shell make",
        "✓ shell",
        "✗ shell: exit 2 more",
        "✓ verified: make",
        "✗ verification failed: make (exit 2)",
        "note: A setting is ignored.",
    ]


@pytest.mark.parametrize("printer", [TextPrinter, JsonPrinter])
def test_a_script_and_the_embedded_model_are_always_named(told, printer):
    """Nobody takes the one for an AI model, or the other for a large one."""

    def label(provider: str, model: str) -> str:
        return told(
            event(ev.TurnStarted(message_id="m", agent="build", provider=provider, model=model)), printer=printer()
        )[1]

    assert "not an AI model" in label("scripted", "demo")
    assert "qwen2.5-coder-1.5b answers: fine for looking things up, not for real coding" in label(
        "embedded", "qwen2.5-coder-1.5b"
    )
    assert "real coding" not in label("ollama", "qwen3:8b")


def test_an_event_of_an_unknown_type_is_skipped_as_text_and_kept_as_json(told):
    """New kinds of events break nobody."""
    new = Event(3, "2026-01-01T00:00:00.000Z", "sess_1", None, "moon_landed", b'{"crew":3}')

    assert told(new) == ("", "")
    assert json.loads(told(new, printer=JsonPrinter())[0])["data"] == {"crew": 3}
