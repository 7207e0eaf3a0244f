"""The scripted provider as the peers meet it: any tool's name, and a note of when requests came and replies left.

Run as `python -m bench.peers.playing SCRIPT`, SCRIPT being JSON: `{"steps", "chunks", "tool", "arguments"}`; prints its
URL. `%d` in an argument is the number of the step. A request that brings no tools is a side question (a title, say) and
gets one line of text. `GET …/bench/times` gives the notes as JSON and forgets them.
"""

from __future__ import annotations

import asyncio
import sys
import time
from itertools import pairwise

import msgspec

from agi.testing.asked import Asked
from agi.testing.provider import ProviderServer
from agi.testing.replies import Reply, calls, says
from agi.testing.scripts import Script


class Noted(msgspec.Struct):
    """One request of the loop: when it had come, when the last byte of its answer had gone, how long it was."""

    came: float
    went: float
    size: int


class Play(msgspec.Struct, frozen=True):
    """What is played."""

    steps: int = 0
    chunks: int = 1
    tool: str = "shell"
    arguments: dict[str, object] = {}

    def script(self) -> Script:
        """So many calls after the user's message, then text."""
        asked_for = [calls((self.tool, _filled(self.arguments, n), f"call_loop_{n}")) for n in range(self.steps)]
        ending = says(" ".join(f"word{n}" for n in range(self.chunks)), chunks=self.chunks)
        aside = says("A title")

        def decide(asked: Asked) -> Reply:
            if not is_main(asked):
                return aside
            done = asked.question.results
            return asked_for[done] if done < self.steps else ending

        return decide


def is_main(asked: Asked) -> bool:
    """Whether tools are offered: what has none is no part of the loop."""
    return bool(asked.json.get("tools"))


def _filled(arguments: dict[str, object], step: int) -> dict[str, object]:
    return {
        key: value.replace("%d", str(step)) if isinstance(value, str) else value for key, value in arguments.items()
    }


def gaps_ms(times: list[Noted]) -> list[float]:
    """From the last byte of an answer to the next request: a step of the harness, its tool included."""
    return [(later.came - earlier.went) * 1000 for earlier, later in pairwise(times)]


class Player(ProviderServer):
    """A provider that takes the time."""

    def __init__(self, play: Play) -> None:
        super().__init__(play.script(), record=False, models=("script",))
        self.times: list[Noted] = []

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        came = time.perf_counter()
        if asked.method == "GET" and asked.path.endswith("/bench/times"):
            self._tell(writer)
            return True
        goes_on = await super()._answer(asked, reader, writer)
        if asked.method == "POST" and is_main(asked):
            self.times.append(Noted(came, time.perf_counter(), len(asked.body)))
        return goes_on

    def _tell(self, writer: asyncio.StreamWriter) -> None:
        body = msgspec.json.encode(self.times)
        self.times = []
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body
        )


async def main(play: Play) -> None:
    """Serve until killed."""
    async with Player(play) as server:
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(msgspec.json.decode(sys.argv[1], type=Play)))
