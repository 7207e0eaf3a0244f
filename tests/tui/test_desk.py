"""The desk: what is open, page by page."""

from __future__ import annotations

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
