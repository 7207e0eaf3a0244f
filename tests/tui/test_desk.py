"""The desk: what is open, page by page."""

from __future__ import annotations

from agi.testing.box import daemon_in_a_box
from agi.testing.person import sitting_at


async def test_earlier_messages_are_fetched_when_somebody_goes_there(daemon):
    """Page by page, each message once and in order; the place on the screen stays."""
    session = await daemon.begin()
    for number in range(230):
        body = {"parts": [{"type": "text", "text": f"message {number:03}"}], "auto_run": False}
        await daemon.post(f"/v1/sessions/{session}/messages", body)
    async with sitting_at(daemon, session_id=session) as person:
        await person.sees("message 229")
        assert len(person.app.desk.conversation.entries) == 100

        await person.press("home")
        await person.sees("message 130")
        await person.sees(lambda: len(person.app.desk.conversation.entries) == 200)
        assert "message 130" in person.transcript
        await person.press("home", "home")
        await person.sees(lambda: len(person.app.desk.conversation.entries) == 230)
        await person.press("home")
        await person.sees("message 000")

        texts = [entry.text for entry in person.app.desk.conversation.entries]
        assert texts == [f"message {number:03}" for number in range(230)]


async def test_how_full_the_window_is_follows_a_compaction_and_its_undoing(tmp_path):
    """Whoever made it, and at once."""
    models = {"script": {"contextWindow": 40_000, "maxOutputTokens": 500}}
    async with daemon_in_a_box(tmp_path, config={"providers": {"scripted": {"models": models}}}) as daemon:
        session = await daemon.begin()
        for _ in range(4):
            daemon.model.says("word " * 4_000)
            await (await daemon.ask("question " * 1_000, session_id=session)).answer()
        daemon.model.says("A short summary.")
        async with sitting_at(daemon, session_id=session) as person:
            await daemon.post(f"/v1/sessions/{session}/compact", {})
            await person.sees(lambda: person.app.desk.percent is not None)
            short = person.app.desk.percent
            await daemon.post(f"/v1/sessions/{session}/compact", {"undo": True})
            await person.sees(lambda: person.app.desk.percent != short)

            assert person.app.desk.percent > short + 20


async def test_windows_that_are_known_stay_known_where_nobody_answers(tmp_path):
    """That settings cannot be read any more is told, and says nothing about how much models take."""
    models = {"script": {"contextWindow": 40_000}}
    config = {"providers": {"scripted": {"models": models}}}
    async with daemon_in_a_box(tmp_path, config=config) as daemon, sitting_at(daemon) as person:
        desk = person.app.desk
        await person.sees(lambda: desk.answering is not None)
        known = dict(desk.windows)
        daemon.workspace.write(".agi/config.json", "{")

        await desk.learn_models()

        assert "config.json" in desk.answering.problem
        assert desk.windows == known
        assert known["script"] == 40_000
