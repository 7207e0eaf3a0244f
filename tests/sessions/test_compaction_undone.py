"""How much a conversation is after a compaction was undone: all of it again, from the first moment on."""

from __future__ import annotations

import json

import pytest

from agi.models.base import ModelRequest
from agi.models.scripted import Say, Stop
from agi.protocol.commands import Compact, ForkSession, Revert
from agi.protocol.messages import Usage
from agi.protocol.parts import plain_text

SUMMARY = "Goal: talk.\nDone: something was said."
HEAD = 3_000
"""Tokens of system and tools: so many that a report of the shorter conversation may be true of the longer one."""


def size(request: ModelRequest) -> int:
    """Tokens of a request as the provider counts them."""
    return HEAD + sum(len(plain_text(one.parts)) for one in request.messages) // 4


@pytest.fixture
async def talking(place):
    """A session whose provider reports what it was sent; it has talked, was compacted, and has talked on."""

    def decide(request: ModelRequest):
        if request.system.startswith("You write the record"):
            return (Say(SUMMARY),)
        return (Say("An answer. " * 100), Stop("end_turn", Usage(input_tokens=size(request), output_tokens=275)))

    place.model._decide = decide
    await talk(place, 6)
    await place.harness.compact(place.session_id, Compact())
    await talk(place, 1)
    return place


async def talk(place, turns: int) -> None:
    for number in range(turns):
        assert (await place.ask(f"question {number}: " + "words " * 100)).status == "completed"


async def undone(place):
    return await place.harness.compact(place.session_id, Compact(undo=True))


def shown(place) -> int:
    return place.harness.session(place.session_id).context_tokens


async def next_request(place) -> int:
    """How much the next request is by the provider's own count; what is asked in it is about nothing."""
    await place.ask("?")
    return size(place.model.requests[-1])


async def test_what_is_shown_is_the_whole_conversation_again(talking):
    """At once, in the session and in the report about its context; what the compacted one took counts for nothing."""
    before = shown(talking)

    await undone(talking)

    session, report = shown(talking), (await talking.harness.context(talking.session_id)).total_tokens
    sent = await next_request(talking)
    assert before < 0.8 * sent
    assert session == pytest.approx(sent, rel=0.05)
    assert report == pytest.approx(sent, rel=0.05)


async def test_what_is_told_of_undoing_counts_what_was_said_since(talking):
    """Before: what models were told last; after: what they are told next."""
    before = shown(talking)

    done = await undone(talking)

    assert (done.pre_tokens, done.post_tokens) == (before, shown(talking))
    assert json.loads(talking.events("compaction_undone")[0].raw)["tokens"] == done.post_tokens
    assert done.post_tokens == pytest.approx(await next_request(talking), rel=0.05)


async def test_it_is_made_shorter_before_the_first_call_if_it_is_too_long_again(talking):
    """The model is not sent what it cannot take."""
    models = {"script": {"contextWindow": 6_200, "maxOutputTokens": 500}}
    talking.configure(json.dumps({"providers": {"scripted": {"models": models}}}))
    await talking.reopen()
    await undone(talking)
    assert shown(talking) > 5_270  # 85 % of the window

    await talk(talking, 1)

    (started,) = [event.data for event in talking.events("compaction_started") if event.data.trigger == "threshold"]
    assert started.pre_tokens > 5_270
    assert size(talking.model.requests[-1]) < 5_270


async def test_undoing_one_of_two_brings_back_the_size_of_the_first(talking):
    """What was reported between the two counts again, what came after the second one does not."""
    await talk(talking, 4)
    longer = shown(talking)
    await talking.harness.compact(talking.session_id, Compact())
    await talk(talking, 1)

    await undone(talking)

    report = (await talking.harness.context(talking.session_id)).total_tokens
    sent = await next_request(talking)
    assert longer < sent
    assert report == pytest.approx(sent, rel=0.05)


async def test_it_holds_after_later_turns_were_taken_back_and_in_a_fork(talking):
    """Whose reports were right is a matter of the log, and not of which came last."""
    await undone(talking)
    await talk(talking, 1)
    last = talking.events("turn_started")[-1].turn_id
    await talking.harness.revert(talking.session_id, Revert(to=last, what="conversation"))

    report = (await talking.harness.context(talking.session_id)).total_tokens
    fork = await talking.harness.fork_session(talking.session_id, ForkSession())
    forked = (await talking.harness.context(fork.id)).total_tokens

    sent = await next_request(talking)
    assert report == pytest.approx(sent, rel=0.05)
    assert forked == report
