"""Nearness of meaning, from a scripted server on loopback."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from agi.errors import Invalid
from agi.index import embedding
from agi.index.embedding import LocalEmbedder, nearness

PASSAGES = {"near": "cat", "far": "bond", "empty": " "}


@asynccontextmanager
async def server(answer):
    """A server that answers each request with what `answer` makes of its JSON: a status and a body."""
    heard = []

    async def talk(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(
            next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")).split(b":")[1]
        )
        asked = json.loads(await reader.readexactly(size))
        heard.append((head.split(b" ")[1].decode(), asked))
        status, body = answer(asked)
        writer.write(b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n" % (status, len(body)) + body)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", heard


def vectors(rule):
    def answer(asked):
        data = [{"index": n, "embedding": rule(text)} for n, text in enumerate(asked["input"])]
        return 200, json.dumps({"object": "list", "data": data[::-1]}).encode()

    return answer


def by_cat(text):
    return [1.0, 0.0] if "cat" in text else [0.2, 1.0]


async def test_passages_are_told_apart_by_meaning():
    """The nearest has 1, the farthest 0; an empty one none."""
    async with server(vectors(by_cat)) as (url, heard):
        near = await nearness(LocalEmbedder(url, "small"), "a cat", PASSAGES)
    assert near == {"near": 1.0, "far": 0.0}
    assert heard[0] == ("/v1/embeddings", {"model": "small", "input": ["a cat", "cat", "bond"]})


async def test_a_text_that_was_embedded_is_not_sent_again():
    """The same passages come up question after question."""
    async with server(vectors(by_cat)) as (url, heard):
        embedder = LocalEmbedder(f"{url}/v1/", "small")
        await nearness(embedder, "a cat", PASSAGES)
        await nearness(embedder, "a dog", PASSAGES)
        await nearness(embedder, "a dog", PASSAGES)
    assert [asked["input"] for _, asked in heard] == [["a cat", "cat", "bond"], ["a dog"]]


@pytest.mark.parametrize(
    "answer",
    [
        lambda asked: (500, b"no"),
        lambda asked: (200, b"<html>"),
        lambda asked: (200, b'{"data": []}'),
        lambda asked: (200, json.dumps({"data": [{"index": 0, "embedding": [1]}] * 3}).encode()),
        lambda asked: (200, json.dumps({"data": [{"index": n, "embedding": [1] * n} for n in range(3)]}).encode()),
        vectors(lambda text: [0.0, 0.0]),
        vectors(lambda text: []),
    ],
    ids=["error", "no json", "too few", "same number", "different lengths", "nought", "empty"],
)
async def test_an_answer_that_makes_no_sense_is_no_answer(answer):
    """The order stays as it was."""
    async with server(answer) as (url, _):
        assert await nearness(LocalEmbedder(url, "small"), "a cat", PASSAGES) == {}


async def test_a_server_that_is_gone_or_silent_is_not_waited_for(monkeypatch):
    """Ranking is quick with or without it."""
    assert await nearness(LocalEmbedder("http://127.0.0.1:1", "small"), "a cat", PASSAGES) == {}
    monkeypatch.setattr(embedding, "PATIENCE_S", 0.05)

    left = asyncio.Event()

    async def silent(reader, writer):
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.set()

    listening = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        assert await nearness(LocalEmbedder(url, "small"), "a cat", PASSAGES) == {}
        await left.wait()


@pytest.mark.parametrize("url", ["http://example.org", "http://10.0.0.1:11434", "http://127.0.0.1.example.org"])
def test_texts_do_not_leave_the_machine(url):
    """A server elsewhere is refused, whatever its name looks like."""
    with pytest.raises(Invalid) as caught:
        LocalEmbedder(url, "small")
    assert caught.value.code == "not_loopback"
