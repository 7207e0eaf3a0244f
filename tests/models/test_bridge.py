"""Other providers, for real: pydantic-ai's own models and their SDKs against a server on loopback."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from contextlib import aclosing

import msgspec
import pytest

from agi.config.values import Secret
from agi.errors import Invalid, ModelError
from agi.extras import how_to_add, how_to_install
from agi.models import bridge
from agi.models.base import CallMade, Finished, ModelRequest, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.bridge import Bridged
from agi.models.limits import Limits
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Image, Reasoning, Text
from agi.protocol.tools import ToolDefinition, ToolKind
from agi.testing.openai_chat_wire import DONE, frame, usage_of
from agi.testing.provider import ProviderServer
from agi.testing.replies import (
    Reply,
    breaks,
    calls,
    fails,
    inserts,
    never_begins,
    says,
    slices,
    waits,
    web_page,
)

KEY = "gsk-test-0123456789abcdef"
WIRED = ("groq", "moonshotai")
"""One with an SDK of its own, one that pydantic-ai speaks to through OpenAI's."""
SHELL = ToolDefinition(
    name="shell", description="Runs.", input_schema={"type": "object", "properties": {}}, kind=ToolKind.EXEC
)
COST = Usage(input_tokens=11, output_tokens=7, cached_tokens=5, reasoning_tokens=3)


@pytest.fixture(params=WIRED)
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


def asking(*parts: Text | Image, earlier: tuple[Message, ...] = (), **fields: object) -> ModelRequest:
    last = Message(id="msg_1", role="user", parts=parts or (Text(text="hello"),), created_at="", status="complete")
    return ModelRequest(system="be brief", messages=(*earlier, last), **fields)  # type: ignore[arg-type]


def model_at(provider: str, base_url: str | None, limits: Limits | None = None, key: str = KEY) -> Bridged:
    secret = Secret(key) if key else None
    return Bridged(provider=provider, name="m1", api_key=secret, base_url=base_url, limits=limits or Limits())


async def ask(model: Bridged, request: ModelRequest | None = None) -> list[StreamItem]:
    return [item async for item in model.stream(request or asking())]


async def listen_into(items: list[StreamItem], model: Bridged) -> None:
    async for item in model.stream(asking()):
        items.append(item)


async def ask_once(
    provider: str, reply: Reply, limits: Limits | None = None, request: ModelRequest | None = None
) -> list[StreamItem]:
    async with ProviderServer([reply]) as server:
        items = await ask(model_at(provider, server.base_url, limits), request)
        assert len(server.requests) == 1
        return items


async def failure_of(
    provider: str, reply: Reply, limits: Limits | None = None, request: ModelRequest | None = None
) -> ModelError:
    """The one error of a reply; nothing was asked twice, and the key is not in it."""
    async with ProviderServer([reply] * 3) as server:
        with pytest.raises(ModelError) as caught:
            await ask(model_at(provider, server.base_url, limits), request)
        assert len(server.requests) == 1
    error = caught.value
    assert f"{provider} (m1)" in error.message
    assert KEY not in error.message + error.hint
    assert error.hint
    return error


def text_of(items: list[StreamItem]) -> str:
    return "".join(item.text for item in items if isinstance(item, TextDelta))


async def test_an_answer_comes_word_by_word_and_ends_with_its_cost():
    """What the server sends is what is told, in order."""
    items = await ask_once("moonshotai", says("Hello there", chunks=3, reasoning="hm", usage=COST))

    assert items[0] == ReasoningDelta("hm")
    assert isinstance(items[1], ReasoningSealed)
    assert items[2:] == [
        TextDelta("Hel"),
        TextDelta("lo t"),
        TextDelta("here"),
        Finished(stop_reason="end_turn", usage=msgspec.structs.replace(COST, requests=1)),
    ]


async def test_a_provider_that_tells_its_cost_in_a_place_of_its_own_is_understood():
    """Groq has a field for it that nobody else has; that is what the bridge is for."""
    usage = {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}
    cost = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m1", "choices": []}
    chunk = b"data: %b\n\n" % msgspec.json.encode({**cost, "x_groq": {"id": "r", "usage": usage}})

    items = await ask_once("groq", inserts(says("Hi"), 3, chunk))

    assert items == [
        TextDelta("Hi"),
        Finished(stop_reason="end_turn", usage=Usage(input_tokens=4, output_tokens=2, requests=1)),
    ]


async def test_parallel_calls_arrive_whole(provider: str):
    """Arguments cut into pieces are put together; words before them are told at once."""
    reply = calls(("shell", {"command": "ls ä"}, "a"), ("shell", {"command": "pwd"}, "b"), text="I look.", pieces=4)

    items = await ask_once(provider, slices(reply, 7), request=asking(tools=(SHELL,)))

    assert items[:-1] == [
        TextDelta("I look."),
        CallMade("a", "shell", '{"command":"ls ä"}'),
        CallMade("b", "shell", '{"command":"pwd"}'),
    ]
    assert items[-1].stop_reason == "tool_calls"  # type: ignore[union-attr]


async def test_the_request_is_the_providers_own(provider: str):
    """The key goes into the header and nowhere else; prompt, tools and options are where the API wants them."""
    before = dict(os.environ)
    options = {"temperature": 0.5, "max_tokens": 9, "stop": "END"}

    async with ProviderServer([says("ok")]) as server:
        await ask(model_at(provider, server.base_url, key=f"{KEY}\n"), asking(tools=(SHELL,), options=options))
        [asked] = server.requests

    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert KEY.encode() not in asked.body
    assert dict(os.environ) == before
    assert asked.json["model"] == "m1"
    assert asked.json["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hello"},
    ]
    assert [tool["function"]["name"] for tool in asked.json["tools"]] == ["shell"]  # type: ignore[attr-defined]
    limit = asked.json.get("max_tokens") or asked.json.get("max_completion_tokens")
    assert (asked.json["temperature"], limit, asked.json["stop"]) == (0.5, 9, ["END"])


async def test_the_same_conversation_is_the_same_bytes(provider: str):
    """Providers charge less for a beginning they have seen."""
    request = asking(tools=(SHELL,))
    async with ProviderServer([says("ok"), says("ok")]) as server:
        for _ in range(2):
            await ask(model_at(provider, server.base_url), request)

        assert server.requests[0].body == server.requests[1].body


async def test_thoughts_go_back_in_the_field_they_came_in():
    """A provider that wants its reasoning back gets it, from the log, in its own words."""
    async with ProviderServer([says("Yes.", reasoning="hm"), says("ok")]) as server:
        model = model_at("moonshotai", server.base_url)
        seal = next(item for item in await ask(model) if isinstance(item, ReasoningSealed))
        thought = Reasoning(text="hm", provider="moonshotai", model="m1", signature=seal.signature)
        answer = Message(
            id="msg_2",
            role="assistant",
            parts=(thought, Text(text="Yes.")),
            created_at="",
            status="complete",
            provider="moonshotai",
            model="m1",
        )
        await ask(model, asking(earlier=(answer,)))
        sent = server.requests[1].json["messages"]

    assert sent[1] == {"role": "assistant", "content": "Yes.", "reasoning_content": "hm"}  # type: ignore[index]


async def test_a_key_that_is_not_accepted_is_named_as_the_reason(provider: str):
    """What the server repeats of the key is taken out."""
    error = await failure_of(provider, fails(401, f"Incorrect API key provided: {KEY}"))

    assert (error.code, error.status, error.retryable) == ("provider_auth", 401, False)
    assert f"providers.{provider}.apiKey" in error.hint


async def test_a_limit_says_how_long_to_wait_and_is_not_tried_again_here(provider: str):
    """Asking again is the loop's business, and it is told when."""
    error = await failure_of(provider, fails(429, "slow down", headers={"retry-after": "7"}))

    assert (error.code, error.retryable, error.retry_after) == ("rate_limited", True, 7.0)


@pytest.mark.parametrize("reply", [fails(500, "boom"), fails(503, "boom"), fails(529, "boom"), web_page(502)])
async def test_the_servers_own_trouble_may_pass(provider: str, reply: Reply):
    """A web page in place of an answer is not repeated to anybody."""
    error = await failure_of(provider, reply)

    assert (error.code, error.status, error.retryable) == ("provider_failed", reply.status, True)
    assert "<" not in error.message


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (fails(400, "nope", code="context_length_exceeded"), "context_overflow"),
        (fails(413, "too big"), "context_overflow"),
        (fails(404, "The model `m1` does not exist"), "model_not_found"),
        (fails(403, "not for you"), "provider_auth"),
        (fails(429, "pay first", code="insufficient_quota"), "rate_limited"),
        (fails(400, "no such thing"), "provider_failed"),
    ],
)
async def test_what_will_not_pass_is_not_tried_again(provider: str, reply: Reply, code: str):
    """Each refusal has our own code for it."""
    error = await failure_of(provider, reply)

    assert (error.code, error.status, error.retryable) == (code, reply.status, False)


async def test_an_attachment_the_provider_refuses_is_blamed(provider: str):
    """So that the conversation can go on without it."""
    picture = Image(ref="attachments/a.png", mime_type="image/png")
    request = asking(picture, Text(text="what is it?"), files={"attachments/a.png": b"\x89PNG rest"})

    error = await failure_of(provider, fails(400, "Could not process image"), request=request)

    assert (error.code, error.parts) == ("part_refused", ("attachments/a.png",))


@pytest.mark.parametrize("ending", ["cut", "reset", "whole"])
async def test_an_answer_that_breaks_off_is_cut_and_makes_no_call(provider: str, ending: str):
    """Whether the connection is closed, reset or ends in order: half an answer is none."""
    reply = breaks(calls(("shell", '{"command":"rm'), text="half", finish="stop"), 4, ending)  # type: ignore[arg-type]
    items: list[StreamItem] = []

    async with ProviderServer([reply] * 3) as server:
        with pytest.raises(ModelError) as caught:
            await listen_into(items, model_at(provider, server.base_url))
        assert len(server.requests) == 1

    assert (caught.value.code, caught.value.retryable) == ("stream_cut", True)
    assert items == [TextDelta("half")]


async def test_a_connection_that_breaks_after_the_end_was_told_costs_only_the_cost(provider: str):
    """Once the finish reason is in, the answer is whole."""
    items = await ask_once(provider, breaks(says("all of it"), 3, "reset"))

    assert items == [TextDelta("all of it"), Finished(stop_reason="end_turn", usage=Usage(requests=1))]


async def test_a_server_that_never_says_why_it_ended_is_believed_if_it_tells_the_cost():
    """Some servers that imitate OpenAI leave it out; what comes last tells a whole answer from half of one."""
    cost = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m1", "choices": []}
    last = b"data: %b\n\n" % msgspec.json.encode({**cost, "usage": usage_of(COST)})

    items = await ask_once("moonshotai", Reply(frames=(frame({"content": "all"}), last, DONE)))

    assert items[0] == TextDelta("all")
    assert items[-1] == Finished(stop_reason="end_turn", usage=msgspec.structs.replace(COST, requests=1))


async def test_a_server_that_stays_silent_after_the_end_is_not_waited_for(provider: str):
    """Nor is one that never ends the response."""
    items = await ask_once(provider, breaks(says("all"), 3, "stall"), Limits(last_words=0.05))

    assert items[-1] == Finished(stop_reason="end_turn", usage=Usage(requests=1))


async def test_an_error_inside_the_stream_ends_the_answer(provider: str):
    """What came before it was told."""
    broken = b'data: {"error":{"message":"overloaded","type":"server_error"}}\n\n'

    error = await failure_of(provider, inserts(says("So it is", chunks=2), 2, broken))

    assert (error.code, error.retryable) == ("provider_error", True)
    assert "overloaded" in error.message


async def test_garbage_in_the_stream_is_one_error(provider: str):
    """No traceback, and it may be asked again."""
    error = await failure_of(provider, inserts(says("So it is", chunks=2), 2, b"data: {garbage\n\n"))

    assert error.retryable


async def test_nobody_at_the_address_is_a_network_failure(provider: str):
    """The hint names the setting to look at."""
    async with ProviderServer([]) as server:
        gone = server.base_url
    with pytest.raises(ModelError) as caught:
        await ask(model_at(provider, gone))

    assert (caught.value.code, caught.value.retryable) == ("provider_failed", True)
    assert f"providers.{provider}.baseUrl" in caught.value.hint
    assert "Connect call failed" in caught.value.message


@pytest.mark.parametrize(
    ("reply", "limits"),
    [
        (never_begins(), Limits(first_byte=0.05)),
        (breaks(says("a"), 1, "stall"), Limits(thinking=0.05)),
        (breaks(says("abc", chunks=3), 3, "stall"), Limits(idle=0.05)),
    ],
)
async def test_a_server_that_stalls_is_given_up(provider: str, reply: Reply, limits: Limits):
    """Before the first byte, before the first word, and between words."""
    error = await failure_of(provider, reply, limits)

    assert (error.code, error.retryable) == ("stalled", True)


async def test_an_answer_that_takes_too_long_as_a_whole_is_given_up(provider: str):
    """However lively it is."""
    error = await failure_of(provider, breaks(says("abc", chunks=3), 3, "stall"), Limits(total=0.2))

    assert "totalSeconds" in error.hint


async def test_closing_the_stream_hangs_up(provider: str):
    """The server sees the client leave in the middle of its answer."""
    async with ProviderServer([waits(says("one two", chunks=2), 2, asyncio.Event())]) as server:
        async with aclosing(model_at(provider, server.base_url).stream(asking())) as items:
            assert await anext(items) == TextDelta("one")
        async with asyncio.timeout(5):
            await server.hung_up.wait()


async def test_canceling_the_task_hangs_up(provider: str):
    """Whoever is waiting for the next word may be told to stop."""
    heard = asyncio.Event()

    async def listen(model: Bridged) -> None:
        async for _ in model.stream(asking()):
            heard.set()

    async with ProviderServer([waits(says("one two", chunks=2), 2, asyncio.Event())]) as server:
        task = asyncio.create_task(listen(model_at(provider, server.base_url)))
        await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(5):
            await server.hung_up.wait()


async def test_one_model_answers_several_at_once(provider: str):
    """Nothing is shared between two questions."""
    async with ProviderServer(lambda asked: says("ok " * asked.body.count(b"again"))) as server:
        model = model_at(provider, server.base_url)
        answers = await asyncio.gather(*(ask(model, asking(Text(text="again " * n))) for n in range(1, 5)))

    assert [text_of(items).count("ok") for items in answers] == [1, 2, 3, 4]


def test_the_names_are_those_of_providers_that_answer():
    """Not those we speak to ourselves, and none that only embed, judge or want a login."""
    known = bridge.names()

    assert {"azure", "azure-responses", "bedrock", "cohere", "google-cloud", "groq", "mistral", "xai"} <= set(known)
    assert not set(known) & {"openai", "anthropic", "google", "gateway", "voyageai", "openai-codex", "typesafe"}
    assert list(known) == sorted(known)
    assert all(bridge.knows(name) for name in known)


@pytest.mark.parametrize(
    "name", ["", "openai", "nobody", "../groq", "Groq", "google_cloud", "groq\n", "a" * 99, "groq/x"]
)
def test_other_names_are_not_known(name: str):
    """A name is a word, never a path."""
    assert not bridge.knows(name)
    with pytest.raises(Invalid) as caught:
        model_at(name, None)
    assert caught.value.code == "unknown_provider"


async def test_every_known_provider_can_be_made_or_says_what_it_needs(monkeypatch: pytest.MonkeyPatch):
    """With a key alone: each is ready, or names a library, a variable or a setting."""
    from agi.models.bridge_making import make_model
    from agi.models.failures import Failures

    for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "SNOWFLAKE_"))]:
        monkeypatch.delenv(name)
    ready, refused = [], []
    for name in bridge.names():
        try:
            made = make_model(name, "m1", KEY, None, Failures(name, "m1", Secret(KEY)))
        except ModelError as error:
            refused.append((name, error))
        else:
            async with made:
                ready.append(made.model_name)

    assert len(ready) > 10
    assert set(ready) == {"m1"}
    for name, error in refused:
        assert name in error.message
        assert error.hint
        assert KEY not in error.message + error.hint
        assert error.code in ("missing_extra", "missing_setting", "provider_failed")


async def test_a_provider_whose_library_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    """The extra brings the bridge; some providers need their own SDK too."""
    monkeypatch.setitem(sys.modules, "mistralai", None)

    with pytest.raises(ModelError) as caught:
        await ask(model_at("mistral", None))

    assert caught.value.code == "missing_extra"
    assert caught.value.hint == f"Run `{how_to_install('pydantic-ai-slim[mistral]')}`."


async def test_a_missing_key_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch):
    """By the variable the provider's own tools read, and by our setting."""
    monkeypatch.delenv("GROQ_API_KEY", raising=False)

    with pytest.raises(ModelError) as caught:
        await ask(model_at("groq", "http://127.0.0.1:1", key=""))

    assert caught.value.code == "missing_key"
    assert "GROQ_API_KEY" in caught.value.hint
    assert "providers.groq.apiKey" in caught.value.hint


async def test_without_a_key_of_ours_the_users_environment_counts(monkeypatch: pytest.MonkeyPatch):
    """As it does for the provider's own tools."""
    monkeypatch.setenv("GROQ_API_KEY", "gsk-from-the-environment")
    async with ProviderServer([says("ok")]) as server:
        await ask(model_at("groq", server.base_url, key=""))

        assert server.requests[0].headers["authorization"] == "Bearer gsk-from-the-environment"


@pytest.mark.parametrize(
    ("name", "wanted"), [("azure", "AZURE_OPENAI_ENDPOINT"), ("bedrock-mantle", "AWS_REGION"), ("vllm", "baseUrl")]
)
async def test_another_missing_setting_is_named(name: str, wanted: str, monkeypatch: pytest.MonkeyPatch):
    """A region, an endpoint: what the provider reads them from is said."""
    for variable in ("AZURE_OPENAI_ENDPOINT", "AWS_REGION", "AWS_DEFAULT_REGION", "VLLM_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)

    with pytest.raises(ModelError) as caught:
        await ask(model_at(name, None))

    assert caught.value.code == "missing_setting"
    assert wanted in caught.value.hint


async def test_an_address_is_refused_where_the_provider_takes_none():
    """It would silently be asked somewhere else."""
    with pytest.raises(ModelError, match="does not take a baseUrl"):
        await ask(model_at("together", "http://127.0.0.1:1"))


def run(code: str) -> str:
    """What a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_bridge_costs_nothing_until_somebody_crosses_it():
    """Neither importing it, nor asking for names, nor making a model loads pydantic-ai."""
    told = run("""
        import sys
        from agi.models.bridge import Bridged, knows, names
        assert knows("groq") and not knows("nobody") and names()
        Bridged(provider="groq", name="m1", api_key=None, base_url=None)
        print(sorted(name for name in ("pydantic", "pydantic_ai", "httpx2", "openai", "groq") if name in sys.modules))
    """)

    assert told == "[]\n"


def test_without_the_extra_nothing_is_known_and_it_is_said_what_to_install():
    """The program works as before; only who asks for such a provider hears of it."""
    told = run("""
        import sys

        class Blocker:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "pydantic_ai":
                    raise ModuleNotFoundError(name, name=name)

        sys.meta_path.insert(0, Blocker())
        from agi.errors import Invalid
        from agi.models import bridge

        print(bridge.is_installed(), bridge.knows("groq"), bridge.names())
        try:
            bridge.Bridged(provider="groq", name="m1", api_key=None, base_url=None)
        except Invalid as error:
            print(error.code, error.hint)
    """)

    assert told == f"False False ()\nmissing_extra Run `{how_to_add('providers')}`.\n"


def test_an_extra_that_cannot_be_loaded_is_an_error_not_a_traceback():
    """A half-removed installation is found, but does not import."""
    told = run("""
        import asyncio, sys

        sys.modules["pydantic_ai.models"] = None
        from agi.errors import ModelError
        from agi.models.base import ModelRequest
        from agi.models.bridge import Bridged

        async def main():
            model = Bridged(provider="groq", name="m1", api_key=None, base_url=None)
            try:
                async for _ in model.stream(ModelRequest(system="", messages=())):
                    pass
            except ModelError as error:
                print(error.code, error.hint)

        asyncio.run(main())
    """)

    assert told == f"missing_extra Run `{how_to_add('providers', anew=True)}`.\n"
