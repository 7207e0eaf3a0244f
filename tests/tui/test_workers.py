"""What a worker asks comes to whoever sits at the session it works for."""

from __future__ import annotations

import json

from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, ScriptedModel, Step
from agi.testing.box import daemon_in_a_box
from agi.testing.person import sitting_at

ROLES = {
    "lead": "---\nname: lead\ntools: [read_file]\npermissions: [agent-draft]\n---\nYou lead.\n",
    "writer": "---\nname: writer\ntools: [write_file]\n---\nYou write.\n",
}


def decide(request: ModelRequest) -> list[Step]:
    """The lead has something written and waits; the writer writes."""
    said = [part.content.parts[0].text for one in request.messages if one.role == "tool" for part in one.parts]
    if "You write." in request.system:
        report = json.dumps({"status": "completed", "summary": "written"})
        return [Say(report)] if said else [Call("write_file", {"path": "made.txt", "content": "x"})]
    if not said:
        return [Call("draft_agent", {"role": "writer", "prompt": "write"})]
    if len(said) == 1:
        return [Call("await_agent", {"agent_id": json.loads(said[0])["agent_id"]})]
    return [Say("It is written.")]


async def test_a_workers_question_stands_at_the_panel_and_is_answered_there(tmp_path):
    """With who asks; the session is said to wait, and goes on after the answer."""
    (tmp_path / "home" / "roles").mkdir(parents=True)
    for name, text in ROLES.items():
        (tmp_path / "home" / "roles" / f"{name}.md").write_text(text)
    model = ScriptedModel.from_function(decide)
    async with daemon_in_a_box(tmp_path, model=model) as daemon, sitting_at(daemon, agent="lead") as person:
        await person.says("have it written")
        await person.sees("writer: write_file wants to run", "panel")
        assert "waiting for you" in person.status

        await person.waits_out_the_patience()
        await person.press("ctrl+y", "1", "enter")

        await person.sees("It is written.")
        assert not person.app.desk.standing.pending


async def test_an_answer_that_somebody_else_gave_takes_the_question_away(tmp_path):
    """Nobody is left looking at a question that is none any more."""
    (tmp_path / "home" / "roles").mkdir(parents=True)
    for name, text in ROLES.items():
        (tmp_path / "home" / "roles" / f"{name}.md").write_text(text)
    model = ScriptedModel.from_function(decide)
    async with daemon_in_a_box(tmp_path, model=model) as daemon, sitting_at(daemon, agent="lead") as person:
        await person.says("have it written")
        await person.sees("writer: write_file wants to run", "panel")
        (call_id,) = person.app.desk.standing.pending
        session_id = person.app.desk.session_id

        await daemon.post(f"/v1/sessions/{session_id}/approve", {"tool_call_id": call_id, "action": "deny"})

        await person.sees(lambda: not person.app.desk.standing.pending)
        await person.sees("It is written.")
