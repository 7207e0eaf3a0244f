"""Whatever a server sends, through the whole harness: the turn ends once, in one consistent way, without a traceback.

Each fault of each wire format goes from a real socket through adapter, loop, log and views. A failure has a code and a
hint; what was a whole answer all the same is one. Asking again is switched off, so that each fault is met once.
"""

from __future__ import annotations

import gzip
import json
import logging

import pytest

from agi.loop import patience
from agi.models.breaker import Breaker
from agi.testing.adapters import APIS, provider_settings
from agi.testing.provider import ProviderServer
from agi.testing.replies import (
    Refusal,
    Reply,
    Said,
    answers,
    breaks,
    calls,
    fails,
    inserts,
    never_begins,
    repeats,
    says,
    slices,
    web_page,
)

WORDS = says("h\u00e9llo w\u00f6rld \U0001f30d", chunks=4)
HUGE = b"data: " + b"x" * (17 * 1024 * 1024)
PACKED = gzip.compress(b"data: {}\n\n" * 100)
ZIPPED = (("content-encoding", "gzip"),)

REFUSED = {
    "400": (fails(400, "no"), "provider_failed"),
    "401": (fails(401, "no"), "provider_auth"),
    "403": (fails(403, "no"), "provider_auth"),
    "404": (fails(404, "no"), "model_not_found"),
    "408": (fails(408, "no"), "provider_failed"),
    "409": (fails(409, "no"), "provider_failed"),
    "413": (fails(413, "no"), "context_exhausted"),
    "429": (fails(429, "no"), "rate_limited"),
    "429 with seconds": (fails(429, "no", headers={"retry-after": "7"}), "rate_limited"),
    "429 with a date": (fails(429, "no", headers={"retry-after": "Fri, 31 Dec 2100 23:59:59 GMT"}), "rate_limited"),
    "429 with nonsense": (fails(429, "no", headers={"retry-after": "soon, or later"}), "rate_limited"),
    "500": (fails(500, "no"), "provider_failed"),
    "502": (fails(502, body=b"bad gateway", content_type="text/plain"), "provider_failed"),
    "503": (fails(503, "no"), "provider_failed"),
    "529": (fails(529, "Overloaded"), "provider_failed"),
    "a web page": (web_page(503), "provider_failed"),
    "a web page with 200": (web_page(200), "provider_failed"),
    "a redirect": (fails(302, headers={"location": "http://127.0.0.1:1/"}), "provider_failed"),
    "nothing at all": (fails(500, body=b""), "provider_failed"),
    "an error that is no object": (fails(400, body=b'{"error":[[[[[[[7]]]]]]]}'), "provider_failed"),
    "a deep error": (fails(400, body=b"[" * 50_000), "provider_failed"),
    "an error without end": (breaks(fails(400, "no"), 0, "cut"), "provider_failed"),
    "an error in no encoding": (fails(400, body=b"\xff\xfe\x00"), "provider_failed"),
}
BROKEN = {
    "no headers": (never_begins("cut"), "provider_failed"),
    "a reset before the headers": (never_begins("reset"), "provider_failed"),
    "silence before the headers": (never_begins("stall"), "stalled"),
    "silence after the headers": (Reply(ending="stall"), "stalled"),
    "silence in the middle": (breaks(WORDS, 3, "stall"), "stalled"),
    "a reset in the middle": (breaks(WORDS, 3, "reset"), "stream_cut"),
    "a cut in the middle": (breaks(WORDS, 3, "cut"), "stream_cut"),
    "an early end": (breaks(WORDS, 3, "whole"), "stream_cut"),
    "an early end inside a letter": (breaks(slices(says("\U0001f30d" * 40), 7), 30, "whole"), "stream_cut"),
    "an early end inside a call": (
        breaks(calls(("shell", {"command": "touch never"}), text="Now", pieces=9), 5, "whole"),
        "stream_cut",
    ),
    "no body": (Reply(), "stream_cut"),
    "an empty line": (Reply(frames=(b"\n",)), "stream_cut"),
    "an event that is no JSON": (inserts(WORDS, 3, b"data: {not json}\n\n"), "provider_failed"),
    "an event of another shape": (inserts(WORDS, 3, b"data: [[[7]]]\n\n"), "provider_failed"),
    "a deep event": (inserts(WORDS, 3, b"data: " + b'{"choices":' * 50_000 + b"\n\n"), "provider_failed"),
    "a huge event": (inserts(WORDS, 3, HUGE), "provider_failed"),
    "an error in the stream": (answers(Said("half"), Refusal(message="boom")), "provider_error"),
    "a bare error in the stream": (inserts(WORDS, 3, b'{"error":{"message":"boom"}}\n\n'), "provider_error"),
    "packed and cut": (Reply(headers=ZIPPED, frames=(PACKED[:-9],)), "provider_failed"),
    "said to be packed": (Reply(headers=ZIPPED, frames=(b"data: {}\n\n",)), "provider_failed"),
    "packed in an unknown way": (Reply(headers=(("content-encoding", "br"),), frames=(b"x",)), "provider_failed"),
    "JSON that is none": (Reply(content_type="application/json", frames=(b"{",)), "provider_failed"),
    "an empty JSON body": (Reply(content_type="application/json"), "provider_failed"),
    "JSON with nothing in it": (Reply(content_type="application/json", frames=(b"{}",)), ""),
    "JSON of another shape": (Reply(content_type="application/json", frames=(b"[7]",)), "provider_failed"),
    "an error with 200": (fails(200, "no"), "provider_error"),
}
WHOLE = {
    "plain": WORDS,
    "byte by byte": slices(WORDS, 1),
    "letters cut in two": slices(WORDS, 3),
    "a comment between": inserts(WORDS, 3, b": still here\n\n"),
    "another content type": Reply(content=WORDS.content, content_type="text/plain"),
    "an event stream that is said to be JSON": Reply(content=WORDS.content, content_type="application/json"),
    "no content type": Reply(content=WORDS.content, content_type=""),
    "cut after its end": breaks(WORDS, 7, "cut"),
    "a stream that goes on after its end": inserts(WORDS, 8, b"data: {not json}\n\n"),
}


@pytest.fixture
async def asked(place, monkeypatch, caplog, capfd):
    """Ask once, with this reply; nothing may be left in the logs."""
    monkeypatch.setattr(patience, "PATIENCE_S", 0.0)
    limits = {"firstByteSeconds": 0.05, "idleSeconds": 0.05, "thinkingSeconds": 0.05}

    async def ask(api: str, reply: Reply):
        async with ProviderServer([reply]) as server:
            timeouts = limits if reply.ending == "stall" else {}
            place.configure(json.dumps(provider_settings(server.url, api, timeouts=timeouts)))
            await place.reopen()
            await place.start()
            turn = await place.ask("go")
            assert len(server.requests) == 1
        return turn

    caplog.set_level(logging.INFO)
    yield ask
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info]
    said = capfd.readouterr()
    assert "Traceback" not in said.out + said.err
    assert "exception was never retrieved" not in caplog.text


def endings(place) -> list:
    """The events that end a turn."""
    return place.events("turn_completed", "turn_failed", "turn_canceled")


def check_failed(place, turn, code: str) -> None:
    """It failed once, says why and what to do, and keeps what was said before as an error."""
    assert [event.type for event in endings(place)] == ["turn_failed"]
    assert turn.status == "failed"
    error = json.loads(turn.outcome)["error"]
    assert error["code"] == (code or error["code"])
    assert "tested (model-1)" in error["message"]
    assert error["hint"]
    assert "sk-test" not in json.dumps(error)
    assert not place.events("tool_call_started", "approval_requested")
    assert {message.status for message in place.messages() if message.role == "assistant"} <= {"error"}
    assert place.harness.session(place.session_id).activity == "idle"


@pytest.mark.parametrize(("reply", "code"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("api", APIS)
async def test_a_refusal_ends_the_turn_once_and_says_why(asked, place, api, reply, code):
    """A status, with or without words, becomes a code and a hint."""
    check_failed(place, await asked(api, reply), code)


@pytest.mark.parametrize(("reply", "code"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("api", APIS)
async def test_a_stream_that_breaks_ends_the_turn_once_and_says_why(asked, place, api, reply, code):
    """Cut, silent, garbled or endless: one failure, and no half call is run."""
    check_failed(place, await asked(api, reply), code)


@pytest.mark.parametrize("reply", WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("api", APIS)
async def test_an_odd_but_whole_stream_is_an_answer(asked, place, api, reply):
    """However it was cut, and whatever stands around it."""
    turn = await asked(api, reply)

    assert [event.type for event in endings(place)] == ["turn_completed"]
    assert turn.status == "completed"
    assert place.answer() == "h\u00e9llo w\u00f6rld \U0001f30d"


@pytest.mark.parametrize("api", APIS)
async def test_a_chunk_that_comes_twice_ends_the_turn_once(asked, place, api):
    """Its words may be there twice where nothing tells a repetition from the same words again; calls never are."""
    (place.project / "a.txt").write_text("x")
    for number in range(1, 6):
        turn = await asked(api, repeats(WORDS, number))
        assert turn.status == "completed"
        assert [event.type for event in endings(place)] == ["turn_completed"]
        assert place.answer().replace("h\u00e9ll", "", 1)


@pytest.mark.parametrize("api", APIS)
async def test_a_session_that_met_every_fault_still_answers(place, monkeypatch, api):
    """Nothing of a failure is left behind that the next request could stumble over."""
    monkeypatch.setattr(patience, "PATIENCE_S", 0.0)
    monkeypatch.setattr(Breaker, "_enter", lambda _: False)
    # A kept connection that is closed without a word is replaced once: there the next reply would be the answer.
    every = [reply for reply, _ in (*REFUSED.values(), *BROKEN.values())]
    faults = [reply for reply in every if reply.ending != "stall" and reply.head]
    async with ProviderServer([*faults, says("still here")]) as server:
        place.configure(json.dumps(provider_settings(server.url, api)))
        await place.reopen()
        await place.start()
        for _ in faults:
            assert (await place.ask("go")).status == "failed"
        turn = await place.ask("and now?")
        assert len(server.requests) == len(faults) + 1

    assert turn.status == "completed"
    assert place.answer() == "still here"
