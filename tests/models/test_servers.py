"""Servers are asked about their models: at once, briefly, not too often; over real sockets, in every dialect."""

from __future__ import annotations

import time

import pytest

from agi.config.values import Config, ProviderSettings, Secret
from agi.models import nearby, servers
from agi.models.reports import Reported
from agi.models.servers import Report, Reports, Server, server_of
from agi.testing.asked import Asked
from agi.testing.model_server import SILENCE, ModelServer, Refusal

KEY = Secret("sk-canary-123456")
LISTED = {"object": "list", "data": [{"id": "m", "object": "model"}]}


async def report_of(server: ModelServer, *, api: str = "chat", base: str = "/v1", key: Secret | None = None) -> Report:
    """What a server is found to say."""
    asked = Server(server.url + base, api, key)
    reports = Reports()
    await reports.ask([asked])
    told = reports.last(asked)
    assert told is not None
    return told


def ollama_show(asked: Asked) -> object:
    name = asked.json["model"]
    if name == "nomic-embed":
        return {"capabilities": ["embedding"]}
    return {
        "model_info": {"qwen3.context_length": 40960},
        "capabilities": ["completion", "tools"],
        "parameters": "num_ctx 16384" if name == "set:8b" else "",
    }


OLLAMA = {
    "/v1/models": {"object": "list", "data": [{"id": "qwen3:8b", "owned_by": "library"}]},
    "/api/tags": {"models": [{"name": name} for name in ("qwen3:8b", "set:8b", "loaded:8b", "nomic-embed")]},
    "/api/ps": {"models": [{"name": "loaded:8b", "context_length": 32768}]},
    "/api/show": ollama_show,
}


async def test_vllm_tells_its_window():
    """In the list itself."""
    entry = {"id": "qwen", "object": "model", "owned_by": "vllm", "max_model_len": 32768}
    async with ModelServer({"/v1/models": {"object": "list", "data": [entry]}}) as server:
        assert await report_of(server) == Report(models=(Reported(id="qwen", context_window=32768),))


async def test_llama_cpp_tells_the_window_of_one_slot():
    """The list has the whole of what it divides among slots; another program of one model answers to any name."""
    meta = {"n_ctx": 16384, "n_ctx_train": 40960}
    answers = {
        "/v1/models": {"object": "list", "data": [{"id": "x.gguf", "owned_by": "llamacpp", "meta": meta}]},
        "/props": {"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": True, "audio": False}},
    }
    async with ModelServer(answers) as server:
        told = await report_of(server)

    lacks = ("audio", "files")
    assert told.models == (Reported(id="x.gguf", context_window=4096, capabilities=("images",), lacks=lacks),)
    assert told.find("any name") == told.models[0]


async def test_ollama_tells_windows_and_abilities_model_by_model():
    """As loaded, as set, or its small default; a model that only embeds is none to choose."""
    async with ModelServer(OLLAMA) as server:
        told = await report_of(server)

    note = "takes up to 40,960 tokens with num_ctx"
    windows = {"qwen3:8b": 4096, "set:8b": 16384, "loaded:8b": 32768}
    lacks = ("images", "audio", "files")
    assert told.models == tuple(
        Reported(id=name, context_window=window, capabilities=("tools",), lacks=lacks, note=note)
        for name, window in windows.items()
    )
    assert told.find("nomic-embed") is None


async def test_lm_studio_tells_what_is_loaded():
    """By its own list beside OpenAI's."""
    entry = {"id": "qwen3", "type": "llm", "loaded_context_length": 8192, "capabilities": ["tool_use"]}
    async with ModelServer({"/v1/models": LISTED, "/api/v0/models": {"data": [entry]}}) as server:
        told = await report_of(server)

    assert told.models == (Reported(id="qwen3", context_window=8192, capabilities=("tools",), lacks=("images",)),)


@pytest.mark.parametrize(
    ("api", "base", "path", "header", "body"),
    [
        ("chat", "/v1", "/v1/models", ("authorization", "Bearer sk-canary-123456"), LISTED),
        ("responses", "/v1/", "/v1/models", ("authorization", "Bearer sk-canary-123456"), LISTED),
        ("messages", "", "/v1/models?limit=1000", ("x-api-key", "sk-canary-123456"), {"data": [{"id": "m"}]}),
        ("messages", "/v1", "/v1/models?limit=1000", ("x-api-key", "sk-canary-123456"), {"data": [{"id": "m"}]}),
        (
            *("gemini", "/v1beta", "/v1beta/models?pageSize=1000"),
            *(("x-goog-api-key", "sk-canary-123456"), {"models": [{"name": "models/m"}]}),
        ),
    ],
)
async def test_each_api_is_asked_in_its_own_way(api, base, path, header, body):
    """Where its list is, and with the key in the header it wants, never in the address."""
    async with ModelServer({path: body}) as server:
        told = await report_of(server, api=api, base=base, key=KEY)

    assert [one.id for one in told.models] == ["m"]
    assert server.asked[0] == path
    assert server.requests[0].headers[header[0]] == header[1]
    assert "canary" not in "".join(server.asked)


async def test_a_key_goes_only_to_the_server_it_is_for():
    """Two servers asked at once: one has a key, the other is sent none."""
    async with ModelServer({"/v1/models": LISTED}) as keyed, ModelServer({"/v1/models": LISTED}) as other:
        await Reports().ask([Server(f"{keyed.url}/v1", "chat", KEY), Server(f"{other.url}/v1", "chat")])

    assert all("canary" in one.headers["authorization"] for one in keyed.requests)
    assert other.requests
    assert not any("canary" in str(one) for one in other.requests)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Refusal(401), "answered with status 401"),
        (Refusal(302, b""), "answered with status 302"),
        (Refusal(500, b"<html>"), "answered with status 500"),
        (b"<html>hello</html>", "does not list its models"),
        (b'{"data": [' * 1000, "does not list its models"),
        ({"models": "many"}, "does not list its models"),
    ],
)
async def test_a_server_that_says_something_else_is_a_note(answer, problem):
    """What stands in the way is said in a sentence, without the key."""
    async with ModelServer({"/v1/models": answer}) as server:
        told = await report_of(server, key=KEY)

    assert told.models == ()
    assert problem in told.problem
    assert "canary" not in told.problem


async def test_a_server_that_is_not_there_is_a_note():
    """It may be started later."""
    async with ModelServer({}) as server:
        address = Server(f"{server.url}/v1", "chat")
    reports = Reports()
    await reports.ask([address])

    told = reports.last(address)
    assert told is not None
    assert str(server_port(address)) in told.problem


def server_port(server: Server) -> int:
    return int(server.root.rpartition(":")[2])


async def test_silence_is_not_waited_for_longer_than_the_limit(monkeypatch):
    """Not by the server that is silent, and not by those that answer; what they said counts."""
    monkeypatch.setattr(servers, "LIMIT_S", 0.3)
    slow_show = {**OLLAMA, "/api/show": SILENCE}
    async with (
        ModelServer({"/v1/models": SILENCE}) as silent,
        ModelServer(slow_show) as half,
        ModelServer({"/v1/models": LISTED}) as quick,
    ):
        asked = [Server(f"{one.url}/v1", "chat") for one in (silent, half, quick)]
        reports, began = Reports(), time.monotonic()
        await reports.ask(asked)
        took = time.monotonic() - began

    told = [reports.last(one) for one in asked]
    assert took < 2
    assert told[0] is not None
    assert "did not answer within 0.3 s" in told[0].problem
    assert told[1] is not None
    assert told[1].models[0] == Reported(id="qwen3:8b")
    assert told[2] == Report(models=(Reported(id="m"),))


async def test_an_answer_without_end_is_not_read(monkeypatch):
    """A list has a largest size."""
    monkeypatch.setattr(servers, "LARGEST", 1000)
    async with ModelServer({"/v1/models": b"[" + b" " * 5000 + b"]"}) as server:
        told = await report_of(server)

    assert "more than 1000 bytes" in told.problem


async def test_what_was_said_is_kept_for_a_while():
    """A server is asked again after half a minute, one that failed after some seconds."""
    now = [0.0]
    reports = Reports(clock=lambda: now[0])
    async with ModelServer({"/v1/models": {"data": [{"id": "m", "max_model_len": 5}]}}) as server:
        good, bad = Server(f"{server.url}/v1", "chat"), Server(f"{server.url}/nothing", "chat")
        lists = ("/v1/models", "/nothing/models")
        counts = []
        for moment in (0.0, 1.0, 6.0, 31.0):
            now[0] = moment
            await reports.ask([good, bad, good])
            counts.append(tuple(server.asked.count(path) for path in lists))

    assert counts == [(1, 1), (1, 1), (1, 2), (2, 3)]


async def test_a_server_that_is_busy_is_remembered():
    """It says nothing while it answers somebody; its window is still what it was."""
    now, answers = [0.0], {"/v1/models": {"data": [{"id": "m", "max_model_len": 5}]}}
    reports = Reports(clock=lambda: now[0])
    async with ModelServer(answers) as server:
        asked = Server(f"{server.url}/v1", "chat")
        await reports.ask([asked])
        answers["/v1/models"], now[0] = Refusal(503), 60.0
        await reports.ask([asked])

    told = reports.last(asked)
    assert told is not None
    assert told.models == (Reported(id="m", context_window=5),)
    assert "503" in told.problem


def test_a_server_is_asked_at_the_address_that_is_set():
    """A provider at its usual address is in the table, and is not asked."""
    config = Config(
        providers={
            "openai": ProviderSettings(api_key=KEY, base_url="https://api.openai.com/v1/"),
            "anthropic": ProviderSettings(base_url="http://127.0.0.1:1"),
            "lab": ProviderSettings(base_url="http://127.0.0.1:2/v1", api_key=KEY, api="responses"),
        }
    )

    assert server_of(config, "openai") is None
    assert server_of(config, "google") is None
    assert server_of(config, "anthropic") == Server("http://127.0.0.1:1", "messages")
    assert server_of(config, "lab") == Server("http://127.0.0.1:2/v1", "responses", KEY)


async def test_a_server_that_was_found_on_this_machine_is_asked_too():
    """Where it was found, once it was."""
    async with ModelServer(OLLAMA) as server:
        ports = {"ollama": server.port}
        assert server_of(Config(), "ollama", ports) is None
        await nearby.around(ports).look_for("ollama")

        assert server_of(Config(), "ollama", ports) == Server(f"{server.url}/v1", "chat")


@pytest.mark.parametrize(
    ("names", "wanted", "found"),
    [
        (("a", "b"), "b", "b"),
        (("qwen3:latest", "b"), "qwen3", "qwen3:latest"),
        (("a", "b"), "c", None),
        (("a",), "c", "a"),
        ((), "c", None),
    ],
)
def test_a_model_is_found_by_its_name(names, wanted, found):
    """With the tag Ollama adds; and a server with one model answers to any name."""
    told = Report(models=tuple(Reported(id=name) for name in names)).find(wanted)

    assert (told.id if told else None) == found
