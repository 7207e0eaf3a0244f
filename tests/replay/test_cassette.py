"""The cassette: all of a session in one file; whatever else a file is, it is refused with a reason."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
from collections.abc import Callable

import msgspec
import pytest

from agi.errors import Invalid, NotFound
from agi.eventlog import chain
from agi.protocol.events import Event
from agi.replay import cassette as cassettes
from agi.replay.cassette import Cassette, parse_cassette, read_cassette, written
from agi.replay.exporting import make_cassette, read_all
from agi.replay.formats import exported
from agi.replay.playing import play_cassette


@pytest.fixture
async def tape(place) -> bytes:
    place.model.calls("repo_tree").says("Nothing there.")
    await place.ask("look")
    return await exported(place.harness, place.session_id, "cassette")


async def test_it_is_read_as_it_was_written(place):
    """Events, requests and conditions, to the byte."""
    place.model.says("hi")
    await place.ask("hello")
    made = await make_cassette(place.harness, place.session_id)
    read = parse_cassette(b"".join(written(made)))

    assert [one.line() for one in read.events] == [one.line() for one in place.events()]
    assert (read.head, read.requests) == (made.head, made.requests)
    assert len(read.requests) == 1


async def test_every_changed_byte_is_caught(tape):
    """Wherever it is: in the head, an event, a request or the end."""
    for at in range(0, len(tape), 97):
        with pytest.raises(Invalid) as refused:
            parse_cassette(tape[:at] + bytes([tape[at] ^ 1]) + tape[at + 1 :])
        assert refused.value.code == "bad_cassette"
        assert refused.value.hint


@pytest.mark.parametrize("is_older", [False, True])
async def test_a_piece_that_was_changed_with_its_hash_is_caught(tape, is_older):
    """The requests that name it have digests: all that a model was sent is held against them, and nothing is played."""
    lines = tape.splitlines()
    at = next(n for n, line in enumerate(lines) if b'"type":"piece"' in line and b"look" in line)
    value = json.dumps(json.loads(lines[at])["value"], separators=(",", ":")).replace("look", "hide").encode()
    lines[at] = b'{"type":"piece","sha256":"%b","value":%b}' % (hashlib.sha256(value).hexdigest().encode(), value)
    if is_older:  # whose requests have no pieces
        lines[0] = lines[0].replace(b'"version":2', b'"version":1', 1)
    before = b"".join(line + b"\n" for line in lines[:-1])
    end = b'{"type":"end","sha256":"%b"}\n' % hashlib.sha256(before).hexdigest().encode()
    with pytest.raises(Invalid, match=r"Line \d+: the request that event \d+ answers is not as it was written"):
        parse_cassette(before + end)


async def test_a_request_without_its_pieces_is_refused(place):
    """Only cassettes of the first version have none."""
    place.model.says("hi")
    await place.ask("hello")
    made = await make_cassette(place.harness, place.session_id)
    bare = tuple(msgspec.structs.replace(one, pieces=()) for one in made.requests)
    first = msgspec.structs.replace(made.head, version=1)
    parse_cassette(b"".join(written(msgspec.structs.replace(made, head=first, requests=bare, pieces=()))))
    with pytest.raises(Invalid, match="has lost its pieces"):
        parse_cassette(b"".join(written(msgspec.structs.replace(made, requests=bare))))


async def test_a_session_that_is_removed_meanwhile_is_not_damaged(place):
    """It is not there any more, and nothing helps."""
    place.model.says("hi")
    await place.ask("hello")
    state = place.harness.state(place.session_id)
    await place.harness.delete_session(place.session_id)

    with pytest.raises(NotFound):
        read_all(place.harness, state)


async def test_a_changed_event_is_named(tape):
    """Its hash is of something else."""
    with pytest.raises(Invalid, match=r"Event \d+ is not as it was written"):
        parse_cassette(tape.replace(b"Nothing there.", b"Nothing here. "))


async def test_what_is_cut_off_is_no_cassette(tape):
    """At any line, and in the middle of one."""
    lines = tape.splitlines(keepends=True)
    for count in range(len(lines)):
        with pytest.raises(Invalid):
            parse_cassette(b"".join(lines[:count]))
    with pytest.raises(Invalid):
        parse_cassette(tape[:-1])
    with pytest.raises(Invalid, match="It is cut off"):
        parse_cassette(b"".join(lines[:5]))


async def test_an_event_that_was_taken_out_is_named(tape):
    """And the one behind it, which stands where it was."""
    lines = tape.splitlines(keepends=True)
    with pytest.raises(Invalid, match=r"Event 4 is not in its place: event 5 stands there\."):
        parse_cassette(b"".join(lines[:4] + lines[5:]))


def test_hostile_bytes_are_refused():
    """Nothing of it is believed, and nothing is made of it."""
    for data in (b"", b"\n", b"\n\n\n", b"{}\n" * 5, b"\0" * 100, b"\xff\xfe" * 50, b"[" * 100_000 + b"\n\n\n\n"):
        with pytest.raises(Invalid):
            parse_cassette(data)


async def test_another_version_is_named(tape):
    """With what can be done about it."""
    with pytest.raises(Invalid, match="version 99") as refused:
        parse_cassette(tape.replace(b'"version":2', b'"version":99', 1))
    assert "Update agi" in refused.value.hint


async def test_a_head_that_names_a_path_is_refused(tape):
    """Ids are ids; as a path one might lead anywhere."""
    head = json.loads(tape.splitlines()[0])
    head["session_id"] = "../../../../etc/passwd"
    changed = json.dumps(head).encode() + b"\n" + b"".join(tape.splitlines(keepends=True)[1:])
    with pytest.raises(Invalid):
        parse_cassette(changed)


def test_a_file_that_is_too_large_or_none_is_refused_unread(tmp_path, monkeypatch):
    """Its size is looked at first; a pipe would never end."""
    monkeypatch.setattr(cassettes, "MOST_BYTES", 100)
    large = tmp_path / "large"
    large.write_bytes(b"x" * 101)
    os.mkfifo(tmp_path / "pipe")
    for name in ("large", "pipe", "missing", "no\0name"):
        with pytest.raises(Invalid):
            read_cassette(tmp_path / name)


async def test_a_session_that_is_too_large_is_refused(place, monkeypatch):
    """Rather than half of it being exported."""
    from agi.replay import exporting

    place.model.says("hi")
    await place.ask("hello")
    monkeypatch.setattr(exporting, "MOST_BYTES", 100)
    with pytest.raises(Invalid, match="too large"):
        await make_cassette(place.harness, place.session_id)


async def test_secrets_are_out_of_it_as_they_are_out_of_the_log(place):
    """What was redacted before it was logged is in no export."""
    place.harness.redactor.learn("s3cr3t-value-123")
    place.model.says("It is s3cr3t-value-123.")
    await place.ask("what is s3cr3t-value-123?")
    for format in ("cassette", "ndjson", "markdown"):
        assert b"s3cr3t-value-123" not in await exported(place.harness, place.session_id, format)


async def test_markdown_shows_what_would_act_on_a_terminal_and_keeps_fences_closed(place):
    """Escapes are shown, and a result cannot end its fence."""
    (place.project / "a.txt").write_text("````\n# not ours\n\x1b[31mred\n")
    place.model.calls("read_file", path="a.txt").says("\x1b]0;title\x07 done")
    await place.ask("read")
    text = (await exported(place.harness, place.session_id, "markdown")).decode()

    assert "\x1b" not in text
    assert "\x07" not in text
    assert "`````\n" in text
    assert "## Agent" in text


def forged(made: Cassette, change: Callable[[int, bytes], bytes]) -> Cassette:
    """The same with other events, chained again by somebody who knows how."""
    before, events = "", []
    for one in made.events:
        event = Event(one.seq, one.ts, one.session_id, one.turn_id, one.type, change(one.seq, one.raw))
        before = event.hash = chain.link(before, event)
        events.append(event)
    head = msgspec.structs.replace(made.head, head=before)
    return parse_cassette(
        b"".join(written(Cassette(head=head, events=tuple(events), requests=made.requests, pieces=made.pieces)))
    )


async def test_a_forger_who_chains_again_changes_what_comes_out(place):
    """The hashes hold then; the loop does not do what it says."""
    place.model.calls("repo_tree").says("Nothing there.")
    await place.ask("look")
    made = await make_cassette(place.harness, place.session_id)
    escaped = b'"name":"repo_tree\\u001b[31m"'
    false = forged(made, lambda seq, raw: raw.replace(b'"name":"repo_tree"', escaped) if seq > 7 else raw)
    played = await asyncio.to_thread(play_cassette, false)

    assert not played.identical


async def test_events_that_never_were_a_session_are_an_error_with_a_reason(place):
    """Whatever they make of the fold, it is no crash of ours."""
    place.model.says("hi")
    await place.ask("hello")
    made = await make_cassette(place.harness, place.session_id)
    head = made.events[0]
    for kind, data in (
        ("turn_completed", b'{"message_id":null,"stop_reason":"end_turn","steps":1,"usage":{}}'),
        ("message_added", made.events[2].raw),
        ("turn_started", b'{"message_id":"nobody","agent":"\\u001b[2J","provider":"p","model":"m"}'),
        ("moon_rose", b"{}"),
    ):
        events = [head]
        for seq in range(2, 6):
            event = Event(seq, head.ts, head.session_id, "turn_x", kind, data)
            event.hash = chain.link(events[-1].hash, event)
            events.append(event)
        shape = msgspec.structs.replace(made.head, events=5, head=events[-1].hash)
        tape = parse_cassette(b"".join(written(Cassette(head=shape, events=tuple(events)))))
        with contextlib.suppress(Invalid):  # or it plays to a difference; but nothing else is raised
            played = await asyncio.to_thread(play_cassette, tape)
            assert played.compared == 0, kind
