"""Spans and numbers on their way to a collector: OpenTelemetry's own SDK, over OTLP/HTTP.

To be imported only when an address is set: it needs `agi[otel]`. It has threads of its own, waits for nobody and drops
what it cannot send; nothing of a turn depends on it. May import: errors, extras, protocol, telemetry.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Container, Sequence
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

from agi import __version__
from agi.errors import ConfigError
from agi.extras import how_to_add
from agi.protocol import events as ev
from agi.telemetry.spans import Span, Spans
from agi.telemetry.tellable import no_tools

SCOPE = "agi"
SECONDS = tuple(0.01 * 2**power for power in range(14))
TOKENS = tuple(4**power for power in range(14))
"""The bounds that the GenAI conventions give for their two histograms; the SDK's own are for milliseconds."""
_SDK = "opentelemetry"
_UNHEARD = "the collector at {} cannot be reached, or does not take what it is sent; work goes on without it"
_ODD = "OpenTelemetry does not take the value of a variable OTEL_… of the environment, and goes by what it has itself"
CLOSING_MS = 3_000
"""How long the end waits for what is not sent yet, traces and metrics together."""


class Exporter:
    """Hears events and tells a collector; `warn` is told once, from any thread, if that cannot be done."""

    def __init__(
        self,
        endpoint: str,
        tools: Callable[[], Container[str]] = no_tools,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        try:
            from opentelemetry.sdk.resources import Resource
        except ImportError as error:
            raise ConfigError(
                "`telemetry.endpoint` is set, but OpenTelemetry is not installed.",
                code="extra_missing",
                hint=f"Run `{how_to_add('otel')}`, or remove the setting.",
            ) from error
        check_endpoint(endpoint)
        self._trouble = _Trouble(lambda: warn(_ODD))
        logging.getLogger(_SDK).addHandler(self._trouble)
        self._spans = Spans(tools)
        resource = Resource.create({"service.name": "agi", "service.version": __version__})
        try:
            self._traces = _Traces(endpoint.rstrip("/"), resource)
            self._numbers = _Numbers(endpoint.rstrip("/"), resource)
        except ValueError as error:
            raise ConfigError(
                "OpenTelemetry cannot work with what the environment says.",
                code="telemetry_invalid",
                hint="OTEL_BSP_SCHEDULE_DELAY and OTEL_METRIC_EXPORT_INTERVAL are milliseconds, of which there must be "
                "some; look at the other variables OTEL_… as well.",
            ) from error
        self._trouble.now(lambda: warn(_UNHEARD.format(endpoint)))

    def hear(self, events: Sequence[ev.Event]) -> None:
        """Take in events that are durable."""
        for event in events:
            for span in self._spans.hear(event):
                self._traces.send(span)
                self._numbers.count(span)

    def close(self) -> None:
        """Send what is left, for a moment at most; what a collector has not taken by then is dropped.

        The SDK waits for its own threads for as long as it likes, whatever it is told. Those who wait for it here are
        daemons like them: nobody waits for what is still under way when the interpreter ends.
        """
        deadline = time.monotonic() + CLOSING_MS / 1000
        closing = [
            Thread(target=one.close, name="agi-otel-close", daemon=True) for one in (self._traces, self._numbers)
        ]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join(max(0.0, deadline - time.monotonic()))
        if any(thread.is_alive() for thread in closing):
            self._trouble.tell()
            self._traces.give_up()
            self._numbers.give_up()
        self._trouble.rest()


def check_endpoint(endpoint: str) -> None:
    """Refuse what no path can follow, and where nobody can be: it would be sent to another place, or to none."""
    try:
        parts = urlsplit(endpoint)
        is_whole = parts.path.rstrip("/").endswith(("/v1/traces", "/v1/metrics"))
        is_one = bool(parts.hostname) and parts.port != 0 and not set("?#") & set(endpoint) and not is_whole
    except ValueError:
        is_one = False
    if not is_one:
        raise ConfigError(
            "`telemetry.endpoint` is no address to which `/v1/traces` can be added.",
            code="telemetry_invalid",
            hint="Give one such as http://localhost:4318, without `?` or `#`; keys for a collector go into the "
            "environment variable OTEL_EXPORTER_OTLP_HEADERS.",
        )


class _Trouble(logging.Handler):
    """Hears what the SDK has to complain of, each time; without it that would stand on stderr as it is."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell
        self._told = False
        self._one_at_a_time = Lock()

    def now(self, tell: Callable[[], None]) -> None:
        """From here on complaints are about something else."""
        self._tell, self._told = tell, False

    def tell(self) -> None:
        """Say it, unless that was done."""
        with self._one_at_a_time:
            if self._told:
                return
            self._told = True
        self._tell()

    def rest(self) -> None:
        """Say nothing any more; it goes on listening, since the SDK's threads complain to the very end."""
        self._told = True

    def emit(self, record: logging.LogRecord) -> None:
        """Tell the first one that is about sending."""
        if record.name.startswith(f"{_SDK}.exporter"):
            self.tell()


class _Traces:
    def __init__(self, endpoint: str, resource: Any) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        self._resource = resource
        self._scope = InstrumentationScope(SCOPE, __version__)
        self._sender = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")
        self._processor = BatchSpanProcessor(self._sender)

    def send(self, span: Span) -> None:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanKind, Status, StatusCode

        attributes: dict[str, Any] = dict(span.attributes)
        if span.error:
            attributes["error.type"] = span.error
        parent = _context(span.trace_id, span.parent_id) if span.parent_id else None
        self._processor.on_end(
            ReadableSpan(
                name=span.name,
                context=_context(span.trace_id, span.span_id),
                parent=parent,
                resource=self._resource,
                attributes=attributes,
                kind=SpanKind.CLIENT if span.kind == "client" else SpanKind.INTERNAL,
                status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
                start_time=span.start * 1_000_000,
                end_time=span.end * 1_000_000,
                instrumentation_scope=self._scope,
            )
        )

    def close(self) -> None:
        self._processor.shutdown()  # type: ignore[no-untyped-call]

    def give_up(self) -> None:
        self._sender.shutdown()  # type: ignore[no-untyped-call]


class _Numbers:
    """The metrics that the GenAI conventions name for clients of models."""

    def __init__(self, endpoint: str, resource: Any) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

        self._sender = OTLPMetricExporter(endpoint=f"{endpoint}/v1/metrics")
        reader = PeriodicExportingMetricReader(self._sender)
        self._provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        meter = self._provider.get_meter(SCOPE, __version__)
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", "Tokens in and out.", explicit_bucket_boundaries_advisory=TOKENS
        )
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "How long operations took.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )

    def count(self, span: Span) -> None:
        told = span.attributes
        operation = told.get("gen_ai.operation.name")
        if operation is None:
            return
        names = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.tool.name")
        labels = {name: told[name] for name in names if name in told}
        if span.error:
            labels["error.type"] = span.error
        self._seconds.record((span.end - span.start) / 1000, labels)
        if operation == "chat":
            for kind in ("input", "output"):
                tokens = told.get(f"gen_ai.usage.{kind}_tokens")
                if isinstance(tokens, int):
                    self._tokens.record(tokens, {**labels, "gen_ai.token.type": kind})

    def close(self) -> None:
        self._provider.shutdown()

    def give_up(self) -> None:
        self._sender.shutdown()


def _context(trace_id: int, span_id: int) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
