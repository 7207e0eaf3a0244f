"""Pictures are decoded within bounds and written anew with nothing but their pixels."""

from __future__ import annotations

import io
import random
import tracemalloc

import pytest
from PIL import Image

from agi.errors import Invalid
from agi.media.pictures import Bounds, check_picture, encode_picture
from agi.testing.files import animation, bomb, broken_png, noise, picture

ROOMY = Bounds(2_000, 5_000_000)


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "CMYK", "I;16"])
def test_every_kind_and_mode_comes_out_as_png_or_jpeg(form, mode):
    """Whatever went in, every provider can read what comes out."""
    try:
        data = picture(form, (20, 10), mode=mode, seed=200)
    except (OSError, ValueError):
        pytest.skip(f"there is no {form} of mode {mode}")

    encoded = encode_picture(data, ROOMY)

    made = opened(encoded.data)
    assert encoded.mime == f"image/{str(made.format).lower()}"
    assert encoded.mime in ("image/png", "image/jpeg")
    assert made.size == (20, 10)


def test_the_same_bytes_come_out_every_time():
    """A provider's cache holds only for the same bytes."""
    data = noise("PNG", (300, 200))
    assert encode_picture(data, ROOMY) == encode_picture(data, ROOMY)


def test_a_picture_is_made_as_small_as_asked_and_keeps_its_shape():
    """The longer side counts; a small one is not blown up."""
    assert opened(encode_picture(picture(size=(20_000, 50)), ROOMY).data).size == (2_000, 5)
    assert opened(encode_picture(picture(size=(10, 4)), ROOMY).data).size == (10, 4)


@pytest.mark.parametrize("size", [400_000, 30_000, 2_000])
def test_bytes_are_bounded_by_less_quality_and_then_by_fewer_pixels(size):
    """Noise compresses badly, and still fits."""
    encoded = encode_picture(noise("PNG", (800, 600)), Bounds(2_000, size))
    assert len(encoded.data) <= size
    check_picture(encoded.data)


def test_transparency_becomes_white_where_jpeg_has_none():
    """Black letters on nothing stay readable."""
    clear = Image.new("RGBA", (300, 300), (0, 0, 0, 0))
    faint = bytes(byte // 8 for byte in random.Random(1).randbytes(90_000))
    clear.putalpha(Image.frombytes("L", (300, 300), faint))
    stream = io.BytesIO()
    clear.save(stream, "PNG")

    encoded = encode_picture(stream.getvalue(), Bounds(600, 30_000))

    assert encoded.mime == "image/jpeg"
    assert opened(encoded.data).convert("L").resize((1, 1)).getpixel((0, 0)) > 200


def test_it_is_turned_upright_and_says_nothing_of_where_it_was_taken():
    """The camera's orientation is applied; place, maker and comments are gone."""
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "SECRETCAM"
    exif.get_ifd(0x8825)[1] = "N"
    data = picture("JPEG", (30, 10), exif=exif.tobytes(), comment=b"SECRETWORD")
    assert b"SECRETCAM" in data

    encoded = encode_picture(data, ROOMY)

    made = opened(encoded.data)
    assert made.size == (10, 30)
    assert not made.getexif()
    assert b"SECRET" not in encoded.data


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_is_shown(form):
    """One picture, the first."""
    made = opened(encode_picture(animation(form), ROOMY).data)
    red, green, _ = made.convert("RGB").getpixel((4, 4))
    assert getattr(made, "n_frames", 1) == 1
    assert red > 200
    assert green < 60


BAD = {
    "a header and noise": (broken_png(), "image_damaged"),
    "cut off": (noise("PNG")[:-200], "image_damaged"),
    "cut off jpeg": (noise("JPEG", (300, 300))[:5_000], "image_damaged"),
    "only a header": (b"\x89PNG\r\n\x1a\n", "image_damaged"),
    "an endless animation": (b"GIF89a" + b"\xff" * 500, "image_too_large"),
    "a bomb": (bomb(), "image_too_large"),
    "text": (b"no picture", "image_unsupported"),
    "nothing": (b"", "image_unsupported"),
    "a tiff": (picture("TIFF"), "image_unsupported"),
}


@pytest.mark.parametrize(("data", "code"), BAD.values(), ids=BAD)
def test_what_is_no_whole_picture_is_refused_with_what_to_do(data, code):
    """A decoder's stumbling is our clear word."""
    for work in (check_picture, lambda data: encode_picture(data, ROOMY)):
        with pytest.raises(Invalid) as refusal:
            work(data)
        assert refusal.value.code == code
        assert refusal.value.hint


@pytest.mark.threat("T42")
def test_a_bomb_is_refused_before_it_takes_memory():
    """Its header is enough."""
    tracemalloc.start()
    with pytest.raises(Invalid):
        check_picture(bomb(60_000, 60_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
