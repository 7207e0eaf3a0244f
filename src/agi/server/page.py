"""The web page's files, as they lie in `web/`: read once, compressed once, known by their content.

They are the same for everybody and tell nothing; what the page shows it asks for like any other client. There is no
path from a request to the disk: a request names an entry of the table, or nothing. May import: server.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from pathlib import Path

from msgspec import Struct

from agi.server.asgi import Receive, Scope, Send
from agi.server.errors import no_such_path, wrong_method
from agi.server.request import header_values

FOLDER = Path(__file__).parent.parent / "web"
TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
START = "index.html"


class PageFile(Struct, frozen=True):
    """One file, ready to be sent."""

    kind: bytes
    plain: bytes
    packed: bytes
    etag: bytes


@cache
def files() -> dict[str, PageFile]:
    """Every file of the page by its name below `web/`."""
    found = sorted(path for path in FOLDER.rglob("*") if path.suffix in TYPES)
    return {path.relative_to(FOLDER).as_posix(): _file(path) for path in found}


def _file(path: Path) -> PageFile:
    plain = path.read_bytes()
    etag = f'"{hashlib.sha256(plain).hexdigest()[:20]}"'.encode()
    return PageFile(TYPES[path.suffix], plain, gzip.compress(plain, 9, mtime=0), etag)


class Page:
    """Answers with a file of the page; one that the browser has already is not sent again."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, or say that there is none."""
        if scope["method"] not in ("GET", "HEAD"):
            await wrong_method(scope["method"], "GET, HEAD")(scope, receive, send)
            return
        file = files().get(scope["path_params"].get("name", START))
        if file is None:
            await no_such_path(scope["path"])(scope, receive, send)
            return
        said = header_values(scope)
        headers = [(b"etag", file.etag), (b"cache-control", b"no-cache"), (b"vary", b"accept-encoding")]
        if file.etag.decode() in said.get("if-none-match", ""):
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        is_packed = "gzip" in said.get("accept-encoding", "")
        body = file.packed if is_packed else file.plain
        headers += [(b"content-type", file.kind), (b"content-length", str(len(body)).encode())]
        headers += [(b"content-encoding", b"gzip")] if is_packed else []
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send(
            {"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body, "more_body": False}
        )
