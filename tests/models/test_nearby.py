"""Servers on this machine: found where they listen, asked for their models and nothing else, never trusted blindly."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing

import pytest

from agi.models import nearby
from agi.models.nearby import Nearby, around
from agi.models.places import PLACES, Place

Answer = bytes | None


def reply(body: object, *, status: str = "200 OK", kind: str = "application/json", fields: str = "") -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n{fields}\r\n"
    return head.encode() + data


def listing(*names: str) -> bytes:
    return reply({"object": "list", "data": [{"id": name, "object": "model", "owned_by": "x"} for name in names]})


def shown(*abilities: str, **more: object) -> bytes:
    return reply({"capabilities": list(abilities), "license": "L" * 5000, **more})


class Box:
    """A server on loopback: answers are made by a function of the request; None keeps silent."""

    def __init__(self, answer: Callable[[str, bytes], Answer], once: bool) -> None:
        self.answer = answer
        self.once = once
        self.asked: list[str] = []
        self.heads: list[bytes] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            while True:
                try:
                    head = await reader.readuntil(b"\r\n\r\n")
                except (asyncio.IncompleteReadError, ConnectionError):
                    return
                fields = dict(line.split(b": ", 1) for line in head[:-4].split(b"\r\n")[1:])
                body = await reader.readexactly(int(fields.get(b"content-length", b"0")))
                line = head.split(b" HTTP/")[0].decode()
                self.asked.append(line)
                self.heads.append(head)
                data = self.answer(line, body)
                if data is None:
                    await reader.read(1)
                    return
                writer.write(data)
                if self.once:
                    return


@asynccontextmanager
async def box(
    answer: bytes | Callable[[str, bytes], Answer] | None, host: str = "127.0.0.1", *, once: bool = False
) -> AsyncIterator[Box]:
    """Run one; `once` hangs up after an answer."""
    made = Box(answer if callable(answer) else lambda _line, _body: answer, once)
    server = await asyncio.start_server(made.serve, host, 0)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        return int(gone.getsockname()[1])


def at(clock: Callable[[], float] | None = None, **ports: int) -> Nearby:
    places = {name: Place(PLACES[name].title, port) for name, port in ports.items()}
    return Nearby(places, clock=clock) if clock else Nearby(places)


@pytest.fixture
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps silent is not waited for."""
    monkeypatch.setattr(nearby, "FIND_S", 0.05)
    monkeypatch.setattr(nearby, "NAMED_S", 0.05)


async def test_a_server_is_found_with_its_models():
    """Its name, its address and its first model that talks."""
    async with box(listing("nomic-embed-text", "qwen3-8b")) as server:
        here = at(lmstudio=server.port)
        await here.look()

    (found,) = here.servers()
    assert (found.provider, found.title, found.where) == ("lmstudio", "LM Studio", f"127.0.0.1:{server.port}")
    assert found.url == f"http://127.0.0.1:{server.port}/v1"
    assert (found.names, found.chat) == (("nomic-embed-text", "qwen3-8b"), ("qwen3-8b",))
    assert here.server("lmstudio") == found


async def test_nothing_but_the_list_is_asked_for():
    """One plain question, without a key, a cookie or a word of the project."""
    async with box(listing("qwen3-8b")) as server:
        await at(vllm=server.port).look()

    assert server.asked == ["GET /v1/models"]
    names = {line.split(b":")[0] for line in server.heads[0].split(b"\r\n")[1:-2]}
    assert names == {b"host", b"accept", b"accept-encoding", b"user-agent"}


async def test_a_server_on_the_other_loopback_address_is_found_too():
    """Some listen on `::1` only."""
    try:
        async with box(listing("m"), host="::1") as server:
            here = at(jan=server.port)
            await here.look()
    except OSError:
        pytest.skip("there is no IPv6 here")

    assert [one.where for one in here.servers()] == [f"[::1]:{server.port}"]


async def test_the_first_place_that_answers_comes_first():
    """Whichever was quicker."""
    async with box(listing("a")) as one, box(listing("b")) as two:
        here = at(ollama=two.port, llamacpp=closed_port(), vllm=one.port)
        await here.look()

    assert [server.provider for server in here.servers()] == ["ollama", "vllm"]


NO_SERVERS: dict[str, bytes] = {
    "a web page": reply(b"<html>hello</html>", kind="text/html"),
    "a page called JSON": reply(b"<html>hello</html>"),
    "a list under a page's name": reply({"object": "list", "data": [{"id": "m"}]}, kind="text/html"),
    "a redirect": reply({}, status="302 Found", fields="location: http://127.0.0.1:1/v1/models\r\n"),
    "an error": reply({"object": "list", "data": [{"id": "m"}]}, status="500 Oops"),
    "nothing there": reply({"detail": "Not Found"}, status="404 Not Found"),
    "another list": reply({"data": [{"id": "m"}]}),
    "a bare array": reply([{"id": "m"}]),
    "our own daemon": reply({"models": [{"provider": "x", "id": "m"}], "default": None}),
    "numbers for names": reply({"object": "list", "data": [{"id": 7}]}),
    "too many models": reply({"object": "list", "data": [{"id": str(n)} for n in range(1001)]}),
    "an endless name": reply({"object": "list", "data": [{"id": "m" * 301}]}),
    "too much": reply({"object": "list", "data": [{"id": "m"}], "more": "x" * (1 << 20)}),
    "a deep nest": reply(b'{"object":"list","data":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "broken letters": reply(b'{"object":"list","data":[{"id":"\xff"}]}'),
    "half an answer": reply({"object": "list", "data": []})[:-5].replace(b"content-length: 29", b"content-length: 90"),
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
}


@pytest.mark.parametrize("answer", NO_SERVERS.values(), ids=NO_SERVERS.keys())
async def test_other_programs_on_a_usual_port_are_no_servers(answer):
    """Whatever it says, it is asked once and left alone."""
    async with box(answer, once=True) as other:
        here = at(vllm=other.port)
        await here.look()

    assert here.servers() == ()
    assert here.problems() == ()
    assert f"127.0.0.1:{other.port}" in here.problem("vllm")
    assert other.asked == ["GET /v1/models"]


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
async def test_a_server_behind_a_key_is_not_used_and_said_to_be(status):
    """It was not set up by the one who asks."""
    async with box(reply({"error": "key"}, status=status)) as walled:
        here = at(vllm=walled.port)
        await here.look_for("vllm")

    assert here.servers() == ()
    assert "wants a key" in here.problem("vllm")


async def test_where_nobody_listens_the_address_is_named():
    """So that one knows where to start something."""
    port = closed_port()
    here = at(ollama=port)
    assert "yet" in here.problem("ollama")
    await here.look_for("ollama")

    assert here.problem("ollama") == f"Nothing answers at 127.0.0.1:{port}."


async def test_a_server_that_keeps_silent_is_not_waited_for(impatience):
    """Nor is one that never finishes its sentence."""
    half = b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"
    async with box(None) as silent, box(half) as slow:
        here = at(ollama=silent.port, vllm=slow.port)
        async with asyncio.timeout(5):
            await here.look()

    assert here.servers() == ()
    assert "did not answer within 0.05 s" in here.problem("ollama")
    assert "did not answer within 0.05 s" in here.problem("vllm")


async def test_a_proxy_is_never_asked(monkeypatch):
    """What is looked for is on this machine."""
    async with box(listing("m")) as proxy, box(listing("m")) as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        await at(vllm=server.port).look()

    assert (proxy.asked, server.asked) == ([], ["GET /v1/models"])


async def test_what_was_seen_is_remembered_for_a_while():
    """A server for half a minute, its absence for some seconds."""
    now = [100.0]
    async with box(listing("m")) as server:
        here = at(lambda: now[0], vllm=server.port)
        for passed in (0, 29, 2):
            now[0] += passed
            await here.look()
        gone = at(lambda: now[0], vllm=(port := closed_port()))
        await gone.look()

    assert len(server.asked) == 2
    async with box(listing("m")) as late:
        gone._places = {"vllm": Place("vLLM", late.port)}
        await gone.look()
        assert (gone.servers(), late.asked) == ((), [])
        now[0] += 6
        await gone.look()
    assert port != late.port
    assert [one.where for one in gone.servers()] == [f"127.0.0.1:{late.port}"]


async def test_who_asks_by_name_does_not_get_an_old_no():
    """`--provider ollama` right after Ollama was started works."""
    here = at(lambda: 0.0, ollama=closed_port())
    await here.look()
    async with box(listing("m")) as server:
        here._places = {"ollama": Place("Ollama", server.port)}
        await here.look_for("ollama")

    assert here.server("ollama") is not None


async def test_a_server_that_was_there_and_is_busy_still_counts(monkeypatch):
    """Silence while it answers somebody else does not send the next turn to another model; a closed door does."""
    now = [0.0]
    answers: list[Answer] = [listing("m"), None]
    async with box(lambda _line, _body: answers.pop(0)) as server:
        here = at(lambda: now[0], vllm=server.port)
        await here.look()
        now[0] += 31
        monkeypatch.setattr(nearby, "FIND_S", 0.05)
        await here.look()
        busy = here.server("vllm")
    now[0] += 6
    await here.look()

    assert busy is not None
    assert here.server("vllm") is None


class TestOllama:
    """Its models say what they can do."""

    @staticmethod
    async def chosen(models: Mapping[str, bytes]) -> tuple[Nearby, Box]:
        def answer(line: str, body: bytes) -> bytes:
            return listing(*models) if line.startswith("GET") else models[json.loads(body)["model"]]

        async with box(answer) as server:
            here = at(ollama=server.port)
            await here.look()
        return here, server

    async def test_a_model_that_calls_tools_is_preferred(self):
        """Then one that says nothing, then one that only talks; one that does not talk at all is left out."""
        here, server = await self.chosen(
            {
                "gemma": shown("completion", "vision"),
                "plain": reply({}),
                "all-embedder": shown("embedding"),
                "mystery": shown("embedding"),
                "odd": reply(b"<html>", status="404 Not Found"),
                "qwen3:8b": shown("completion", "tools"),
            }
        )
        found = here.server("ollama")

        assert found is not None
        assert found.chat == ("qwen3:8b", "plain", "odd", "gemma")
        assert set(server.asked) == {"GET /v1/models", "POST /api/show"}
        assert len(server.asked) == 6

    async def test_a_model_that_runs_elsewhere_is_never_chosen_unasked(self):
        """What nobody chose must not send a project's text away."""
        models = {
            "gpt-oss:120b-cloud": shown("completion", "tools"),
            "kimi:cloud": shown("completion", "tools"),
            "renamed": shown("completion", "tools", remote_host="https://ollama.com:443"),
            "small": shown("completion"),
        }
        here, _ = await self.chosen(models)
        found = here.server("ollama")

        assert found is not None
        assert found.chat == ("small",)
        assert found.names == tuple(models)

    @pytest.mark.parametrize("body", [{"object": "list", "data": None}, {"object": "list", "data": []}])
    async def test_without_a_model_it_is_said_how_to_get_one(self, body):
        """It is there, but cannot answer."""
        async with box(reply(body)) as server:
            here = at(ollama=server.port)
            await here.look()

        assert here.servers() == ()
        (problem,) = here.problems()
        assert problem.startswith(f"Ollama answers at 127.0.0.1:{server.port}, but has no model")
        assert "ollama pull" in problem


async def test_the_models_of_remote_services_are_left_out():
    """Jan lists them beside its own."""
    entries = [
        {"id": "claude", "engine": "anthropic"},
        {"id": "llama", "engine": "llama-cpp"},
        {"id": "odd", "engine": 7},
    ]
    async with box(reply({"object": "list", "data": entries})) as server:
        here = at(jan=server.port)
        await here.look()

    assert [one.chat for one in here.servers()] == [("llama", "odd")]


SERVE = """
import http.server, os, socketserver, sys
os.setuid(int(sys.argv[1]))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"object": "list", "data": [{"id": "m"}]}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = socketserver.TCPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two users")
@pytest.mark.parametrize(("uid", "used"), [(4242, False), (997, True), (0, True)])
async def test_a_server_of_another_person_is_not_used(uid, used):
    """Who took a usual port first must not get what others ask; the system's own services may."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", SERVE, str(uid), stdout=-1, stderr=-1)
    assert process.stdout is not None
    try:
        here = at(vllm=int(await process.stdout.readline()))
        await here.look()
    finally:
        process.kill()
        await process.communicate()

    assert bool(here.servers()) == used
    assert [("belongs to another user" in one, "providers.vllm.baseUrl" in one) for one in here.problems()] == (
        [] if used else [(True, True)]
    )


async def test_one_process_has_one_memory():
    """However many folders it works in."""
    async with box(listing("m")) as server:
        ports = {"vllm": server.port}
        await around(ports).look()
        await around(dict(ports)).look()

    assert len(server.asked) == 1
    assert around(ports) is around(dict(ports))


def test_the_usual_ports_are_those_of_the_servers(monkeypatch):
    """Looked for by default; tests look nowhere unless they say where."""
    assert not around().knows("ollama")
    monkeypatch.setattr(nearby, "PORTS", None)

    assert {name: around()._places[name].port for name in PLACES} == {
        "ollama": 11434,
        "lmstudio": 1234,
        "llamacpp": 8080,
        "vllm": 8000,
        "jan": 1337,
        "koboldcpp": 5001,
    }
