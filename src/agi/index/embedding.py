"""A second look at the best files by meaning: vectors from a model server on this machine. Off unless one is given.

A server that is slow, gone or answers nonsense changes nothing: the order stays as it was. Texts of the workspace are
sent to loopback only. May import: errors, net.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from agi.errors import AgiError, Invalid

WEIGHT = 0.3
"""What the nearness of meaning counts beside the score, both in shares of the best."""
PATIENCE_S = 5.0
LONGEST_TEXT = 2_000
"""Characters of a passage that are sent."""
_REMEMBERED = 5_000
_LARGEST_ANSWER = 64 << 20
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


class Embedder(Protocol):
    """Whoever turns texts into vectors of one length; may raise any `AgiError`."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text, in their order."""
        ...


class _Vector(Struct):
    embedding: list[float]
    index: int = 0


class _Answer(Struct):
    data: list[_Vector]


class LocalEmbedder:
    """Asks `/v1/embeddings` of a server on this machine (Ollama, llama.cpp and others), and remembers its answers."""

    def __init__(self, base_url: str, model: str) -> None:
        from agi.net.url import split_url  # late: most sessions never ask

        if split_url(base_url).host not in _LOOPBACK:
            hint = "Name a server on this machine, such as http://127.0.0.1:11434; texts do not leave it."
            raise Invalid(f"{base_url!r} is not on this machine.", hint=hint, code="not_loopback")
        self._url = base_url.rstrip("/").removesuffix("/v1") + "/v1/embeddings"
        self._model = model
        self._known: OrderedDict[str, tuple[float, ...]] = OrderedDict()

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Vectors of the texts; only those not seen lately are asked for."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            found = dict(zip(new, await self._ask(new), strict=True))
            known = {text: self._known[text] for text in texts if text in self._known}
            self._known.update(found)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            return [found[text] if text in found else known[text] for text in texts]
        return [self._known[text] for text in texts]

    async def _ask(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        from agi.net.http import HttpClient, Timeouts

        body = msgspec.json.encode({"model": self._model, "input": list(texts)})
        timeouts = Timeouts(PATIENCE_S, PATIENCE_S, PATIENCE_S)
        async with HttpClient(timeouts=timeouts) as client:  # no proxies: it stays here
            headers = {"content-type": "application/json"}
            async with await client.request("POST", self._url, headers=headers, body=body) as answer:
                data = await answer.read(_LARGEST_ANSWER)
        if answer.status != 200:
            raise Invalid(f"The embedding server answered {answer.status}.", hint="Does it know the model?")
        return _vectors(data, len(texts))


def _vectors(data: bytes, count: int) -> list[tuple[float, ...]]:
    try:
        found = sorted(msgspec.json.decode(data, type=_Answer).data, key=lambda one: one.index)
    except msgspec.MsgspecError as error:
        raise Invalid("The embedding server's answer cannot be read.", hint="Is it an embedding model?") from error
    if [one.index for one in found] != list(range(count)) or len({len(one.embedding) for one in found}) != 1:
        raise Invalid("The embedding server's answer does not fit the question.", hint="Is it an embedding model?")
    return [tuple(one.embedding) for one in found]


async def nearness(embedder: Embedder, question: str, passages: Mapping[str, str]) -> dict[str, float]:
    """How near in meaning each passage is, from 0 to 1 among them; nothing where that cannot be told in time."""
    names = [name for name, text in passages.items() if text.strip()]
    texts = [question[:LONGEST_TEXT], *(passages[name][:LONGEST_TEXT] for name in names)]
    try:
        async with asyncio.timeout(PATIENCE_S):
            asked, *others = await embedder.embed(texts)
    except (AgiError, OSError, TimeoutError, ValueError):
        return {}
    likenesses = [_cosine(asked, other) for other in others]
    least, most = min(likenesses, default=0.0), max(likenesses, default=0.0)
    if not most > least:  # also where there is a value that is no number
        return {}
    return {name: (value - least) / (most - least) for name, value in zip(names, likenesses, strict=True)}


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    size = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / size if size else 0.0
