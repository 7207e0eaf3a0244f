"""The running turn's hand on the log: text at once, and a log that does not drown in it."""

from __future__ import annotations

import asyncio
import json

from agi.eventlog.base import Cursor, Lease, LiveDelta
from agi.models.scripted import Say, Think, Wait
from agi.protocol import commands
from agi.protocol.events import ModelOutputDelta, Notice, PreflightResolved
from agi.sessions.approvals import Approvals
from agi.sessions.journal import Journal
from agi.sessions.runner import take_lease_check
from agi.views import queries


async def test_a_long_answer_costs_the_log_at_most_twice_its_text_and_a_little(place):
    """Four hundred thousand characters in small chunks: pieces grow, so their number stays small."""
    text = "word " * 80_000
    place.model.says(text, 5)

    await place.ask("tell me everything")

    size = sum(len(event.raw) for event in place.events())
    assert size < 2 * len(text) + 16_000
    assert len(place.events("model_output_delta")) < 30


async def test_the_pieces_in_the_log_add_up_to_the_text(place):
    """Offsets are dense and the joined deltas are the message, part by part."""
    place.model.plays(Think("because " * 400, 7), Say("so it is " * 1000, 11))

    await place.ask("why?")

    parts: dict[str, str] = {}
    for event in place.events("model_output_delta"):
        data = json.loads(event.raw)
        assert data["offset"] == len(parts.get(data["part_id"], ""))
        parts[data["part_id"]] = parts.get(data["part_id"], "") + data["delta"]
    assert list(parts.values()) == ["because " * 400, "so it is " * 1000]


async def test_a_live_follower_hears_text_before_it_is_in_the_log(place):
    """The first chunk reaches a follower while the log has nothing of it."""
    gate = asyncio.Event()
    place.model.plays(Say("first words"), Wait(gate), Say(" and the rest"))
    heard: list[LiveDelta] = []

    async def follow() -> None:
        async for batch in place.harness.follow(place.session_id, Cursor()):
            heard.extend(one.item for one in batch.deliveries if isinstance(one.item, LiveDelta))

    task = asyncio.create_task(follow())
    posted = await place.say("speak")
    await place.until(lambda: bool(heard))

    assert heard[0].data.delta == "first words"
    assert not place.events("model_output_delta")
    gate.set()
    await place.ended(posted)
    task.cancel()


async def test_a_pause_puts_what_was_said_into_the_log(place):
    """Text does not stay in memory only because the model is thinking: it is logged a moment later."""
    place.model.plays(Say("said before the pause"), Wait(asyncio.Event()))
    await place.say("speak")

    event = await place.heard("model_output_delta")

    assert isinstance(event.data, ModelOutputDelta)
    assert event.data.delta == "said before the pause"


async def test_a_follower_who_comes_late_gets_the_open_text_once(place):
    """Whatever is logged and whatever is not yet: together they are the text so far."""
    gate = asyncio.Event()
    place.model.plays(Say("x" * 5000, 100), Say("tail", 1), Wait(gate))
    await place.say("speak")
    await place.until(lambda: place.session_id in place.harness.log.hub.open)
    await asyncio.sleep(0)

    text = ""
    async for batch in place.harness.follow(place.session_id, Cursor()):
        for one in batch.deliveries:
            if isinstance(one.item.data, ModelOutputDelta):
                assert one.item.data.offset == len(text)
                text += one.item.data.delta
        if batch.caught_up and text.endswith("tail"):
            break
        if text.endswith("tail"):
            break

    assert text == "x" * 5000 + "tail"


async def test_live_text_is_without_secrets_too(place):
    """A follower who hears it live sees the stars the log has, at the same offsets."""
    place.harness.redactor.learn("sk-live-canary-123")
    gate = asyncio.Event()
    place.model.plays(Say("the key is sk-live-canary-123, they say"), Wait(gate))
    heard: list[str] = []

    async def follow() -> None:
        async for batch in place.harness.follow(place.session_id, Cursor()):
            heard.extend(one.item.data.delta for one in batch.deliveries if isinstance(one.item, LiveDelta))

    task = asyncio.create_task(follow())
    posted = await place.say("tell")
    await place.until(lambda: bool(heard))
    gate.set()
    await place.ended(posted)
    task.cancel()

    assert heard == ["the key is " + "*" * 18 + ", they say"]
    assert place.answer() == heard[0]


async def test_a_part_that_was_just_logged_is_not_heard_again_when_the_next_one_speaks(place):
    """The earlier part is in the log before another speaks, also when it was being written at that very moment."""
    for _ in range(5):
        place.model.plays(Think("t" * 1024), Say("s" * 1024), Think("u" * 1024), Say("v" * 10))
    heard: dict[str, str] = {}
    twice: list[str] = []

    async def follow() -> None:
        async for batch in place.harness.follow(place.session_id, Cursor()):
            for one in batch.deliveries:
                data = one.item.data
                if isinstance(data, ModelOutputDelta):
                    if data.offset != len(heard.get(data.part_id, "")):
                        twice.append(data.part_id)
                    heard[data.part_id] = heard.get(data.part_id, "") + data.delta

    task = asyncio.create_task(follow())
    for _ in range(5):
        await place.ask("speak")
    task.cancel()

    assert not twice
    assert [len(text) for text in heard.values()] == [1024, 1024, 1024, 10] * 5


async def test_a_secret_said_in_small_pieces_is_never_shown(place):
    """The beginning of a secret waits until it is known to be none; nothing else waits."""
    place.harness.redactor.learn("sk-split-canary-123")
    place.model.says("my key: sk-split-canary-123, or sk-something else. sk-sp", 3)
    heard: list[str] = []

    async def follow() -> None:
        async for batch in place.harness.follow(place.session_id, Cursor()):
            for one in batch.deliveries:
                if isinstance(one.item.data, ModelOutputDelta):
                    assert one.item.data.offset == len("".join(heard))
                    heard.append(one.item.data.delta)

    task = asyncio.create_task(follow())
    await place.ask("tell")
    await place.until(lambda: "".join(heard).endswith("sk-sp"))
    task.cancel()

    shown = "my key: " + "*" * 19 + ", or sk-something else. sk-sp"
    assert "".join(heard) == shown
    assert place.answer() == shown
    assert b"canary" not in b"".join(event.raw for event in place.events())


async def test_words_never_have_an_older_number_than_what_was_told_before_them(place):
    """An event that somebody else writes meanwhile stands before the words that follow it, for every reader."""
    gate = asyncio.Event()
    place.model.plays(Say("first words"), Wait(gate), Say(" and the rest"))
    numbers: list[int] = []

    async def follow() -> None:
        async for batch in place.harness.follow(place.session_id, Cursor()):
            numbers.extend(one.item.seq for one in batch.deliveries)

    task = asyncio.create_task(follow())
    posted = await place.say("speak")
    await place.until(lambda: bool(place.harness.log.hub.open))
    await place.harness.update_session(place.session_id, commands.UpdateSession(title="meanwhile"))
    gate.set()
    await place.ended(posted)
    await place.until(lambda: bool(numbers) and numbers[-1] == place.events()[-1].seq)
    task.cancel()

    assert numbers == sorted(numbers)


async def test_what_was_heard_from_others_is_not_forgotten_by_an_own_write(place, monkeypatch):
    """What is said next comes behind the last event that everybody was told of, whoever wrote it."""
    log, taken, said = place.harness.log, [], []
    await log.append(place.session_id, [], check=take_lease_check(place.session_id, log.owner, taken))
    monkeypatch.setattr(log, "say_live", lambda session_id, turn_id, seq, data: said.append(seq))
    journal = Journal(log, place.session_id, "turn_x", taken[0], 1)

    writing = asyncio.create_task(journal.emit(Notice(code="x", message="x")))
    await asyncio.sleep(0)
    journal.heard(1_000)
    await writing
    await journal.speak(
        ModelOutputDelta(message_id="msg_x", part_id="part_x", kind="text", offset=0, delta="words. " * 9)
    )

    assert said == [1_000]


async def test_the_session_is_read_anew_in_every_round_of_the_event_loop(place):
    """Within one stretch of work it is read once; what anybody wrote meanwhile is there after the next pause."""
    log, taken = place.harness.log, []
    await log.append(place.session_id, [], check=take_lease_check(place.session_id, log.owner, taken))
    journal = Journal(log, place.session_id, "turn_x", taken[0], 1)
    before = journal.state()
    assert journal.state() is before

    await log.append(place.session_id, [(None, Notice(code="other", message="from elsewhere"))])
    assert journal.was_noticed("other")

    journal.defer(Notice(code="own", message="not written yet"))
    assert journal.was_noticed("own")
    assert not {"own", "other"} & set(before.noticed)


async def test_an_answer_that_is_there_when_it_is_asked_for_is_read_with_all_it_says(place):
    """Nothing is waited for then, so what the journal read a moment before is from before the answer."""
    place.model.says(json.dumps({"steps": [{"description": "Write.", "toolName": "write_file", "target": "n.txt"}]}))
    posted = await place.say("take notes", preflight=True, on_ask="wait")
    steps = (await place.heard("preflight_requested")).data.steps
    log, session_id = place.harness.log, place.session_id
    journal = Journal(log, session_id, posted.turn_id, Lease(session_id, log.owner, 1), 0)
    assert journal.turn().preflight_answer is None

    # Between these two lines the event loop does nothing; the log's writer is a thread of its own.
    log.append_nowait(session_id, [(posted.turn_id, PreflightResolved(approved=True, cause="user", steps=steps))])
    while queries.session_state(log.db, session_id).turn.preflight_answer is None:
        pass
    answer = await Approvals(log, journal, None).preflight()

    assert answer.approved
    assert journal.turn().preflight_answer == answer
    await place.cancel()
