"""The guard of the front door: every request passes it before any routing, and every answer leaves through it.

It decides by the request line and the headers alone, in one order: Host, Origin, credential, content type, size. It
does not know the routes behind it, reads no body (it counts what the application reads) and stores no credential but
the token it is given. What only the connection can know (the raw target, who is at the other end) the server puts
into the scope as facts, see limits.py. May import: errors.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from agi.errors import ConfigError

FACTS = "agi"
"""Name of the scope extension with the connection's facts: `absolute`, `peer_same_user`, `abort`."""

HEALTH_PATH = "/healthz"

Header = tuple[bytes, bytes]

SECURITY_HEADERS: tuple[Header, ...] = (
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
"""Sent with every answer, whatever the application says."""

_NO_STORE: Header = (b"cache-control", b"no-store")
_REPLACED = frozenset(name for name, _ in SECURITY_HEADERS) | {b"server"}
_DECISIVE = frozenset(
    b"host origin sec-fetch-site sec-fetch-mode authorization "
    b"content-type content-length content-encoding transfer-encoding".split()
)
_JSON = re.compile(rb'application/json\s*(;\s*charset="?utf-8"?\s*)?', re.IGNORECASE)
_FORM_DATA = re.compile(rb"multipart/form-data\s*;.*", re.IGNORECASE)
_TOKEN_IN_QUERY = re.compile(rb"(^|[&;])(access_)?token=", re.IGNORECASE)
_MALFORMED_HOST = re.compile(rb"[@,/\s]")
_SHORTEST_TOKEN = 16
_LONGEST_LOGGED_PATH = 500


class GuardSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Whom the door opens for."""

    token: str
    port: int
    """The port clients reach the daemon at; a Host with another one is not ours."""
    hosts: tuple[str, ...] = ()
    """Further names the daemon goes by, without port, when it is exposed."""
    auth: Literal["auto", "token"] = "auto"
    """`auto` lets this user's own programs in without the token, when the kernel proves who they are."""
    exposed: bool = False
    """Reachable from other machines: then the token is always needed."""
    max_body: int = 32 * 1024 * 1024


class AccessLine(msgspec.Struct, frozen=True):
    """One request as the access log tells it: no query, no headers, no control characters."""

    method: str
    path: str
    status: int
    duration_ms: float
    bytes_sent: int
    how: str
    """By which right it came in: `token`, `peer`, `none`, or `refused:<code>`."""


def format_line(line: AccessLine) -> str:
    """The line as text, six fields separated by single spaces."""
    return f"{line.method} {line.path} {line.status} {line.duration_ms:.1f}ms {line.bytes_sent}B {line.how}"


class Refusal(msgspec.Struct, frozen=True):
    """An answer of the guard's own, in the one error shape."""

    status: int
    code: str
    message: str
    hint: str = ""
    headers: tuple[Header, ...] = ()

    def body(self) -> bytes:
        """The error shape as JSON."""
        return msgspec.json.encode({"error": {"code": self.code, "message": self.message, "hint": self.hint}})

    def all_headers(self, body: bytes) -> list[Header]:
        """Everything an answer with this body is sent with."""
        size = str(len(body)).encode()
        own = (*self.headers, (b"content-type", b"application/json"), (b"content-length", size))
        return [*own, *SECURITY_HEADERS, _NO_STORE]


_OUR_NAMES = "Use http://localhost:<port>; another name needs --expose."
_HOST_MALFORMED = Refusal(400, "host_refused", "The Host header must be there once, a name and a port.", _OUR_NAMES)
_HOST_FOREIGN = Refusal(403, "host_refused", "The Host header names another server.", _OUR_NAMES)
_TARGET_ABSOLUTE = Refusal(400, "host_refused", "The request target must be a path.", "Send `GET /path HTTP/1.1`.")
_ORIGIN_FOREIGN = Refusal(403, "origin_refused", "Pages of another origin may not call this server.")
_SITE_FOREIGN = Refusal(403, "origin_refused", "A browser says that another site caused this request.")
_TOKEN_IN_URL = Refusal(
    400, "bad_request", "A token in the URL ends up in histories and logs.", "Send `Authorization: Bearer <token>`."
)
_CHALLENGE = ((b"www-authenticate", b"Bearer"),)
_NO_CREDENTIAL = Refusal(
    401, "unauthorized", "This needs the token.", "Send `Authorization: Bearer <token>`; see daemon.json.", _CHALLENGE
)
_WRONG_TOKEN = Refusal(
    401,
    "unauthorized",
    "This is not the token.",
    "Read it again from daemon.json; a restart makes a new one.",
    _CHALLENGE,
)
_TOO_MANY = Refusal(429, "too_many_requests", "Too many wrong tokens.", "Wait a second.", ((b"retry-after", b"1"),))
_TYPE_UNSUPPORTED = Refusal(
    415, "unsupported_media_type", "This body has a type that is not read.", "Send `Content-Type: application/json`."
)
_BODY_ENCODED = Refusal(
    415, "unsupported_media_type", "Compressed bodies are not read.", "Send the body as it is, without encoding."
)
_LENGTH_MALFORMED = Refusal(400, "bad_request", "The Content-Length header is not a number.")
_BODY_TOO_LARGE = Refusal(413, "too_large", "The body is too large.", "Send less, or send it in parts.")
_FAILED = Refusal(500, "internal_error", "Something went wrong here.", "The daemon's log says more.")


class Exchange:
    """One request and its answer, as they pass the door."""

    __slots__ = (
        *("_complete", "_limit", "_receive", "_send", "_taken"),
        *("facts", "gone", "how", "said", "scope", "sent", "status"),
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        self.scope = scope
        self.facts: dict[str, Any] = (scope.get("extensions") or {}).get(FACTS) or {}
        self.said = _decisive(scope["headers"])
        self.how = "none"
        self.status = 0
        self.sent = 0
        self.gone = False
        self._complete = False
        self._receive, self._send = receive, send
        self._limit, self._taken = limit, 0

    @property
    def is_http(self) -> bool:
        """False for a WebSocket."""
        return bool(self.scope["type"] == "http")

    @property
    def method(self) -> str:
        """The request's method; a WebSocket begins as a GET."""
        return str(self.scope.get("method", "GET"))

    async def receive(self) -> Message:
        """Hand the application what comes in, up to the limit; beyond it, the client is as good as gone."""
        message = {"type": "http.disconnect"} if self.gone and self.is_http else await self._receive()
        kind = message["type"]
        if kind == "http.request":
            self._taken += len(message.get("body", b""))
            if self._taken > self._limit:
                await self.refuse(_BODY_TOO_LARGE)
                message = {"type": "http.disconnect"}
        if message["type"].endswith(".disconnect"):
            self.gone = True
        return message

    async def send(self, message: Message) -> None:
        """Pass on what the application answers, with the headers of the house; nothing after a refusal."""
        if self.how.startswith("refused:"):
            return
        kind = message["type"]
        if kind.endswith("http.response.start"):
            self.status = message["status"]
            message = {**message, "headers": _housed(message.get("headers", ()))}
        elif kind == "websocket.accept":
            self.status = 101
        elif kind == "websocket.close":
            self.status = self.status or 403
            self._complete = True
        else:
            self.sent += len(message.get("body") or message.get("bytes") or (message.get("text") or "").encode())
            self._complete = kind.endswith("http.response.body") and not message.get("more_body")
        await self._pass_on(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Turn the request away, now or in the middle of its body."""
        self.how = f"refused:{refusal.code}"
        await self.answer(refusal)

    async def answer(self, refusal: Refusal) -> None:
        """Answer in the application's place; break off when it has begun to answer itself."""
        if self._complete:
            return
        if self.status == 101:
            await self._pass_on({"type": "websocket.close", "code": 1011})
        elif self.status:
            await self._hang_up()
        elif not self.is_http and "websocket.http.response" not in (self.scope.get("extensions") or {}):
            self.status = 403
            await self._pass_on({"type": "websocket.close", "code": 1008})
        else:
            await self._respond(refusal)

    async def _respond(self, refusal: Refusal) -> None:
        prefix = "" if self.is_http else "websocket."
        body = refusal.body()
        self.status, self.sent = refusal.status, len(body)
        start = {"status": refusal.status, "headers": refusal.all_headers(body)}
        await self._pass_on({"type": f"{prefix}http.response.start", **start})
        await self._pass_on({"type": f"{prefix}http.response.body", "body": body, "more_body": False})

    async def _pass_on(self, message: Message) -> None:
        try:
            await self._send(message)
        except OSError:
            self.gone = True
            raise

    async def _hang_up(self) -> None:
        """Cut the connection, so that half an answer cannot be taken for a whole one."""
        abort = self.facts.get("abort")
        if abort is None:
            raise ConnectionAbortedError("the answer broke off")
        abort()
        await asyncio.sleep(0)  # the server learns of the loss before it looks for the rest of the answer

    def was_left(self, error: Exception) -> bool:
        """Whether this error only says that the client has gone."""
        return self.gone and isinstance(error, OSError | ClientDisconnect | WebSocketDisconnect)

    def line(self, seconds: float) -> AccessLine:
        """The exchange for the access log; 499 when the client left before any answer."""
        path = printable(self.scope["path"])
        return AccessLine(self.method, path, self.status or 499, seconds * 1000, self.sent, self.how)


class Guard:
    """Wraps the whole application: refuses, counts, adds the headers of the house and logs each request once."""

    def __init__(
        self,
        app: ASGIApp,
        settings: GuardSettings,
        *,
        log: Callable[[AccessLine], None],
        on_error: Callable[[Exception], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if len(settings.token) < _SHORTEST_TOKEN:
            raise ConfigError(
                f"The token has fewer than {_SHORTEST_TOKEN} characters.", hint="Use secrets.token_urlsafe(32)."
            )
        self._app, self._settings = app, settings
        self._log, self._on_error, self._clock = log, on_error, clock
        self._token = settings.token.encode()
        self._hosts = _own_hosts(settings)
        self._trusts_peers = settings.auth == "auto" and not settings.exposed
        self._wrong_tokens: deque[float] = deque(maxlen=10)
        self._deaf_until = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection scope."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        began = self._clock()
        exchange = Exchange(scope, receive, send, self._settings.max_body)
        try:
            refusal = self.judge(exchange)
            if refusal is None:
                await self._admit(exchange)
            else:
                await exchange.refuse(refusal)
        finally:
            self._log(exchange.line(self._clock() - began))

    def judge(self, exchange: Exchange) -> Refusal | None:
        """Why this request may not pass; None when it may."""
        return (
            self._judge_host(exchange)
            or _judge_origin(exchange)
            or self._judge_credential(exchange)
            or _judge_content(exchange)
            or self._judge_size(exchange)
        )

    async def _admit(self, exchange: Exchange) -> None:
        try:
            await self._app(exchange.scope, exchange.receive, exchange.send)
        except Exception as error:
            if not exchange.was_left(error):
                self._on_error(error)
                await exchange.answer(_FAILED)
        else:
            if not exchange.status:
                await exchange.answer(_FAILED)

    def _judge_host(self, exchange: Exchange) -> Refusal | None:
        if exchange.facts.get("absolute"):
            return _TARGET_ABSOLUTE
        host = exchange.said.get(b"host", b"")
        if host.lower() in self._hosts:
            return None
        return _HOST_MALFORMED if not host or _MALFORMED_HOST.search(host) else _HOST_FOREIGN

    def _judge_credential(self, exchange: Exchange) -> Refusal | None:
        if _TOKEN_IN_QUERY.search(exchange.scope["query_string"]):
            return _TOKEN_IN_URL
        authorization = exchange.said.get(b"authorization")
        if authorization is not None:
            return self._judge_token(exchange, authorization)
        if exchange.is_http and exchange.method == "GET" and exchange.scope["path"] == HEALTH_PATH:
            return None
        if self._trusts_peers and b"origin" not in exchange.said and exchange.facts.get("peer_same_user"):
            exchange.how = "peer"
            return None
        return _NO_CREDENTIAL

    def _judge_token(self, exchange: Exchange, authorization: bytes) -> Refusal | None:
        scheme, _, token = authorization.partition(b" ")
        if hmac.compare_digest(token.strip(), self._token) and scheme.lower() == b"bearer":
            exchange.how = "token"
            return None
        return self._count_wrong_token()

    def _count_wrong_token(self) -> Refusal:
        """The first ten wrong tokens within a second are told so; then nobody's are, for a second."""
        now = self._clock()
        if now >= self._deaf_until:
            full = len(self._wrong_tokens) == self._wrong_tokens.maxlen
            oldest = self._wrong_tokens[0] if full else now
            self._wrong_tokens.append(now)
            if not full or now - oldest >= 1.0:
                return _WRONG_TOKEN
            self._deaf_until = now + 1.0
        return _TOO_MANY

    def _judge_size(self, exchange: Exchange) -> Refusal | None:
        length = exchange.said.get(b"content-length", b"0")
        if not length.isdigit():
            return _LENGTH_MALFORMED
        return _BODY_TOO_LARGE if int(length) > self._settings.max_body else None


def _judge_origin(exchange: Exchange) -> Refusal | None:
    said = exchange.said
    if said.get(b"origin") not in (None, b"http://" + said[b"host"].lower()):
        return _ORIGIN_FOREIGN
    site = said.get(b"sec-fetch-site")
    if site is None or site == b"same-origin":
        return None
    # `none` is the user's own doing: an address typed, a bookmark opened. Scripts cannot cause it.
    typed = exchange.is_http and exchange.method == "GET" and said.get(b"sec-fetch-mode") == b"navigate"
    return None if site == b"none" and typed else _SITE_FOREIGN


def _judge_content(exchange: Exchange) -> Refusal | None:
    said = exchange.said
    if said.get(b"content-encoding", b"identity").lower() != b"identity":
        return _BODY_ENCODED
    if b"transfer-encoding" not in said and said.get(b"content-length", b"0") == b"0":
        return None
    kind = said.get(b"content-type", b"")
    if _JSON.fullmatch(kind):
        return None
    if _FORM_DATA.fullmatch(kind) and exchange.scope["path"].endswith("/attachments"):
        return None
    return _TYPE_UNSUPPORTED


def _decisive(headers: Iterable[Header]) -> dict[bytes, bytes]:
    """The headers the guard decides by. One that is said twice is joined by a comma, which no check accepts."""
    said: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _DECISIVE:
            said[name] = said[name] + b"," + value if name in said else value
    return said


def _housed(headers: Iterable[Header]) -> list[Header]:
    """The application's headers with ours in place; it cannot open the door to other origins from within."""
    kept = [(name.lower(), value) for name, value in headers]
    kept = [(name, value) for name, value in kept if name not in _REPLACED and not name.startswith(b"access-control-")]
    kept += SECURITY_HEADERS
    if not any(name == b"cache-control" for name, _ in kept):
        kept.append(_NO_STORE)
    return kept


def _own_hosts(settings: GuardSettings) -> frozenset[bytes]:
    names = [name.lower().encode() for name in ("localhost", "127.0.0.1", "[::1]", *settings.hosts)]
    port = str(settings.port).encode()
    return frozenset(name + b":" + port for name in names) | (frozenset(names) if port == b"80" else frozenset())


def printable(path: str) -> str:
    """A path on one line and as one field: whatever a terminal or a reader of fields could trip over is escaped."""
    shown = path[:_LONGEST_LOGGED_PATH] + ("…" if len(path) > _LONGEST_LOGGED_PATH else "")
    if shown.isprintable() and " " not in shown and "\\" not in shown:
        return shown
    return "".join(c if c.isprintable() and c not in " \\" else _escaped(c) for c in shown)


def _escaped(character: str) -> str:
    return "\\x20" if character == " " else character.encode("unicode_escape").decode()
