"""A collector hears of the daemon's work: a real daemon process, a real socket, the protocol's own decoder."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import msgspec
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from agi.errors import ConfigError
from agi.net.http import HttpClient
from agi.protocol.messages import Usage
from agi.telemetry.otel import Exporter, check_endpoint
from agi.testing.adapters import MODEL, PROVIDER, provider_settings
from agi.testing.provider import ProviderServer, fails, says

SCRIPT = """
import asyncio, pathlib, sys
from agi.server.serve import ServeSettings, serve
folder = pathlib.Path(sys.argv[1])
asyncio.run(serve(ServeSettings(project=folder / "project", home_config=folder / "home", env={}, port=0)))
"""


PATIENCE_S = 120
"""How long the SDK is told to try and to wait: what hangs on it takes much longer than what does not."""
HELD_UP_S = 20
"""An end that takes longer is held up: the SDK would try to connect for some 30 seconds, and wait for an answer."""


class Collector:
    """Takes OTLP over HTTP and keeps the bodies by path; one that `is_silent` never answers."""

    def __init__(self, *, is_silent: bool = False) -> None:
        self.bodies: dict[str, list[bytes]] = {}
        self.answered = 0
        self._is_silent = is_silent

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
                body = await reader.readexactly(int(fields.get(b"content-length", b"0")))
                self.bodies.setdefault(path, []).append(body)
                if self._is_silent:
                    continue
                self.answered += 1
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def ran(folder: Path, endpoint: str, status: int = 200, **config: object) -> tuple[int, str]:
    """A daemon that answers one question and is told to stop; gives its exit code and what it said.

    Raises TimeoutError where its end is held up.
    """
    for name in ("project", "home"):
        (folder / name).mkdir()
    config = {"defaultProvider": "scripted", **config, "telemetry": {"endpoint": endpoint, "logs": "json"}}
    (folder / "home/config.json").write_bytes(msgspec.json.encode(config))
    pipe = asyncio.subprocess.PIPE
    env = {**os.environ, "OTEL_EXPORTER_OTLP_TIMEOUT": str(PATIENCE_S)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SCRIPT, str(folder), stdout=pipe, stderr=pipe, env=env
    )
    assert process.stdout is not None
    url = (await process.stdout.readline()).decode().strip()
    if url:
        headers = {"content-type": "application/json"}
        body = b'{"prompt": "the secret-word"}'
        async with (
            HttpClient() as http,
            await http.request("POST", f"{url}/v1/one-shot", headers=headers, body=body) as reply,
        ):
            assert reply.status == status
            await reply.read()
        process.send_signal(signal.SIGTERM)
    try:
        _, err = await asyncio.wait_for(process.communicate(), HELD_UP_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    return process.returncode or 0, err.decode()


def attributes(one: Any) -> dict[str, Any]:
    """Those of a span, or of a point of a metric."""
    return {each.key: plain(each.value) for each in one.attributes}


def plain(value: Any) -> Any:
    """What an attribute holds."""
    told = getattr(value, value.WhichOneof("value"))
    return [plain(each) for each in told.values] if value.HasField("array_value") else told


def spans_in(collector: Collector) -> list[Any]:
    """The spans it was told of."""
    traces = [ExportTraceServiceRequest.FromString(body) for body in collector.bodies["/v1/traces"]]
    return [
        one for told in traces for group in told.resource_spans for scope in group.scope_spans for one in scope.spans
    ]


def points_in(collector: Collector) -> dict[str, list[Any]]:
    """The points of its metrics, by their names."""
    numbers = [ExportMetricsServiceRequest.FromString(body) for body in collector.bodies["/v1/metrics"]]
    return {
        metric.name: list(metric.histogram.data_points)
        for told in numbers
        for group in told.resource_metrics
        for scope in group.scope_metrics
        for metric in scope.metrics
    }


async def test_a_collector_is_told_of_a_turn_and_never_what_was_said(tmp_path: Path) -> None:
    """Spans and token numbers in the words of the GenAI conventions arrive before the daemon has gone."""
    collector = Collector()
    server = await asyncio.start_server(collector.serve, "127.0.0.1", 0)
    async with server:
        code, err = await ran(tmp_path, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    spans = spans_in(collector)
    turn = next(span for span in spans if span.name.startswith("invoke_agent "))
    answers = [span for span in spans if span.name.startswith("chat ")]
    assert code == 0
    assert attributes(turn)["gen_ai.operation.name"] == "invoke_agent"
    assert answers
    assert all(span.parent_span_id == turn.span_id and span.trace_id == turn.trace_id for span in answers)
    assert points_in(collector).keys() == {"gen_ai.client.token.usage", "gen_ai.client.operation.duration"}
    assert b"secret-word" not in b"".join(body for bodies in collector.bodies.values() for body in bodies)
    ended = next(line for line in map(msgspec.json.decode, err.splitlines()) if line["event"] == "turn_completed")
    assert ended["turn_id"] == f"turn_{turn.trace_id.hex()}"
    assert "secret-word" not in err


async def test_a_call_that_failed_is_a_failure_in_traces_and_metrics(tmp_path: Path) -> None:
    """Whoever watches a provider sees each attempt, with what became of it: one that was waited for, and the last."""
    collector = Collector()
    script = [fails(429, "Slower.", headers={"retry-after": "0"}), fails(400, "the secret-word")]
    async with (
        await asyncio.start_server(collector.serve, "127.0.0.1", 0) as server,
        ProviderServer(script) as provider,
    ):
        endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        code, _ = await ran(tmp_path, endpoint, 502, **provider_settings(provider.url, "chat"))

    turn = next(span for span in spans_in(collector) if span.name.startswith("invoke_agent "))
    calls = [span for span in spans_in(collector) if span.name.startswith("chat ")]
    points = [attributes(point) for point in points_in(collector)["gen_ai.client.operation.duration"]]
    assert code == 0
    assert [attributes(span)["error.type"] for span in calls] == ["rate_limited", "provider_failed"]
    assert all(span.status.code == Status.STATUS_CODE_ERROR for span in calls)
    assert all(span.kind == Span.SPAN_KIND_CLIENT for span in calls)
    assert all(span.parent_span_id == turn.span_id and span.trace_id == turn.trace_id for span in calls)
    asked = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": PROVIDER, "gen_ai.request.model": "other"}
    told = {"gen_ai.conversation.id": attributes(turn)["gen_ai.conversation.id"], "agi.turn.id": ANY}
    assert attributes(calls[1]) == {**asked, **told, "error.type": "provider_failed"}
    assert [point for point in points if point["gen_ai.operation.name"] == "chat"] == [
        {**asked, "error.type": "rate_limited"},
        {**asked, "error.type": "provider_failed"},
    ]
    assert b"secret-word" not in b"".join(body for bodies in collector.bodies.values() for body in bodies)


async def test_an_answer_is_told_with_these_attributes_and_no_others(tmp_path: Path) -> None:
    """Names of the conventions, and where they have none our own; each number stands where collectors look for it."""
    collector = Collector()
    usage = Usage(input_tokens=70, output_tokens=9, cached_tokens=30, reasoning_tokens=4)
    async with (
        await asyncio.start_server(collector.serve, "127.0.0.1", 0) as server,
        ProviderServer([says("Here.", usage=usage)]) as provider,
    ):
        endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        prices = {MODEL: {"inputUsd": 1_000_000, "outputUsd": 0, "cacheReadUsd": 0}}
        await ran(tmp_path, endpoint, **provider_settings(provider.url, "chat", models=prices))

    turn = next(attributes(span) for span in spans_in(collector) if span.name.startswith("invoke_agent "))
    (answer,) = (attributes(span) for span in spans_in(collector) if span.name == f"chat {MODEL}")
    points = points_in(collector)
    asked = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": PROVIDER, "gen_ai.request.model": MODEL}
    assert answer == {
        **asked,
        "gen_ai.conversation.id": turn["gen_ai.conversation.id"],
        "gen_ai.response.finish_reasons": ["end_turn"],
        "gen_ai.usage.input_tokens": 70,
        "gen_ai.usage.output_tokens": 9,
        "gen_ai.usage.cache_read.input_tokens": 30,
        "gen_ai.usage.cache_creation.input_tokens": 0,
        "agi.cost_usd": 40.0,
        "agi.first_words_ms": ANY,
        "agi.message.id": ANY,
        "agi.turn.id": turn["agi.turn.id"],
    }
    assert [(attributes(point), point.count) for point in points["gen_ai.client.operation.duration"]] == [
        (asked, 1),
        ({**asked, "gen_ai.operation.name": "invoke_agent"}, 1),
    ]
    assert [(attributes(point), point.sum) for point in points["gen_ai.client.token.usage"]] == [
        ({**asked, "gen_ai.token.type": "input"}, 70),
        ({**asked, "gen_ai.token.type": "output"}, 9),
    ]


async def test_metrics_have_the_bounds_of_the_conventions(tmp_path: Path) -> None:
    """The SDK's own are for milliseconds: quick calls would all fall between the first two."""
    collector = Collector()
    async with await asyncio.start_server(collector.serve, "127.0.0.1", 0) as server:
        await ran(tmp_path, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    bounds = {name: {tuple(point.explicit_bounds) for point in points} for name, points in points_in(collector).items()}
    assert bounds == {
        "gen_ai.client.operation.duration": {
            (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
        },
        "gen_ai.client.token.usage": {tuple(4**power for power in range(14))},
    }


@asynccontextmanager
async def nobody() -> AsyncIterator[str]:
    """The address of a port at which nobody listens."""
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def silence() -> AsyncIterator[str]:
    """The address of a collector that takes all it is sent and answers nothing; at the end it has both kinds."""
    collector = Collector(is_silent=True)
    async with await asyncio.start_server(collector.serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    assert collector.bodies.keys() == {"/v1/traces", "/v1/metrics"}
    assert collector.answered == 0


@pytest.mark.parametrize("collector", [nobody, silence])
async def test_a_collector_that_is_not_there_holds_nothing_up(tmp_path: Path, collector: Any) -> None:
    """The question is answered and the daemon leaves cleanly, however long the SDK would try."""
    async with collector() as endpoint:
        code, err = await ran(tmp_path, endpoint)

    lines = [msgspec.json.decode(line) for line in err.splitlines()]
    told = [line["message"] for line in lines if line["event"] == "told" and "127.0.0.1" in line["message"]]
    assert code == 0
    assert "turn_completed" in err
    assert told == [
        f"traces and metrics are sent to {endpoint}.",
        f"the collector at {endpoint} cannot be reached, or does not take what it is sent; work goes on without it.",
    ]


@pytest.mark.parametrize(
    "endpoint",
    [
        *("http://127.0.0.1:4318/x?key=abc", "http://127.0.0.1:4318/#x", "http://127.0.0.1:4318/v1/traces"),
        *("http://[", "http://127.0.0.1:99999", "http://a:b"),
    ],
)
def test_an_address_that_no_path_can_follow_is_refused(endpoint: str) -> None:
    """Behind a query the path would be a part of it, and all went to a place that nobody meant."""
    with pytest.raises(ConfigError, match=r"telemetry\.endpoint") as refused:
        check_endpoint(endpoint)

    assert "OTEL_EXPORTER_OTLP_HEADERS" in refused.value.hint


@pytest.mark.parametrize("name", ["OTEL_METRIC_EXPORT_INTERVAL", "OTEL_BSP_SCHEDULE_DELAY"])
@pytest.mark.parametrize("value", ["0", "-5"])
def test_intervals_that_are_none_are_refused_by_their_names(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK's own error names no variable."""
    monkeypatch.setenv(name, value)

    with pytest.raises(ConfigError) as refused:
        Exporter("http://127.0.0.1:9")

    assert name in refused.value.hint


@pytest.mark.parametrize(
    ("name", "value"), [("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"), ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip")]
)
def test_an_odd_variable_is_not_the_collectors_fault(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told for what it is, and its value is not: it may be a key. Nobody was asked yet."""
    monkeypatch.setenv(name, value)
    told: list[str] = []

    Exporter("http://127.0.0.1:9", warn=told.append).close()

    assert len(told) == 1
    assert "OTEL_" in told[0]
    assert value not in told[0]
