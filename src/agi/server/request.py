"""One request as handlers see it: path, query and body are values already, checked where they came in.

Malformed is 400, well-formed but wrong is 422 and names the field, an id of a wrong form is 404. What a request means
is the handlers' business. May import: errors, explain, protocol, sessions, telemetry.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from agi.errors import BadRequest, Invalid, NotFound, Unavailable
from agi.protocol.ids import GRANT, NOTE, SESSION, TURN, is_id
from agi.server.asgi import ClientGone, Receive, Scope
from agi.server.passes import Passes
from agi.sessions.harness import Harness
from agi.telemetry.metrics import Metrics
from agi.telemetry.own import of_its_own

B = TypeVar("B", covariant=True)
Q = TypeVar("Q", covariant=True)
T = TypeVar("T")

DEPTH = 100
"""How deep a body may be nested: what is stored must be readable from any depth of the program."""
_BRACKETS = rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]'
_ID_FORMS = {
    "session_id": (SESSION, "session"),
    "turn_id": (TURN, "turn"),
    "grant_id": (GRANT, "grant"),
    "note_id": (NOTE, "note"),
}


class AppSettings(Struct, frozen=True, kw_only=True):
    """What the surfaces may be told; times are seconds."""

    heartbeat_s: float = 15.0
    """How long a stream may be silent before it shows that it is alive."""
    cancel_wait_s: float = 5.0
    """How long a cancel waits for what it stops."""
    public_url: str | None = None
    """Where a proxy has the daemon answer, if one does."""


class Shared:
    """What all requests share: the harness, the settings, who signed in, the numbers, and whether the daemon stops."""

    def __init__(self, harness: Harness, settings: AppSettings) -> None:
        self.harness = harness
        self.settings = settings
        self.passes = Passes()
        self.metrics = Metrics(harness.tools_known)
        harness.log.observers.append(of_its_own(self.metrics.hear))
        self.stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def stop(self) -> None:
        """End every stream and every wait, so that the server can shut down."""
        if not self.stopped.done():
            self.stopped.set_result(None)


class Request(Generic[B, Q]):
    """A request for one route. `body` and `query` are what the route's types say."""

    __slots__ = ("body", "headers", "path", "query", "receive", "scope", "shared")

    def __init__(self, shared: Shared, scope: Scope, receive: Receive, body: B, query: Q) -> None:
        self.shared = shared
        self.scope = scope
        self.receive = receive
        self.path: Mapping[str, str] = scope["path_params"]
        self.headers = header_values(scope)
        self.body = body
        self.query = query

    @property
    def harness(self) -> Harness:
        """Whose verbs are called."""
        return self.shared.harness

    @property
    def session_id(self) -> str:
        """The session in the path."""
        return self.path["session_id"]

    def wants_events(self) -> bool:
        """Whether the client would rather have a stream than JSON."""
        accepted = [kind.partition(";")[0].strip() for kind in self.headers.get("accept", "").lower().split(",")]
        known = [kind for kind in accepted if kind in ("text/event-stream", "application/json")]
        return known[:1] == ["text/event-stream"]

    async def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for `work`, but no longer than the client stays and the daemon runs; turns go on by themselves."""
        task, gone = asyncio.ensure_future(work), asyncio.ensure_future(disconnected(self.receive))
        try:
            await first_of(task, gone, self.shared.stopped)
            if task.done():
                return task.result()
            if gone.done():
                raise ClientGone
            raise Unavailable("The daemon is shutting down.", hint="The turn goes on when it is back.")
        finally:
            task.cancel()
            gone.cancel()
            await asyncio.gather(task, gone, return_exceptions=True)


async def first_of(*futures: asyncio.Future[Any]) -> None:
    """Return when one of them is done."""
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)


async def disconnected(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def header_values(scope: Scope) -> dict[str, str]:
    """The headers by lower-case name; of one that is repeated, the last."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def read_body(receive: Receive) -> bytes:
    """The whole body; how much there may be is the guard's business."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        return bytes(message.get("body", b""))
    pieces: list[bytes] = []
    while message["type"] == "http.request":
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)
        message = await receive()
    raise ClientGone


def decode_body(decoder: msgspec.json.Decoder[T], body: bytes, what: str = "The body", hint: str = "") -> T:
    """The body as a value; an empty one is an empty object."""
    if body.count(b"[") + body.count(b"{") > DEPTH and _depth(body) > DEPTH:
        raise BadRequest(f"{what} is nested more than {DEPTH} levels deep.", hint="Send something flatter.")
    try:
        return decoder.decode(body or b"{}")
    except msgspec.ValidationError as error:
        if not body:
            raise BadRequest("The request needs a body.", hint="Send a JSON object.") from error
        raise invalid(error, decoder.type, what, hint) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(
            f"{what} is not JSON: {_malformed(body, error)}.", hint="Send one JSON object in UTF-8."
        ) from error


def decode_query(kind: type[T] | None, query_string: bytes) -> T | None:
    """The query parameters as a value; unknown and repeated ones are refused."""
    if not query_string and kind is None:
        return None
    try:
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=50)
    except ValueError as error:
        raise Invalid(f"The query cannot be read: {error}.", hint="Send name=value pairs.") from error
    given = dict(pairs)
    if len(given) < len(pairs):
        raise Invalid("A query parameter is given twice.", hint="Send each of them once.")
    if kind is None:
        kind = _NoQuery  # type: ignore[assignment]  # nothing may be asked, and nothing is told
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise invalid(error, kind or _NoQuery, "The query") from error


class _NoQuery(Struct, forbid_unknown_fields=True):
    """The query of a route that takes none."""


def check_path(path: Mapping[str, str]) -> None:
    """Refuse ids that cannot be anybody's."""
    for name, value in path.items():
        form = _ID_FORMS.get(name)
        if form is not None and not is_id(value, form[0]):
            hint = f"Ids look like {form[0]}_ and 32 hex digits."
            raise NotFound(f"There is no {form[1]} {value[:80]!r}.", code=f"{form[1]}_not_found", hint=hint)


def invalid(error: msgspec.ValidationError, kind: type, what: str, hint: str = "") -> Invalid:
    """What msgspec found, in our words: the field first."""
    from agi.explain import explain  # late: needed only for a mistake

    said = explain(error, kind, quote=True)
    return Invalid(f"{what} is not acceptable: {said}.", hint=hint or "GET /openapi.json says what is expected.")


def _malformed(body: bytes, error: msgspec.DecodeError | UnicodeDecodeError | RecursionError) -> str:
    from agi.explain import where  # late: needed only for a mistake

    return "it is nested too deeply" if isinstance(error, RecursionError) else where(body, error)


def _depth(body: bytes) -> int:
    """How deep brackets are nested, those within strings not counted."""
    depth = deepest = 0
    for found in re.finditer(_BRACKETS, body, re.DOTALL):
        mark = found[0]
        if mark in (b"[", b"{"):
            depth += 1
            deepest = max(deepest, depth)
        elif mark in (b"]", b"}"):
            depth -= 1
    return deepest
