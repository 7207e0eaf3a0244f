"""Names that somebody made up are `other` wherever the daemon's work is told: numbers, spans, lines of JSON."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
from opentelemetry.semconv._incubating.attributes.gen_ai_attributes import GenAiProviderNameValues

from agi.errors import ModelError
from agi.models.scripted import Call
from agi.protocol import events as ev
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, failed
from agi.server.access import AccessLine
from agi.server.speaking import Speaker
from agi.telemetry.spans import Span, Spans
from agi.telemetry.tellable import MOST, OTHER, PROVIDERS, Tellable, provider
from agi.testing.box import Daemon, daemon_in_a_box
from agi.testing.samples import event

MADE_UP = "the_secret_word_is_swordfish"


def spans_of(daemon: Daemon) -> list[Span]:
    """The spans of everything from here on, as an exporter would send them."""
    fold, spans = Spans(daemon.harness.tools_known), []  # type: ignore[var-annotated]
    daemon.harness.log.observers.append(lambda events: spans.extend(one for told in events for one in fold.hear(told)))
    return spans


async def test_a_tool_that_the_model_makes_up_has_no_name_in_numbers_and_spans(tmp_path: Path) -> None:
    """A name is text like any other: it stays in the log, which is the user's."""
    async with daemon_in_a_box(tmp_path, trusted=True) as daemon:
        spans = spans_of(daemon)
        daemon.model.calls(MADE_UP, path=".").calls("repo_tree").then_says("Done.")
        turn = await daemon.ask("go")
        await turn.answer()
        numbers = (await daemon.get("/metrics")).body.decode()
        history = await daemon.history(turn.session_id)

    assert 'agi_tool_calls_total{tool="other",outcome="blocked"} 1' in numbers
    assert 'agi_tool_calls_total{tool="repo_tree",outcome="ok"} 1' in numbers
    assert MADE_UP not in numbers
    assert MADE_UP not in str(spans)
    assert {"execute_tool other", "execute_tool repo_tree"} < {span.name for span in spans}
    assert MADE_UP in str(history)


async def test_a_tool_that_there_is_keeps_its_name_where_it_never_ran(tmp_path: Path) -> None:
    """Refused unasked: still worth counting by itself."""
    async with daemon_in_a_box(tmp_path, trusted=True) as daemon:
        daemon.model.plays(Call("shell", "no JSON")).then_says("Done.")
        await (await daemon.ask("go")).answer()
        numbers = (await daemon.get("/metrics")).body.decode()

    assert 'agi_tool_calls_total{tool="shell",outcome="blocked"} 1' in numbers


async def test_a_model_that_never_answered_has_no_name(tmp_path: Path) -> None:
    """Its name may be whatever a client sent; once it answered it is one that the user set up."""
    async with daemon_in_a_box(tmp_path, trusted=True) as daemon:
        spans = spans_of(daemon)
        daemon.model.fails(ModelError("No.")).says("Here.")
        ended = await (await daemon.ask("go")).ended()
        await (await daemon.ask("go")).answer()

    models = [(span.name, span.attributes["gen_ai.request.model"]) for span in spans]
    assert ended["type"] == "turn_failed"
    assert models == [
        ("chat other", OTHER),
        ("invoke_agent build", OTHER),
        ("chat script", "script"),
        ("invoke_agent build", "script"),
    ]


def test_a_model_that_was_cut_off_before_its_first_word_has_no_name() -> None:
    """An answer without anything in it is none."""
    began = ev.TurnStarted(message_id="msg_1", agent="build", provider="local", model=MADE_UP)
    said = Message(
        id="msg_2", role="assistant", parts=(), created_at="", status="error", provider="local", model=MADE_UP
    )
    failed_turn = ev.TurnCanceled(usage=Usage())
    fold = Spans()
    told: list[ev.EventData] = [began, ev.ModelOutputCompleted(message=said), failed_turn]
    spans = [span for seq, data in enumerate(told, 1) for span in fold.hear(event(seq, data, "turn_1"))]

    assert [span.name for span in spans] == ["chat other", "invoke_agent build"]
    assert MADE_UP not in str(spans)


def test_a_model_may_be_named_once_it_said_something() -> None:
    """At the provider where it did."""
    tellable = Tellable()
    text = (Text(text="Hello."),)
    said = Message(id="msg_1", role="assistant", parts=text, created_at="", status="error", provider="local", model="m")
    tellable.hear(event(1, ev.ModelOutputCompleted(message=said), "turn_1"))
    tellable.hear(event(2, ev.UsageRecorded(message_id="", provider="far", model="n", usage=Usage()), "turn_1"))

    assert [tellable.model(*one) for one in (("local", "m"), ("far", "n"), ("far", "m"))] == ["m", "n", OTHER]


def test_what_ran_may_be_named_and_only_so_much_of_it() -> None:
    """A server with endless names costs no endless memory."""
    tellable = Tellable(lambda: {"shell"})
    for n in range(MOST + 1):
        call = ToolCall(f"call_{n}", f"tool{n}", msgspec.Raw(b"{}"))
        tellable.hear(event(1, ev.ToolCallStarted(tool_call=call, kind="read"), "turn_1"))
    call = ToolCall("call_x", "made_up", msgspec.Raw(b"{}"))
    ended = ev.ToolCallCompleted(
        tool_call_id="x", name="made_up", tool_result=failed(call, ""), message_id="m", blocked=True
    )
    tellable.hear(event(1, ended, "turn_1"))

    names = ["shell", "tool0", f"tool{MOST}", "made_up"]
    assert [tellable.tool(name) for name in names] == ["shell", "tool0", OTHER, OTHER]


def test_a_provider_is_called_what_the_conventions_call_it() -> None:
    """Whoever looks for all calls of a provider finds ours; one that the conventions do not know keeps its name."""
    known = {member.value for member in GenAiProviderNameValues.__members__.values()}
    ours = ("openai", "anthropic", "google", "xai", "mistral", "bedrock", "azure", "google-cloud", "groq", "mine")

    told = ["openai", "anthropic", "gcp.gemini", "x_ai", "mistral_ai", "aws.bedrock", "azure.ai.openai"]
    assert [provider(name) for name in ours] == [*told, "gcp.vertex_ai", "groq", "mine"]
    assert set(PROVIDERS.values()) <= known
    assert not known & PROVIDERS.keys()


def test_a_line_of_json_has_no_method_that_a_client_made_up() -> None:
    """As in the numbers."""
    err = io.StringIO()
    speaker = Speaker(io.StringIO(), err)
    speaker.format = "json"
    for method in ("GET", "SWORDFISH"):
        speaker.log(AccessLine(method, "/", 200, 1.0, 2, "peer"))

    assert [msgspec.json.decode(line)["method"] for line in err.getvalue().splitlines()] == ["GET", OTHER]
