"""Small files for tests: real pictures, sounds and documents, made on the spot; and some that are none.

The same arguments give the same bytes. May import: nothing of ours.
"""

from __future__ import annotations

import io
import random
import struct
import wave
from typing import Any

Size = tuple[int, int]


def picture(form: str = "PNG", size: Size = (8, 8), *, seed: int = 0, mode: str = "RGB", **how: Any) -> bytes:
    """A picture of one color, which `seed` chooses; `how` is for the encoder."""
    from PIL import Image

    stream = io.BytesIO()
    color = (seed % 256, seed // 256 % 256, 90)
    Image.new("RGB", size, color).convert(mode).save(stream, form, **how)
    return stream.getvalue()


def noise(form: str = "PNG", size: Size = (64, 64), *, seed: int = 0) -> bytes:
    """A picture that no encoder makes small."""
    from PIL import Image

    stream = io.BytesIO()
    pixels = random.Random(seed).randbytes(size[0] * size[1] * 3)  # noqa: S311 - the same every time
    Image.frombytes("RGB", size, pixels).save(stream, form)
    return stream.getvalue()


def animation(form: str = "GIF", frames: int = 3) -> bytes:
    """Red, then other colors."""
    from PIL import Image

    first, *rest = (Image.new("RGB", (8, 8), (255 if not at else 0, at * 60, 0)) for at in range(frames))
    stream = io.BytesIO()
    first.save(stream, form, save_all=True, append_images=rest)
    return stream.getvalue()


def broken_png() -> bytes:
    """The beginning of a PNG, and noise."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 8, 8, 8, 2, 0, 0, 0) + bytes(range(256))


def bomb(width: int = 20_000, height: int = 20_000) -> bytes:
    """A PNG that says it is very large, and is only a few bytes."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 2, 0, 0, 0) + b"\0\0\0\0"


def sound(seconds: float = 0.05) -> bytes:
    """Silence, as WAVE."""
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(b"\0\0" * int(8_000 * seconds))
    return stream.getvalue()


def pdf(*, locked: bool = False) -> bytes:
    """A PDF of one empty page; `locked` says in it that it is encrypted."""
    lock = b" /Encrypt 4 0 R" if locked else b""
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 72 72] >>",
    )
    body = b"".join(b"%d 0 obj\n%b\nendobj\n" % (number, one) for number, one in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer\n<< /Root 1 0 R /Size 4%b >>\n%%%%EOF\n" % lock
