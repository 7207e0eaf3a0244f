"""Titles: the first words, or made by a model that is asked once, in the background, within the limits."""

from __future__ import annotations

import asyncio

import pytest

from agi.errors import ModelError
from agi.models.scripted import Say, Wait
from agi.protocol.commands import CreateSession, PostMessage, UpdateSession
from agi.protocol.policies import Budget, Budgets
from agi.sessions.composing import TITLE, clean_title

MODEL = '{"titles": {"mode": "model"}}'


def title(place) -> str | None:
    return place.harness.session(place.session_id).title


async def made(place) -> None:
    """The title that is being made, is made."""
    await place.until(lambda: place.harness._titling is not None)  # the turn's end is heard of a moment before
    await asyncio.gather(*place.harness._titling._tasks)


async def test_a_title_is_the_first_words_unless_a_model_is_asked_for(place):
    """No call is made that nobody asked for."""
    place.model.says("hi")
    await place.ask("Please look\nat\x1b[31m this")

    assert title(place) == "Please look at [31m this"
    assert len(place.model.requests) == 1
    assert place.harness._titling is None


async def test_a_model_makes_the_title_after_the_first_turn(place):
    """Once; it is shown how the conversation began, and what it costs counts for the session."""
    place.configure(MODEL)
    place.model.says("It adds numbers.").then_says('"Adding numbers"\n').then_says("more")
    await place.ask("What does this do?")
    await made(place)
    usage = place.harness.session(place.session_id).usage
    await place.ask("And then?")

    assert title(place) == "Adding numbers"
    assert usage.requests == 2
    assert len(place.model.requests) == 3
    shown = place.model.requests[1].messages[0].parts[0].text
    assert "What does this do?" in shown
    assert "It adds numbers." in shown
    assert place.model.requests[1].options == {"max_tokens": 512}
    assert place.model.requests[1].tools == ()


async def test_the_turn_does_not_wait_for_its_title(place):
    """It is over while the title is still being made, and another one runs beside it."""
    place.configure(MODEL)
    gate = asyncio.Event()
    place.model.says("first").plays(Wait(gate), Say("A title")).then_says("second")
    assert (await place.ask("one")).status == "completed"
    assert title(place) == "one"
    await place.until(lambda: len(place.model.requests) == 2)
    second = await place.ask("two")
    gate.set()
    await made(place)

    assert (second.status, title(place)) == ("completed", "A title")


async def test_a_title_somebody_gave_meanwhile_stays(place):
    """What a person says counts."""
    place.configure(MODEL)
    gate = asyncio.Event()
    place.model.says("first").plays(Wait(gate), Say("A title"))
    await place.ask("one")
    await place.until(lambda: len(place.model.requests) == 2)
    await place.harness.update_session(place.session_id, UpdateSession(title="mine"))
    gate.set()
    await made(place)

    assert title(place) == "mine"


async def test_a_session_with_a_title_or_a_one_shot_needs_none(place):
    """Nobody is asked."""
    place.configure(MODEL)
    for fields, ephemeral in (({"title": "mine"}, False), ({}, True)):
        place.model.says("hi")
        session = await place.harness.create_session(CreateSession(**fields), ephemeral=ephemeral)
        posted = await place.harness.post_message(session.id, PostMessage(content="hello"))
        await place.harness.wait_turn(session.id, posted.turn_id)
    await place.until(lambda: not place.harness.runners._tasks)
    if place.harness._titling:
        await made(place)
    assert len(place.model.requests) == 2


async def test_a_model_that_fails_leaves_the_first_words(place):
    """Silently: the session is as it would be without."""
    place.configure(MODEL)
    place.model.says("hi").fails(ModelError("broken", code="provider_failed"))
    await place.ask("hello")
    await made(place)
    assert title(place) == "hello"
    assert place.types()[-1] == "session_completed"


async def test_a_session_that_is_removed_meanwhile_stays_removed(place):
    """A late title brings nothing back."""
    place.configure(MODEL)
    gate = asyncio.Event()
    place.model.says("first").plays(Wait(gate), Say("A title"))
    await place.ask("one")
    await place.until(lambda: len(place.model.requests) == 2)
    await place.harness.delete_session(place.session_id)
    gate.set()
    await made(place)
    assert place.harness.sessions() == []


async def test_where_the_budget_is_used_up_nobody_is_asked(place):
    """A title is not worth more than the user allows."""
    place.configure(MODEL)
    await place.start(budget=Budgets(per_session=Budget(steps=1)))
    place.model.says("hi")
    await place.ask("hello")
    await made(place)
    assert len(place.model.requests) == 1
    assert title(place) == "hello"


async def test_a_project_nobody_trusts_does_not_have_a_model_asked(place):
    """It costs money, and tells somebody what was said."""
    place.trusted = False
    await place.reopen()
    place.configure('{"titles": {"mode": "model", "model": "else/where"}}')
    config = place.harness.site().config
    assert (config.titles.mode, config.titles.model) == ("first-message", None)
    assert {"titles.mode", "titles.model"} <= set(config.ignored)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("two\nlines\tand\r\nmore", "two lines and more"),
        ("\x1b]0;evil\x07", "]0;evil"),
        ("\u202egnorw", "gnorw"),
        ("", ""),
        ("x" * 100, "x" * (TITLE - 1) + "…"),
    ],
)
def test_a_title_is_one_short_line_that_can_be_seen(text, expected):
    """Whoever wrote it."""
    assert clean_title(text) == expected
