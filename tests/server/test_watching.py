"""`GET /v1/watch`: one stream about all sessions, exact after a break, joined and bounded."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agi.models.scripted import Say, Wait
from agi.net.sse import SseEvent
from agi.protocol.commands import CreateSession, PostMessage, UpdateSession
from agi.sessions import watching
from agi.sessions.harness import Harness, HarnessSettings
from agi.sessions.watching import MOST_CHANGED
from agi.testing.box import Daemon


async def until(stream: AsyncGenerator[SseEvent, None], word: str, **fields: object) -> dict[str, Any]:
    """The next message of this name that says so."""
    async for event in stream:
        data: dict[str, Any] = msgspec.json.decode(event.data)
        if event.event == word and all(data[name] == value for name, value in fields.items()):
            return {**data, "cursor": event.id}
    raise AssertionError("the stream ended")


async def test_a_snapshot_comes_first_and_then_every_change(daemon: Daemon) -> None:
    """What was there, what begins, what runs, how it is called, and what is gone."""
    old = await daemon.begin(title="old")
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("hello"))
    async with aclosing(daemon.stream("/v1/watch")) as seen:
        first = await until(seen, "snapshot")
        turn = await daemon.ask("hi", session_id=old)
        running = await until(seen, "session", id=old, activity="running")
        gate.set()
        await turn.ended()
        done = await until(seen, "session", id=old, status="completed")
        new = await daemon.begin(title="new")
        await until(seen, "session", id=new, title="new")
        await daemon.call("PATCH", f"/v1/sessions/{new}", {"title": "newer"})
        await until(seen, "session", id=new, title="newer")
        await daemon.call("DELETE", f"/v1/sessions/{new}")
        await until(seen, "removed", id=new)

    assert ([one["title"] for one in first["sessions"]], first["total"]) == (["old"], 1)
    assert running["turn_started_at"]
    assert (done["activity"], done["turn_started_at"], done["kind"]) == ("idle", None, "session")
    assert done["last_seq"] == daemon.harness.state(old).last_seq
    assert done["usage"]["requests"] == 1


async def test_a_question_counts_at_once_and_no_longer_when_it_is_answered(daemon: Daemon) -> None:
    """So that a page shows what waits without asking again and again."""
    daemon.model.calls("write_file", path="a.txt", content="x").then_says("ok")
    async with aclosing(daemon.stream("/v1/watch")) as seen:
        await until(seen, "snapshot")  # what is asked before it would be in there, not behind it
        turn = await daemon.ask("write")
        asked = await until(seen, "session", waiting=1)
        await turn.approve()
        answered = await until(seen, "session", waiting=0, status="completed")

    assert (asked["id"], asked["activity"]) == (turn.session_id, "waiting_approval")
    assert answered["id"] == turn.session_id


async def test_a_reader_that_comes_back_gets_only_what_changed_meanwhile(daemon: Daemon) -> None:
    """By its cursor, in the header or in the query; nothing changed is nothing told."""
    first, second = await daemon.begin(title="1"), await daemon.begin(title="2")
    async with aclosing(daemon.stream("/v1/watch")) as seen:
        cursor = (await until(seen, "snapshot"))["cursor"]
    await daemon.call("PATCH", f"/v1/sessions/{first}", {"title": "one"})

    async with aclosing(daemon.stream("/v1/watch", headers={"last-event-id": cursor})) as seen:
        told = await anext(seen)
    async with aclosing(daemon.stream(f"/v1/watch?after={told.id}")) as seen:
        await daemon.call("PATCH", f"/v1/sessions/{second}", {"title": "two"})
        later = await anext(seen)

    assert (told.event, msgspec.json.decode(told.data)["title"]) == ("session", "one")
    assert (later.event, msgspec.json.decode(later.data)["title"]) == ("session", "two")


async def test_a_reader_that_cannot_be_told_exactly_starts_over(daemon: Daemon) -> None:
    """After a deletion, from another log, from the future, or after too much."""
    gone = await daemon.begin()
    async with aclosing(daemon.stream("/v1/watch")) as seen:
        cursor = (await until(seen, "snapshot"))["cursor"]
    await daemon.call("DELETE", f"/v1/sessions/{gone}")
    stays = await daemon.begin()
    assert MOST_CHANGED < 10_000

    for after in (cursor, "1:1@7", "999999:1", "1"):
        async with aclosing(daemon.stream(f"/v1/watch?after={after}")) as seen:
            told = await anext(seen)
        assert told.event == "snapshot", after
        assert [one["id"] for one in msgspec.json.decode(told.data)["sessions"]] == [stays]


async def test_a_snapshot_is_bounded_and_says_how_many_there_are(daemon: Daemon) -> None:
    """The latest are in it; one that is not is told of when it changes."""
    sessions = [await daemon.begin(title=str(n)) for n in range(4)]
    async with aclosing(daemon.stream("/v1/watch?limit=2")) as seen:
        first = await until(seen, "snapshot")
        await daemon.call("PATCH", f"/v1/sessions/{sessions[0]}", {"title": "again"})
        changed = await until(seen, "session")

    assert ([one["title"] for one in first["sessions"]], first["total"]) == (["3", "2"], 4)
    assert changed["title"] == "again"


async def test_what_another_process_does_is_told_too(daemon: Daemon) -> None:
    """Its events show up in the shared file."""
    settings = HarnessSettings(
        project=Path(daemon.workspace.path), home_config=daemon.harness.settings.home_config, env={}
    )
    other = Harness(settings)
    try:
        async with aclosing(daemon.stream("/v1/watch")) as seen:
            await until(seen, "snapshot", total=0)
            made = await other.create_session(CreateSession(title="elsewhere"))
            row = await until(seen, "session", title="elsewhere")
            await other.update_session(made.id, UpdateSession(title="further"))
            await until(seen, "session", title="further")
            await other.delete_session(made.id)
            gone = await until(seen, "removed")
    finally:
        await other.close()

    assert row["id"] == gone["id"] == made.id


async def test_changes_are_joined_into_rounds(daemon: Daemon) -> None:
    """A reader gets the latest of each session, not every step on the way."""
    session = await daemon.begin(title="0")
    count = 0
    async with aclosing(daemon.stream("/v1/watch")) as seen:
        await until(seen, "snapshot")
        for n in range(1, 101):
            await daemon.harness.update_session(session, UpdateSession(title=str(n)))
        async for event in seen:
            count += 1
            if msgspec.json.decode(event.data)["title"] == "100":
                break

    assert count < 50


async def test_nobody_listens_when_the_last_reader_has_gone(daemon: Daemon) -> None:
    """A list that nobody looks at costs nothing."""
    watching = daemon.harness.watching
    rounds = watching.watch(None, 10)
    await anext(rounds)
    assert daemon.harness.log.hub.has_listeners
    await rounds.aclose()

    assert not daemon.harness.log.hub.has_listeners


async def test_what_is_not_listed_is_not_watched(daemon: Daemon) -> None:
    """One-shots are kept, but are no sessions of a list."""
    daemon.model.says("done")
    async with aclosing(daemon.stream("/v1/watch")) as seen:
        await until(seen, "snapshot", total=0)
        await daemon.post("/v1/one-shot", {"prompt": "hi"})
        listed = await daemon.begin(title="listed")
        first = await until(seen, "session")

    assert first["id"] == listed


async def test_a_position_that_is_none_is_refused(daemon: Daemon) -> None:
    """Before anything is streamed."""
    reply = await daemon.get("/v1/watch?after=yesterday")
    assert (reply.status, reply.code) == (400, "bad_cursor")
    assert (await daemon.get("/v1/watch?limit=0")).status == 422


async def test_a_message_that_waits_in_line_is_counted(daemon: Daemon) -> None:
    """Queued messages are a number in the row."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("a")).then_says("b")
    session = await daemon.begin()
    async with aclosing(daemon.stream("/v1/watch")) as seen:
        await until(seen, "snapshot")
        await daemon.harness.post_message(session, PostMessage(content="one"))
        await daemon.harness.post_message(session, PostMessage(content="two"))
        row = await until(seen, "session", queued=1)
        gate.set()
        await until(seen, "session", queued=0, status="completed")

    assert row["id"] == session


async def test_a_round_that_fails_is_made_again(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """What changed meanwhile is told then, whatever it was that failed; the stream is not silent for ever."""
    session_id, other = await daemon.begin(title="old"), await daemon.begin(title="other")
    failures = ["catch_up", "read_state"]

    def failing(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object) -> object:
            if failures[:1] == [name]:
                raise sqlite3.OperationalError(failures.pop(0))
            return real(*given)

        return call

    watch = daemon.harness.log.watch
    monkeypatch.setattr(watching, "AGAIN_S", 0.0)
    async with aclosing(daemon.stream("/v1/watch")) as seen:
        await until(seen, "snapshot")
        monkeypatch.setattr(watch, "catch_up", failing("catch_up", watch.catch_up))
        monkeypatch.setattr(watching, "read_state", failing("read_state", watching.read_state))
        logged: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: logged.append(str(context["exception"])))
        await daemon.call("PATCH", f"/v1/sessions/{session_id}", {"title": "new"})
        await daemon.call("DELETE", f"/v1/sessions/{other}")
        told = [msgspec.json.decode((await anext(seen)).data) for _ in range(2)]
        loop.set_exception_handler(None)

    assert {one["id"] for one in told} == {session_id, other}
    assert logged == ["catch_up", "read_state"]


async def test_the_turn_that_runs_is_told_beside_the_last_in_line(daemon: Daemon) -> None:
    """Who stops it names it, and leaves what waits."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("one")).then_says("two")
    async with aclosing(daemon.stream("/v1/watch")) as seen:
        await until(seen, "snapshot")
        first = await daemon.ask("one")
        second = await daemon.ask("two", session_id=first.session_id)
        row = await until(seen, "session", id=first.session_id, queued=1)
        gate.set()
        done = await until(seen, "session", id=first.session_id, activity="idle")

    assert (row["running_turn_id"], row["last_turn_id"]) == (first.id, second.id)
    assert (done["running_turn_id"], done["last_turn_id"]) == (None, second.id)
