"""What a provider takes besides text: kinds, sizes and counts, by its wire format. Known numbers stay in one table.

A kind that a model is known not to take is told as a note; where nothing is known it is sent, and what is refused then
is left out from there on (`poison`). May import: media and its siblings in models.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from agi.config.values import Api
from agi.media.pictures import Bounds

_MB = 1_000_000
_WAV_MP3 = ("audio/wav", "audio/mpeg")
_OFFICE = (
    "application/rtf",
    "application/msword",
    "application/vnd.ms-",
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.",
)


class MediaLimits(Struct, frozen=True, kw_only=True):
    """What one request may hold. Sizes are in bytes before base64, which makes four of three."""

    picture: Bounds | None = None
    """None: no pictures."""
    audio: tuple[str, ...] = ()
    """The types of sound."""
    video: bool = False
    pdf: bool = False
    documents: tuple[str, ...] = ()
    """How the types of other documents begin."""
    total: int = 0
    """Bytes of all media in one request."""
    count: int = 0
    """How many media one request may hold."""
    inside_results: bool = True
    """Whether a tool's result may hold them; if not, they follow it."""


NOTHING = MediaLimits()
"""Text only."""

# https://platform.claude.com/docs/en/build-with-claude/vision: 5 MB a picture in base64, 8,000 pixels a side, but 2,000
# where a request has more than 20 pictures, 100 pictures, 32 MB in all. Always the smaller side: so a picture is the
# same bytes before and after the twenty-first one, and what the provider has cached stays good.
_MESSAGES = MediaLimits(picture=Bounds(2_000, 3_750_000), pdf=True, total=22 * _MB, count=100)
# https://platform.openai.com/docs/guides/images-vision: 50 MB and 500 pictures a request; what is larger than 2,048 by
# 2,048 is scaled down there. Files: 50 MB a request.
_OPENAI = MediaLimits(
    picture=Bounds(2_048, 10 * _MB), audio=_WAV_MP3, pdf=True, total=36 * _MB, count=500, inside_results=False
)
_RESPONSES = replace(_OPENAI, audio=(), documents=_OFFICE, inside_results=True)
# https://ai.google.dev/gemini-api/docs/image-understanding: 20 MB a request with all that is inline, 3,600 pictures;
# what is larger than 3,072 a side is scaled down there.
_GEMINI = MediaLimits(
    picture=Bounds(3_072, 7 * _MB),
    audio=(*_WAV_MP3, "audio/aiff", "audio/aac", "audio/ogg", "audio/flac", "audio/mp4"),
    video=True,
    pdf=True,
    total=14 * _MB,
    count=3_000,
)
# Other servers of OpenAI's format say little of their limits. Many make tokens of every pixel, so pictures are smaller.
_ELSEWHERE = replace(_OPENAI, picture=Bounds(1_568, 3_750_000), total=15 * _MB, count=100)
BRIDGED = MediaLimits(picture=Bounds(2_000, 3_750_000), audio=_WAV_MP3, pdf=True, total=15 * _MB, count=100)
"""A provider behind the bridge: what most of them take; the bridge knows which kinds each one does not."""
ANYTHING = replace(_GEMINI, documents=_OFFICE)
"""A script that stands in for a model."""


def limits_of(api: Api, *, own: bool, model: str) -> MediaLimits:
    """What is taken in a wire format; `own` if the provider that made the format serves it."""
    if api == "messages":
        return _MESSAGES
    if api == "gemini":
        return _GEMINI
    if api == "responses":
        return _RESPONSES if own else replace(_RESPONSES, picture=_ELSEWHERE.picture, total=_ELSEWHERE.total)
    if not own:
        return _ELSEWHERE
    # Of OpenAI's own models only those that are called so hear anything.
    return _OPENAI if "audio" in model else replace(_OPENAI, audio=())


def without(limits: MediaLimits, lacking: Collection[str]) -> MediaLimits:
    """The same for a model whose server says that it does not take `images`, `audio` or `files`."""
    if not lacking:
        return limits
    return replace(
        limits,
        picture=None if "images" in lacking else limits.picture,
        audio=() if "audio" in lacking else limits.audio,
        pdf=limits.pdf and "files" not in lacking,
        documents=() if "files" in lacking else limits.documents,
    )
