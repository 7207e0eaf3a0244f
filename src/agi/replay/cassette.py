"""The cassette: one session in one file, with all that is needed to play it again. Reading checks everything first.

A line of JSON each: the head, the events exactly as a mirror has them, the requests that models were sent, by their
pieces, and a hash of all that stands before. Answers of models and results of tools are in the events, redacted as
those are; files that were sent or made are named there by their hashes.
May import: errors, protocol, eventlog, models.prices, replay.digests.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec import Raw, Struct

from agi.errors import Invalid
from agi.eventlog import chain
from agi.models.prices import Rates
from agi.protocol.compaction import CompactionPolicy
from agi.protocol.events import Event, SessionCreated, parse_envelope
from agi.protocol.ids import SESSION, is_id
from agi.protocol.policies import Budget, PatchReviewPolicy, VerifyPolicy
from agi.protocol.tools import ToolDefinition
from agi.replay.digests import BEFORE_MESSAGES, Digests

T = TypeVar("T")
VERSION = 2
READ = (1, 2)
"""Versions that are played; the first has digests of requests and not the requests."""
FILE_SUFFIX = ".agi-cassette"
MOST_BYTES = 256 * 1024 * 1024
"""A larger file is refused before it is read."""
MOST_EVENTS = 1_000_000
LONGEST_LINE = 64 * 1024 * 1024


class KnownModel(Struct, frozen=True, kw_only=True):
    """What was known of a model."""

    provider: str
    model: str
    window: int | None = None
    max_output: int | None = None
    takes_schema: bool = False
    """Whether its provider keeps to a schema by itself."""
    rates: Rates | None = None
    """What it costs, where that was known."""


class Conditions(Struct, frozen=True, kw_only=True):
    """What the loop goes by beside the conversation: the settings when the cassette was made."""

    max_steps: dict[str, int] = {}
    """By agent."""
    turn_budget: Budget = Budget()
    session_budget: Budget = Budget()
    verify: VerifyPolicy = VerifyPolicy()
    verify_asks: bool = False
    review: PatchReviewPolicy = PatchReviewPolicy()
    compaction: CompactionPolicy = CompactionPolicy()
    models: tuple[KnownModel, ...] = ()
    tools: dict[str, tuple[ToolDefinition, ...]] = {}
    """What each agent was offered."""
    known_tools: tuple[ToolDefinition, ...] = ()


class Head(Struct, frozen=True, kw_only=True, tag_field="type", tag="cassette"):
    """The first line."""

    version: int
    session_id: str
    made_at: str
    made_by: str
    """The version of agi."""
    events: int
    head: str
    """The hash of the last event."""
    conditions: Conditions


class Piece(Struct, frozen=True, kw_only=True, tag_field="type", tag="piece"):
    """Something that models were sent, once; requests name it by its place among the pieces, from 0 on."""

    sha256: str
    value: Raw


class Request(Struct, frozen=True, kw_only=True, tag_field="type", tag="request", omit_defaults=True):
    """A request that a model was sent: it follows from the events, and must follow from them again."""

    turn_id: str
    answered_at: int
    """The event with which its answer begins, or with which it failed; 0 if the record ends before."""
    provider: str
    model: str
    messages: int
    tools: int
    digest: str
    pieces: tuple[int, ...] = ()
    """What it consists of: the system prompt, the tools, the options, and each message."""


class End(Struct, frozen=True, kw_only=True, tag_field="type", tag="end"):
    """The last line."""

    sha256: str
    """Of every byte before this line."""


class Cassette(Struct, frozen=True, kw_only=True):
    """One session, ready to be played."""

    head: Head
    events: tuple[Event, ...]
    requests: tuple[Request, ...] = ()
    pieces: tuple[bytes, ...] = ()
    """What requests consist of, as JSON."""


def written(cassette: Cassette) -> Iterator[bytes]:
    """The file, line by line."""
    digest = sha256()
    lines = (
        msgspec.json.encode(cassette.head),
        *(event.line() for event in cassette.events),
        *(msgspec.json.encode(Piece(sha256=sha256(one).hexdigest(), value=Raw(one))) for one in cassette.pieces),
        *(msgspec.json.encode(request) for request in cassette.requests),
    )
    for line in lines:
        whole = line + b"\n"
        digest.update(whole)
        yield whole
    yield msgspec.json.encode(End(sha256=digest.hexdigest())) + b"\n"


def read_cassette(path: Path) -> Cassette:
    """Read a file; raises Invalid, with its name, for what is no cassette, is too large or was changed."""
    data = read_regular(path, MOST_BYTES)
    if isinstance(data, str):
        raise _refused(data)
    try:
        return parse_cassette(data)
    except Invalid as error:
        raise _refused(f"{path}: {error.message}", error.hint) from error


def read_regular(path: Path, most: int) -> bytes | str:
    """What a file holds, or why it is not read: what is no regular file, and might never end, is not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        return f"{path} cannot be read: {getattr(error, 'strerror', error)}."
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            return f"{path} is {'a folder' if stat.S_ISDIR(state.st_mode) else 'not a regular file'}."
        if state.st_size > most:
            return f"{path} is larger than it may be ({most // 1024 // 1024} MiB)."
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(most + 1)
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}."
    finally:
        os.close(descriptor)


def parse_cassette(data: bytes) -> Cassette:
    """Take a cassette's bytes apart, checking each; raises Invalid."""
    lines = data.split(b"\n")
    if _is_event(lines[0]):
        raise _refused(
            "It is a list of events, as a plain export or a mirror is one, and no cassette.",
            hint="Make one with `agi sessions export ID --cassette`, or play the session itself: `agi replay ID`.",
        )
    if lines.pop() != b"" or len(lines) < 3:
        raise _refused("It is no whole cassette: it is cut off, or something else.")
    head = _decoded(lines[0], Head, 1)
    if head.version not in READ:
        raise _refused(
            f"It is a cassette of version {head.version}; this agi plays versions up to {VERSION}.",
            hint="Update agi, or export the session again.",
        )
    if not 1 <= head.events <= MOST_EVENTS or not is_id(head.session_id, SESSION):
        raise _refused("Its first line does not fit the rest.")
    if head.events > len(lines) - 2:
        raise _refused(f"It is cut off: it should hold {head.events:,} events, and has {len(lines):,} lines in all.")
    end = _decoded(lines[-1], End, len(lines))
    events = _events(head, lines[1 : 1 + head.events])
    requests, pieces = _requests(head, lines[1 + head.events : -1])
    before = data[: len(data) - len(lines[-1]) - 1]
    if sha256(before).hexdigest() != end.sha256:
        raise _refused("It was changed: its last line has the hash of something else.")
    return Cassette(head=head, events=tuple(events), requests=requests, pieces=pieces)


def _requests(head: Head, lines: list[bytes]) -> tuple[tuple[Request, ...], tuple[bytes, ...]]:
    """The requests, each with all its pieces, as they were written."""
    pieces: list[bytes] = []
    requests: list[Request] = []
    digests = Digests(pieces)
    for number, line in enumerate(lines, start=2 + head.events):
        found = _decoded(line, Piece | Request, number)  # type: ignore[arg-type]  # a union is no class
        if isinstance(found, Request):
            if not all(0 <= one < len(pieces) for one in found.pieces):
                raise _refused(f"Line {number}: a piece of the request that event {found.answered_at} answers is lost.")
            if head.version > 1 and len(found.pieces) < BEFORE_MESSAGES:
                raise _refused(
                    f"Line {number}: the request that event {found.answered_at} answers has lost its pieces."
                )
            if len(found.pieces) >= BEFORE_MESSAGES and digests.of(found.pieces) != found.digest:
                raise _refused(
                    f"Line {number}: the request that event {found.answered_at} answers is not as it was written."
                )
            requests.append(found)
        elif sha256(found.value).hexdigest() != found.sha256:
            raise _refused(f"Line {number}, a piece of a request, is not as it was written.")
        else:
            pieces.append(bytes(found.value))
    return tuple(requests), tuple(pieces)


def _events(head: Head, lines: list[bytes]) -> list[Event]:
    """The events, each in its place, of this session, and chained as they were written."""
    events: list[Event] = []
    before = ""
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE:
            raise _refused(f"Event {number} is too long.")
        try:
            event = parse_envelope(line)
            event.raw.decode()
            event.data  # noqa: B018 - raises if it does not say what its type may say
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise _refused(f"Event {number} cannot be read.") from error
        if event.seq > number and event.session_id == head.session_id:
            raise _refused(f"Event {number} is not in its place: event {event.seq} stands there.")
        if event.seq != number or event.session_id != head.session_id or not chain.fits(before, event):
            raise _refused(f"Event {number} is not as it was written: its hash is of something else.")
        before = event.hash
        events.append(event)
    first = events[0].data
    if not isinstance(first, SessionCreated) or first.id != head.session_id or before != head.head:
        raise _refused("Its events are not those of the session it names.")
    return events


def _is_event(line: bytes) -> bool:
    try:
        return parse_envelope(line).seq > 0
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False


def _decoded(line: bytes, kind: type[T], number: int) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise _refused(f"Line {number} is not what a cassette has there.") from error


def _refused(text: str, hint: str = "") -> Invalid:
    return Invalid(text, code="bad_cassette", hint=hint or "Make one with `agi sessions export ID --cassette`.")


Format = Literal["cassette", "ndjson", "markdown"]
