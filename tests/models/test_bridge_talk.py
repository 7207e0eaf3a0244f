"""One question over the bridge, to pydantic-ai's own scripted model: what it is told, and what its answer becomes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy

import httpx2
import pytest
from msgspec import Raw
from pydantic_ai import messages as foreign
from pydantic_ai.messages import TextPart, ThinkingPart
from pydantic_ai.models import CompletedStreamedResponse
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

from agi.errors import ModelError
from agi.models.base import CallMade, Finished, ModelRequest, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.bridge_seals import read_seal
from agi.models.bridge_talk import converse
from agi.models.failures import Failures
from agi.models.limits import Limits
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import (
    Audio,
    File,
    Image,
    Part,
    Reasoning,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
)
from agi.protocol.tools import ToolDefinition, ToolKind

MAKER = ("acme", "m1")


class ScriptedModel(FunctionModel):
    """Plays pieces as a stream, or whole parts; keeps what it was told."""

    def __init__(
        self,
        *pieces: object,
        parts: list[foreign.ModelResponsePart] | None = None,
        ended: str | None = "stop",
        details: dict[str, object] | None = None,
        usage: RequestUsage | None = None,
        fails: Exception | None = None,
        **profile: object,
    ) -> None:
        super().__init__(stream_function=self._play, model_name="m1", profile=profile)
        self._pieces, self._whole, self._fails = pieces, parts, fails
        self._ended, self._details, self._cost = ended, details, usage
        self.messages: list[foreign.ModelMessage] = []
        self.info: AgentInfo

    async def _play(self, messages: list[foreign.ModelMessage], info: AgentInfo) -> AsyncIterator[object]:
        self.messages, self.info = messages, info
        for piece in self._pieces:
            yield piece
        if self._fails is not None:
            raise self._fails

    @asynccontextmanager
    async def request_stream(self, messages, model_settings, model_request_parameters, run_context=None):
        if self._whole is not None:
            response = foreign.ModelResponse(self._whole, usage=self._cost or RequestUsage())
            stream = CompletedStreamedResponse(
                response, model_request_parameters=model_request_parameters, replay_events=True
            )
            self._tell_the_end(stream)
            yield stream
            return
        async with super().request_stream(messages, model_settings, model_request_parameters, run_context) as stream:
            self._tell_the_end(stream)
            yield stream

    def _tell_the_end(self, stream) -> None:
        if self._fails is None:
            stream.finish_reason = self._ended
            stream.provider_details = {"finish_reason": self._ended, **(self._details or {})}


def asking(*messages: Message, **fields: object) -> ModelRequest:
    return ModelRequest(system="be brief", messages=messages or (said("hello"),), **fields)  # type: ignore[arg-type]


def said(text: str, role: str = "user") -> Message:
    return message(role, Text(text=text))


def message(role: str, *parts: Part, maker: tuple[str, str] = MAKER) -> Message:
    provider, model = maker if role == "assistant" else ("", "")
    return Message(id="msg_1", role=role, parts=parts, created_at="", status="complete", provider=provider, model=model)  # type: ignore[arg-type]


async def ask(model: ScriptedModel, request: ModelRequest | None = None, limits: Limits | None = None):
    items: list[StreamItem] = []
    talk = converse(model, request or asking(), MAKER, Failures(*MAKER, None), limits or Limits())
    async for item in talk:
        items.append(item)
    return items


def kinds(items: list[StreamItem]) -> list[str]:
    return [type(item).__name__ for item in items]


async def test_words_are_told_as_they_come_and_an_answer_ends_with_why():
    """Text arrives piece by piece; the last item says how it ended."""
    items = await ask(ScriptedModel("Hel", "lo"))

    assert items[:-1] == [TextDelta("Hel"), TextDelta("lo")]
    assert isinstance(items[-1], Finished)
    assert items[-1].stop_reason == "end_turn"


async def test_a_call_is_told_once_with_all_of_its_arguments():
    """Arguments that come in pieces, also of several calls at once, are whole when they are told."""
    model = ScriptedModel(
        {0: DeltaToolCall("shell", '{"comm', tool_call_id="a")},
        {1: DeltaToolCall("read_file", "", tool_call_id="b")},
        {0: DeltaToolCall(None, 'and":"ls"}'), 1: DeltaToolCall(None, '{"path":"x"}')},
        ended="tool_call",
    )

    items = await ask(model)

    assert items[:-1] == [CallMade("a", "shell", '{"command":"ls"}'), CallMade("b", "read_file", '{"path":"x"}')]
    assert items[-1].stop_reason == "tool_calls"  # type: ignore[union-attr]


async def test_a_call_makes_the_ending_one_of_calls_whatever_the_provider_says():
    """Some providers end with an ordinary stop although they ask for tools."""
    items = await ask(ScriptedModel(parts=[foreign.ToolCallPart("shell", {"command": "ls"}, "a")], ended="stop"))

    assert items[0] == CallMade("a", "shell", '{"command":"ls"}')
    assert items[-1].stop_reason == "tool_calls"  # type: ignore[union-attr]


async def test_a_call_without_arguments_has_an_empty_object():
    """None at all are an empty object, which every tool can read."""
    items = await ask(ScriptedModel(parts=[foreign.ToolCallPart("git_status", None, "a")]))

    assert items[0] == CallMade("a", "git_status", "{}")


async def test_a_thought_is_sealed_with_its_signature_before_the_words_begin():
    """The signature closes the thought it belongs to."""
    thinking = ({0: DeltaThinkingPart(content="hm")}, {0: DeltaThinkingPart(content=" so", signature="sig==")})

    items = await ask(ScriptedModel(*thinking, "Yes."))

    assert kinds(items) == ["ReasoningDelta", "ReasoningDelta", "ReasoningSealed", "TextDelta", "Finished"]
    assert isinstance(items[2], ReasoningSealed)
    seal = read_seal(items[2].signature)
    assert seal is not None
    assert (seal.of, seal.signature, seal.provider_name) == ("thought", "sig==", "function")


async def test_a_thought_that_nobody_signed_is_only_told():
    """Without anything to hand back there is no seal, and so it is not sent again."""
    items = await ask(ScriptedModel({0: DeltaThinkingPart(content="hm")}, "Yes."))

    assert kinds(items) == ["ReasoningDelta", "TextDelta", "Finished"]


async def test_thoughts_between_calls_keep_their_place():
    """What follows a call is held back, so that the order of thoughts and calls is the provider's."""
    parts = [
        ThinkingPart("first", signature="s1", provider_name="function"),
        foreign.ToolCallPart("shell", "{}", "a"),
        ThinkingPart("second", signature="s2", provider_name="function"),
        foreign.ToolCallPart(
            "shell", "{}", "b", provider_name="function", provider_details={"thought_signature": "s3"}
        ),
        TextPart("after"),
    ]

    items = await ask(ScriptedModel(parts=parts))

    told = ["ReasoningDelta", "ReasoningSealed", "CallMade"] * 1
    assert kinds(items) == [*told, "ReasoningDelta", "ReasoningSealed", *told[1:], "TextDelta", "Finished"]
    assert items[3] == ReasoningDelta("second")
    assert items[5].signature.count("thought_signature") == 1  # type: ignore[union-attr]


async def test_every_count_of_tokens_is_passed_on():
    """Input counts what was cached, as ours does; thoughts are a part of the output."""
    usage = RequestUsage(
        input_tokens=11, output_tokens=7, cache_read_tokens=5, cache_write_tokens=2, output_reasoning_tokens=3
    )

    items = await ask(ScriptedModel(parts=[TextPart("ok")], usage=usage))

    assert items[-1] == Finished(
        stop_reason="end_turn",
        usage=Usage(
            input_tokens=11,
            output_tokens=7,
            cached_tokens=5,
            cache_write_tokens=2,
            reasoning_tokens=3,
            requests=1,
        ),
    )


@pytest.mark.parametrize(("ended", "reason"), [("length", "max_tokens"), ("content_filter", "refusal")])
async def test_other_endings_are_told_in_our_words(ended: str, reason: str):
    """A limit that was reached and a filter that stepped in are endings, not errors."""
    items = await ask(ScriptedModel("So", ended=ended))

    assert items[-1].stop_reason == reason  # type: ignore[union-attr]


async def test_what_a_refused_answer_asked_for_is_not_done():
    """A filter that steps in after a call was written takes the call back."""
    items = await ask(ScriptedModel(parts=[foreign.ToolCallPart("shell", "{}", "a")], ended="content_filter"))

    assert [type(item) for item in items] == [Finished]


@pytest.mark.parametrize("word", ["model_length", "model_context_window_exceeded"])
async def test_a_full_context_is_an_overflow_and_not_the_end_of_an_answer(word: str):
    """The conversation has to become shorter before it is asked again."""
    with pytest.raises(ModelError) as caught:
        await ask(ScriptedModel("So", ended="length", details={"finish_reason": word}))

    assert caught.value.code == "context_overflow"


async def test_the_words_of_a_refusal_are_the_answer():
    """A provider that refuses in words of its own is heard."""
    items = await ask(ScriptedModel(parts=[], ended="content_filter", details={"refusal": "I will not."}))

    assert items[0] == TextDelta("I will not.")
    assert items[-1].stop_reason == "refusal"  # type: ignore[union-attr]


async def test_an_ending_in_an_error_is_an_error():
    """It may pass, and so it may be asked again."""
    with pytest.raises(ModelError) as caught:
        await ask(ScriptedModel("So", ended="error"))

    assert (caught.value.code, caught.value.retryable) == ("provider_error", True)


async def test_an_answer_that_does_not_say_that_it_ended_was_cut():
    """An orderly end of the stream does not make an answer complete."""
    with pytest.raises(ModelError) as caught:
        await ask(ScriptedModel("half of", ended=None))

    assert (caught.value.code, caught.value.retryable) == ("stream_cut", True)


async def test_a_call_without_a_name_fails_instead_of_mixing_parts_up():
    """Only named calls have a place in the answer; with a gap, nothing would be where it was told to be."""
    model = ScriptedModel({0: DeltaToolCall(None, "{}")}, {1: DeltaToolCall("shell", "{}", tool_call_id="b")})

    with pytest.raises(ModelError, match="without naming it"):
        await ask(model)


async def test_an_answer_that_is_too_large_is_given_up():
    """Words and arguments count alike."""
    for pieces in (("x" * 60, "x" * 60), ({0: DeltaToolCall("shell", "x" * 120)},)):
        with pytest.raises(ModelError, match="passed 100 characters"):
            await ask(ScriptedModel(*pieces), limits=Limits(size=100))


async def test_a_refusal_that_a_library_stumbled_over_is_still_a_refusal():
    """One SDK fails while it reads the body of a refusal; what was refused is found behind its own error."""
    request = httpx2.Request("POST", "http://127.0.0.1")
    refused = httpx2.Response(429, headers={"Retry-After": "3"}, request=request)
    error = RuntimeError("the body was not read")
    error.__context__ = httpx2.HTTPStatusError("429", request=request, response=refused)

    with pytest.raises(ModelError) as caught:
        await ask(ScriptedModel("So", fails=error))

    assert (caught.value.code, caught.value.status, caught.value.retry_after) == ("rate_limited", 429, 3.0)


@pytest.mark.parametrize("error", [ValueError("odd"), AssertionError(), RuntimeError("x" * 9000)])
async def test_whatever_is_raised_on_the_other_side_is_one_error_of_ours(error: Exception):
    """An error pydantic-ai did not foresee is told in a line, and is no reason to ask again."""
    with pytest.raises(ModelError) as caught:
        await ask(ScriptedModel("So", fails=error))

    assert caught.value.message.startswith("acme (m1): ")
    assert len(caught.value.message) < 600
    assert caught.value.hint
    assert not caught.value.retryable


PNG = b"\x89PNG\r\n\x1a\n rest"
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = ToolDefinition(name="read_file", description="Reads.", input_schema=SCHEMA, kind=ToolKind.READ)


def called(call_id: str, args: bytes = b'{"path":"x"}') -> ToolCallPart:
    return ToolCallPart(content=ToolCallContent(id=call_id, name="read_file", args=Raw(args)))


def result(call_id: str, *parts: Text | Image, error: str = "") -> ToolResultPart:
    content = ToolResultContent(id=call_id, name="read_file", ok=not error, parts=parts, error=error)
    return ToolResultPart(content=content)


async def told(request: ModelRequest, **profile: object) -> list[foreign.ModelMessage]:
    model = ScriptedModel("ok", **profile)
    await ask(model, request)
    return model.messages


async def contents(*parts: Part, files: dict[str, bytes] | None = None, **profile: object) -> object:
    [request] = await told(asking(message("user", *parts), files=files or {}), **profile)
    [part] = request.parts
    assert isinstance(part, foreign.UserPromptPart)
    return part.content


async def test_the_system_prompt_tools_and_options_reach_the_model():
    """Nothing is added, and a schema is passed on as it is, without touching ours."""
    options = {"temperature": 0.5, "max_tokens": 9, "top_p": 0.1, "seed": 3, "stop": "END", "unknown": 1, "x": None}
    before = deepcopy(SCHEMA)
    model = ScriptedModel("ok")

    await ask(model, asking(tools=(READ,), options=options))

    assert model.info.instructions == "be brief"
    assert [(tool.name, tool.description, tool.strict) for tool in model.info.function_tools] == [
        ("read_file", "Reads.", False)
    ]
    assert model.info.function_tools[0].parameters_json_schema == SCHEMA == before
    wanted = {"temperature": 0.5, "max_tokens": 9, "top_p": 0.1, "seed": 3, "stop_sequences": ["END"]}
    assert model.info.model_settings == {**wanted, "max_retries": 0}


async def test_an_option_the_model_would_ignore_is_left_out():
    """pydantic-ai would warn of it on stderr."""
    model = ScriptedModel("ok", openai_unsupported_model_settings=("seed",))
    model.unsupported_settings = frozenset({"max_retries", "stop_sequences"})

    await ask(model, asking(options={"seed": 3, "stop": ["a", "b"], "max_tokens": 9}))

    assert model.info.model_settings == {"max_tokens": 9}


async def test_how_hard_to_think_is_told_only_in_words_that_are_known():
    """Other words would be refused."""
    model = ScriptedModel("ok", supports_thinking=True)
    await ask(model, asking(options={"reasoning_effort": "high"}))
    assert model.info.model_request_parameters.thinking == "high"

    await ask(model, asking(options={"reasoning_effort": "extreme"}))
    assert model.info.model_request_parameters.thinking is None


async def test_a_schema_is_passed_on_to_a_model_that_keeps_to_one():
    """It is asked for in the provider's own way."""
    model = ScriptedModel("ok", supports_json_schema_output=True)

    await ask(model, asking(options={"schema": SCHEMA}))

    parameters = model.info.model_request_parameters
    assert parameters.output_mode == "native"
    assert parameters.output_object is not None
    assert parameters.output_object.json_schema == SCHEMA


async def test_a_model_that_does_not_know_schemas_refuses_one_before_anything_is_sent():
    """By this code the caller knows to ask in another way."""
    model = ScriptedModel("ok", supports_json_schema_output=False)

    with pytest.raises(ModelError) as caught:
        await ask(model, asking(options={"schema": SCHEMA}))

    assert caught.value.code == "schema_refused"
    assert model.messages == []


async def test_calls_and_results_are_told_in_order_and_requests_and_responses_take_turns():
    """What people and tools say in a row is one request."""
    conversation = (
        said("look"),
        message("assistant", Text(text="I look."), called("a"), called("b", b"{}")),
        message("tool", result("a", Text(text="A")), result("b", error="no such file")),
        said("and?"),
        said("well?"),
    )

    first, answer, last = await told(asking(*conversation))

    assert isinstance(first, foreign.ModelRequest)
    assert isinstance(answer, foreign.ModelResponse)
    assert answer.parts == [
        TextPart("I look."),
        foreign.ToolCallPart("read_file", '{"path":"x"}', "a"),
        foreign.ToolCallPart("read_file", "{}", "b"),
    ]
    results = [part for part in last.parts if isinstance(part, foreign.ToolReturnPart)]
    assert [(part.tool_call_id, part.content) for part in results] == [("a", "A"), ("b", "no such file")]
    assert [part.content for part in last.parts if isinstance(part, foreign.UserPromptPart)] == ["and?", "well?"]


async def test_ids_of_calls_fit_providers_that_take_only_short_ones():
    """Call and result get the same id, and the same one every time."""
    conversation = (said("look"), message("assistant", called("call_" + "0" * 32)))
    answers = (message("tool", result("call_" + "0" * 32, Text(text="A"))),)

    _, answer, last = await told(asking(*conversation, *answers), tool_call_id_length=9)

    [call], [returned] = answer.parts, last.parts
    assert isinstance(call, foreign.ToolCallPart)
    assert isinstance(returned, foreign.ToolReturnPart)
    assert call.tool_call_id == returned.tool_call_id
    assert len(call.tool_call_id) == 9


async def test_a_result_without_words_says_so():
    """Some providers refuse an empty result."""
    conversation = (said("look"), message("assistant", called("a")), message("tool", result("a")))

    *_, last = await told(asking(*conversation))

    assert last.parts[0].content == "(no output)"  # type: ignore[union-attr]


async def test_a_picture_in_a_result_goes_along():
    """Its text comes first, in one piece."""
    picture = Image(ref="attachments/a.png", mime_type="image/png")
    given = message("tool", result("a", Text(text="here"), picture, Text(text="it is")))

    *_, last = await told(
        asking(said("look"), message("assistant", called("a")), given, files={"attachments/a.png": PNG})
    )

    [part] = last.parts
    assert isinstance(part, foreign.ToolReturnPart)
    assert part.content == ["here\nit is", foreign.BinaryContent(PNG, media_type="image/png")]


async def test_attachments_go_along_in_their_order():
    """Pictures, sounds and documents as bytes, text files as text."""
    files = {"a.png": PNG, "b.wav": b"RIFF", "c.pdf": b"%PDF", "d.json": b'{"a":1}'}
    parts = (
        Text(text="see"),
        Image(ref="a.png", mime_type="image/PNG; x=1"),
        Audio(ref="b.wav", mime_type="audio/wav"),
        File(ref="c.pdf", mime_type="application/pdf"),
        File(ref="d.json", mime_type="application/json"),
    )

    assert await contents(*parts, files=files) == [
        "see",
        foreign.BinaryContent(PNG, media_type="image/png"),
        foreign.BinaryContent(b"RIFF", media_type="audio/wav"),
        foreign.BinaryContent(b"%PDF", media_type="application/pdf"),
        '[attachment: d.json, application/json]\n{"a":1}',
    ]


async def test_what_the_model_does_not_take_is_spoken_of():
    """Missing bytes, unknown types and kinds the model cannot read become a note."""
    files = {"a.png": PNG, "b.xyz": b"\0\1", "c.pdf": b"%PDF"}
    parts = (
        Image(ref="gone.png", mime_type="image/png"),
        Image(ref="a.png", mime_type="image/png"),
        File(ref="b.xyz", mime_type="application/x-odd"),
        File(ref="c.pdf", mime_type="application/pdf"),
    )

    notes = await contents(*parts, files=files, supports_image_input=False, supports_document_input=False)

    assert notes == (
        "[attachment: gone.png, image/png]\n[attachment: a.png, image/png]\n"
        "[attachment: b.xyz, application/x-odd]\n[attachment: c.pdf, application/pdf]"
    )


async def test_a_note_of_the_harness_is_told_in_the_place_it_has():
    """Where a provider knows no such message in the middle, it is one of the user's."""
    conversation = (said("hi"), said("You are out of steps.", "system"))

    [inline] = await told(asking(*conversation), supports_inline_system_prompts=True)
    [plain] = await told(asking(*conversation))

    assert isinstance(inline.parts[1], foreign.SystemPromptPart)
    assert isinstance(plain.parts[1], foreign.UserPromptPart)
    assert plain.parts[1].content == "You are out of steps."


def kept(items: list[StreamItem]) -> Message:
    """The message that the loop would keep of an answer, as far as text and reasoning go."""
    parts: list[Part] = []
    thought = ""
    for item in items:
        if isinstance(item, ReasoningDelta):
            thought += item.text
        elif isinstance(item, ReasoningSealed):
            parts.append(Reasoning(text=thought, provider=MAKER[0], model=MAKER[1], signature=item.signature))
            thought = ""
        elif isinstance(item, TextDelta):
            parts.append(Text(text=item.text))
        elif type(item).__name__ == "CallMade":
            parts.append(called(item.id, item.arguments.encode()))  # type: ignore[union-attr]
    return message("assistant", *parts)


SIGNED = [
    ThinkingPart(
        "hm", id="rs_1", signature="s/1+==", provider_name="function", provider_details={"a": [1, {"b": "ü"}]}
    ),
    TextPart("Yes.", id="msg_9", provider_name="function"),
    ThinkingPart("", signature="s2", provider_name="function"),
    foreign.ToolCallPart(
        "read_file", "{}", "a", provider_name="function", provider_details={"thought_signature": "s3"}
    ),
]


async def test_what_was_signed_comes_back_exactly_and_in_its_place():
    """Ids, signatures and details of thoughts, texts and calls survive being kept as one string."""
    answer = kept(await ask(ScriptedModel(parts=list(SIGNED))))

    _, response = await told(asking(said("hi"), answer))

    assert isinstance(response, foreign.ModelResponse)
    assert response.parts == SIGNED
    assert response.provider_name == "function"


@pytest.mark.parametrize("maker", [("acme", "m2"), ("other", "m1")])
async def test_what_was_signed_is_never_sent_to_another_provider_or_model(maker: tuple[str, str]):
    """Words and calls go along, thoughts and signatures do not."""
    signature = 'bridge:{"of":"thought","number":0,"signature":"s1","provider_name":"function"}'
    thought = Reasoning(text="hm", provider=maker[0], model=maker[1], signature=signature)

    _, response = await told(asking(said("hi"), message("assistant", thought, Text(text="Yes."), maker=maker)))

    assert response.parts == [TextPart("Yes.")]
    assert response.provider_name is None  # type: ignore[union-attr]


@pytest.mark.parametrize("signature", ["", "chat:reasoning", "bridge:", 'bridge:{"of":1}', "bridge:" + "[" * 9999])
async def test_a_seal_that_is_none_of_ours_is_left_out(signature: str):
    """The log may hold what another adapter wrote, or what somebody changed."""
    thought = Reasoning(text="hm", provider=MAKER[0], model=MAKER[1], signature=signature)

    _, response = await told(asking(said("hi"), message("assistant", thought, Text(text="Yes."))))

    assert response.parts == [TextPart("Yes.")]


async def test_a_thought_that_came_in_two_pieces_is_one_again():
    """The number of its part holds it together, and its last signature counts."""
    seal = 'bridge:{{"of":"thought","number":0,"signature":"{}","provider_name":"function"}}'
    pieces = [
        Reasoning(text=text, provider=MAKER[0], model=MAKER[1], signature=seal.format(name))
        for text, name in (("one ", "s1"), ("two", "s2"))
    ]

    _, response = await told(asking(said("hi"), message("assistant", pieces[0], Text(text="Yes."), pieces[1])))

    assert response.parts == [ThinkingPart("one two", signature="s2", provider_name="function"), TextPart("Yes.")]


async def test_an_answer_of_thoughts_alone_is_not_told():
    """Providers refuse an answer without a word or a call."""
    seal = 'bridge:{"of":"thought","number":0,"signature":"s1","provider_name":"function"}'
    thought = Reasoning(text="hm", provider=MAKER[0], model=MAKER[1], signature=seal)

    [request] = await told(asking(said("hi"), message("assistant", thought), said("so?")))

    assert [part.content for part in request.parts] == ["hi", "so?"]
