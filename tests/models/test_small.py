"""The small-model profile over a scripted model, alone and in the real loop with real tools."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from agi.errors import ModelError
from agi.models.base import CallMade, Finished, ModelRequest, StreamItem, TextDelta
from agi.models.embedded import Embedded
from agi.models.openai_chat import OpenAIChat
from agi.models.scripted import Fail, Say, ScriptedModel, Stop, Think
from agi.models.small import SmallModel
from agi.models.small_prompt import beginning
from agi.net.http import HttpClient
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text, plain_text
from agi.testing.provider import ProviderServer
from agi.testing.replies import says as reply
from agi.tools.builtin import builtin_tools

TOOLS = tuple(tool.definition for tool in builtin_tools())
STEP = '{"action":"read_file","path":"notes.txt"}'
ANSWER = '{"action":"answer","text":"It is blue."}'


def request(text: str = "Which colour?", **options: object) -> ModelRequest:
    message = Message(id="m", role="user", parts=(Text(text=text),), created_at="", status="complete")
    return ModelRequest(system="Files of this project: notes.txt", messages=(message,), tools=TOOLS, options=options)


async def play(model: SmallModel, asked: ModelRequest) -> list[StreamItem]:
    return [item async for item in model.stream(asked)]


class Prepared(ScriptedModel):
    """A scripted model that can be prepared, and remembers what it read ahead."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[ModelRequest] = []

    async def prepare(self, asked: ModelRequest) -> None:
        self.read.append(asked)


async def test_a_step_becomes_a_call() -> None:
    """As if the model had made one, with what it cost."""
    inner = ScriptedModel().plays(Say(STEP, size=5), Stop(usage=Usage(input_tokens=9, output_tokens=4, requests=1)))

    items = await play(SmallModel(inner), request())

    assert [(item.name, item.arguments) for item in items if isinstance(item, CallMade)] == [
        ("read_file", '{"path":"notes.txt"}')
    ]
    assert items[-1] == Finished(stop_reason="tool_calls", usage=Usage(input_tokens=9, output_tokens=4, requests=1))


async def test_an_answer_is_streamed() -> None:
    """In the pieces it came in; what the model thinks aloud passes through."""
    inner = ScriptedModel().plays(Think("hm"), Say(ANSWER, size=7))

    items = await play(SmallModel(inner), request())

    texts = [item.text for item in items if isinstance(item, TextDelta)]
    assert "".join(texts) == "It is blue."
    assert len(texts) > 1
    assert items[-1].stop_reason == "end_turn"  # type: ignore[union-attr]


async def test_it_goes_by_the_inner_models_name() -> None:
    """Logs and prices are about the model that answers."""
    model = SmallModel(ScriptedModel(name="tiny"))

    assert (model.provider, model.name, model.profile) == ("scripted", "tiny", "small")
    assert model.takes_schema(with_tools=True)


async def test_the_inner_model_is_forced_and_offered_no_tools() -> None:
    """The schema is all it needs."""
    inner = ScriptedModel().says(ANSWER)

    await play(SmallModel(inner), request())

    asked = inner.requests[0]
    assert asked.tools == ()
    assert [one["properties"]["action"]["const"] for one in asked.options["schema"]["anyOf"]] == [  # type: ignore[index]
        *("read_file", "repo_tree", "search", "shell", "answer")
    ]


class AsWritten(ScriptedModel):
    """A scripted model of the kind that takes patterns as they are written."""

    patterns_as_written = True


@pytest.mark.parametrize(("inner", "told"), [(AsWritten(), True), (ScriptedModel(), False)])
async def test_only_a_model_that_takes_patterns_as_written_is_told_one(inner: ScriptedModel, told: bool) -> None:
    """The embedded one does; a server of the user's may fail at it, or keep quotes and line breaks out."""
    inner.plays(Say(ANSWER))

    await play(SmallModel(inner), request())

    assert ("pattern" in json.dumps(inner.requests[0].options["schema"])) is told
    assert Embedded.patterns_as_written


async def test_a_schema_of_the_callers_is_passed_on_as_it_is() -> None:
    """Structured output needs no steps: what comes is what was asked for."""
    inner = ScriptedModel().says('{"port": 7}')
    schema = {"type": "object", "properties": {"port": {"type": "integer"}}}

    items = await play(SmallModel(inner), request(schema=schema))

    assert items[0] == TextDelta('{"port": 7}')
    assert inner.requests[0].options["schema"] == schema
    assert len(inner.requests[0].messages) == 1


async def test_without_tools_of_use_it_is_asked_plainly() -> None:
    """Where nothing is offered, nothing is forced."""
    inner = ScriptedModel().says("Hello.")
    asked = ModelRequest(system="", messages=request("Hi").messages, tools=())

    assert (await play(SmallModel(inner), asked))[0] == TextDelta("Hello.")
    assert "schema" not in inner.requests[0].options


async def test_a_call_that_was_cut_off_ends_the_step_without_one() -> None:
    """The reason is told; half a command is not run."""
    inner = ScriptedModel().plays(Say('{"action":"shell","command":"rm -'), Stop("max_tokens"))

    assert await play(SmallModel(inner), request()) == [Finished(stop_reason="max_tokens", usage=Usage(requests=1))]


async def test_a_failure_of_the_inner_model_rises() -> None:
    """With what was said before it."""
    inner = ScriptedModel().plays(Say('{"action":"answer","text":"It'), Fail(ModelError("gone", retryable=True)))
    stream = SmallModel(inner).stream(request())

    assert await anext(stream) == TextDelta("It")
    with pytest.raises(ModelError, match="gone"):
        await anext(stream)


async def test_closing_early_closes_the_inner_stream() -> None:
    """A canceled turn must not leave a model thinking."""
    closed = []

    class Endless(ScriptedModel):
        async def stream(self, asked: ModelRequest) -> AsyncGenerator[StreamItem, None]:  # type: ignore[override]
            try:
                yield TextDelta('{"action":"answer","text":"a')
                while True:
                    yield TextDelta("b")
            finally:
                closed.append(True)

    stream = SmallModel(Endless()).stream(request())
    assert await anext(stream) == TextDelta("a")
    await stream.aclose()

    assert closed == [True]


async def test_warming_reads_all_that_is_known_before_a_question() -> None:
    """The fixed beginning, then the files; one token is enough."""
    inner = Prepared().says("x")

    await SmallModel(inner).warm("Files of this project: notes.txt", TOOLS)

    assert [asked.messages for asked in inner.read] == [
        beginning(("read_file", "repo_tree", "search", "shell")).messages
    ]
    asked = inner.requests[0]
    assert plain_text(asked.messages[-1].parts) == "Files of this project: notes.txt"
    assert asked.options["max_tokens"] == 1


async def test_warming_without_tools_or_without_a_way_to_prepare_does_no_harm() -> None:
    """There is nothing to read, or it is read when asked."""
    inner = ScriptedModel().says("x")

    await SmallModel(inner).warm("", ())
    assert inner.requests == []
    await SmallModel(inner).warm("Files", TOOLS)
    assert len(inner.requests) == 1


async def test_a_question_reads_the_beginning_first_where_that_is_kept() -> None:
    """Also in a process that nobody warmed."""
    inner = Prepared().says(ANSWER)

    await play(SmallModel(inner), request())

    assert len(inner.read) == 1


async def test_a_server_of_ones_own_is_led_just_so() -> None:
    """Over a real socket in Chat Completions' format: the schema reaches the server as it is, choices first."""
    async with ProviderServer([reply(STEP)]) as server, HttpClient() as client:
        inner = OpenAIChat(client, provider="mine", name="tiny", base_url=server.base_url, api_key=None)

        items = await play(SmallModel(inner), request())

        body = json.loads(server.requests[0].body)
    assert [item.name for item in items if isinstance(item, CallMade)] == ["read_file"]
    told = body["response_format"]["json_schema"]["schema"]["anyOf"][0]
    assert next(iter(told["properties"].items())) == ("action", {"const": "read_file"})
    assert "tools" not in body


async def test_in_the_loop_a_question_is_looked_up_and_answered(place: Any) -> None:
    """The real tool runs; what it found is told in the next step, where only an answer is allowed."""
    (place.project / "notes.txt").write_text("the colour is blue\n")
    inner = ScriptedModel().says(STEP).then_says(ANSWER)
    place.model = SmallModel(inner)
    await place.reopen()
    await place.start()

    turn = await place.ask("Which colour?")

    assert turn.status == "completed"
    assert place.answer() == "It is blue."
    last = inner.requests[1]
    assert plain_text(last.messages[-1].parts) == "Result: notes.txt (1 lines):\nthe colour is blue\n"
    assert last.options["schema"]["properties"]["action"] == {"const": "answer"}  # type: ignore[index]


async def test_in_the_loop_a_search_takes_the_question_along(place: Any, tmp_path: Path) -> None:
    """So that what is spelled otherwise is found too."""
    (place.project / "limits.py").write_text("MAX_ATTEMPTS = 8\n")
    inner = ScriptedModel().says('{"action":"search","query":"attempts"}').then_says(ANSWER)
    place.model = SmallModel(inner)
    await place.reopen()
    await place.start()

    await place.ask("How many attempts are made?")

    started = json.loads(place.events("tool_call_started")[0].raw)
    assert started["tool_call"]["input"] == {"query": "attempts", "about": "How many attempts are made?"}
    assert "limits.py:1: MAX_ATTEMPTS = 8" in plain_text(inner.requests[1].messages[-1].parts)
