"""Following: the past, then the present, each event and each character once, whatever breaks in between."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from agi.errors import BadRequest, Damaged
from agi.eventlog import follow as follows
from agi.eventlog import hub as hubs
from agi.eventlog.base import Cursor, LiveDelta, parse_cursor
from agi.eventlog.schema import connect
from agi.protocol import events as ev
from agi.protocol.ids import MESSAGE, TURN, new_id
from agi.protocol.messages import Message

APPEND_SLOWLY = """
async def main():
    log = EventLog(folder, Tables())
    for n in range(5):
        await log.append(session_id, [note(f"far {n}")])
        await asyncio.sleep(0.01)
    await log.close()
asyncio.run(main())
"""
DELETE = """
async def main():
    log = EventLog(folder, Tables())
    await log.delete(session_id)
    await log.close()
asyncio.run(main())
"""


async def caught_up(log, session_id, cursor=None):
    """Everything a reader with this cursor is told before it has to wait."""
    deliveries = []
    async with contextlib.aclosing(log.follow(session_id, cursor)) as batches:
        async for batch in batches:
            assert not batch.resync
            deliveries += batch.deliveries
            if batch.caught_up:
                return deliveries
    return deliveries


def shown(deliveries):
    """Cursor and text of each delivery."""
    return [(str(one.cursor), getattr(one.item.data, "delta", one.item.data.TYPE)) for one in deliveries]


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        ("0", Cursor(0)),
        ("17", Cursor(17)),
        ("17:240", Cursor(17, 240)),
        ("17:0", Cursor(17, 0)),
        ("17@1767225600000", Cursor(17, None, 1767225600000)),
        ("17:240@1767225600000", Cursor(17, 240, 1767225600000)),
    ],
)
def test_a_cursor_is_read_as_it_was_written(text, cursor):
    """Every form that is handed out is taken back."""
    assert parse_cursor(text) == cursor
    assert str(cursor) == text


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1:", ":5", "1:-2", "1e3", "١", "1" * 16, "1@", "1:2:3", "1;2", "0x11"]
)
def test_what_is_no_cursor_is_refused_with_a_hint(text):
    """Garbage, negative and huge numbers are a bad request, not a position."""
    with pytest.raises(BadRequest) as refused:
        parse_cursor(text)
    assert refused.value.code == "bad_cursor"
    assert refused.value.hint


async def test_a_follower_gets_the_past_and_then_the_present(log, story, follow):
    """It is told when the past is over, and then of each event as it comes."""
    reader = await follow(log, story.id, Cursor()).until(lambda r: r.caught_up)
    assert reader.seqs == [1, 2, 3]

    await story.note()

    await reader.until(lambda r: len(r.seqs) == 4)
    assert reader.cursors == ["1", "2", "3", "4"]
    assert reader.caught_up == 1


async def test_without_a_cursor_following_begins_now(log, story, follow):
    """The past is not told."""
    reader = await follow(log, story.id).until(lambda r: r.caught_up)
    await story.note()

    await reader.until(lambda r: r.seqs)
    assert reader.seqs == [4]


async def test_a_long_past_is_told_page_by_page(log, story, follow, monkeypatch):
    """Events that are written while the past is being told are told once, in their place."""
    monkeypatch.setattr(follows, "PAGE", 3)
    for _ in range(20):
        await story.note()
    async with contextlib.aclosing(log.follow(story.id, Cursor())) as batches:
        seqs = []
        async for batch in batches:
            seqs += [one.item.seq for one in batch.deliveries]
            if len(seqs) in (3, 9):
                await story.note()
            if batch.caught_up:
                break

    assert seqs == list(range(1, 26))


@pytest.mark.parametrize("page", [2, 1000])
async def test_a_hole_in_the_log_ends_the_following(log, story, folder, monkeypatch, page):
    """What comes before it is told, then that the log is damaged; nobody else is kept from going on."""
    monkeypatch.setattr(follows, "PAGE", page)
    for _ in range(4):
        await story.note()
    db = connect(folder / "agi.sqlite")
    db.execute("DELETE FROM events WHERE seq IN (4, 5)")
    db.close()
    told = []

    async def read() -> None:
        async with contextlib.aclosing(log.follow(story.id, Cursor())) as batches:
            async for batch in batches:
                told.extend(one.item.seq for one in batch.deliveries)

    with pytest.raises(Damaged) as refused:
        await read()

    assert told == [1, 2, 3]
    assert refused.value.code == "damaged"
    assert "agi repair" in refused.value.hint
    assert not log.hub.has_listeners


async def test_open_text_is_shown_at_once_and_not_again_when_it_is_logged(log, story, follow):
    """Live pieces come with `seq:offset`; the logged piece that repeats them is left out."""
    reader = await follow(log, story.id, Cursor(3)).until(lambda r: r.caught_up)
    story.speak("p", 0, "Hel")
    story.speak("p", 3, "lo ")
    await story.log_piece("p", 0, "Hello ")
    story.speak("p", 6, "you")

    await reader.until(lambda r: len(r.deliveries) == 3)
    assert shown(reader.deliveries) == [("3:3", "Hel"), ("3:6", "lo "), ("4:9", "you")]


async def test_who_comes_later_gets_the_open_text_and_who_comes_back_gets_its_rest(log, story):
    """A resume in the middle of a sentence continues at the character."""
    story.speak("p", 0, "Hello ")
    await story.log_piece("p", 0, "Hello ")
    story.speak("p", 6, "you")

    assert shown(await caught_up(log, story.id, Cursor(3))) == [("4", "Hello "), ("4:9", "you")]
    assert shown(await caught_up(log, story.id, Cursor(3, 4))) == [("4", "o "), ("4:9", "you")]
    assert shown(await caught_up(log, story.id, Cursor(4))) == [("4:9", "you")]
    assert shown(await caught_up(log, story.id, Cursor(4, 8))) == [("4:9", "u")]
    assert shown(await caught_up(log, story.id, Cursor(4, 9))) == []


async def test_an_event_in_the_middle_of_a_sentence_keeps_the_readers_place_in_it(log, story, follow):
    """The cursor of an event carries the offset of text that was shown and is not logged yet."""
    reader = await follow(log, story.id, Cursor(3)).until(lambda r: r.caught_up)
    story.speak("p", 0, "Hello ")
    await story.note()
    await reader.until(lambda r: len(r.deliveries) == 2)
    assert reader.cursors == ["3:6", "4:6"]

    story.speak("p", 6, "you")

    assert shown(await caught_up(log, story.id, parse_cursor("4:6"))) == [("4:9", "you")]
    await story.log_piece("p", 0, "Hello you")
    await story.note()
    await reader.until(lambda r: len(r.deliveries) == 4)
    assert reader.cursors[2:] == ["4:9", "6"]


async def test_taking_a_message_back_from_the_queue_does_not_repeat_the_text(log, story, follow):
    """Another turn's end says nothing about the part that is open."""
    story.speak("p", 0, "Hello ")
    await story.write(ev.TurnCanceled(), turn=new_id(TURN))
    await story.log_piece("p", 0, "Hello you")

    resumed = await caught_up(log, story.id, Cursor(3, 6))
    assert shown(resumed) == [("4:6", "turn_canceled"), ("5", "you")]


async def test_text_that_a_crash_took_does_not_clip_the_new_answer(log, story):
    """A cursor into lost text is void once the turn was resumed: the new message is told from its beginning."""
    story.speak("p", 0, "x" * 50)
    await story.write(ev.TurnResumed())
    story.answer = new_id(MESSAGE)
    story.speak("q", 0, "Once more: ")
    await story.log_piece("q", 0, "Once more: ")
    story.speak("q", 11, "hello")

    assert shown(await caught_up(log, story.id, Cursor(3, 50))) == [
        ("4", "turn_resumed"),
        ("5", "Once more: "),
        ("5:16", "hello"),
    ]


async def test_a_follower_that_comes_between_commit_and_telling_hears_nothing_twice(log, story):
    """The answer is on disk but nobody was told yet: its text is not shown again as open text."""
    story.speak("p", 0, "Hello")
    whole = Message(
        id=story.answer, role="assistant", parts=(), created_at="2026-01-01T00:00:00.000Z", status="complete"
    )
    entries = [(story.turn, story.piece("p", 0, "Hello")), (story.turn, ev.ModelOutputCompleted(message=whole))]
    appended = log.append_nowait(story.id, entries)
    while log.last_seq(story.id) < 5:
        pass  # the event loop stands still, so the writer's word has not been heard

    told = await caught_up(log, story.id, Cursor(3))

    assert shown(told) == [("4", "Hello"), ("5", "model_output_completed")]
    await appended


async def test_text_that_was_said_and_logged_while_the_past_was_told_comes_once(log, story, monkeypatch):
    """A slow reader of the past finds the logged text there, and not again in its buffer."""
    monkeypatch.setattr(follows, "PAGE", 2)
    async with contextlib.aclosing(log.follow(story.id, Cursor())) as batches:
        told = [*(await anext(batches)).deliveries]
        story.speak("p", 0, "Hello")
        await story.log_piece("p", 0, "Hello")
        await story.end()
        async for batch in batches:
            told += batch.deliveries
            if batch.caught_up:
                break
        await story.note()
        told += (await anext(batches)).deliveries

    assert [text for _, text in shown(told)].count("Hello") == 1
    assert [one.item.seq for one in told] == [1, 2, 3, 4, 5, 6, 7, 8]


async def test_a_slow_reader_catches_up_from_the_file(log, story, follow):
    """More than a buffer's worth of text and events behind, it continues exactly where it stood."""
    async with contextlib.aclosing(log.follow(story.id, Cursor(3))) as batches:
        await anext(batches)
        story.speak("p", 0, "0123456789")
        (first,) = (await anext(batches)).deliveries
        for n in range(hubs.BUFFER + 10):
            story.speak("p", 10 + n, "x")
        await story.log_piece("p", 0, "0123456789" + "x" * 100)
        await story.note()
        told = [first]
        while len(told) < 4:
            told += (await anext(batches)).deliveries

    assert [str(one.cursor) for one in told] == ["3:10", "4", "5", f"5:{hubs.BUFFER + 20}"]
    assert "".join(one.item.data.delta for one in told if hasattr(one.item.data, "delta")) == "0123456789" + "x" * (
        hubs.BUFFER + 10
    )


@pytest.mark.parametrize("cursor", [Cursor(2, None, 7), Cursor(3, 5, 1767225600000), Cursor(4), Cursor(10**14)])
async def test_a_cursor_of_another_log_gets_one_resync_and_then_the_present(log, story, follow, cursor):
    """Of another epoch or beyond the end: never a silent gap, never old events again."""
    reader = await follow(log, story.id, cursor).until(lambda r: r.caught_up)
    await story.note()
    await reader.until(lambda r: r.seqs)

    assert reader.resyncs == 1
    assert reader.seqs == [4]


async def test_the_beginning_is_the_same_in_every_log(log, story, follow):
    """Asking for everything needs no epoch."""
    reader = await follow(log, story.id, Cursor(0, None, 99)).until(lambda r: r.caught_up)
    assert (reader.resyncs, reader.seqs) == (0, [1, 2, 3])


async def test_a_deleted_session_ends_its_followers(log, story, follow):
    """Live followers come to an end, and so does whoever asks for it later."""
    reader = await follow(log, story.id, Cursor()).until(lambda r: r.caught_up)
    await log.delete(story.id)

    await reader.until(lambda r: r.ended)
    assert await caught_up(log, story.id) == []


async def test_a_session_another_process_deleted_ends_its_followers_too(log, story, tell, follow, process):
    """Followers of other sessions stay."""
    other = tell(log)
    await other.begin()
    reader = await follow(log, story.id, Cursor()).until(lambda r: r.caught_up)
    stays = await follow(log, other.id, Cursor()).until(lambda r: r.caught_up)

    process(DELETE, story.id)

    await reader.until(lambda r: r.ended)
    assert not stays.ended


async def test_what_another_process_writes_is_heard(log, story, follow, process):
    """A follower wakes when the file changes, and gets the others' events among our own in the order of the log."""
    reader = await follow(log, story.id, Cursor()).until(lambda r: r.caught_up)
    other = process(APPEND_SLOWLY, story.id)
    for n in range(5):
        await story.note(f"near {n}")
    assert await asyncio.to_thread(other.wait, 20) == 0

    await reader.until(lambda r: len(r.seqs) == 13)
    assert reader.seqs == list(range(1, 14))


async def test_events_of_others_that_nobody_waited_for_are_skipped_cheaply(logs, log, story, follow):
    """A log nobody follows does not read what others wrote until somebody asks, and then tells it once."""
    elsewhere = logs.open()
    for n in range(5):
        await elsewhere.append(story.id, [(None, ev.Notice(code="n", message=str(n)))])
    mine = await story.note()

    reader = await follow(log, story.id, Cursor(3)).until(lambda r: r.caught_up)

    assert mine.seq == 9
    assert reader.seqs == [4, 5, 6, 7, 8, 9]


async def test_a_turn_taken_over_by_another_process_leaves_no_ghost_text(logs, log, story, follow):
    """What the first process still says after the other one resumed the turn reaches nobody."""
    reader = await follow(log, story.id, Cursor(3)).until(lambda r: r.caught_up)
    story.speak("p", 0, "Hel")
    await reader.until(lambda r: r.deliveries)
    elsewhere = logs.open()
    await elsewhere.append(story.id, [(story.turn, ev.TurnResumed()), (story.turn, story.piece("q", 0, "Anew"))])
    await reader.until(lambda r: len(r.deliveries) == 3)

    story.speak("p", 3, "lo")
    await story.note()

    await reader.until(lambda r: 6 in r.seqs)
    assert shown(reader.deliveries) == [("3:3", "Hel"), ("4", "turn_resumed"), ("5", "Anew"), ("6", "notice")]
    assert shown(await caught_up(log, story.id, Cursor(5))) == [("6", "notice")]


ALL = 1_000_000


class Mouth:
    """Speaks and logs as a running turn does, at random, and remembers what was said."""

    def __init__(self, story, elsewhere, dice: random.Random) -> None:
        self.story = story
        self.elsewhere = elsewhere
        self.dice = dice
        self.part = "part_0"
        self.spoken: dict[str, str] = {"part_0": ""}
        self.logged: dict[str, int] = {"part_0": 0}
        self.under_way: list[asyncio.Future[list[ev.Event]]] = []

    async def step(self) -> None:
        steps = [self.speak] * 8 + [self.flush] * 3 + [self.flush_and_go_on] * 3
        steps += [self.note, self.note_elsewhere, self.other_turn_ends, self.next_part, self.complete, self.crash]
        await self.dice.choice(steps)()
        for _ in range(self.dice.choice([0, 0, 0, 1, 3])):
            await asyncio.sleep(0)

    async def speak(self) -> None:
        said = self.spoken[self.part]
        text = "".join(self.dice.choice("abcdé漢😀\n") for _ in range(self.dice.randint(1, 6)))
        self.spoken[self.part] += text
        self.story.speak(self.part, len(said), text)

    def tail(self) -> list[tuple[str, ev.EventData]]:
        start, text = self.logged[self.part], self.spoken[self.part]
        self.logged[self.part] = len(text)
        return [(self.story.turn, self.story.piece(self.part, start, text[start:]))] if text[start:] else []

    def append(self, *data: ev.EventData) -> None:
        entries = [*self.tail(), *((self.story.turn, one) for one in data)]
        if entries:
            self.under_way.append(self.story.log.append_nowait(self.story.id, entries))

    async def settle(self) -> None:
        for done in await asyncio.gather(*self.under_way):
            self.story.seq = max(self.story.seq, done[-1].seq)
        self.under_way.clear()

    async def flush(self) -> None:
        self.append()
        await self.settle()

    async def flush_and_go_on(self) -> None:
        self.append()
        await self.speak()

    async def note(self) -> None:
        await self.story.note()

    async def note_elsewhere(self) -> None:
        await self.elsewhere.append(self.story.id, [(None, ev.Notice(code="n", message="far"))])

    async def other_turn_ends(self) -> None:
        entries = [(new_id(TURN), ev.TurnCanceled())]
        await self.story.log.append(self.story.id, entries)

    async def next_part(self) -> None:
        await self.flush()
        self.begin()

    async def complete(self) -> None:
        whole = Message(
            id=self.story.answer, role="assistant", parts=(), created_at="2026-01-01T00:00:00.000Z", status="complete"
        )
        self.append(ev.ModelOutputCompleted(message=whole))
        await self.settle()
        self.story.answer = new_id(MESSAGE)
        self.begin()

    async def crash(self) -> None:
        """What was shown but not logged is lost; the turn goes on with a new message."""
        await self.settle()
        self.story.log.hub.open.pop(self.story.id, None)  # the hub was in the process that died
        await self.story.write(ev.TurnResumed())
        self.story.answer = new_id(MESSAGE)
        self.begin()

    def begin(self) -> None:
        self.part = f"part_{len(self.spoken)}"
        self.spoken[self.part], self.logged[self.part] = "", 0


class Memory:
    """What one reader has: text by part, numbers of events, and where it stands."""

    def __init__(self, cursor: Cursor, texts: dict[str, str], seqs: tuple[int, ...]) -> None:
        self.cursor = cursor
        self.texts = texts
        self.seqs = seqs

    def after(self, delivery) -> Memory:
        texts, seqs, data = dict(self.texts), self.seqs, delivery.item.data
        if isinstance(data, ev.ModelOutputDelta):
            assert data.offset == len(texts.get(data.part_id, "")), (self.cursor, delivery)
            texts[data.part_id] = texts.get(data.part_id, "") + data.delta
        if not isinstance(delivery.item, LiveDelta):
            assert delivery.item.seq > self.cursor.seq, (self.cursor, delivery)
            if not isinstance(data, ev.ModelOutputDelta):
                seqs = (*seqs, delivery.item.seq)
        stood, stands = self.cursor, delivery.cursor
        assert (stands.seq, stands.offset or 0) > (stood.seq, stood.offset or 0), (stood, stands)
        return Memory(parse_cursor(str(delivery.cursor)), texts, seqs)


async def read_on(log, session_id: str, memory: Memory, most: int, dice: random.Random) -> list[Memory]:
    """Follow from where a reader stands, now and then slowly, until it has heard some more; then drop the link."""
    heard: list[Memory] = []
    async with contextlib.aclosing(log.follow(session_id, memory.cursor)) as batches:
        async for batch in batches:
            assert not batch.resync
            for delivery in batch.deliveries:
                memory = memory.after(delivery)
                heard.append(memory)
                if len(heard) >= most:
                    return heard
            if batch.caught_up and most == ALL:
                return heard
            await asyncio.sleep(dice.choice([0, 0, 0.001, 0.004]) if most < ALL else 0)
    return heard


@pytest.mark.parametrize("seed", range(8))
async def test_however_often_the_link_breaks_every_reader_has_every_character_once(logs, log, story, monkeypatch, seed):
    """Hundreds of drops and resumes, at any moment and with any cursor ever handed out: the text is the text."""
    dice = random.Random(seed)
    monkeypatch.setattr(follows, "PAGE", dice.choice([5, 20, 1000]))
    monkeypatch.setattr(hubs, "BUFFER", dice.choice([3, 10, 2048]))
    mouth = Mouth(story, logs.open(), dice)
    memories = [Memory(Cursor(), {}, ())]
    drops = 0

    async def reader() -> None:
        nonlocal drops
        while True:
            memory = memories[-1] if dice.random() < 0.8 else dice.choice(memories)
            memories.extend(await read_on(log, story.id, memory, dice.randint(1, 15), dice))
            drops += 1
            await asyncio.sleep(0)

    readers = [asyncio.create_task(reader()) for _ in range(4)]
    while drops < 200 and not any(task.done() for task in readers):
        await mouth.step()
    await mouth.complete()
    for task in readers:
        task.cancel()
    outcomes = await asyncio.gather(*readers, return_exceptions=True)
    assert [one for one in outcomes if not isinstance(one, asyncio.CancelledError)] == []

    events = [event for event in log.read(story.id, limit=10_000) if event.type != "model_output_delta"]
    for memory in dice.sample(memories, 40):
        end = [memory, *await read_on(log, story.id, memory, ALL, dice)][-1]
        assert list(end.seqs) == [event.seq for event in events]
        for part, spoken in mouth.spoken.items():
            text = end.texts.get(part, "")
            assert spoken.startswith(text), part
            assert len(text) >= mouth.logged[part], part


async def test_an_event_that_is_no_text_any_more_ends_the_following(log, story, folder):
    """What stands before it is told first, then that the log is damaged, and what brings it back."""
    for _ in range(40):
        await story.note()
    db = connect(folder / "agi.sqlite")
    db.execute("UPDATE events SET data=CAST(x'7bff7d' AS TEXT) WHERE seq=39")
    db.close()
    told = []

    async def read() -> None:
        async with contextlib.aclosing(log.follow(story.id, Cursor())) as batches:
            async for batch in batches:
                told.extend(one.item.seq for one in batch.deliveries)

    with pytest.raises(Damaged) as refused:
        await read()

    assert told == list(range(1, 39))
    assert "behind event 38" in refused.value.message
    assert "--from-mirrors" in refused.value.hint
