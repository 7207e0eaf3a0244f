"""Compressed bodies."""

from __future__ import annotations

import gzip
import zlib

import pytest

from agi.net.encoding import MAX_PIECE, Decoder
from agi.net.errors import NetError


def opened(encoding: str, body: bytes, size: int = 65536) -> bytes:
    decoder = Decoder(encoding, "a.example:80")
    plain = [piece for at in range(0, len(body), size) for piece in decoder.pieces(body[at : at + size])]
    decoder.finish()
    return b"".join(plain)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", gzip.compress(b"hello " * 100, mtime=0)), ("Deflate", zlib.compress(b"hello " * 100))],
)
@pytest.mark.parametrize("size", [1, 10, 1000])
def test_a_compressed_body_is_opened_as_it_arrives(encoding: str, body: bytes, size: int) -> None:
    """Byte by byte or at once, the result is the same."""
    assert opened(encoding, body, size) == b"hello " * 100


def test_a_small_body_that_grows_huge_comes_in_bounded_pieces() -> None:
    """Whoever reads decides when it is too much."""
    packed = gzip.compress(b"\0" * (16 * 1024 * 1024))
    sizes = [len(piece) for piece in Decoder("gzip", "a.example:80").pieces(packed)]
    assert max(sizes) <= MAX_PIECE
    assert sum(sizes) == 16 * 1024 * 1024


@pytest.mark.parametrize("body", [b"plain", gzip.compress(b"x", mtime=0)[:-5], gzip.compress(b"x", mtime=0) + b"more"])
def test_a_body_that_is_not_what_it_says_is_an_error(body: bytes) -> None:
    """Damaged and cut-off bodies never pass for whole ones."""
    with pytest.raises(NetError) as caught:
        opened("gzip", body)
    assert caught.value.code == "bad_response"


def test_an_encoding_nobody_asked_for_is_an_error() -> None:
    """It is refused rather than handed on unread."""
    with pytest.raises(NetError, match="content-encoding"):
        Decoder("br", "a.example:80")
