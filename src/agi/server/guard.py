"""The guard of the front door: every request passes it before any routing, and every answer leaves through it.

It decides by the request line and the headers alone, in one order: Host, Origin, credential, content type, size. It
does not know the routes behind it, reads no body (it counts what the application reads) and stores no credential but
the token it is given; who signed in by a browser is in passes.py. What only the connection can know (the raw target,
who is at the other end) the server puts into the scope as facts, see limits.py. May import: errors.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

import msgspec

from agi.errors import ConfigError
from agi.server import refusals
from agi.server.access import AccessLine, printable
from agi.server.asgi import ASGIApp, ClientGone, Message, Receive, Scope, Send
from agi.server.passes import Pass, Passes
from agi.server.peer import OtherEnd
from agi.server.refusals import NO_STORE, SECURITY_HEADERS, Header, Refusal

FACTS = "agi"
"""Name of the scope extension with the connection's facts: `absolute`, `peer`, `abort`.

Who the peer is takes a search, so it is asked only where nothing else decides.
"""

HEALTH_PATH = "/healthz"
PAGE_PATHS = ("/", "/web/")
"""The page and its files: the same for everybody, so anybody may have them; what they show needs a credential."""
SIGN_IN_PATH, CODES_PATH = "/v1/sign-in", "/v1/sign-in/codes"
KEY_HEADER = b"x-agi-key"
"""The half of a pass that a page sends itself."""
PROVED_INSIDE = frozenset({"/v1/chat", "/v1/rpc"})
"""WebSockets whose clients may send the token as their first message instead of as a header, since browsers cannot."""
STREAMS_PATH = "/v1/streams"
"""The WebSocket of pages: they send the key as their first message, and their cookie counts only beside it."""

_REPLACED = frozenset(name for name, _ in SECURITY_HEADERS) | {b"server"}
_DECISIVE = frozenset(
    b"host origin sec-fetch-site sec-fetch-mode authorization cookie x-agi-key "
    b"content-type content-length content-encoding transfer-encoding".split()
)
# Patterns are made by the first request that needs them: most have no query and say plain `application/json`.
_JSON = rb'application/json\s*(;\s*charset="?utf-8"?\s*)?'
_FORM_DATA = rb"multipart/form-data\s*;.*"
_TOKEN_IN_QUERY = rb"(^|[&;])(access_)?token="
_MALFORMED_HOST = rb"[@,/\s]"
_SHORTEST_TOKEN = 16


class GuardSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Whom the door opens for."""

    token: str
    port: int
    """The port clients reach the daemon at; a Host with another one is not ours."""
    hosts: tuple[str, ...] = ()
    """Further names the daemon goes by when it is exposed, as a Host header spells them, without the port."""
    auth: Literal["auto", "token"] = "auto"
    """`auto` lets this user's own programs in without the token, when the kernel proves who they are."""
    public: str = ""
    """Where a proxy that speaks https has the daemon answer; then the token is always needed: the proxy may be ours."""
    exposed: bool = False
    """Reachable from other machines: then the token is always needed."""
    max_body: int = 32 * 1024 * 1024


class Exchange:
    """One request and its answer, as they pass the door."""

    __slots__ = (
        *("_complete", "_limit", "_receive", "_refused", "_send", "_taken"),
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
        self._complete = self._refused = False
        self._receive, self._send = receive, send
        self._limit, self._taken = limit, 0

    def tell(self, **facts: object) -> None:
        """Let the application know more of this request."""
        self.facts.update(facts)
        self.scope["extensions"] = {**(self.scope.get("extensions") or {}), FACTS: self.facts}

    @property
    def peer(self) -> OtherEnd:
        """Who is at the other end, if the server can tell."""
        return self.facts.get("peer") or OtherEnd(None, None)

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
                await self.refuse(refusals.BODY_TOO_LARGE)
                message = {"type": "http.disconnect"}
        if message["type"].endswith(".disconnect"):
            self.gone = True
        return message

    async def send(self, message: Message) -> None:
        """Pass on what the application answers, with the headers of the house; nothing after a refusal."""
        if self._refused:
            return
        kind = message["type"]
        if kind == "http.response.body" or kind == "websocket.http.response.body":
            self.sent += len(message.get("body", b""))
            self._complete = not message.get("more_body", False)
        elif kind == "http.response.start" or kind == "websocket.http.response.start":
            self.status = int(message["status"])
            message = {**message, "headers": _housed(message.get("headers", ()))}
        elif kind == "websocket.send":
            self.sent += len(message.get("bytes") or (message.get("text") or "").encode())
        elif kind == "websocket.accept":
            self.status = 101
        elif kind == "websocket.close":
            self.status = self.status or 403
            self._complete = True
        await self._pass_on(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Turn the request away, now or in the middle of its body."""
        self._refused = True
        self.how = f"refused:{refusal.code}"
        await self.answer(refusal)

    async def answer(self, refusal: Refusal) -> None:
        """Answer in the application's place; break off when it has begun to answer itself."""
        if self._complete:
            return
        if self.status == 101:
            if not self.gone:
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
        return self.gone and (isinstance(error, OSError | ClientGone) or _is_disconnect(error))

    def line(self, seconds: float) -> AccessLine:
        """The exchange for the access log; 499 when the client left before any answer."""
        path = printable(self.scope["path"])
        return AccessLine(self.method, path, self.status or 499, seconds * 1000, self.sent, self.how)


def _is_disconnect(error: Exception) -> bool:
    """Whether a form or the MCP SDK, which read by a framework's means, say that the client has gone."""
    from starlette.requests import ClientDisconnect  # late: only who meets such an error has it loaded already
    from starlette.websockets import WebSocketDisconnect

    return isinstance(error, ClientDisconnect | WebSocketDisconnect)


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
        passes: Passes | None = None,
    ) -> None:
        if len(settings.token) < _SHORTEST_TOKEN:
            raise ConfigError(
                f"The token has fewer than {_SHORTEST_TOKEN} characters.", hint="Use secrets.token_urlsafe(32)."
            )
        self._app, self._settings = app, settings
        self._log, self._on_error, self._clock = log, on_error, clock
        self._token = settings.token.encode()
        self._passes = Passes() if passes is None else passes
        self._hosts = _own_hosts(settings)
        self._public = settings.public.removeprefix("https://").removesuffix(":443").encode()
        self._trusts_peers = settings.auth == "auto" and not settings.exposed and not settings.public
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
            or self._judge_origin(exchange)
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
                await exchange.answer(refusals.FAILED)
        else:
            if not exchange.status:
                await exchange.answer(refusals.FAILED)

    def _judge_host(self, exchange: Exchange) -> Refusal | None:
        if exchange.facts.get("absolute"):
            return refusals.TARGET_ABSOLUTE
        host = exchange.said.get(b"host", b"")
        if host.lower() in self._hosts:
            return None
        if host and host.lower() == self._public:
            exchange.tell(secure=True)
            return None
        return refusals.HOST_MALFORMED if not host or re.search(_MALFORMED_HOST, host) else refusals.HOST_FOREIGN

    def _judge_origin(self, exchange: Exchange) -> Refusal | None:
        said = exchange.said
        host = said[b"host"].lower()
        if said.get(b"origin") not in (None, (b"https://" if host == self._public else b"http://") + host):
            return refusals.ORIGIN_FOREIGN
        site = said.get(b"sec-fetch-site")
        if site is None or site == b"same-origin":
            return None
        # `none` is the user's own doing: an address typed, a bookmark opened. Scripts cannot cause it.
        typed = exchange.is_http and exchange.method == "GET" and said.get(b"sec-fetch-mode") == b"navigate"
        return None if site == b"none" and typed else refusals.SITE_FOREIGN

    def _judge_credential(self, exchange: Exchange) -> Refusal | None:
        query = exchange.scope["query_string"]
        if query and re.search(_TOKEN_IN_QUERY, query, re.IGNORECASE):
            return refusals.TOKEN_IN_URL
        authorization = exchange.said.get(b"authorization")
        if authorization is not None:
            return self._judge_token(exchange, authorization)
        if _is_open(exchange):
            return None
        if exchange.is_http and exchange.method == "POST" and exchange.scope["path"] == SIGN_IN_PATH:
            return self._judge_sign_in(exchange)
        if exchange.is_http and KEY_HEADER in exchange.said:
            return self._judge_pass(exchange)
        if self._trusts_peers and not _is_script(exchange) and exchange.peer.is_outside():
            exchange.how = "peer"
            return None
        if not exchange.is_http and exchange.scope["path"] in (STREAMS_PATH, *PROVED_INSIDE):
            exchange.how = "unproved"
            by_key = exchange.scope["path"] == STREAMS_PATH
            exchange.tell(prove=partial(self._prove_pass if by_key else self._prove, exchange))
            return None
        return refusals.NO_CREDENTIAL

    def _judge_pass(self, exchange: Exchange) -> Refusal | None:
        """A cookie counts only beside its other half, from a page of ours; and it makes no further passes."""
        held = self._held(exchange, exchange.said[KEY_HEADER].decode("latin-1"))
        if held is None or not self._is_page(exchange) or exchange.scope["path"] == CODES_PATH:
            return refusals.SIGNED_OUT
        exchange.how = "page"
        exchange.tell(**{"pass": held})
        return None

    def _held(self, exchange: Exchange, key: str) -> tuple[str, str] | None:
        """The pass that this key and a cookie of the request make together."""
        said = exchange.said
        cookies = _cookies(said.get(b"cookie", b""), cookie_name(said[b"host"].decode()))
        return next(((one, key) for one in cookies if self._passes.holds(one, key)), None)

    def _is_page(self, exchange: Exchange) -> bool:
        """Whether a page of ours asks. To other machines, browsers do not say; a foreign page could not set the key."""
        site = exchange.said.get(b"sec-fetch-site")
        return site == b"same-origin" or (site is None and self._settings.exposed)

    def _judge_sign_in(self, exchange: Exchange) -> Refusal | None:
        """The code decides, which is in the body. Where the kernel can tell who asks, it must be this user, outside.

        A browser that is packaged with processes of its own is let in: no command has the code.
        """
        if self._trusts_peers and not exchange.peer.is_known():
            return refusals.NOT_OUTSIDE
        exchange.how = "unproved"
        exchange.tell(redeem=partial(self._redeem, exchange))
        return None

    def _redeem(self, exchange: Exchange, code: str) -> Pass | Refusal:
        given = self._passes.redeem(code)
        if given is None:
            refusal = self._count_wrong_token()
            return refusals.WRONG_CODE if refusal is refusals.WRONG_TOKEN else refusal
        exchange.how = "code"
        return given

    def _prove(self, exchange: Exchange, token: str) -> Refusal | None:
        """Why a token that came as a message is not enough; None when it is."""
        return self._judge_token(exchange, b"Bearer " + token.encode(errors="replace"))

    def _prove_pass(self, exchange: Exchange, key: str) -> Refusal | None:
        """Why a key that came as a message is not enough. Browsers name the origin of every socket, which is ours."""
        if b"origin" not in exchange.said or self._held(exchange, key) is None:
            return refusals.SIGNED_OUT
        exchange.how = "page"
        return None

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
                return refusals.WRONG_TOKEN
            self._deaf_until = now + 1.0
        return refusals.TOO_MANY

    def _judge_size(self, exchange: Exchange) -> Refusal | None:
        length = exchange.said.get(b"content-length", b"0")
        if not length.isdigit():
            return refusals.LENGTH_MALFORMED
        return refusals.BODY_TOO_LARGE if int(length) > self._settings.max_body else None


def _judge_content(exchange: Exchange) -> Refusal | None:
    said = exchange.said
    if said.get(b"content-encoding", b"identity").lower() != b"identity":
        return refusals.BODY_ENCODED
    if b"transfer-encoding" not in said and said.get(b"content-length", b"0") == b"0":
        return None
    kind = said.get(b"content-type", b"")
    if kind == b"application/json" or re.fullmatch(_JSON, kind, re.IGNORECASE):
        return None
    if re.fullmatch(_FORM_DATA, kind, re.IGNORECASE) and exchange.scope["path"].endswith("/attachments"):
        return None
    return refusals.TYPE_UNSUPPORTED


def _is_open(exchange: Exchange) -> bool:
    """Whether anybody may have it: that the daemon is there, and the page that shows nothing by itself."""
    path = exchange.scope["path"]
    is_page = path == PAGE_PATHS[0] or path.startswith(PAGE_PATHS[1])
    return exchange.is_http and (
        (exchange.method == "GET" and path == HEALTH_PATH) or (exchange.method in ("GET", "HEAD") and is_page)
    )


def _is_script(exchange: Exchange) -> bool:
    """Whether a page of ours asks, which the user signs in with; an address that was typed is the user's own doing."""
    said = exchange.said
    return b"origin" in said or (b"sec-fetch-site" in said and said.get(b"sec-fetch-mode") != b"navigate")


def cookie_name(host: str) -> str:
    """What the cookie is called at this address."""
    return f"agi_{host.rpartition(':')[2] if ':' in host.rpartition(']')[2] else '80'}"


def _cookies(header: bytes, name: str) -> list[str]:
    """The cookies of this name, a few at most: any program on this machine can set another of it for a path."""
    pairs = (pair.partition("=") for pair in header.decode("latin-1").split("; "))
    return [value for key, _, value in pairs if key == name][:4]


def _decisive(headers: Iterable[Header]) -> dict[bytes, bytes]:
    """The headers the guard decides by. One that is said twice is joined by a comma, which no check accepts."""
    said: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _DECISIVE:
            said[name] = said[name] + b"," + value if name in said else value
    return said


def _housed(headers: Iterable[Header]) -> list[Header]:
    """The application's headers with ours in place; it cannot open the door to other origins from within."""
    kept = list(SECURITY_HEADERS)
    caching = NO_STORE
    for spelled, value in headers:
        name = spelled.lower()
        if name == b"cache-control":
            caching = (name, value)
        elif name not in _REPLACED and not name.startswith(b"access-control-"):
            kept.append((name, value))
    kept.append(caching)
    return kept


def _own_hosts(settings: GuardSettings) -> frozenset[bytes]:
    names = [name.lower().encode() for name in ("localhost", "127.0.0.1", "[::1]", *settings.hosts)]
    port = str(settings.port).encode()
    return frozenset(name + b":" + port for name in names) | (frozenset(names) if port == b"80" else frozenset())
