"""The page's files: there for everybody, small, known by content, and no way from a request to the disk."""

from __future__ import annotations

import asyncio
import gzip
import urllib.request
from pathlib import Path

import pytest

from agi.server.page import files
from agi.testing.box import Daemon, daemon_in_a_box


async def test_the_page_is_there_without_a_credential(tmp_path: Path) -> None:
    """It tells nothing by itself, under a policy that lets nothing foreign in."""
    async with daemon_in_a_box(tmp_path, auth="token") as daemon:
        daemon._headers = {}
        reply = await daemon.get("/")

    assert reply.status == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in reply.headers["content-security-policy"]


async def test_a_file_that_the_browser_has_is_not_sent_again(daemon: Daemon) -> None:
    """The next visit costs a question."""
    first = await daemon.get("/web/js/main.js")
    again = await daemon.get("/web/js/main.js", {"if-none-match": first.headers["etag"]})

    assert (first.status, again.status, again.body) == (200, 304, b"")


async def test_files_are_sent_compressed_to_who_can_read_that(daemon: Daemon) -> None:
    """The same content either way."""
    ask = urllib.request.Request(f"{daemon.url}/web/css/tokens.css", headers={"accept-encoding": "gzip"})
    packed = await asyncio.to_thread(lambda: urllib.request.urlopen(ask).read())
    plain = await daemon.get("/web/css/tokens.css")

    assert gzip.decompress(packed) == plain.body


@pytest.mark.parametrize(
    "path", ["/web/../guard.py", "/web/%2e%2e/server/page.py", "/web/js", "/web/", "/web//etc/passwd"]
)
async def test_nothing_else_can_be_asked_for(daemon: Daemon, path: str) -> None:
    """A name is an entry of the table, or nothing."""
    assert (await daemon.get(path)).status == 404


async def test_the_page_takes_nothing(daemon: Daemon) -> None:
    """It is read, and nothing else."""
    assert (await daemon.post("/", {})).status == 405


def test_the_whole_page_is_under_a_hundred_kilobytes() -> None:
    """All of it, as it is sent."""
    assert sum(len(file.packed) for file in files().values()) < 100_000


def test_no_file_has_inline_script_or_style() -> None:
    """The policy would refuse it; here it is not even tried."""
    html = files()["index.html"].plain
    assert b"<style" not in html
    assert b"style=" not in html
    assert b" on" not in html.replace(b" only", b"")
    for name, file in files().items():
        if name.endswith(".js"):
            assert b"innerHTML" not in file.plain or name == "js/dom.js", name
            assert b"eval(" not in file.plain, name
