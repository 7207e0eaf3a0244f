"""Servers at an address: refusals are said in words, a lost session is begun anew, nothing is endless."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from .conftest import World, http_server, text

Answer = Callable[[str, dict[str, str], bytes], tuple[int, dict[str, str], bytes]]
TOOL = {"name": "echo", "description": "Echo.", "inputSchema": {"type": "object", "properties": {}}}


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[str]:
    """A small HTTP server of our own that can be as wrong as we like."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lines = head.split("\r\n")
            headers = {key.lower(): value.strip() for key, _, value in (one.partition(":") for one in lines[1:])}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            status, more, content = answer(lines[0].split()[0], headers, body)
            told = {"content-length": str(len(content)), "connection": "close", **more}
            fields = "".join(f"{key}: {value}\r\n" for key, value in told.items())
            writer.write(f"HTTP/1.1 {status} X\r\n{fields}\r\n".encode() + content)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()


def rpc(result: object, body: bytes) -> tuple[int, dict[str, str], bytes]:
    message = {"jsonrpc": "2.0", "id": json.loads(body)["id"], "result": result}
    return 200, {"content-type": "application/json", "mcp-session-id": "s1"}, json.dumps(message).encode()


def usual(body: bytes) -> tuple[int, dict[str, str], bytes] | None:
    """What any server answers to the first messages."""
    message = json.loads(body)
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        told = {"capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
        return rpc({"protocolVersion": version, **told}, body)
    if message["method"] == "tools/list":
        return rpc({"tools": [TOOL]}, body)
    return (202, {}, b"") if "id" not in message else None


async def test_headers_are_sent_and_a_missing_credential_is_said(world: World) -> None:
    """With what to write where."""
    seen = []

    def answer(method: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        seen.append(headers.get("authorization"))
        if headers.get("authorization") != "Bearer fresh-and-valid":
            return 401, {"www-authenticate": "Bearer"}, b""
        return (method != "POST" and (405, {}, b"")) or usual(body) or rpc({"content": []}, body)

    async with answering(answer) as url:
        world.name(far={"url": url})
        (problem,) = (await world.load()).problems
        assert problem.code == "mcp_unauthorized"
        assert "status 401: it wants one" in problem.message
        assert "headers" in problem.hint

        world.env["FAR_TOKEN"] = "fresh-and-valid"
        world.name(far={"url": url, "headers": {"Authorization": "Bearer ${FAR_TOKEN}"}})
        assert (await world.use("mcp__far__echo")).ok
        assert set(seen) == {None, "Bearer fresh-and-valid"}
        assert "fresh-and-valid" in world.learned
        await world.servers.close()


async def test_a_credential_that_expires_in_the_middle_is_said(world: World) -> None:
    """The call fails with what to do; the turn goes on."""
    expired = []

    def answer(method: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        if method != "POST":
            return 405, {}, b""
        if expired:
            return 401, {}, b""
        return usual(body) or rpc({"content": [{"type": "text", "text": "hi"}]}, body)

    async with answering(answer) as url:
        world.name(far={"url": url, "headers": {"Authorization": "Bearer once-good-token"}})
        assert text(await world.use("mcp__far__echo")) == "hi"
        expired.append(True)
        result = await world.use("mcp__far__echo")

        assert "not accepted, or has expired" in result.error
        assert "fresh token" in result.error
        await world.servers.close()


async def test_nobody_there_is_a_problem_of_that_server(world: World) -> None:
    """Named with its cause."""
    world.name(far={"url": "http://127.0.0.1:9/mcp"})
    (problem,) = (await world.load()).problems

    assert problem.code == "mcp_failed"
    assert "could not be started" in problem.message


async def test_a_session_the_server_forgot_is_begun_anew(world: World) -> None:
    """The server was restarted; what was not done is asked again, once."""
    forgotten: list[str] = []

    def answer(method: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        if method != "POST":
            return 405, {}, b""
        if json.loads(body)["method"] == "tools/call" and forgotten == ["now"]:
            forgotten.append("told")
            return 404, {}, b""
        return usual(body) or rpc({"content": [{"type": "text", "text": "hi"}]}, body)

    async with answering(answer) as url:
        world.name(far={"url": url})
        await world.load()
        forgotten.append("now")

        assert text(await world.use("mcp__far__echo")) == "hi"
        assert forgotten == ["now", "told"]
        await world.servers.close()


async def test_an_answer_over_the_limit_is_not_read_to_its_end(world: World) -> None:
    """Neither as one body nor as a stream of events."""

    def answer(method: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        if method != "POST":
            return 405, {}, b""
        return usual(body) or rpc({"content": [{"type": "text", "text": "z" * (17 << 20)}]}, body)

    async with answering(answer) as url:
        world.name(far={"url": url})
        result = await world.use("mcp__far__echo")

        assert "larger than 16,777,216 bytes" in result.error
        await world.servers.close()


async def test_a_server_that_went_away_fails_its_calls_and_keeps_its_tools(world: World) -> None:
    """They are offered as they were approved, and work again when it is back."""
    async with http_server() as url:
        world.name(far={"url": url})
        assert text(await world.use("mcp__far__add", a=1, b=1)) == "2"
    loaded = await world.load()
    result = await world.call(loaded, "mcp__far__add", a=1, b=1)

    assert not result.ok
    assert "far" in result.error
    assert "mcp__far__add" in {tool.definition.name for tool in (await world.load()).tools}
    await world.servers.close()


@pytest.mark.parametrize("location", ["http://127.0.0.1:1/elsewhere", "https://example.invalid/"])
async def test_a_redirect_to_another_origin_is_not_followed(world: World, location: str) -> None:
    """The credential was meant for the address that was named."""
    async with answering(lambda method, headers, body: (307, {"location": location}, b"")) as url:
        world.name(far={"url": url, "headers": {"Authorization": "Bearer mine-alone-please"}})
        (problem,) = (await world.load()).problems

        assert "not followed" in problem.message
        await world.servers.close()
