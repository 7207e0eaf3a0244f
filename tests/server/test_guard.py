"""The guard over real sockets: who may pass, in which order it is asked, and what every answer carries."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, Router, WebSocketRoute
from starlette.websockets import WebSocket

from agi.errors import ConfigError
from agi.server.access import AccessLine, format_line
from agi.server.guard import Guard, GuardSettings, cookie_name
from agi.server.limits import Limits, make_server
from agi.server.peer import PeerCheck

TOKEN = "correct-horse-battery-staple-0123456789"
BEARER = f"Authorization: Bearer {TOKEN}"


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        return str(msgspec.json.decode(self.body)["error"]["code"])


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class House:
    """A guarded application on a free port, and what came of it."""

    def __init__(self, sock: socket.socket) -> None:
        self.port: int = sock.getsockname()[1]
        self.host = f"Host: localhost:{self.port}"
        self.lines: list[AccessLine] = []
        self.errors: list[Exception] = []
        self.touched: list[str] = []
        self.clock = Clock()
        self.guard: Guard
        self.settings: Callable[..., GuardSettings] = lambda **changes: GuardSettings(
            **{"token": TOKEN, "port": self.port, "auth": "token", "max_body": 1000, **changes}
        )

    async def say(self, request: str, *headers: str, body: bytes = b"") -> Answer:
        return await self.say_bytes("\r\n".join([f"{request} HTTP/1.1", *headers, "", ""]).encode() + body)

    async def say_bytes(self, raw: bytes) -> Answer:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(raw)
            return await read_answer(reader)
        finally:
            writer.close()

    async def get(self, path: str, *headers: str) -> Answer:
        return await self.say(f"GET {path}", self.host, *headers)

    async def post(self, path: str, *headers: str, body: bytes = b"{}") -> Answer:
        return await self.say(f"POST {path}", self.host, BEARER, f"Content-Length: {len(body)}", *headers, body=body)

    async def logged(self) -> AccessLine:
        await eventually(lambda: bool(self.lines))
        return self.lines[-1]

    def app(self) -> Router:
        async def touch(request: Request) -> Response:
            body = await request.body()
            self.touched.append(f"{request.method} {request.url.path} {len(body)}")
            return JSONResponse({"ok": True}, headers={"server": "me", "Access-Control-Allow-Origin": "*"})

        async def cached(request: Request) -> Response:
            return Response("x", headers={"cache-control": "max-age=5", "x-frame-options": "ALLOW"})

        async def fail(request: Request) -> Response:
            raise ValueError("secret details")

        async def break_off(request: Request) -> Response:
            async def pieces() -> AsyncIterator[bytes]:
                yield b"half"
                raise ValueError("in the middle")

            return StreamingResponse(pieces())

        async def echo(ws: WebSocket) -> None:
            await ws.accept()
            self.touched.append("ws")
            await ws.send_text(await ws.receive_text())

        async def fail_ws(ws: WebSocket) -> None:
            raise ValueError("secret details")

        methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
        paths = ["/healthz", "/touch", "/x/attachments"]
        return Router(
            routes=[Route(path, touch, methods=methods) for path in paths]
            + [Route("/cached", cached), Route("/fail", fail), Route("/break", break_off)]
            + [WebSocketRoute("/ws", echo), WebSocketRoute("/fail-ws", fail_ws)]
        )


async def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(5000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("waited for 5 seconds")


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status_line, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Answer(int(status_line.split()[1]), headers, body)


@contextlib.asynccontextmanager
async def open_house(app: Any = None, *, peers: PeerCheck | None = None, **changes: Any) -> AsyncIterator[House]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        house = House(sock)
        settings = house.settings(**changes)
        guarded = Guard(
            app or house.app(), settings, log=house.lines.append, on_error=house.errors.append, clock=house.clock
        )
        house.guard = guarded
        server = make_server(guarded, sock=sock, log=house.lines.append, limits=Limits(linger=0.2), peers=peers)
        serving = asyncio.create_task(server.serve())
        await eventually(lambda: server.started)
        try:
            yield house
        finally:
            serving.cancel()
            for listener in server.servers:
                listener.close()
            for connection in list(server.connections):
                connection.transport.abort()
            with contextlib.suppress(asyncio.CancelledError):
                await serving
            await asyncio.gather(*server.tasks)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with open_house() as opened:
        yield opened


@pytest.mark.threat("T2")
async def test_our_own_names_pass(house: House) -> None:
    """The three names of loopback with the daemon's port are ours, in any case of letters."""
    for name in ("localhost", "127.0.0.1", "[::1]", "LocalHost"):
        answer = await house.say("GET /touch", f"Host: {name}:{house.port}", BEARER)
        assert answer.status == 200


@pytest.mark.threat("T2")
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "localhost.evil:{port}",
        "localhost.:{port}",
        "localhost",
        "localhost:1",
        "localhost:0{port}",
        "127.1:{port}",
        "user@localhost:{port}",
        "localhost:{port}@evil.example",
        "localhost:{port}, evil.example",
        "",
    ],
)
async def test_a_foreign_or_odd_host_is_refused_even_with_the_token(house: House, host: str) -> None:
    """A page that rebinds its name to 127.0.0.1 still says its own name."""
    answer = await house.say("GET /touch", "Host: " + host.format(port=house.port), BEARER)
    assert answer.status in (400, 403)
    assert answer.code == "host_refused"
    assert house.touched == []


@pytest.mark.threat("T2")
async def test_no_host_and_two_hosts_are_refused(house: House) -> None:
    """Exactly one Host header decides; two equal ones are two."""
    for hosts in ([], [house.host, house.host], [house.host, "Host: evil.example"]):
        answer = await house.say("GET /touch", *hosts, BEARER)
        assert (answer.status, answer.code) == (400, "host_refused")


@pytest.mark.threat("T2")
@pytest.mark.parametrize("target", ["http://evil.example/touch", "http://localhost/touch", "*"])
async def test_a_target_that_is_no_path_is_refused(house: House, target: str) -> None:
    """An absolute-form target would name a host behind the Host header's back."""
    answer = await house.get(target, BEARER)
    assert (answer.status, answer.code) == (400, "host_refused")
    assert house.touched == []


async def test_a_path_that_looks_like_a_host_is_a_path(house: House) -> None:
    """Two slashes begin no authority in a request target."""
    assert (await house.get("//evil.example/touch", BEARER)).status == 404


async def test_the_port_may_be_left_out_only_at_port_80() -> None:
    """A Host without a port means port 80."""
    async with open_house(port=80) as house:
        assert (await house.say("GET /touch", "Host: localhost", BEARER)).status == 200
        assert (await house.say("GET /touch", "Host: localhost:80", BEARER)).status == 200
        assert (await house.get("/touch", BEARER)).status == 403


async def test_an_exposed_daemon_goes_by_its_further_names() -> None:
    """The names given with --expose are ours too, with the same port."""
    async with open_house(hosts=("Box.lan",), exposed=True) as house:
        assert (await house.say("GET /touch", f"Host: box.lan:{house.port}", BEARER)).status == 200
        assert (await house.say("GET /touch", f"Host: other.lan:{house.port}", BEARER)).status == 403


@pytest.mark.threat("T5")
async def test_our_own_origin_passes_and_no_answer_opens_cors(house: House) -> None:
    """A page of our own may call; no answer tells a browser that others may, whatever the application sends."""
    answer = await house.get("/touch", BEARER, f"Origin: http://localhost:{house.port}", "Sec-Fetch-Site: same-origin")
    assert answer.status == 200
    assert not [name for name in answer.headers if name.startswith("access-control-")]


FOREIGN_ORIGINS = [
    "https://evil.example",
    "null",
    "http://localhost:1",
    "http://localhost",
    "https://localhost:{port}",
    "http://127.0.0.1:{port}",
    "http://localhost:{port}/",
    "http://localhost:{port}.evil.example",
    "",
]


@pytest.mark.threat("T3", "T4")
@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
async def test_a_foreign_origin_is_refused_for_http_and_before_a_websocket_is_accepted(
    house: House, origin: str
) -> None:
    """Another origin, another port, another spelling of our own: only the page's very own server will do."""
    header = "Origin: " + origin.format(port=house.port)
    for answer in (await house.get("/touch", BEARER, header), await shake_hands(house, "/ws", BEARER, header)):
        assert (answer.status, answer.code) == (403, "origin_refused")
    assert house.touched == []


@pytest.mark.threat("T5")
async def test_a_preflight_from_a_foreign_origin_gets_no_permission(house: House) -> None:
    """A refused preflight says nothing of what would be allowed."""
    asks = ("Origin: https://evil.example", "Access-Control-Request-Method: POST")
    answer = await house.say("OPTIONS /touch", house.host, *asks)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [
        ("GET /touch", ["Sec-Fetch-Site: cross-site"], 403),
        ("GET /touch", ["Sec-Fetch-Site: same-site"], 403),
        ("GET /touch", ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"], 403),
        ("GET /touch", ["Sec-Fetch-Site: none", "Sec-Fetch-Mode: no-cors"], 403),
        ("GET /touch", ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"], 403),
        ("POST /touch", ["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"], 403),
        ("GET /touch", ["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"], 200),
    ],
)
async def test_what_a_browser_says_of_the_causing_site_decides(
    house: House, request_line: str, headers: list[str], status: int
) -> None:
    """Only our own pages and an address the user typed may cause a request."""
    assert (await house.say(request_line, house.host, BEARER, *headers)).status == status


PUBLIC = "https://agi.example"


@pytest.mark.threat("T3", "T4")
async def test_behind_a_proxy_the_public_origin_is_ours_and_no_other() -> None:
    """The name with https is one of the daemon's own; each name goes with its own scheme."""
    async with open_house(public=PUBLIC) as house:
        own, public = house.host, "Host: agi.example"
        origins = [PUBLIC, "http://agi.example", f"http://localhost:{house.port}", "https://evil.example", "null"]
        told = {
            host: [(await house.say("GET /touch", host, BEARER, f"Origin: {one}")).status for one in origins]
            for host in (own, public)
        }
        bare = [await house.say("GET /touch", host, BEARER) for host in (public, "Host: agi.example:443", "Host: x")]

    assert told == {own: [403, 403, 200, 403, 403], public: [200, 403, 403, 403, 403]}
    assert [one.status for one in bare] == [200, 403, 403]


async def test_the_port_that_https_has_anyway_may_be_written_out() -> None:
    """Browsers leave it away, whatever the settings say."""
    async with open_house(public=f"{PUBLIC}:443") as house:
        answer = await house.say("GET /touch", "Host: agi.example", BEARER, f"Origin: {PUBLIC}")

    assert answer.status == 200


@pytest.mark.threat("T1")
async def test_behind_a_proxy_nobody_is_let_in_for_who_they_are() -> None:
    """What a proxy of this very user passes on came from anywhere."""
    async with open_house(public=PUBLIC, auth="auto") as house:
        answers = [await house.say("GET /touch", host) for host in (house.host, "Host: agi.example")]

    assert [one.status for one in answers] == [401, 401]
    assert house.touched == []


@pytest.mark.threat("T1")
async def test_without_the_token_nothing_is_reached_but_health(house: House) -> None:
    """Known paths, unknown paths and other methods of the health path all need the token."""
    for request in ("GET /touch", "GET /nowhere", "POST /healthz", "GET /healthz/", "DELETE /touch", "PUT /healthz"):
        answer = await house.say(request, house.host)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    assert house.touched == []
    assert (await house.get("/healthz")).status == 200


async def test_health_still_checks_host_origin_and_a_token_that_is_sent(house: House) -> None:
    """The open path is open to those who could come in at all."""
    assert (await house.say("GET /healthz", "Host: evil.example")).status == 403
    assert (await house.get("/healthz", "Origin: https://evil.example")).status == 403
    assert (await house.get("/healthz", "Authorization: Bearer wrong")).status == 401


@pytest.mark.threat("T10")
@pytest.mark.parametrize(
    "authorization",
    [f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer", "Bearer ", f"Bearer {TOKEN} x", ""],
)
async def test_a_wrong_token_is_refused(house: House, authorization: str) -> None:
    """The whole token under the right scheme, or nothing."""
    answer = await house.get("/touch", f"Authorization: {authorization}")
    assert (answer.status, answer.code) == (401, "unauthorized")


async def test_the_token_said_twice_is_refused(house: House) -> None:
    """Two credentials are none."""
    assert (await house.get("/touch", BEARER, BEARER)).status == 401


@pytest.mark.threat("T3", "T10")
@pytest.mark.parametrize("query", ["token=abc", "a=1&access_token=abc", "TOKEN=x"])
async def test_a_token_in_the_url_is_refused_with_a_hint(house: House, query: str) -> None:
    """A token in a URL is kept in histories and logs, so it is not taken, not even beside the right header."""
    for answer in (await house.get(f"/touch?{query}", BEARER), await shake_hands(house, f"/ws?{query}", BEARER)):
        assert (answer.status, answer.code) == (400, "bad_request")
        assert b"Authorization: Bearer" in answer.body


@pytest.mark.threat("T10")
async def test_more_than_ten_wrong_tokens_in_a_second_get_429_while_the_right_one_passes(house: House) -> None:
    """Guessing is slowed down for all who guess, and for nobody else."""
    guess = "Authorization: Bearer guess"
    assert [(await house.get("/touch", guess)).status for _ in range(10)] == [401] * 10
    answer = await house.get("/touch", guess)
    assert (answer.status, answer.code, answer.headers["retry-after"]) == (429, "too_many_requests", "1")
    assert (await house.get("/touch", BEARER)).status == 200
    assert (await house.get("/touch")).status == 401

    house.clock.now += 0.9
    assert (await house.get("/touch", guess)).status == 429
    house.clock.now += 0.2
    assert (await house.get("/touch", guess)).status == 401


async def test_ten_wrong_tokens_over_more_than_a_second_are_never_too_many(house: House) -> None:
    """The count is of the last second."""
    for _ in range(30):
        assert (await house.get("/touch", "Authorization: Bearer guess")).status == 401
        house.clock.now += 0.11


async def test_the_checks_come_in_one_order(house: House) -> None:
    """A request that is wrong in every way is told the first: Host, Origin, credential, content type, size."""
    wrong = {
        "host_refused": ("Host: evil.example", house.host),
        "origin_refused": ("Origin: null", ""),
        "unauthorized": ("Authorization: Bearer wrong", BEARER),
        "unsupported_media_type": ("Content-Type: text/plain", "Content-Type: application/json"),
        "too_large": ("Content-Length: 1001", "Content-Length: 0"),
    }
    headers = [bad for bad, _ in wrong.values()]
    for number, (code, (_, good)) in enumerate(wrong.items()):
        answer = await house.say("POST /touch", *filter(None, headers))
        assert answer.code == code
        headers[number] = good
    assert (await house.say("POST /touch", *filter(None, headers))).status == 200


@pytest.mark.threat("T6")
async def test_the_same_user_needs_no_token_under_auto_and_needs_it_under_token() -> None:
    """The kernel's word is enough when the settings say so, for plain programs on this machine only."""
    own = PeerCheck()
    async with open_house(auth="auto", peers=own) as house:
        assert (await house.get("/touch")).status == 200
        assert (await house.logged()).how == "peer"
        assert (await house.get("/touch", "Authorization: Bearer wrong")).status == 401
        assert (await house.get("/touch", f"Origin: http://localhost:{house.port}")).status == 401
        assert (await house.say("GET /touch", "Host: evil.example")).status == 403
        assert (await shake_hands(house, "/ws")).status == 101
    async with open_house(auth="token", peers=own) as house:
        assert (await house.get("/touch")).status == 401
    async with open_house(auth="auto", exposed=True, peers=own) as house:
        assert (await house.get("/touch")).status == 401


async def test_who_is_at_the_other_end_is_looked_for_only_where_that_decides() -> None:
    """A look takes a millisecond or more, and all wait: who brings a token, or is refused anyway, needs none."""
    looks = count()
    async with open_house(auth="auto", peers=PeerCheck(patience_s=1e9, clock=lambda: float(next(looks)))) as house:
        before = next(looks)
        assert (await house.get("/healthz")).status == 200
        assert (await house.get("/touch", BEARER)).status == 200
        assert (await house.get("/touch", "Authorization: Bearer wrong")).status == 401
        assert (await house.say("GET /touch", "Host: evil.example")).status == 403
        assert next(looks) == before + 1
        assert (await house.get("/touch")).status == 200
        assert next(looks) > before + 2


@pytest.mark.threat("T5")
@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "application/json; charset=latin-1",
        "application/json, text/plain",
        "text/plain; application/json",
    ],
)
async def test_a_body_of_another_type_is_refused_and_has_no_effect(house: House, content_type: str) -> None:
    """What a form or a simple request of a page can send is not read at all."""
    answer = await house.post("/touch", f"Content-Type: {content_type}")
    assert (answer.status, answer.code) == (415, "unsupported_media_type")
    assert house.touched == []


async def test_json_passes_and_form_data_only_for_attachments(house: House) -> None:
    """JSON is the language here; files may come as form data where files go."""
    for kind in ("application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"'):
        assert (await house.post("/touch", f"Content-Type: {kind}")).status == 200
    assert (await house.post("/x/attachments", "Content-Type: multipart/form-data; boundary=x")).status == 200
    assert (await house.post("/touch", body=b"")).status == 200


async def test_an_encoded_body_is_refused(house: House) -> None:
    """A compressed body could grow without limit when unpacked."""
    answer = await house.post("/touch", "Content-Type: application/json", "Content-Encoding: gzip")
    assert (answer.status, answer.code) == (415, "unsupported_media_type")
    assert (await house.post("/touch", "Content-Type: application/json", "Content-Encoding: identity")).status == 200


async def test_a_body_that_is_announced_too_large_is_refused_at_once(house: House) -> None:
    """Nobody waits for the bytes: the answer comes while the body has not begun."""
    asks = ("Content-Type: application/json", "Content-Length: 1001")
    answer = await house.say("POST /touch", house.host, BEARER, *asks)
    assert (answer.status, answer.code) == (413, "too_large")
    assert (await house.post("/touch", "Content-Type: application/json", body=b"x" * 1000)).status == 200


async def test_a_chunked_body_is_cut_when_it_grows_too_large(house: House) -> None:
    """A body of unknown length is counted as it comes; the application never sees it whole and cannot answer for it."""
    asks = ("Content-Type: application/json", "Transfer-Encoding: chunked")
    chunk = b"1f4\r\n" + b"x" * 500 + b"\r\n"
    answer = await house.say("POST /touch", house.host, BEARER, *asks, body=chunk * 3)
    assert (answer.status, answer.code) == (413, "too_large")
    assert (await house.logged()).how == "refused:too_large"
    assert house.touched == []
    assert house.errors == []
    assert (await house.say("POST /touch", house.host, BEARER, *asks, body=chunk * 2 + b"0\r\n\r\n")).status == 200


async def test_a_trailer_cannot_become_a_header_after_the_guard_has_judged() -> None:
    """What comes behind the body is not among the headers the application sees."""
    seen: list[list[tuple[bytes, bytes]]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        seen.append(list(scope["headers"]))
        await Response("ok")(scope, receive, send)

    async with open_house(app) as house:
        asks = ("Content-Type: application/json", "Transfer-Encoding: chunked")
        body = b"2\r\n{}\r\n0\r\nX-Late: 1\r\n\r\n"
        assert (await house.say("POST /touch", house.host, BEARER, *asks, body=body)).status == 200
    assert b"x-late" not in dict(seen[0])


@pytest.mark.threat("T38")
async def test_every_answer_carries_the_headers_of_the_house(house: House) -> None:
    """Answers of the application, of its router, of the guard and of the failure path alike."""
    for path, header in (("/touch", BEARER), ("/nowhere", BEARER), ("/fail", BEARER), ("/touch", "X: y")):
        answer = await house.get(path, header)
        assert answer.headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
            "font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'; trusted-types agi"
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


@pytest.mark.threat("T38")
async def test_the_application_may_choose_caching_and_nothing_else(house: House) -> None:
    """A static file may be cached; framing stays forbidden."""
    answer = await house.get("/cached", BEARER)
    assert (answer.headers["cache-control"], answer.headers["x-frame-options"]) == ("max-age=5", "DENY")


async def test_an_error_in_the_application_is_500_without_details(house: House) -> None:
    """The caller learns that it failed, the log learns why."""
    answer = await house.get("/fail", BEARER)
    assert (answer.status, answer.code) == (500, "internal_error")
    assert b"secret" not in answer.body
    assert [str(error) for error in house.errors] == ["secret details"]


async def test_an_answer_of_the_applications_own_to_its_error_stands() -> None:
    """Starlette answers an error and raises it all the same: it is logged, and the answer still arrives whole."""

    async def fail(request: Request) -> Response:
        raise ValueError("secret details")

    async with open_house(Starlette(routes=[Route("/fail", fail)])) as house:
        answer = await house.get("/fail", BEARER)
        assert (answer.status, answer.body) == (500, b"Internal Server Error")
        assert [str(error) for error in house.errors] == ["secret details"]


async def test_an_application_that_answers_nothing_is_500() -> None:
    """Every request gets an answer in the one shape."""

    async def mute(scope: Any, receive: Any, send: Any) -> None:
        return None

    async with open_house(mute) as house:
        answer = await house.get("/touch", BEARER)
        assert (answer.status, answer.code) == (500, "internal_error")


async def test_an_error_after_the_answer_began_cuts_the_connection(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    """Half an answer is not made to look like a whole one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
    writer.write(f"GET /break HTTP/1.1\r\n{house.host}\r\n{BEARER}\r\n\r\n".encode())
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await reader.readuntil(b"\r\n0\r\n")
    writer.close()
    assert [str(error) for error in house.errors] == ["in the middle"]
    assert caplog.records == []


@pytest.mark.threat("T12")
async def test_each_request_leaves_one_line_that_tells_nothing_secret(house: House) -> None:
    """Passed or refused, a request is one line: no query, no header, no token, no control character."""
    await house.get("/touch?q=private", BEARER)
    await house.get("/touch?token=private")
    await house.get("/a%0d%0aGET%20/b%1b[31m%e2%80%ae\\", "Authorization: Bearer private")
    await house.say("GET /touch", "Host: private.example")
    lines = [format_line(line) for line in house.lines]
    assert [line.split(" ")[:3] + line.split(" ")[-1:] for line in lines] == [
        ["GET", "/touch", "200", "token"],
        ["GET", "/touch", "400", "refused:bad_request"],
        ["GET", "/a\\r\\nGET\\x20/b\\x1b[31m\\u202e\\\\", "401", "refused:unauthorized"],
        ["GET", "/touch", "403", "refused:host_refused"],
    ]
    assert not [line for line in lines if "private" in line or TOKEN in line or not line.isprintable()]
    assert house.lines[0].bytes_sent == len(b'{"ok":true}')


async def test_a_long_path_is_logged_in_short(house: House) -> None:
    """One request cannot fill the log."""
    await house.get("/" + "a" * 5000, BEARER)
    assert len((await house.logged()).path) == 501


async def test_a_client_that_leaves_early_is_no_error(house: House) -> None:
    """A body that stops in the middle ends in a line with 499."""
    _, writer = await asyncio.open_connection("127.0.0.1", house.port)
    head = f"POST /touch HTTP/1.1\r\n{house.host}\r\n{BEARER}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: 10\r\n\r\nhalf".encode())
    await writer.drain()
    writer.close()
    assert (await house.logged()).status == 499
    assert house.errors == []


async def shake_hands(house: House, path: str, *headers: str) -> Answer:
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
    return await house.get(path, *upgrade, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *headers)


@pytest.mark.threat("T3")
async def test_a_websocket_passes_the_same_checks(house: House) -> None:
    """No token 401, wrong host 403, absolute target 400, unknown path 403 behind the guard; with the token it opens."""
    assert (await shake_hands(house, "/ws")).status == 401
    assert (await shake_hands(house, "/ws", "Authorization: Bearer wrong")).status == 401
    assert (await shake_hands(house, "/ws", BEARER, "Host: evil.example")).code == "host_refused"
    assert (await shake_hands(house, "http://evil.example/ws", BEARER)).code == "host_refused"
    assert (await shake_hands(house, "/ws", BEARER, "Sec-Fetch-Site: cross-site")).code == "origin_refused"
    assert (await shake_hands(house, "/nowhere", BEARER)).status == 403
    assert house.touched == []
    assert (await shake_hands(house, "/ws", BEARER, f"Origin: http://localhost:{house.port}")).status == 101


@pytest.mark.threat("T12")
async def test_a_websocket_is_logged_once_when_it_ends(house: House) -> None:
    """A conversation is one line with status 101."""
    await shake_hands(house, "/ws", BEARER)
    line = await house.logged()
    assert (line.method, line.path, line.status, line.how) == ("GET", "/ws", 101, "token")
    assert house.errors == []


async def test_a_websocket_that_fails_after_it_opened_is_closed_with_1011() -> None:
    """The failure is logged, and the client told that the fault is on this side."""

    async def fail(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        raise ValueError("in the middle")

    async with open_house(fail) as house:
        reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
        upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        writer.write(f"GET /ws HTTP/1.1\r\n{house.host}\r\n{BEARER}\r\n{upgrade}{key}\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(4) == b"\x88\x02" + (1011).to_bytes(2, "big")
        writer.close()
        assert [str(error) for error in house.errors] == ["in the middle"]


async def test_a_websocket_that_fails_before_it_opens_is_500(house: House) -> None:
    """The failure path of a handshake has the one error shape too."""
    answer = await shake_hands(house, "/fail-ws", BEARER)
    assert (answer.status, answer.code) == (500, "internal_error")
    assert answer.headers["x-frame-options"] == "DENY"


async def test_a_server_without_handshake_answers_gets_a_plain_close() -> None:
    """Where the extension is not offered, a close before the accept is the refusal."""
    sent: list[dict[str, Any]] = []
    lines: list[AccessLine] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def nothing(*_: Any) -> Any:
        raise AssertionError("nothing is read or run")

    guard = Guard(nothing, GuardSettings(token=TOKEN, port=1), log=lines.append, on_error=lambda _: None)
    await guard({"type": "websocket", "path": "/ws", "query_string": b"", "headers": []}, nothing, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]
    assert [(line.status, line.how) for line in lines] == [(403, "refused:host_refused")]


def test_a_token_that_can_be_guessed_is_not_accepted_as_a_setting() -> None:
    """An empty token would let everybody in."""
    with pytest.raises(ConfigError, match="fewer than 16"):
        Guard(Starlette(), GuardSettings(token="", port=1), log=lambda _: None, on_error=lambda _: None)


async def test_a_page_of_an_exposed_daemon_is_known_by_its_key() -> None:
    """To other machines browsers do not say which site asks; they still set no header of ours for a foreign page."""
    for exposed, status in ((True, 200), (False, 401)):
        async with open_house(hosts=("box.lan",), exposed=exposed) as house:
            host = "box.lan" if exposed else "localhost"
            passes = house.guard._passes
            given = passes.redeem(passes.new_code())
            assert given is not None
            cookie = f"Cookie: {cookie_name(f'{host}:{house.port}')}={given.cookie}"
            said = (f"Host: {host}:{house.port}", cookie, f"X-Agi-Key: {given.key}")
            assert (await house.say("GET /touch", *said)).status == status
            assert (await house.say("GET /touch", *said, "Sec-Fetch-Site: cross-site")).status == 403
