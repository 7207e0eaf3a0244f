"""Pictures: decoded within bounds, turned upright, made as small as asked, written anew without anything else in them.

What comes out holds pixels only: no place, no camera, no comment. The same bytes and limits give the same bytes. To be
run in a thread; Pillow is imported when the first picture comes. May import: errors, its siblings.
"""

from __future__ import annotations

import io
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct

from agi.errors import Invalid
from agi.media.headers import Picture, picture

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 64_000_000
"""A larger picture is not decoded: it would take hundreds of megabytes, which may be all it was made for."""
LONGEST_SIDE = 65_535
_PNG_WORTH = 1_500_000
"""Bytes up to which a drawing or screenshot is sent without loss."""
_QUALITIES = (90, 80, 65)
_SHRINK = 0.7
_ORIENTATION = 0x0112
_one_at_a_time = Lock()
"""Decoding takes memory; several at once take several times as much."""


class Bounds(Struct, frozen=True):
    """How large a picture may be when it is sent."""

    side: int
    """Pixels of the longer side."""
    size: int
    """Bytes."""


class Encoded(Struct, frozen=True):
    """A picture as it is sent."""

    data: bytes
    mime: str


def check_picture(data: bytes) -> None:
    """Decode a picture and throw it away; raises Invalid if it cannot be, or is too large to be tried."""
    with _one_at_a_time:
        _decoded(data, LONGEST_SIDE).close()


def encode_picture(data: bytes, bounds: Bounds) -> Encoded:
    """Write a picture anew, within bounds: without loss where that is small, else as JPEG. Raises Invalid."""
    with _one_at_a_time:
        image = _upright(_decoded(data, bounds.side))
        image.thumbnail((bounds.side, bounds.side))
        found = picture(data)
        if found is not None and found.name != "JPEG":
            written = _written(image, "PNG", optimize=False)
            if len(written) <= min(_PNG_WORTH, bounds.size):
                return Encoded(written, "image/png")
        return _as_jpeg(image, bounds.size)


def _decoded(data: bytes, side: int) -> Image:
    """The pixels of the first frame; its size is known before anything is decoded."""
    found = _bounded(data)
    import warnings

    from PIL import Image as pillow

    if found.name == "WEBP":
        from PIL import WebPImagePlugin  # noqa: F401 - else all decoders there are would be loaded to find it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd but readable is read
            image = pillow.open(io.BytesIO(data), formats=(found.name,))
            if image.width * image.height > MOST_PIXELS:
                raise _too_large(image.width, image.height)
            image.draft(None, (side, side))  # a JPEG is decoded no larger than needed
            image.load()
    except Invalid:
        raise
    except Exception as error:  # a decoder meets whatever bytes somebody sent: it may stumble over them in any way
        said = f"The picture cannot be decoded ({type(error).__name__}): it is damaged, or only begins like one."
        raise Invalid(said, code="image_damaged", hint="Open it in a viewer and save it anew.") from error
    return image


def _bounded(data: bytes) -> Picture:
    """What kind of picture it is; raises Invalid for none, and for one too large to be decoded."""
    found = picture(data)
    if found is None:
        said = "This is no picture that can be shown."
        raise Invalid(said, code="image_unsupported", hint="PNG, JPEG, GIF, WebP and BMP are taken; convert it to one.")
    if found.width * found.height > MOST_PIXELS:
        raise _too_large(found.width, found.height)
    return found


def _too_large(width: int, height: int) -> Invalid:
    said = f"The picture has {width:,} × {height:,} pixels; at most {MOST_PIXELS // 1_000_000} million are taken."
    return Invalid(said, code="image_too_large", hint="Scale it down first.")


def _upright(image: Image) -> Image:
    """Turned as its camera says, with plain pixels: gray, color, or color and transparency."""
    from PIL import ImageOps

    try:
        turned = ImageOps.exif_transpose(image) if image.getexif().get(_ORIENTATION, 1) != 1 else image
    except Exception:  # what the camera wrote is as hostile as the rest, and the picture is good without it
        turned = image
    if turned.mode in ("L", "RGB", "RGBA"):
        return turned
    if turned.mode.startswith(("I", "F")):
        return turned.convert("F").point(lambda level: level * (1 / 256) + 0).convert("L")
    has_alpha = "A" in turned.mode or "transparency" in turned.info
    return turned.convert("RGBA" if has_alpha else "L" if turned.mode == "1" else "RGB")


def _as_jpeg(image: Image, size: int) -> Encoded:
    """As well as fits: with less quality, then smaller."""
    flat = _on_white(image)
    while True:
        for quality in _QUALITIES:
            written = _written(flat, "JPEG", quality=quality)
            if len(written) <= size:
                return Encoded(written, "image/jpeg")
        if max(flat.size) <= 16:
            raise Invalid("The picture does not fit, however small it is made.", code="image_too_large")
        flat.thumbnail((max(1, int(flat.width * _SHRINK)), max(1, int(flat.height * _SHRINK))))


def _on_white(image: Image) -> Image:
    if image.mode != "RGBA":
        return image
    from PIL import Image as pillow

    ground = pillow.new("RGBA", image.size, "white")
    return pillow.alpha_composite(ground, image).convert("RGB")


def _written(image: Image, form: str, **how: object) -> bytes:
    """The pixels alone: what the file said besides is not handed on."""
    from PIL import Image as pillow

    bare = pillow.frombytes(image.mode, image.size, image.tobytes())
    stream = io.BytesIO()
    bare.save(stream, form, **how)
    return stream.getvalue()
