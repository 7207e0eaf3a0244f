"""The weights by HTTP: resumed where they broke off, over a few redirects, never from https to http.

What arrives is only bytes; whether they are the right ones is told by their digest, elsewhere. May import: errors, net,
models.weights_part.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing

from agi.errors import Unavailable
from agi.models.weights_part import Part
from agi.net.http import HttpClient, NetError, Response, Timeouts
from agi.net.url import split_url

MOST_REDIRECTS = 5
MOST_FAILURES = 4
"""Times in a row that a connection may break without bringing anything."""
TIMEOUTS = Timeouts(connect=10.0, first_byte=30.0, idle=60.0)
_MOVED = frozenset((301, 302, 303, 307, 308))

Heard = Callable[[int], None]


async def download(client: HttpClient, url: str, part: Part, heard: Heard, *, timeouts: Timeouts = TIMEOUTS) -> None:
    """Fetch what is missing of the part; returns when it is whole. Raises Unavailable, NetError or Invalid."""
    failures = 0
    while part.size < part.pin.size:
        before = part.size
        try:
            await _once(client, url, part, heard, timeouts)
        except NetError:
            failures = failures + 1 if part.size <= before else 0
            if failures >= MOST_FAILURES or before == 0 == part.size:
                raise


async def _once(client: HttpClient, url: str, part: Part, heard: Heard, timeouts: Timeouts) -> None:
    async with await _ask(client, url, part.size, timeouts) as response:
        at = _starts_at(response, part)
        with part.growing(at) as file:
            async with aclosing(response.chunks()) as chunks:
                async for chunk in chunks:
                    at += len(chunk)
                    if at > part.pin.size:
                        raise _refused("it sends more than the file has")
                    file.write(chunk)
                    heard(at)
    if at < part.pin.size:
        raise _refused("it ended before the file did")


async def _ask(client: HttpClient, url: str, at: int, timeouts: Timeouts) -> Response:
    headers = {"range": f"bytes={at}-"} if at else {}
    for _ in range(MOST_REDIRECTS + 1):
        response = await client.request("GET", url, headers=headers, timeouts=timeouts)
        if response.status not in _MOVED:
            return response
        await response.close()
        url = _next(url, response.headers.get("location", ""))
    raise _refused("it leads from one place to another without end")


def _next(url: str, location: str) -> str:
    """Where a redirect leads: a whole URL or a path, and never from a protected place to an open one."""
    here = split_url(url)
    if location.startswith("/") and not location.startswith("//"):
        return f"{here.scheme}://{here.authority}{location}"
    if here.scheme == "https" and not location.lower().startswith("https://"):
        raise _refused("it leads to a place that is not protected")
    if not location.lower().startswith(("http://", "https://")):
        raise _refused("it leads nowhere")
    return location


def _starts_at(response: Response, part: Part) -> int:
    """The byte the body begins with; refuses what is not this file by its size."""
    size, at = part.pin.size, part.size
    length = response.headers.get("content-length", "")
    if response.status == 206 and response.headers.get("content-range", "") == f"bytes {at}-{size - 1}/{size}":
        return at
    if response.status == 200:
        if length.isdigit() and int(length) != size:
            raise _refused(f"its file has {length} bytes instead of {size}")
        return 0
    if response.status in (206, 416):
        raise _refused("its file has another size")
    raise _refused(f"it answered {response.status}")


def _refused(why: str) -> Unavailable:
    return Unavailable(f"{why}.", code="source_refused")
