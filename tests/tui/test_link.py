"""The connection breaks and comes back: nothing is lost, nothing is told twice, and the title says how it stands."""

from __future__ import annotations

import asyncio

from agi.models.scripted import Say, Wait
from agi.testing.box import daemon_in_a_box
from agi.testing.person import sitting_at
from agi.tui import link


class Cable:
    """Something between the guard and the application that can be cut: streams end, nothing is answered."""

    def __init__(self) -> None:
        self.is_cut = False
        self._streams: set[asyncio.Task[object]] = set()

    def around(self, app):
        async def door(scope, receive, send):
            if self.is_cut and scope["type"] == "http":
                await send({"type": "http.response.start", "status": 503, "headers": []})
                await send({"type": "http.response.body", "body": b"{}"})
                return
            task = asyncio.current_task()
            if scope.get("path", "").endswith("/events"):
                self._streams.add(task)
                try:
                    await app(scope, receive, send)
                except asyncio.CancelledError:
                    task.uncancel()
                    await send({"type": "http.response.body", "body": b""})
                finally:
                    self._streams.discard(task)
            else:
                await app(scope, receive, send)

        return door

    def cut(self) -> None:
        self.is_cut = True
        for task in self._streams:
            task.cancel()


async def test_a_stream_that_is_cut_in_the_middle_of_an_answer_goes_on_without_loss(tmp_path, monkeypatch):
    """The title says so meanwhile; what was said while nobody heard is there afterwards, once."""
    monkeypatch.setattr(link, "PAUSES", (0.01,))
    monkeypatch.setattr("agi.client.daemon.PAUSES", (0.01, 0.01))
    cable, gate = Cable(), asyncio.Event()
    async with daemon_in_a_box(tmp_path, around=cable.around) as daemon, sitting_at(daemon) as person:
        daemon.model.plays(Say("one two", 3), Wait(gate), Say(" three four", 3), Say(" five"))
        await person.says("count")
        await person.sees("one two")

        cable.cut()
        await person.sees("agi ✗ Disconnected", "title")
        gate.set()
        cable.is_cut = False
        await person.sees("one two three four five")

        await person.sees("agi ● Connected", "title")
        assert person.transcript.count("one two") == 1


async def test_what_is_said_without_a_connection_comes_back_to_the_box(tmp_path, monkeypatch):
    """The reason is told, and the text is kept."""
    monkeypatch.setattr("agi.client.daemon.PAUSES", (0.01,))
    cable = Cable()
    async with daemon_in_a_box(tmp_path, around=cable.around) as daemon, sitting_at(daemon) as person:
        cable.cut()
        await person.says("hello")

        await person.sees("✗")
        await person.sees(lambda: person.box == "hello")


async def test_a_session_in_which_a_turn_runs_is_joined_with_all_that_it_has_said(daemon):
    """The text that is in no message yet is there, its questions too; and attaching begins nothing."""
    gate = asyncio.Event()
    daemon.model.plays(Say("spoken before " * 200, 7), Wait(gate), Say("and after."))
    turn = await daemon.ask("go")
    async with sitting_at(daemon) as first:
        await first.app.desk.open(turn.session_id)
        await first.sees("spoken before")
        text = first.app.desk.conversation.entries[-1].text
        await first.sees(lambda: len(first.app.desk.conversation.entries[-1].text) == len("spoken before " * 200))
        assert text.startswith("spoken before")
        gate.set()
        await first.sees("and after.")

        assert first.app.desk.conversation.entries[1].text == "spoken before " * 200 + "and after."
        assert len((await daemon.get("/v1/sessions")).json()["sessions"]) == 1


async def test_two_people_at_one_session_see_the_same(daemon):
    """Whoever answers, both see it; what one says, the other hears."""
    daemon.model.calls("shell", command="echo hi").then_says("Refused, then.")
    async with sitting_at(daemon) as one, sitting_at(daemon) as other:
        await one.says("say hi")
        await one.sees("wants to run", "panel")
        await other.app.desk.open(one.app.desk.session_id)
        await other.sees("wants to run", "panel")

        await other.waits_out_the_patience()
        await other.press("ctrl+y", "4", "enter")

        await one.sees("Refused, then.")
        await other.sees("Refused, then.")
        await one.sees(lambda: one.panel == "")


async def test_a_session_that_somebody_removed_is_told_to_be_gone(daemon, person):
    """Nothing crashes, and the next message begins another one."""
    daemon.model.says("One.").then_says("Two.")
    await person.says("first")
    await person.sees("One.")
    await person.sees(lambda: not person.app.desk.standing.is_busy)

    await daemon.call("DELETE", f"/v1/sessions/{person.app.desk.session_id}")
    await person.sees("The session is gone")
    await person.says("again")
    await person.sees("Two.")
