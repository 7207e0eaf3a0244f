"""Compressed bodies are opened as they arrive, a bounded piece at a time.

We ask for plain bodies; this is for servers that compress all the same. May import: errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agi.net.errors import NetError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PIECE = 256 * 1024
_GZIP_OR_ZLIB = 47


class Decoder:
    """Opens a gzip or deflate body; `encoding` is the response's `content-encoding`."""

    def __init__(self, encoding: str, where: str) -> None:
        if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
            raise _bad(where, "uses a content-encoding that was not asked for")
        import zlib  # late: hardly any response needs it

        self._where = where
        self._failure = zlib.error
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """The plain bytes of what arrived, in pieces small enough to hold; raises `NetError`."""
        while data:
            try:
                piece = self._inflate.decompress(data, MAX_PIECE)
            except self._failure:
                raise _bad(self._where, "is not compressed as it says") from None
            if self._inflate.unused_data:
                raise _bad(self._where, "goes on after its compressed end")
            if piece:
                yield piece
            data = self._inflate.unconsumed_tail

    def finish(self) -> None:
        """Say that the body ended; raises `NetError` where the compressed data did not."""
        if not self._inflate.eof:
            raise _bad(self._where, "ends inside its compressed data")


def _bad(where: str, what: str) -> NetError:
    return NetError(
        f"The body from {where} {what}.", code="bad_response", hint="Look at what stands before the server."
    )
