"""A collector hears of the daemon's work: a real daemon process, a real socket, the protocol's own decoder."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
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


class Collector:
    """Takes OTLP over HTTP and keeps the bodies by path."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[bytes]] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
                body = await reader.readexactly(int(fields.get(b"content-length", b"0")))
                self.bodies.setdefault(path, []).append(body)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def ran(folder: Path, endpoint: str) -> tuple[int, str]:
    """A daemon that answers one question and is told to stop; gives its exit code and what it said."""
    for name in ("project", "home"):
        (folder / name).mkdir()
    config = {"defaultProvider": "scripted", "telemetry": {"endpoint": endpoint, "logs": "json"}}
    (folder / "home/config.json").write_bytes(msgspec.json.encode(config))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", SCRIPT, str(folder), stdout=pipe, stderr=pipe)
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
    _, err = await process.communicate()
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


async def test_a_collector_that_is_not_there_holds_nothing_up(tmp_path: Path) -> None:
    """The question is answered and the daemon leaves cleanly."""
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()

    code, err = await ran(tmp_path, f"http://127.0.0.1:{port}")

    lines = [msgspec.json.decode(line) for line in err.splitlines()]
    told = [line["message"] for line in lines if line["event"] == "told" and "127.0.0.1" in line["message"]]
    assert code == 0
    assert "turn_completed" in err
    assert told == [
        f"traces and metrics are sent to http://127.0.0.1:{port}.",
        f"the collector at http://127.0.0.1:{port} cannot be reached, or does not take what it is sent;"
        " work goes on without it.",
    ]


def test_an_address_is_shown_without_what_is_secret_in_it() -> None:
    """A password or a key in a query is nobody's business."""
    told = ["http://localhost:4318", "https://me:word@collector.example:443/otlp?key=1"]

    assert list(map(shown, told)) == ["http://localhost:4318", "https://collector.example:443/otlp"]
