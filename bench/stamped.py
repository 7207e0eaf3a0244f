"""A provider whose words are the time at which they were sent, so that whoever hears them knows how old they are.

Run as `python -m bench.stamped WORDS PAUSE [WORDS OF A PARAGRAPH]`; prints its URL. Speaks just enough of the
Chat Completions format.
"""

from __future__ import annotations

import asyncio
import sys
import time

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
_CHUNK = 'data: {"id":"c","model":"script","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}\n\n'


async def answer(
    words: int, pause: float, block: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Send one answer; the first word waits a moment, so that every follower is there."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line), 0)
    await reader.readexactly(length)
    writer.write(_HEAD)
    due = time.monotonic() + 0.5
    for number in range(1, words + 1):
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        due += pause
        end = "\\n\\n" if block and number % block == 0 else " "
        writer.write((_CHUNK % (f'{{"content":"{time.monotonic_ns()}{end}"}}', "null")).encode())
    writer.write((_CHUNK % ("{}", '"stop"') + "data: [DONE]\n\n").encode())
    await writer.drain()
    writer.close()


async def main(words: int, pause: float, block: int) -> None:
    """Serve until killed."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answer(words, pause, block, reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]), int((sys.argv[3:] or ["0"])[0])))
