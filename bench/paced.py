"""A provider that sends an answer the way a model writes it: one chunk, then a pause, then the next.

Run as `python -m bench.paced CHUNKS`; prints its URL.
"""

from __future__ import annotations

import asyncio
import sys

from msgspec.structs import replace

from agi.testing.provider import ProviderServer
from agi.testing.replies import says

_PAUSE = 0.001  # long enough for every reader to be done with a chunk and asleep before the next one comes


async def main(chunks: int) -> None:
    """Serve until killed."""
    text = " ".join(f"word{number}" for number in range(chunks))
    reply = replace(says(text, chunks=chunks), pause=_PAUSE)
    async with ProviderServer(lambda _asked: reply, record=False) as server:
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
