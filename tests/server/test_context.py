"""The context over HTTP."""

from __future__ import annotations


async def test_a_sessions_context_is_shown_with_and_without_its_text(daemon):
    """Sections with provenance and cost."""
    daemon.workspace.write("AGENTS.md", "Be kind.")
    daemon.model.says("done")
    turn = await daemon.ask("go")
    await turn.ended()
    path = f"/v1/sessions/{turn.session_id}/context"
    told, words = (await daemon.get(path)).json(), (await daemon.get(f"{path}?text=true")).json()

    (rules,) = [one for one in told["sections"] if one["name"] == "rules"]
    assert rules["source"] == "AGENTS.md"
    assert rules["tokens"] > 0
    assert "text" not in rules
    assert told["recorded"]
    assert told["cause"] == "first_turn"
    assert "\n\n".join(one["text"] for one in words["sections"] if "place" not in one and one.get("text")) == (
        daemon.model.requests[0].system
    )


async def test_a_session_that_is_not_there_is_said_to_be_missing(daemon):
    """As everywhere."""
    assert (await daemon.get(f"/v1/sessions/sess_{'0' * 32}/context")).code == "session_not_found"


async def test_an_odd_wish_is_refused(daemon):
    """A word that is not yes or no, or a parameter nobody knows."""
    session = await daemon.begin()

    assert (await daemon.get(f"/v1/sessions/{session}/context?text=maybe")).status in (400, 422)
    assert (await daemon.get(f"/v1/sessions/{session}/context?section=rules")).status in (400, 422)
