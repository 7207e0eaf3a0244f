"""The hub: nobody is waited for, nobody is skipped, and open text is remembered exactly as far as it is open."""

from __future__ import annotations

import asyncio

import pytest

from agi.eventlog import hub as hubs
from agi.eventlog.base import LiveDelta
from agi.eventlog.hub import Hub
from agi.protocol import events as ev
from agi.protocol.messages import Message, Usage

TS = "2026-01-01T00:00:00.000Z"
WHOLE = Message(id="msg_1", role="assistant", parts=(), created_at=TS, status="complete")


def event(seq: int, data: ev.EventData, turn: str | None = "turn_1", session: str = "s") -> ev.Event:
    return ev.Event.of(seq, TS, session, turn, data)


def piece(offset: int, text: str, part: str = "p") -> ev.ModelOutputDelta:
    return ev.ModelOutputDelta(message_id="msg_1", part_id=part, kind="text", delta=text, offset=offset)


def live(offset: int, text: str, part: str = "p") -> LiveDelta:
    return LiveDelta(1, TS, "s", "turn_1", piece(offset, text, part))


def held(hub: Hub) -> tuple[str, int, str] | None:
    """The open text: part, offset, text."""
    found = hub.open.get("s")
    return found and (found.data.part_id, found.data.offset, found.data.delta)


def test_a_subscriber_gets_its_session_and_nothing_else():
    """Whoever listens to one session is not told of another."""
    hub = Hub()
    mine, other = hub.subscribe("s"), hub.subscribe("t")

    hub.publish([event(1, ev.TurnResumed()), event(1, ev.TurnResumed(), session="other")])

    assert [item.session_id for item in mine.take()] == ["s"]
    assert other.take() == []
    assert mine.take() == []


def test_who_left_is_not_told():
    """After unsubscribing nothing arrives and nothing is kept."""
    hub = Hub()
    one, two = hub.subscribe("s"), hub.subscribe("s")
    hub.unsubscribe("s", one)
    hub.publish([event(1, ev.TurnResumed())])

    assert one.items == []
    assert len(two.items) == 1
    hub.unsubscribe("s", two)
    hub.unsubscribe("s", two)
    assert not hub.has_listeners


@pytest.mark.threat("T40")
def test_a_slow_subscriber_is_marked_and_costs_no_memory(monkeypatch):
    """At the limit the buffer is dropped and stays empty; others are not affected."""
    monkeypatch.setattr(hubs, "BUFFER", 3)
    hub = Hub()
    slow, quick = hub.subscribe("s"), hub.subscribe("s")
    for seq in range(1, 11):
        hub.publish([event(seq, ev.TurnResumed())])
        assert len(quick.take()) == 1

    assert slow.lagging
    assert slow.items == []


async def test_waiting_ends_with_the_first_thing_to_take():
    """A waiter sleeps until something is pushed, and does not sleep if something is there."""
    hub = Hub()
    mine = hub.subscribe("s")
    waiting = asyncio.create_task(mine.wait())
    await asyncio.sleep(0)
    assert not waiting.done()

    hub.publish([event(1, ev.TurnResumed())])

    await waiting
    await mine.wait()


def test_a_listener_is_called_for_its_session_until_it_leaves():
    """Listeners act on durable events only, not on open text."""
    hub = Hub()
    heard: list[int] = []

    def listener(one: ev.Event) -> None:
        heard.append(one.seq)

    hub.listen("s", listener)
    assert hub.has_listeners
    hub.publish_live(live(0, "x"))
    hub.publish([event(1, ev.TurnResumed()), event(2, ev.TurnResumed(), session="other")])
    hub.unlisten("s", listener)
    hub.publish([event(3, ev.TurnResumed())])

    assert heard == [1]
    assert not hub.has_listeners


def test_open_text_grows_with_each_piece_and_shrinks_with_the_log():
    """What is logged is forgotten, what is not is kept, whatever the order they come in."""
    hub = Hub()
    hub.publish_live(live(0, "Hel"))
    hub.publish_live(live(3, "lo "))
    assert held(hub) == ("p", 0, "Hello ")

    hub.publish([event(4, piece(0, "Hell"))])
    assert held(hub) == ("p", 4, "o ")
    hub.publish_live(live(6, "you"))
    hub.publish([event(5, piece(4, "o you"))])
    assert held(hub) == ("p", 9, "")
    hub.publish_live(live(9, "!"))
    assert held(hub) == ("p", 9, "!")


def test_another_part_takes_the_place_of_the_first():
    """Only one part is open at a time."""
    hub = Hub()
    hub.publish_live(live(0, "thinking", "r"))
    hub.publish([event(4, piece(0, "thinking", "r"))])
    hub.publish_live(live(0, "so"))

    assert held(hub) == ("p", 0, "so")


def test_a_whole_message_a_new_beginning_and_the_turns_end_close_the_text():
    """Nobody who comes later is shown text that is in the log, or was lost with a crash."""
    over = ev.TurnCompleted(message_id=None, stop_reason="end_turn", steps=1, usage=Usage())
    started = ev.TurnStarted(message_id="m", agent="a", provider="p", model="m")
    for closing in (ev.ModelOutputCompleted(message=WHOLE), ev.TurnResumed(), started, over, ev.TurnCanceled()):
        hub = Hub()
        hub.publish_live(live(0, "Hello"))
        hub.publish([event(4, closing)])
        assert held(hub) is None, closing


def test_the_end_of_a_queued_turn_closes_nothing():
    """A message that is taken back from the queue does not disturb the answer that is being written."""
    hub = Hub()
    hub.publish_live(live(0, "Hello"))
    hub.publish([event(4, ev.TurnCanceled(), turn="turn_queued"), event(5, ev.Notice(code="n", message="x"))])

    assert held(hub) == ("p", 0, "Hello")


def test_the_rest_of_a_text_that_was_closed_is_not_told():
    """When another process took the session over, what the first still says belongs to nothing."""
    hub = Hub()
    mine = hub.subscribe("s")
    hub.publish_live(live(0, "Hello"))
    hub.publish([event(4, ev.TurnResumed())])
    mine.take()

    hub.publish_live(live(5, " ghost"))
    hub.publish([event(5, piece(0, "Good", "q"))])
    hub.publish_live(live(11, "!"))

    assert [item.seq for item in mine.take()] == [5]
    assert held(hub) == ("q", 4, "")


def test_a_deleted_session_wakes_its_followers():
    """They look at the log again and find it gone; its open text goes too."""
    hub = Hub()
    mine, other = hub.subscribe("s"), hub.subscribe("t")
    hub.publish_live(live(0, "Hello"))
    hub.wake_session("s")

    assert mine.lagging
    assert not other.lagging
    assert held(hub) is None


def test_a_deleted_session_is_told_to_its_listeners():
    """They hear an event that stands in no log, so that whoever waits for another one waits no longer."""
    hub = Hub()
    heard: list[ev.Event] = []

    def leave(one: ev.Event) -> None:
        heard.append(one)
        hub.unlisten("s", leave)

    hub.listen("s", leave)
    hub.listen("s", heard.append)
    hub.listen("t", heard.append)
    hub.wake_session("s")

    told = [(one.seq, one.session_id, one.turn_id, one.type, one.raw, one.data) for one in heard]
    assert told == [(0, "s", None, "session_deleted", b"{}", None)] * 2


async def test_a_listener_that_fails_keeps_no_other_from_hearing():
    """Its failure goes to the event loop's handler; the events that follow are told too."""
    hub = Hub()
    failures: list[object] = []
    heard: list[int] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context["exception"]))

    def fail(one: ev.Event) -> None:
        raise RuntimeError("listener")

    mine = hub.subscribe("s")
    for listener in (fail, lambda one: heard.append(one.seq)):
        hub.listen("s", listener)
    hub.publish([event(1, ev.TurnResumed()), event(2, ev.TurnResumed())])
    hub.wake_session("s")

    assert (heard, len(mine.take()), len(failures)) == ([1, 2, 0], 2, 3)


def test_the_hub_knows_whose_end_matters():
    """Sessions with followers, with listeners or with open text; each once."""
    hub = Hub()
    hub.subscribe("followed")
    hub.listen("heard", lambda one: None)
    hub.publish_live(live(0, "Hello"))
    hub.subscribe("s")

    assert sorted(hub.sessions()) == ["followed", "heard", "s"]
