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

import msgspec
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agi.net.http import HttpClient
from agi.telemetry.otel import shown

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


async def ran(folder: Path, endpoint: str) -> tuple[int, str]:
    """A daemon that answers one question and is told to stop; gives its exit code and what it said.

    Raises TimeoutError where its end is held up.
    """
    for name in ("project", "home"):
        (folder / name).mkdir()
    config = {"defaultProvider": "scripted", "telemetry": {"endpoint": endpoint, "logs": "json"}}
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
            assert reply.status == 200
            await reply.read()
        process.send_signal(signal.SIGTERM)
    try:
        _, err = await asyncio.wait_for(process.communicate(), HELD_UP_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    return process.returncode or 0, err.decode()


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


async def test_a_collector_is_told_of_a_turn_and_never_what_was_said(tmp_path: Path) -> None:
    """Spans and token numbers in the words of the GenAI conventions arrive before the daemon has gone."""
    collector = Collector()
    server = await asyncio.start_server(collector.serve, "127.0.0.1", 0)
    async with server:
        code, err = await ran(tmp_path, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    traces = [ExportTraceServiceRequest.FromString(body) for body in collector.bodies["/v1/traces"]]
    spans = [
        one for told in traces for group in told.resource_spans for scope in group.scope_spans for one in scope.spans
    ]
    numbers = [ExportMetricsServiceRequest.FromString(body) for body in collector.bodies["/v1/metrics"]]
    names = {
        metric.name
        for told in numbers
        for group in told.resource_metrics
        for scope in group.scope_metrics
        for metric in scope.metrics
    }
    turn = next(span for span in spans if span.name.startswith("invoke_agent "))
    answers = [span for span in spans if span.name.startswith("chat ")]
    assert code == 0
    assert attributes(turn)["gen_ai.operation.name"] == "invoke_agent"
    assert answers
    assert all(span.parent_span_id == turn.span_id and span.trace_id == turn.trace_id for span in answers)
    assert names == {"gen_ai.client.token.usage", "gen_ai.client.operation.duration"}
    assert b"secret-word" not in b"".join(body for bodies in collector.bodies.values() for body in bodies)
    ended = next(line for line in map(msgspec.json.decode, err.splitlines()) if line["event"] == "turn_completed")
    assert ended["turn_id"] == f"turn_{turn.trace_id.hex()}"
    assert "secret-word" not in err


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


def test_an_address_is_shown_without_what_is_secret_in_it() -> None:
    """A key in a query is nobody's business."""
    told = ["http://localhost:4318", "https://collector.example:443/otlp?key=1"]

    assert list(map(shown, told)) == ["http://localhost:4318", "https://collector.example:443/otlp"]
