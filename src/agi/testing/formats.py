"""The wire formats the scripted provider speaks, each known by the path it is asked at.

A format is a file beside this one and a line in the table; the rest of the room knows none of them. May import: its
siblings.
"""

from __future__ import annotations

from typing import Protocol

from agi.testing.anthropic_wire import ANTHROPIC
from agi.testing.asked import Asked, Question
from agi.testing.gemini_wire import GEMINI
from agi.testing.openai_chat_wire import CHAT
from agi.testing.openai_responses_wire import RESPONSES
from agi.testing.replies import Content, Frames, Refusal, Reply, Sent

_REASONS = {200: "OK", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}


class Format(Protocol):
    """How one provider writes: pure functions from what is said to bytes."""

    @property
    def name(self) -> str:
        """What tells it from the other formats."""

    def is_asked_at(self, path: str) -> bool:
        """Whether a request to this path is in this format."""

    def read(self, asked: Asked) -> Question:
        """What a script decides by; raises ValueError for a body that is none."""

    def frames(self, content: Content) -> Frames:
        """The events of a stream, counted as `replies` says: opening, one a piece, finish, cost, end."""

    def whole(self, content: Content) -> bytes:
        """The body for a request that did not ask for a stream."""

    def refusal(self, refusal: Refusal) -> bytes:
        """The body of an error."""


FORMATS: tuple[Format, ...] = (CHAT, RESPONSES, ANTHROPIC, GEMINI)


def format_of(path: str) -> Format | None:
    """The format spoken at this path, if any."""
    return next((known for known in FORMATS if known.is_asked_at(path)), None)


def encode(reply: Reply, spoken: Format, *, stream: bool) -> Sent:
    """Write a reply in a format; the same bytes again for the same reply."""
    whole = not stream and reply.content is not None
    name = f"{spoken.name} whole" if whole else spoken.name
    if name not in reply.sent:
        reply.sent[name] = _encode(reply, spoken, whole)
    return reply.sent[name]


def _encode(reply: Reply, spoken: Format, whole: bool) -> Sent:
    frames = reply.frames
    if reply.refusal is not None:
        frames = (spoken.refusal(reply.refusal),)
    elif reply.content is not None:
        frames = (spoken.whole(reply.content),) if whole else spoken.frames(reply.content)
    for fault in () if whole else reply.faults:
        frames = fault(frames)
    headlines = _headlines(reply, "application/json" if whole else reply.content_type)
    return Sent(headlines, frames, b"".join((headlines, *(chunk(frame) for frame in frames if frame), b"0\r\n\r\n")))


def _headlines(reply: Reply, content_type: str) -> bytes:
    lines = [
        f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Status')}",
        f"content-type: {content_type}",
        "transfer-encoding: chunked",
        *(f"{name}: {value}" for name, value in reply.headers),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk(data: bytes) -> bytes:
    """Frame a piece of a body for chunked transfer."""
    return b"%x\r\n%b\r\n" % (len(data), data)
