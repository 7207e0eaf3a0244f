"""Drafts are in the log: one active in a project, found after any loss of files, closed where they cannot go on."""

from __future__ import annotations

import asyncio
import json

import pytest

from agi.errors import AgiError, Conflict
from agi.models.scripted import ScriptedModel
from agi.protocol import commands
from agi.protocol.resources import Resource
from agi.sessions.drafts import DAMAGED, NOT_WRITTEN


def project_of(place) -> Resource:
    return Resource(kind="repositories", name="project", path=str(place.project))


async def draft(place, role: str = "plan"):
    """Draft a role into a task, and make both the place's session."""
    crew = place.harness.crew
    if not (place.project / ".agents/tasks/work").exists():
        crew.tasks.create(place.harness.site().workspace, "Work")
    made = await crew.drafts.create_draft(role=role, project=project_of(place), task_slug="work", channel_id="test")
    place.session_id = made.session_id
    return made


async def test_of_two_at_the_same_time_one_is_drafted(place):
    """The condition holds at the write."""
    place.harness.crew.tasks.create(place.harness.site().workspace, "Work")

    done = await asyncio.gather(*(draft(place) for _ in range(5)), return_exceptions=True)

    refused = [one for one in done if isinstance(one, Conflict)]
    assert len(refused) == 4
    assert {one.code for one in refused} == {"draft_active"}
    assert len(place.harness.crew.pool.agents()) == 1


async def test_a_refused_draft_leaves_no_session(place):
    """An unknown role, an unknown task: nothing is written."""
    before = len(place.harness.sessions())
    place.harness.crew.tasks.create(place.harness.site().workspace, "Work")

    for role, task in (("nobody", "work"), ("plan", "nothing")):
        with pytest.raises(AgiError):
            await place.harness.crew.drafts.create_draft(
                role=role, project=project_of(place), task_slug=task, channel_id="test"
            )

    assert len(place.harness.sessions()) == before


async def test_a_lost_database_is_made_again_with_its_draft(place):
    """The mirrors hold what binds a session to its task."""
    place.model.says("One.")
    made = await draft(place)
    await place.ask("hi")
    await place.harness.close()
    for file in (place.project / ".agi").glob("agi.sqlite*"):
        file.unlink()
    (place.project / ".agents/tasks/work/draft.json").unlink()

    await place.open()
    await place.harness.recover()
    found = place.harness.crew.drafts.load_active_draft(str(place.project))

    assert found is not None
    assert (found.session_id, found.role, found.turn_count) == (made.session_id, "plan", 1)
    assert json.loads((place.project / ".agents/tasks/work/draft.json").read_text())["turnCount"] == 1


async def test_a_draft_of_a_log_from_elsewhere_is_closed(place):
    """A repository that brings a log with a draft in it drafts nobody here."""
    made = await draft(place)
    await place.harness.close()
    (place.home / "origins").unlink()

    await place.open()
    await place.harness.recover()

    assert place.harness.crew.drafts.load_active_draft(str(place.project)) is None
    assert "made elsewhere" in place.harness.crew.drafts.draft(made.session_id).closed_reason


async def test_the_session_of_an_active_draft_is_neither_deleted_nor_collected(place):
    """Undraft it first."""
    made = await draft(place)

    with pytest.raises(Conflict) as refused:
        await place.harness.delete_session(made.session_id)
    collected = await place.harness.collect_garbage(commands.CollectGarbage(older_than_days=0, keep_sessions=0))
    await place.harness.crew.drafts.close_draft(made.session_id)
    await place.harness.delete_session(made.session_id)

    assert refused.value.code == "session_drafted"
    assert made.session_id not in {one.id for one in collected.sessions}
    assert place.harness.crew.pool.agents() == []


async def test_files_that_cannot_be_written_are_told_once_and_the_draft_goes_on(place):
    """The log is the truth; the file is for people."""
    place.model.says("One.").then_says("Two.")
    made = await draft(place)
    path = place.project / ".agents/tasks/work/draft.json"
    path.unlink()
    path.mkdir()

    await place.ask("one")
    await place.heard("notice")
    await place.ask("two")
    await place.harness.crew.drafts.close()

    told = [json.loads(event.raw)["code"] for event in place.events("notice")]
    assert told.count(NOT_WRITTEN) == 1
    assert place.harness.crew.drafts.draft(made.session_id).turn_count == 2
    await place.harness.crew.drafts.close_draft(made.session_id)


async def test_a_role_that_is_gone_is_told_and_the_draft_can_be_closed(place):
    """Bring the file back, or undraft."""
    roles = place.project / ".agi" / "roles"
    roles.mkdir(parents=True)
    (roles / "dev.md").write_text("---\nname: dev\n---\nYou build.\n")
    made = await draft(place, "dev")
    (roles / "dev.md").unlink()

    with pytest.raises(AgiError) as gone:
        await place.harness.crew.drafts.resume_draft(made.session_id, "hi")
    closed = await place.harness.crew.drafts.close_draft(made.session_id)

    assert gone.value.code == "unknown_agent"
    assert closed.turns == 0


async def test_a_project_that_is_gone_is_told_and_the_draft_can_be_closed(place, tmp_path):
    """Nothing of the daemon's own is affected."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    crew = place.harness.crew
    crew.tasks.create(place.harness.site(elsewhere).workspace, "Work")
    project = Resource(kind="repositories", name="shop", path=str(elsewhere))
    made = await crew.drafts.create_draft(role="plan", project=project, task_slug="work", channel_id="test")
    elsewhere.rename(tmp_path / "moved")

    with pytest.raises(AgiError):
        await crew.drafts.resume_draft(made.session_id, "hi")
    await crew.drafts.close_draft(made.session_id)

    assert crew.pool.agents() == []


async def test_what_was_said_and_cannot_be_read_closes_the_draft(place):
    """A damaged row ends the turn as a failure, and the draft with it; a fresh one is possible."""
    place.model.says("One.").then_says("Two.")
    made = await draft(place)
    await place.ask("one")
    await place.harness.log.maintain(
        lambda db: db.execute("UPDATE messages SET info='{' WHERE session_id=?", (made.session_id,))
    )

    await place.ask("two")
    await place.heard("draft_closed")

    assert json.loads(place.events("draft_closed")[0].raw)["reason"] == DAMAGED
    assert (await draft(place)).session_id != made.session_id


async def test_a_roles_limit_of_money_counts_unless_the_configured_one_is_lower(place):
    """A role cannot raise what its user allows."""
    place.configure('{"budget": {"perSession": {"usd": 2}}}')
    roles = place.project / ".agi" / "roles"
    roles.mkdir(parents=True)
    budgets = {}
    for name, usd in (("low", 1), ("high", 5)):
        (roles / f"{name}.md").write_text(f"---\nmaxUsd: {usd}\n---\n")
        made = await draft(place, name)
        budgets[name] = place.harness.session(made.session_id).budget.per_session.usd
        await place.harness.crew.drafts.close_draft(made.session_id)

    assert budgets == {"low": 1, "high": 2}


async def test_turns_are_counted_once_also_when_they_are_cut_off(place):
    """A turn that goes on after a restart is one turn."""
    place.model.fails(_busy())
    made = await draft(place)
    await place.ask("one")
    place.model = ScriptedModel().says("Two.")
    await place.reopen()
    await place.ask("two")

    assert place.harness.crew.drafts.draft(made.session_id).turn_count == 2


def _busy():
    from agi.errors import ModelError

    return ModelError("no", code="provider_auth")
