"""The requests in a cassette: those the model really got, each piece once, and a difference in one shown as a diff."""

from __future__ import annotations

import asyncio
import json
import tracemalloc

import msgspec
import pytest

from agi.cli.replay import told
from agi.errors import Invalid
from agi.eventlog import chain
from agi.protocol.events import Event
from agi.replay.cassette import Cassette, Request, parse_cassette, written
from agi.replay.exporting import make_cassette
from agi.replay.playing import play, play_cassette
from agi.replay.requests import MOST_LINES, Asked, difference

SECRET = "s3cr3t-value-123"


@pytest.fixture
async def looked(place) -> Cassette:
    """A session that looked twice."""
    place.model.calls("repo_tree").calls("read_file", path="a.txt").says("Nothing there.")
    (place.project / "a.txt").write_text("one\ntwo\n")
    await place.ask("look")
    return await make_cassette(place.harness, place.session_id)


async def test_they_are_what_the_model_was_sent(place, looked):
    """The system prompt, the names of tools, roles and texts, in order."""
    assert len(looked.requests) == len(place.model.requests) == 3
    for recorded, real in zip(looked.requests, place.model.requests, strict=True):
        system, tools, options, *messages = (msgspec.json.decode(looked.pieces[name]) for name in recorded.pieces)
        assert (system, options) == (real.system, real.options)
        assert [one["name"] for one in tools] == [one.name for one in real.tools]
        assert [role for role, _ in messages] == [one.role for one in real.messages]
        texts = [part["text"] for _, parts in messages for part in parts if part["type"] == "text"]
        assert texts == [part.text for one in real.messages for part in one.parts if hasattr(part, "text")]


async def test_a_piece_is_held_once(looked):
    """However many requests have it: what they hold grows with the conversation and not with its square."""
    named = [name for one in looked.requests for name in one.pieces]
    assert len(looked.pieces) == len({*named}) < len(named)


async def test_another_request_is_shown_as_a_diff(looked):
    """The line that is another, and its neighbours; also on the screen."""
    head = looked.head
    tools = {"build": head.conditions.tools["build"][1:]}
    fewer = msgspec.structs.replace(head.conditions, tools=tools)
    played = await asyncio.to_thread(play, looked.events, fewer, looked.requests, looked.pieces)
    text = "\n".join(told(played))

    assert played.difference is not None
    assert played.difference.made_type.startswith("another request to scripted/script")
    removed = [line for line in played.difference.request.splitlines() if line.startswith("-tool")]
    assert [json.loads(line[6:].split(',"description')[0] + "}") for line in removed] == [
        {"name": head.conditions.tools["build"][0].name}
    ]
    assert removed[0] in text


async def test_a_changed_word_in_the_conversation_is_in_the_diff(looked):
    """A forger who chains again changes what a model would be sent, and that is shown."""
    before, events = "", []
    for one in looked.events:
        raw = one.raw.replace(b"two", b"too") if one.type == "tool_call_completed" else one.raw
        event = Event(one.seq, one.ts, one.session_id, one.turn_id, one.type, raw)
        before = event.hash = chain.link(before, event)
        events.append(event)
    played = await asyncio.to_thread(play, events, looked.head.conditions, looked.requests, looked.pieces)

    assert played.difference is not None
    assert "two" in played.difference.request
    assert "too" in played.difference.request


async def test_a_changed_piece_and_a_lost_one_are_named(looked):
    """With the line; before anything is played."""
    data = b"".join(written(looked))
    name = looked.requests[-1].pieces[-1]
    piece = looked.pieces[name]
    line = 2 + looked.head.events + name
    with pytest.raises(Invalid, match=rf"Line {line}, a piece of a request, is not as it was written"):
        parse_cassette(data.replace(piece, piece.replace(b"two", b"too")))
    fewer = looked.pieces[:name]
    with pytest.raises(Invalid, match=r"a piece of the request that event \d+ answers is lost"):
        parse_cassette(b"".join(written(msgspec.structs.replace(looked, pieces=fewer))))


async def test_a_cassette_of_the_first_version_still_plays(looked):
    """It has digests alone: a difference is told, and cannot be shown."""
    plain = tuple(msgspec.structs.replace(one, pieces=()) for one in looked.requests)
    old = Cassette(head=msgspec.structs.replace(looked.head, version=1), events=looked.events, requests=plain)
    read = parse_cassette(b"".join(written(old)))
    played = await asyncio.to_thread(play_cassette, read)
    other = (*plain[:-1], msgspec.structs.replace(plain[-1], digest="0" * 64))
    differs = await asyncio.to_thread(play, read.events, read.head.conditions, other)

    assert (played.identical, played.requests_checked) == (True, 3)
    assert differs.difference is not None
    assert differs.difference.request == ""


async def test_secrets_are_in_no_request_and_in_no_setting(place):
    """Known ones are taken out of what is no event, too."""
    place.harness.redactor.learn(SECRET)
    place.configure(json.dumps({"verify": {"autoVerify": False, "commands": [f"curl -H {SECRET} x"]}}))
    (place.project / "a.txt").write_text(f"key {SECRET}\n")
    place.model.calls("read_file", path="a.txt").says(f"It is {SECRET}.")
    await place.ask(f"what is {SECRET}?")
    cassette = await make_cassette(place.harness, place.session_id)

    assert SECRET.encode() not in b"".join(written(cassette))
    assert cassette.requests
    assert (await asyncio.to_thread(play_cassette, cassette)).identical


def test_a_diff_of_hostile_requests_is_bounded():
    """However long they are, only the lines around where they part are compared."""
    texts = [msgspec.json.encode(["user", [{"type": "text", "text": f"{word}\n" * 200_000}]]) for word in "ab"]
    common = (b'""', b"[]", b"{}")
    pieces = [(*common, text) for text in texts]
    who = {"turn_id": "t", "answered_at": 1, "provider": "p", "model": "m"}
    asked = Request(**who, messages=1, tools=0, digest="", pieces=(0, 1, 2, 3))
    shown = difference(asked, pieces[0], Asked(asked, pieces[1]))

    assert 0 < len(shown.splitlines()) <= 2 * MOST_LINES + 10


async def test_pieces_that_are_no_request_are_refused(looked):
    """What a forger put there has another shape than a request has: no crash comes of it."""
    wrong = tuple(b'{"x":[1]}' for _ in looked.pieces)
    other = tuple(msgspec.structs.replace(one, digest="0" * 64) for one in looked.requests)
    with pytest.raises(Invalid):
        await asyncio.to_thread(play, looked.events, looked.head.conditions, other, wrong)


def test_a_request_that_names_a_piece_over_and_over_takes_no_memory():
    """A file of a few kilobytes may name one long message without end; only lines that can be shown are made."""
    message = msgspec.json.encode(["user", [{"type": "text", "text": "line\n" * 1_000}]])
    known = [b'"a system prompt"', b"[]", b"{}", message]
    fields = {"turn_id": "t", "answered_at": 1, "provider": "p", "model": "m", "messages": 1, "tools": 0, "digest": ""}
    recorded = Request(**fields, pieces=(0, 1, 2, *(3,) * 500))
    tracemalloc.start()
    try:
        text = difference(recorded, known, Asked(Request(**fields), tuple(known)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert "-message 2, user:" in text.splitlines()
    assert not [line for line in text.splitlines()[2:] if line.startswith("+")]
    assert len(text.splitlines()) < MOST_LINES + 20
    assert peak < 2_000_000
