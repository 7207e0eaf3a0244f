"""Structured output: the answer fits the schema, or the turn says that it does not."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from agi.cli.printing import JsonPrinter
from agi.errors import Invalid, ModelError
from agi.loop.shaping import ORIGIN, TOOL, Shape, from_call
from agi.models.base import ModelRequest
from agi.models.scripted import Call, Fail, Say, ScriptedModel, Stop
from agi.protocol.parts import Text, plain_text
from agi.testing.box import daemon_in_a_box

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
ADA = {"name": "Ada", "age": 36}
NUMBERS = {"type": "array", "items": {"$ref": "#/$defs/number"}, "$defs": {"number": {"type": "integer"}}}


def outcome(turn) -> dict:
    return json.loads(turn.outcome)


def complaints(place) -> list[str]:
    return [plain_text(message.parts) for message in place.messages() if message.origin == ORIGIN]


async def test_a_provider_that_knows_schemas_is_given_it_and_the_answer_becomes_the_output(place):
    """No tool is added, and the value is in the turn's last event."""
    place.model.says(json.dumps(ADA))

    turn = await place.ask("who?", options={"schema": PERSON, "temperature": 0})

    assert place.model.requests[0].options == {"schema": PERSON, "temperature": 0}
    assert TOOL not in [tool.name for tool in place.model.requests[0].tools]
    assert outcome(turn)["output"] == ADA


async def test_without_a_schema_there_is_no_output(place):
    """An answer that happens to be JSON is an answer."""
    place.model.says("{}")

    turn = await place.ask("who?")

    assert "output" not in outcome(turn)


async def test_for_a_model_without_schemas_it_becomes_a_tool_and_the_call_the_answer(place):
    """The call is not run, asks for nothing and leaves the text of the answer."""
    place.model.schema_native = False
    place.model.plays(Say("Let me see. "), Call(TOOL, ADA))

    turn = await place.ask("who?", options={"schema": PERSON})

    asked = place.model.requests[0]
    assert "schema" not in asked.options
    assert asked.tools[-1].name == TOOL
    assert asked.tools[-1].input_schema == PERSON
    assert outcome(turn)["output"] == ADA
    assert outcome(turn)["stop_reason"] == "end_turn"
    assert not place.events("tool_call_started")
    assert place.answer() == 'Let me see. {"name":"Ada","age":36}'


async def test_a_value_that_is_no_object_is_wrapped_for_the_tool_and_unwrapped_again(place):
    """Arguments are always objects; references still begin at the root."""
    place.model.schema_native = False
    place.model.plays(Call(TOOL, {"answer": [1, 2, 3]}))

    turn = await place.ask("count", options={"schema": NUMBERS})

    told = place.model.requests[0].tools[-1].input_schema
    assert told["type"] == "object"
    assert told["$defs"] == NUMBERS["$defs"]
    assert outcome(turn)["output"] == [1, 2, 3]


async def test_a_model_that_answers_in_words_instead_of_calling_the_tool_is_understood(place):
    """A value is a value."""
    place.model.schema_native = False
    place.model.says(json.dumps(ADA))

    turn = await place.ask("who?", options={"schema": PERSON})

    assert outcome(turn)["output"] == ADA


@pytest.mark.parametrize(
    "text",
    ['```json\n{"name": "Ada", "age": 36}\n```', '```\n{"name":"Ada","age":36}```', ' {"name":"Ada","age":36}\n'],
)
async def test_a_fence_around_the_value_is_forgiven(place, text):
    """Models like to put one there."""
    place.model.says(text)

    turn = await place.ask("who?", options={"schema": PERSON})

    assert outcome(turn)["output"] == ADA
    assert not complaints(place)


async def test_tools_are_used_before_the_answer_is_given(place):
    """The schema is about the last word only."""
    (place.project / "ada.txt").write_text("Ada, 36\n")
    place.model.schema_native = False
    place.model.calls("read_file", path="ada.txt").then_plays(Call(TOOL, ADA))

    turn = await place.ask("who?", options={"schema": PERSON})

    assert outcome(turn)["output"] == ADA
    assert outcome(turn)["steps"] == 2


async def test_an_answer_together_with_a_call_waits_for_the_call(place):
    """The other tool runs first; the model gives its answer when it has seen the result."""
    (place.project / "ada.txt").write_text("Ada, 36\n")
    place.model.schema_native = False
    place.model.plays(Call(TOOL, {"name": "?", "age": 0}), Call("read_file", {"path": "ada.txt"}))
    place.model.plays(Call(TOOL, ADA))

    turn = await place.ask("who?", options={"schema": PERSON})

    assert outcome(turn)["output"] == ADA


@pytest.mark.parametrize(("native", "how"), [(True, "the JSON value alone"), (False, TOOL)])
async def test_an_answer_that_does_not_fit_is_sent_back_once_with_what_is_wrong(place, native, how):
    """The place, the problem, the schema, and the way to answer; the second answer counts."""
    place.model.schema_native = native
    place.model.says('{"name": "Ada"}').then_says(json.dumps(ADA))

    turn = await place.ask("who?", options={"schema": PERSON})

    assert outcome(turn)["output"] == ADA
    (told,) = complaints(place)
    assert plain_text(place.model.requests[1].messages[-1].parts) == told
    assert "age" in told
    assert how in told
    assert json.dumps(PERSON, separators=(",", ":")) in told


@pytest.mark.parametrize("bad", ["no idea", '{"name": 7}', "{}{}", '{"name": "Ada", "age": 36', "[" * 3000])
async def test_an_answer_that_does_not_fit_twice_fails_the_turn(place, bad):
    """With a code of its own; nothing is tried a third time."""
    place.model.says(bad).then_says(bad).then_says(json.dumps(ADA))

    turn = await place.ask("who?", options={"schema": PERSON})

    assert turn.status == "failed"
    assert outcome(turn)["error"]["code"] == "output_invalid"
    assert outcome(turn)["error"]["hint"]
    assert len(place.model.requests) == 2


async def test_a_turn_that_failed_for_its_output_can_be_retried_and_is_told_what_was_wrong(place):
    """The model sees its last answer, and why it did not do."""
    place.model.says('{"name": 1}').then_says('{"name": 2}').then_says(json.dumps(ADA))
    failed = await place.ask("who?", options={"schema": PERSON})

    turn = await place.ended(await place.harness.retry(place.session_id, failed.id))

    assert outcome(turn)["output"] == ADA
    assert "`name`" in plain_text(place.model.requests[-1].messages[-1].parts)


async def test_an_empty_answer_does_not_fit_either(place):
    """Nothing said is not what was asked for."""
    place.model.plays(Stop()).then_plays(Stop()).then_says(json.dumps(ADA))

    turn = await place.ask("who?", options={"schema": PERSON})

    assert outcome(turn)["error"]["code"] == "output_invalid"


async def test_a_refusal_is_a_refusal_and_no_bad_output(place):
    """The model may say no; it is not asked to say it in JSON."""
    place.model.plays(Say("I will not."), Stop("refusal"))

    turn = await place.ask("who?", options={"schema": PERSON})

    assert outcome(turn)["stop_reason"] == "refusal"
    assert "output" not in outcome(turn)
    assert len(place.model.requests) == 1


async def test_a_provider_that_refuses_the_schema_gets_it_as_a_tool(place):
    """Once, and for the rest of the turn; the refused request is not an attempt at an answer."""
    refusal = ModelError("response_format is not supported.", code="schema_refused", status=400)
    place.model.plays(Fail(refusal)).then_calls("git_status").then_plays(Call(TOOL, ADA))

    turn = await place.ask("who?", options={"schema": PERSON})

    assert outcome(turn)["output"] == ADA
    assert ["schema" in request.options for request in place.model.requests] == [True, False, False]
    assert [request.tools[-1].name == TOOL for request in place.model.requests] == [False, True, True]


async def test_a_provider_that_refuses_both_ways_fails_the_turn(place):
    """Not for ever: two requests."""
    refusal = ModelError("No schemas here.", code="schema_refused", status=400)
    place.model.fails(refusal).then_fails(refusal)

    turn = await place.ask("who?", options={"schema": PERSON})

    assert outcome(turn)["error"]["code"] == "schema_refused"
    assert len(place.model.requests) == 2


async def test_a_schema_that_cannot_be_used_is_refused_before_anything_is_logged(place):
    """The log is as it was."""
    before = place.types()
    with pytest.raises(Invalid) as refused:
        await place.ask("who?", options={"schema": {"$ref": "http://127.0.0.1:9/x"}})

    assert refused.value.code == "schema_invalid"
    assert place.types() == before
    assert not place.model.requests


def test_a_wrapped_value_is_told_from_one_that_was_asked_for():
    """An object with a field `answer` stays what it is."""
    fields = {"type": "object", "properties": {"answer": {"type": "integer"}}}

    assert from_call('{"answer": 1}', fields) == '{"answer":1}'
    assert from_call('{"answer": 1}', {"type": "integer"}) == "1"
    assert from_call('{"answer": 1}', {"anyOf": [{"type": "integer"}, {"type": "null"}]}) == "1"
    assert from_call("", fields) == "{}"
    assert from_call("{cut o", fields) == "{cut o"


def test_the_last_of_several_texts_may_be_the_answer():
    """What was said aloud before it does not spoil it."""
    output, problem = Shape(PERSON).check([Text(text="Here it is:"), Text(text=json.dumps(ADA))])

    assert problem == ""
    assert json.loads(bytes(output or Raw(b"null"))) == ADA


def test_without_a_schema_nothing_is_added_and_everything_fits():
    """The request goes out as it is."""
    request = ModelRequest(system="", messages=(), options={"temperature": 1})

    assert Shape(None).applied(request, ScriptedModel()) is request
    assert Shape(None).check([Text(text="anything")]) == (None, "")
    assert Shape(None).turn_into_tool() is False


# Over HTTP, and at the command line.


@pytest.fixture
async def daemon(tmp_path):
    async with daemon_in_a_box(tmp_path) as made:
        yield made


async def test_whoever_waits_for_a_message_is_given_the_output(daemon):
    """Beside the message itself, which has it as text."""
    daemon.model.says(json.dumps(ADA)).then_says("hello")
    session_id = await daemon.begin()
    path = f"/v1/sessions/{session_id}/messages"

    answer = (await daemon.post(path, {"content": "who?", "options": {"schema": PERSON}})).json()
    other = (await daemon.post(path, {"content": "hi"})).json()

    assert answer["output"] == ADA
    assert "output" not in other


async def test_a_one_shot_is_given_the_output(daemon):
    """`content` is the text, `output` the value."""
    daemon.model.says(f"```json\n{json.dumps(ADA)}\n```")

    answer = (await daemon.post("/v1/one-shot", {"prompt": "who?", "options": {"schema": PERSON}})).json()

    assert answer["output"] == ADA
    assert answer["content"].startswith("```")


async def test_over_http_a_bad_schema_is_422_and_leaves_nothing_behind(daemon):
    """Neither a message nor the session of a one-shot."""
    session_id = await daemon.begin()
    before = await daemon.history(session_id)
    options = {"schema": {"type": "string", "pattern": "(?=x)y"}}

    posted = await daemon.post(f"/v1/sessions/{session_id}/messages", {"content": "who?", "options": options})
    asked = await daemon.post("/v1/one-shot", {"prompt": "who?", "options": options})

    assert (posted.status, posted.code) == (422, "schema_invalid")
    assert (asked.status, asked.code) == (422, "schema_invalid")
    assert await daemon.history(session_id) == before
    assert len(daemon.harness.sessions(unlisted=True)) == 1


async def test_over_http_output_that_does_not_fit_is_a_typed_error(daemon):
    """The provider's fault, with a hint."""
    daemon.model.says("no").then_says("no")

    answer = await daemon.post("/v1/one-shot", {"prompt": "who?", "options": {"schema": PERSON}})

    assert (answer.status, answer.code) == (502, "output_invalid")


async def test_at_the_command_line_json_tells_the_output(place, capfd):
    """`agi --json` prints the events as the log has them."""
    place.model.says(json.dumps(ADA))
    await place.ask("who?", options={"schema": PERSON})

    for event in place.events("turn_completed"):
        JsonPrinter().show(event)

    assert json.loads(capfd.readouterr().out)["data"]["output"] == ADA
