"""Preflights over HTTP: the checklist is an answer, the answer to it is the first, and a bad one changes nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agi.errors import ModelError
from agi.testing.box import AskedTurn, Daemon, eventually

PLAN = {
    "steps": [
        {"description": "Write the notes.", "toolName": "write_file", "target": "notes.txt"},
        {"description": "List the files.", "toolName": "shell", "target": "ls"},
    ]
}


async def proposed(daemon: Daemon, plan: dict[str, Any] = PLAN, **fields: object) -> tuple[AskedTurn, dict[str, Any]]:
    """Have a plan proposed; gives the turn and the checklist."""
    daemon.model.says(json.dumps(plan))
    session_id = await daemon.begin()
    reply = await daemon.post(f"/v1/sessions/{session_id}/preflight", {"content": "take notes", **fields})
    assert reply.status == 200, reply
    return AskedTurn(daemon, session_id, reply.json()["turn_id"]), reply.json()


async def answered(daemon: Daemon, turn: AskedTurn, **fields: object) -> Any:
    body = {"approved": True, **fields}
    return await daemon.post(f"/v1/sessions/{turn.session_id}/preflight/{turn.id}", body)


async def test_a_preflight_answers_with_the_checklist_and_approving_it_runs_it(daemon: Daemon) -> None:
    """Two requests, no further question."""
    turn, checklist = await proposed(daemon)
    assert [(one["tool_name"], one["risk"], one["needs_approval"]) for one in checklist["steps"]] == [
        ("write_file", "medium", True),
        ("shell", "low", True),
    ]
    assert checklist["required_permissions"] == ["write files", "run commands"]
    session = (await daemon.get(f"/v1/sessions/{turn.session_id}")).json()
    assert (session["status"], session["pending_preflight"]["digest"]) == ("waiting_approval", checklist["digest"])
    daemon.model.calls("write_file", path="notes.txt", content="n").and_calls("shell", command="ls").says("Done.")

    reply = await answered(daemon, turn, digest=checklist["digest"])

    assert (reply.status, reply.json()["approved"], len(reply.json()["steps"])) == (200, True, 2)
    assert await turn.answer() == "Done."
    types = [event["type"] for event in await daemon.history(turn.session_id)]
    assert "approval_requested" not in types
    assert types.count("preflight_resolved") == 1


async def test_a_message_may_ask_for_it_too(daemon: Daemon) -> None:
    """`preflight: true` in a message; the checklist is in the session and its events."""
    daemon.model.says(json.dumps(PLAN))
    turn = await daemon.ask("take notes", preflight=True)
    seen = daemon.stream(f"/v1/sessions/{turn.session_id}/stream?after=0")
    async for event in seen:
        if event.event == "preflight.requested":
            break
    await seen.aclose()

    assert json.loads(event.data)["turn_id"] == turn.id
    assert (await answered(daemon, turn, approved=False)).status == 200
    assert (await turn.ended())["type"] == "turn_canceled"


async def test_the_first_answer_counts(daemon: Daemon) -> None:
    """Later ones are told so with 409, whoever gives them."""
    turn, _ = await proposed(daemon)
    daemon.model.says("Done.")

    replies = await asyncio.gather(*(answered(daemon, turn, approved=yes) for yes in (True, False, True)))

    assert sorted(reply.status for reply in replies) == [200, 409, 409]
    assert {reply.code for reply in replies if reply.status == 409} == {"preflight_answered"}


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"digest": "sha256:0"}, 409, "another plan"),
        ({"edited_steps": [{"description": "x", "tool_name": "no_such"}]}, 422, "edited_steps[0].tool_name"),
        ({"edited_steps": [{"description": "x", "id": "step_9"}]}, 422, "edited_steps[0].id"),
        (
            {"edited_steps": [{"description": "x", "id": "step_1"}, {"description": "y", "id": "step_1"}]},
            422,
            "edited_steps[1].id",
        ),
        ({"edited_steps": [{"description": ""}]}, 422, "edited_steps[0].description"),
        ({"edited_steps": [{"tool_name": "shell"}]}, 422, "description"),
        ({"edited_steps": [{"description": "x", "why": "y"}]}, 422, "why"),
        ({"edited_steps": "all"}, 422, "edited_steps"),
        ({"approved": "yes"}, 422, "approved"),
    ],
)
async def test_a_bad_answer_is_said_to_be_one_and_changes_nothing(
    daemon: Daemon, fields: dict[str, Any], status: int, said: str
) -> None:
    """Which field is wrong stands in the message; the plan goes on waiting."""
    turn, checklist = await proposed(daemon)

    reply = await answered(daemon, turn, **fields)

    assert reply.status == status
    assert said in reply.json()["error"]["message"]
    session = (await daemon.get(f"/v1/sessions/{turn.session_id}")).json()
    assert session["pending_preflight"]["digest"] == checklist["digest"]


async def test_what_is_not_there_cannot_be_answered(daemon: Daemon) -> None:
    """404 for an unknown session, an unknown turn, and a turn that has no plan."""
    daemon.model.says("Hi.")
    turn = await daemon.ask("hello")
    await turn.answer()
    unknown = AskedTurn(daemon, turn.session_id, "turn_019a00000000700080000000000000aa")
    nowhere = AskedTurn(daemon, "sess_019a00000000700080000000000000aa", turn.id)

    replies = [await answered(daemon, one) for one in (turn, unknown, nowhere)]

    assert [(reply.status, reply.code) for reply in replies] == [
        (404, "preflight_not_found"),
        (404, "turn_not_found"),
        (404, "session_not_found"),
    ]


async def test_edited_steps_are_the_users_word(daemon: Daemon) -> None:
    """A changed tool is judged anew; what is left out is not approved; a new step gets an id of its own."""
    turn, _ = await proposed(daemon)
    daemon.model.says("Done.")
    edited = [
        {"id": "step_2", "description": "List all.", "target": "ls -a"},
        {"description": "Also this.", "tool_name": "fs.write", "target": "b.txt"},
    ]

    reply = await answered(daemon, turn, edited_steps=edited)

    assert [(one["id"], one.get("tool_name"), one.get("target")) for one in reply.json()["steps"]] == [
        ("step_2", "shell", "ls -a"),
        ("step_3", "write_file", "b.txt"),
    ]
    assert [one["id"] for one in reply.json()["skipped"]] == ["step_1"]
    await turn.answer()


async def test_new_words_in_the_same_place_keep_what_the_step_is_about(daemon: Daemon) -> None:
    """Only the description was changed, so the step still means that one file, and that one command."""
    turn, _ = await proposed(daemon)
    daemon.model.says("Done.")
    edited = [
        {"description": "Take notes.", "tool_name": "write_file"},
        {"description": "Look around."},
    ]

    reply = await answered(daemon, turn, edited_steps=edited)

    assert [one["target"] for one in reply.json()["steps"]] == ["notes.txt", "ls"]
    await turn.answer()


async def test_another_tool_does_not_inherit_the_target(daemon: Daemon) -> None:
    """A path is no command."""
    turn, _ = await proposed(daemon)
    daemon.model.says("Done.")

    reply = await answered(
        daemon, turn, edited_steps=[{"id": "step_1", "description": "Run it.", "tool_name": "shell"}]
    )

    assert [("target" in one, one["risk"]) for one in reply.json()["steps"]] == [(False, "medium")]
    await turn.answer()


async def test_a_provider_that_fails_is_a_502_with_the_turn(daemon: Daemon) -> None:
    """As for messages; the turn can be retried, and then proposes anew."""
    daemon.model.fails(ModelError("Down.", code="provider_down"))
    session_id = await daemon.begin()

    reply = await daemon.post(f"/v1/sessions/{session_id}/preflight", {"content": "go"})

    assert (reply.status, reply.code) == (502, "provider_down")
    daemon.model.says(json.dumps(PLAN))
    retried = await daemon.post(f"/v1/sessions/{session_id}/turns/{reply.json()['error']['turn_id']}/retry", {})
    turn = AskedTurn(daemon, session_id, retried.json()["turn_id"])
    await eventually(lambda: daemon.harness.session(session_id).pending_preflight)
    assert (await answered(daemon, turn, approved=False)).status == 200


async def test_a_turn_that_ends_before_its_plan_is_a_409(daemon: Daemon) -> None:
    """Here, because no call may be made at all."""
    session_id = await daemon.begin(budget={"per_turn": {"tokens": 1}})

    reply = await daemon.post(f"/v1/sessions/{session_id}/preflight", {"content": "go"})

    assert (reply.status, reply.code) == (409, "preflight_not_proposed")
    assert "budget" in reply.json()["error"]["message"]


@pytest.mark.parametrize("fields", [{"role": "system"}, {"auto_run": False}, {"preflight": False}])
async def test_a_preflight_is_for_what_is_answered(daemon: Daemon, fields: dict[str, Any]) -> None:
    """A message that nobody answers has no steps."""
    session_id = await daemon.begin()

    reply = await daemon.post(f"/v1/sessions/{session_id}/preflight", {"content": "go", **fields})

    assert (reply.status, reply.code) == (422, "preflight_invalid")
    assert [event["type"] for event in await daemon.history(session_id)] == ["session_created"]


async def test_a_preflight_behind_a_running_turn_waits_for_it(daemon: Daemon) -> None:
    """It is queued as any message is, and answers when its steps are there."""
    turn, _ = await proposed(daemon)
    daemon.model.says("First done.").says(json.dumps(PLAN))
    second = asyncio.create_task(
        daemon.post(f"/v1/sessions/{turn.session_id}/preflight", {"content": "more", "on_ask": "deny"})
    )
    await eventually(lambda: daemon.harness.session(turn.session_id).queue)

    await answered(daemon, turn)
    reply = await second

    assert reply.status == 200
    assert reply.json()["turn_id"] != turn.id
    assert len(reply.json()["steps"]) == 2
