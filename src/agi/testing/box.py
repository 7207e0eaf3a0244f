"""A daemon in a box: the real harness, application, guard and server on a free loopback port, in the caller's loop.

    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.calls("shell", command="rm notes.txt").then_says("I left it alone.")
        turn = await daemon.ask("tidy up")
        await turn.deny(reason="keep my notes")
        assert await turn.answer() == "I left it alone."

Only the model is a stand-in, and a real one can be given instead. Everything asked here goes over the socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct
from starlette.types import ASGIApp

from agi.models.base import Model
from agi.models.scripted import ScriptedModel
from agi.net.http import HttpClient, Response
from agi.net.sse import SseEvent, sse_events
from agi.server.access import AccessLine
from agi.server.app import App, build_app
from agi.server.guard import Guard, GuardSettings
from agi.server.limits import make_server
from agi.server.listening import listen_at
from agi.server.peer import PeerCheck
from agi.server.request import AppSettings
from agi.sessions.harness import Harness, HarnessSettings

if TYPE_CHECKING:
    from agi.server.host import Server

TOKEN = "a-token-for-tests-and-nothing-else"  # noqa: S105
ENDINGS = ("turn_completed", "turn_failed", "turn_canceled")
NOTHING: Mapping[str, str] = MappingProxyType({})


async def eventually(condition: Callable[[], object]) -> None:
    """Wait until it holds; for what no event tells, and no longer than five seconds."""
    for _ in range(5000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("waited for five seconds")


class Reply(Struct, frozen=True):
    """An answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as a value."""
        return msgspec.json.decode(self.body)

    @property
    def code(self) -> str:
        """The code of an error in the one shape; fails if the body is anything else."""
        return str(msgspec.json.decode(self.body, type=dict[str, dict[str, str]])["error"]["code"])


class Folder:
    """The workspace, and whether anybody touched it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before: dict[str, bytes] = {}

    def write(self, name: str, text: str) -> None:
        """Put a file there, as its user would."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        self._before = self._now()

    def read(self, name: str) -> str:
        """A file's text."""
        return (self.path / name).read_text()

    def was_touched(self) -> bool:
        """Whether a file differs from what was written here last; the daemon's own folder does not count."""
        return self._now() != self._before

    def _now(self) -> dict[str, bytes]:
        files = [file for file in self.path.rglob("*") if file.is_file() and ".agi" not in file.parts]
        return {str(file): file.read_bytes() for file in files}


class AskedTurn:
    """A turn that was asked for: answer its questions, wait for its end."""

    def __init__(self, daemon: Daemon, session_id: str, id: str) -> None:
        self._daemon = daemon
        self.session_id = session_id
        self.id = id

    async def question(self) -> dict[str, Any]:
        """The approval this turn waits for, once it does."""
        while True:
            session = (await self._daemon.get(f"/v1/sessions/{self.session_id}")).json()
            for pending in session["pending_approvals"]:
                if pending["turn_id"] == self.id:
                    return dict(pending)
            event = await self._next(session["last_seq"], ("approval_requested", *ENDINGS))
            if event["type"] in ENDINGS:
                raise AssertionError(f"the turn ended without asking: {event}")

    async def approve(self, **fields: object) -> Reply:
        """Let the call run that waits."""
        return await self._give("approve", fields)

    async def deny(self, **fields: object) -> Reply:
        """Refuse the call that waits."""
        return await self._give("deny", fields)

    async def ended(self) -> dict[str, Any]:
        """The event that ended it."""
        return await self._next(0, ENDINGS)

    async def answer(self) -> str:
        """The text of the final message; fails if the turn did not complete."""
        event = await self.ended()
        if event["type"] != "turn_completed":
            raise AssertionError(f"the turn was not answered: {event}")
        listed = await self._daemon.get(f"/v1/sessions/{self.session_id}/messages?limit=1000")
        if listed.status != 200:
            raise AssertionError(f"no messages: {listed}")
        final = next(one for one in listed.json()["messages"] if one["id"] == event["data"]["message_id"])
        return "".join(part["text"] for part in final["parts"] if part["type"] == "text")

    async def _give(self, action: str, fields: Mapping[str, object]) -> Reply:
        pending = await self.question()
        body = {"turn_id": self.id, "tool_call_id": pending["tool_call_id"], "action": action, **fields}
        return await self._daemon.post(f"/v1/sessions/{self.session_id}/approve", body)

    async def _next(self, after: int, types: tuple[str, ...]) -> dict[str, Any]:
        async with contextlib.aclosing(
            self._daemon.stream(f"/v1/sessions/{self.session_id}/events?after={after}")
        ) as seen:
            async for event in seen:
                if event.event in types:
                    told: dict[str, Any] = msgspec.json.decode(event.data)
                    if told["turn_id"] == self.id:
                        return told
        raise AssertionError("the stream ended before the turn did")


class Daemon:
    """A running daemon, and a client of it."""

    def __init__(self, url: str, harness: Harness, app: App, model: Any, workspace: Folder, token: str) -> None:
        self.url = url
        self.harness = harness
        self.app = app
        self.model = model
        """What was given as the model: the script to write, unless it was something else."""
        self.workspace = workspace
        self.lines: list[AccessLine] = []
        """The access log."""
        self.problems: list[Exception] = []
        """What the application failed of; whatever is left here fails the test."""
        self.http = HttpClient()
        self.server: Server | None = None
        self._headers = {"authorization": f"Bearer {token}"} if token else {}

    def drop_connections(self) -> None:
        """Cut every connection, as a network does."""
        for connection in list(self.server.connections) if self.server else ():
            if connection.transport is not None:
                connection.transport.abort()

    async def open(self, method: str, path: str, body: object = None, headers: Mapping[str, str] = NOTHING) -> Response:
        """Ask for something and return when the answer begins; bytes are sent as they are, all else as JSON."""
        raw = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        kind = {"content-type": "application/json"} if raw else {}
        return await self.http.request(method, self.url + path, headers={**self._headers, **kind, **headers}, body=raw)

    async def call(self, method: str, path: str, body: object = None, headers: Mapping[str, str] = NOTHING) -> Reply:
        """Ask for something and read the whole answer."""
        async with await self.open(method, path, body, headers) as response:
            return Reply(response.status, response.headers, await response.read(64 * 1024 * 1024))

    async def get(self, path: str, headers: Mapping[str, str] = NOTHING) -> Reply:
        """GET."""
        return await self.call("GET", path, None, headers)

    async def post(self, path: str, body: object = None, headers: Mapping[str, str] = NOTHING) -> Reply:
        """POST."""
        return await self.call("POST", path, body, headers)

    async def stream(
        self, path: str, *, body: object = None, headers: Mapping[str, str] = NOTHING
    ) -> AsyncGenerator[SseEvent, None]:
        """The events of a stream; with a body it is posted."""
        method = "GET" if body is None else "POST"
        accept = {"accept": "text/event-stream", **headers}
        async with await self.open(method, path, body, accept) as response:
            if response.status != 200:
                raise AssertionError(f"{response.status}: {await response.read()!r}")
            async with contextlib.aclosing(response.chunks()) as chunks:
                async for event in sse_events(chunks):
                    yield event

    async def begin(self, **fields: object) -> str:
        """Begin a session; returns its id."""
        reply = await self.post("/v1/sessions", fields)
        if reply.status != 201:
            raise AssertionError(f"no session: {reply}")
        return str(reply.json()["session_id"])

    async def ask(self, prompt: str, *, session_id: str = "", **fields: object) -> AskedTurn:
        """Say something, in a new session unless one is named, and have it answered in the background."""
        session_id = session_id or await self.begin()
        body = {"parts": [{"type": "text", "text": prompt}], **fields}
        reply = await self.post(f"/v1/sessions/{session_id}/messages", body)
        if reply.status != 202:
            raise AssertionError(f"no turn: {reply}")
        return AskedTurn(self, session_id, reply.json()["turn_id"])

    async def history(self, session_id: str) -> list[dict[str, Any]]:
        """The session's events so far."""
        seen = self.stream(f"/v1/sessions/{session_id}/events?follow=false")
        return [msgspec.json.decode(event.data) async for event in seen]


@contextlib.asynccontextmanager
async def daemon_in_a_box(
    folder: Path,
    *,
    model: Model | None = None,
    auth: Literal["auto", "token"] = "auto",
    config: Mapping[str, object] | None = None,
    trusted: bool = False,
    settings: AppSettings | None = None,
    env: Mapping[str, str] = NOTHING,
    port: int = 0,
    around: Callable[[ASGIApp], ASGIApp] = lambda app: app,
    outside: Callable[[ASGIApp], ASGIApp] = lambda door: door,
) -> AsyncIterator[Daemon]:
    """Run a daemon below `folder`; what broke inside is raised at the end.

    `config` is the user's own config file; `around` puts something between the guard and the application, `outside`
    before the guard. A `port` is for whoever wants to find it again after a restart.
    """
    project, home = folder / "project", folder / "home"
    for place in (project, home):
        place.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (home / "config.json").write_bytes(msgspec.json.encode(config))
    script: Model = model or ScriptedModel()
    told = HarnessSettings(project=project, home_config=home, env=env, trust_once=trusted)
    harness = Harness(told, stand_in=script)
    try:
        with listen_at("127.0.0.1", port) as sock:
            url = f"http://127.0.0.1:{sock.getsockname()[1]}"
            app = build_app(harness, settings or AppSettings())
            token = TOKEN if auth == "token" else ""
            daemon = Daemon(url, harness, app, script, Folder(project), token)
            async with _served(daemon, around(app), sock, auth, outside):
                await harness.recover()
                yield daemon
    finally:
        await harness.close()
    if daemon.problems:
        raise ExceptionGroup("the application failed", daemon.problems)


@contextlib.asynccontextmanager
async def _served(
    daemon: Daemon,
    app: ASGIApp,
    sock: socket.socket,
    auth: Literal["auto", "token"],
    outside: Callable[[ASGIApp], ASGIApp],
) -> AsyncIterator[None]:
    public = daemon.app.shared.settings.public_url or ""
    guard = GuardSettings(token=TOKEN, port=sock.getsockname()[1], auth=auth, public=public)
    door = Guard(app, guard, log=daemon.lines.append, on_error=daemon.problems.append, passes=daemon.app.passes)
    server = make_server(outside(door), sock=sock, log=daemon.lines.append, peers=PeerCheck())
    daemon.server = server
    started = asyncio.Event()
    server.on_started = started.set
    serving = asyncio.create_task(server.serve())
    await started.wait()
    try:
        yield
    finally:
        daemon.app.stop()
        await daemon.http.close()
        await _stop(daemon, server, serving)


async def _stop(daemon: Daemon, server: Server, serving: asyncio.Task[None]) -> None:
    """At once: a polite shutdown takes a quarter of a second, which adds up over a thousand tests."""
    serving.cancel()
    for listener in server.servers:
        listener.close()
    daemon.drop_connections()
    with contextlib.suppress(asyncio.CancelledError):
        await serving
    await asyncio.gather(*server.tasks)
