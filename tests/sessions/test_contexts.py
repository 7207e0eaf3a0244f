"""The head of every request is the same bytes through a session's whole life; every change of it has a named cause."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import threading
import time

import msgspec
import pytest

from agi.config.notes import add_note
from agi.context.base import Ask, Piece
from agi.models.base import ModelRequest
from agi.models.scripted import ScriptedModel
from agi.protocol import commands
from agi.protocol.events import ContextAssembled
from agi.sessions import contexts, own_skills
from agi.sessions.sites import Site
from agi.skills import finding

RULES = "Be kind.\n" * 40


def heads(place) -> list[bytes]:
    """What each request so far began with."""
    return [msgspec.json.encode((one.system, one.tools)) for one in place.model.requests]


def assembled(place) -> list[ContextAssembled]:
    return [event.data for event in place.events("context_assembled")]


def causes(place) -> list[str]:
    return [one.cause for one in assembled(place)]


def notes(request: ModelRequest) -> list[str]:
    """What the harness said beside the conversation."""
    return [one.parts[0].text for one in request.messages if one.origin == "context"]


async def ask(place, text: str = "go") -> ModelRequest:
    place.model.says("done")
    turn = await place.ask(text)
    assert turn.status == "completed"
    return place.model.requests[-1]


def add_tool(place, name: str) -> None:
    folder = place.project / ".agi" / "tools" / name
    folder.mkdir(parents=True)
    code = "from agi_tool import tool\n\n@tool(kind='read')\ndef echo(path: str) -> str:\n    return path\n"
    (folder / "tool.py").write_text(code)
    (folder / "prompt.txt").write_text("Say a path.")


async def test_nothing_that_happens_meanwhile_changes_the_head(place, monkeypatch):
    """Twenty calls with another clock, new files, other rules and restarts: one head, and messages that grow."""
    (place.project / "AGENTS.md").write_text(RULES)
    for number in range(20):
        await ask(place, f"question {number}")
        (place.project / f"new {number}.py").write_text("x = 1\n")
        if number == 3:
            (place.project / "AGENTS.md").write_text(f"{RULES}And brief.\n")
        if number == 6:
            await place.reopen()
        if number == 9:
            monkeypatch.setattr(time, "time", lambda: 4e9)
        if number == 12:
            (place.project / "AGENTS.md").unlink()
        if number == 15:
            (place.project / "CLAUDE.md").write_text("Be quick.")
            os.utime(place.project / "CLAUDE.md", (1, 1))
            await place.reopen()

    assert len(place.model.requests) == 20
    assert len(set(heads(place))) == 1
    assert causes(place) == ["first_turn"]
    sent = [[msgspec.json.encode(message) for message in one.messages] for one in place.model.requests]
    for before, after in itertools.pairwise(sent):
        assert after[: len(before)] == before


async def test_a_changed_file_is_told_once_at_the_start_of_the_next_turn(place):
    """As a message, with what is different in it; the log says which section it was about."""
    (place.project / "AGENTS.md").write_text(RULES)
    first = await ask(place)
    (place.project / "AGENTS.md").write_text(f"{RULES}And brief.\n")
    second, third = await ask(place), await ask(place)

    assert notes(first) == []
    assert len(notes(second)) == 1
    assert "AGENTS.md has changed since you were told it." in notes(second)[0]
    assert "+And brief." in notes(second)[0]
    assert notes(third) == notes(second)
    (added,) = [event.data for event in place.events("context_added")]
    assert [(one.name, one.source, one.text) for one in added.sections] == [("rules", "AGENTS.md", "")]
    assert added.message_id in [one.id for one in place.messages() if one.origin == "context"]


async def test_a_change_during_a_turn_waits_for_the_next_one(place):
    """The agent that writes the rules knows what it wrote."""
    (place.project / "AGENTS.md").write_text("old")
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')
    place.model.calls("write_file", path="CLAUDE.md", content="new rules").then_says("written")
    await place.ask("change them")
    assert [notes(one) for one in place.model.requests] == [[], []]

    assert "new rules" in notes(await ask(place))[0]


async def test_a_change_that_is_taken_back_with_the_conversation_is_told_again(place):
    """What the model no longer sees, it was not told."""
    (place.project / "AGENTS.md").write_text("old")
    await ask(place)
    (place.project / "AGENTS.md").write_text("new")
    await ask(place)
    last = place.harness.session(place.session_id).last_turn_id
    await place.harness.revert(place.session_id, commands.Revert(to=last, what="conversation"))

    told = notes(await ask(place))
    assert len(told) == 1
    assert told[0].endswith("It now says:\n\nThe project's own rules (AGENTS.md):\n\nnew")
    assert len(set(heads(place))) == 1


async def test_another_agent_has_another_head(place):
    """Named as the cause; and again when the first one is back."""
    await ask(place)
    await place.harness.update_session(place.session_id, commands.UpdateSession(agent="plan"))
    await ask(place)
    await place.harness.update_session(place.session_id, commands.UpdateSession(agent="build"))
    await ask(place)

    assert causes(place) == ["first_turn", "agent_changed", "agent_changed"]
    assert [one.agent for one in assembled(place)] == ["build", "plan", "build"]
    first, second, third = heads(place)
    assert first == third != second


async def test_another_model_is_told_what_holds_now(place):
    """Its cache is empty anyway; where nothing has changed, the same bytes are told and nothing is logged."""
    (place.project / "AGENTS.md").write_text("old")
    first = await ask(place)
    place.model = ScriptedModel(name="other")
    await place.reopen()
    assert (await ask(place)).system == first.system
    assert causes(place) == ["first_turn"]

    (place.project / "AGENTS.md").write_text("new")
    place.model = ScriptedModel(name="third")
    await place.reopen()
    told = await ask(place)

    assert causes(place) == ["first_turn", "model_changed"]
    assert "new" in told.system
    assert notes(told) == []


async def test_a_new_tool_changes_the_head_and_is_named_as_the_cause(place):
    """It can be used from the next turn on; a head that changes anyway says everything as it is by then."""
    (place.project / "AGENTS.md").write_text("old")
    await ask(place)
    add_tool(place, "my-tool")
    (place.project / "AGENTS.md").write_text("new")
    told, again = await ask(place), await ask(place)

    assert causes(place) == ["first_turn", "tools_changed"]
    assert "my-tool" in [tool.name for tool in told.tools]
    assert "new" in told.system
    assert notes(told) == []
    assert (again.system, again.tools) == (told.system, told.tools)


async def test_rules_of_a_folder_are_told_in_the_turn_after_the_agent_was_there(place):
    """Once, and a change of them once more; never those of dependencies."""
    for folder in ("pkg", "node_modules/x"):
        (place.project / folder).mkdir(parents=True)
        (place.project / folder / "AGENTS.md").write_text(f"Rules of {folder}.")
        (place.project / folder / "a.txt").write_text("a")
    place.model.calls("read_file", path="pkg/a.txt").calls("read_file", path="node_modules/x/a.txt").then_says("read")
    await place.ask("look")
    second, third = await ask(place), await ask(place)
    (place.project / "pkg" / "AGENTS.md").write_text("Other rules.")
    fourth = await ask(place)

    assert "Rules for the files in pkg/ (pkg/AGENTS.md):\n\nRules of pkg." in notes(second)[0]
    assert "node_modules" not in notes(second)[0]
    assert notes(third) == notes(second)
    assert len(notes(fourth)) == 2
    assert "Other rules." in notes(fourth)[1]
    assert len(set(heads(place))) == 1


async def test_a_turn_that_was_cut_off_goes_on_with_the_head_it_had(place):
    """Also if the rules changed while nobody ran it."""
    (place.project / "AGENTS.md").write_text("old")
    place.model.calls("shell", command="true").then_says("done")
    posted = await place.say("run")
    await place.heard("approval_requested")
    (place.project / "AGENTS.md").write_text("new")
    await place.reopen()
    await place.harness.recover()
    await place.approve(json.loads(place.events("approval_requested")[0].raw)["tool_call_id"])
    await place.ended(posted)

    assert len(place.model.requests) == 2
    assert len(set(heads(place))) == 1
    assert notes(place.model.requests[-1]) == []


async def test_a_key_in_a_file_of_rules_is_neither_told_nor_logged(place):
    """And what is told is what is read back later: the head stays the same."""
    key = "sk-ant-api03-0123456789abcdef"
    place.harness.redactor.learn(key)
    (place.project / "AGENTS.md").write_text(f"The key is {key}.")
    await ask(place)
    await place.reopen()  # without the key
    await ask(place)

    assert key not in place.model.requests[0].system
    assert "The key is ***" in place.model.requests[0].system
    assert len(set(heads(place))) == 1


async def test_a_retry_is_still_told_to_go_on_where_rules_changed_meanwhile(place):
    """What the harness says beside the conversation does not count as somebody's word."""
    (place.project / "AGENTS.md").write_text("old")
    place.model.says("no").then_says("no again")
    failed = await place.ask("a number", options={"schema": {"type": "number"}})
    assert failed.status == "failed"
    (place.project / "AGENTS.md").write_text("new")
    place.model.says("42")

    await place.ended(await place.harness.retry(place.session_id, failed.id))

    origins = [one.origin for one in place.model.requests[-1].messages if one.origin]
    assert origins[-2:] == ["context", "go_on"]


async def test_notes_that_cannot_be_read_cost_no_turn(place):
    """They are left out, and the context says why."""
    place.home.mkdir(exist_ok=True)
    (place.home / "notes.json").write_text("{broken")
    await ask(place)

    (left_out,) = [one for one in assembled(place)[0].sections if one.name == "notes"]
    assert left_out.status == "left_out"
    assert "notes.json is not valid JSON" in left_out.why


class Source:
    """Tells something about the workspace; forgets nothing it was asked."""

    problem: Exception = OSError("gone")

    def __init__(self, name: str, text: str = "", wait: float = 0.0) -> None:
        self.name = name
        self._text = text
        self._wait = wait
        self.asked: list[Ask] = []

    async def gather(self, ask: Ask) -> Piece:
        self.asked.append(ask)
        if self._wait:
            await asyncio.Event().wait()
        if self._text == "broken":
            raise self.problem
        return Piece(name=self.name, source="workspace", text=self._text)


@pytest.fixture
def sources(monkeypatch) -> list[Source]:
    found: list[Source] = []
    monkeypatch.setattr(Site, "sources", lambda self, provider, agent: found)
    return found


async def test_a_map_is_told_once_and_a_choice_of_files_for_each_question(place, sources):
    """In the conversation, behind the question; the head knows nothing of it."""
    sources += [Source("repo_map", "the map"), Source("selected_files", "the files")]
    first, second = await ask(place, "where is it?"), await ask(place, "and that?")

    assert [one.text for one in sources[1].asked] == ["where is it?", "and that?"]
    assert sources[0].asked[0].tokens == place.harness.site().config.context.repo_map_tokens
    assert notes(first) == ["[Said by the harness, not by the user.]\n\nthe map\n\nthe files"]
    assert notes(second) == notes(first)  # the same files again are no news
    assert len(sources[0].asked) == 1
    assert "the map" not in first.system


async def test_a_source_that_is_slow_or_fails_is_left_out_and_asked_again(place, sources, monkeypatch):
    """The answer does not wait for it, and why it is missing is in the log."""
    monkeypatch.setattr(contexts, "PATIENCE_S", 0.01)
    sources += [Source("repo_map", "the map", wait=1), Source("selected_files", "broken")]
    request = await ask(place)

    assert notes(request) == []
    (added,) = [event.data for event in place.events("context_added")]
    assert added.message_id is None
    assert [(one.name, one.status, one.why) for one in added.sections] == [
        ("repo_map", "left_out", "it took longer than 10 ms"),
        ("selected_files", "left_out", "it failed: OSError"),
    ]
    sources[:] = [Source("repo_map", "the map")]
    assert "the map" in notes(await ask(place))[0]


async def test_a_source_that_fails_in_a_way_nobody_thought_of_does_not_cost_the_turn(place, sources, monkeypatch):
    """An index is a help, not a need: what is wrong with it is said in the log, and the question is answered."""
    monkeypatch.setattr(Source, "problem", ValueError("bytes length not a multiple of item size"))
    sources += [Source("selected_files", "broken")]
    request = await ask(place)

    assert notes(request) == []
    (added,) = [event.data for event in place.events("context_added")]
    assert [(one.name, one.why) for one in added.sections] == [("selected_files", "it failed: ValueError")]


async def test_a_source_that_cannot_be_stopped_is_not_waited_for(place, sources, monkeypatch):
    """It may be in a thread that reads a large index: the answer comes all the same, and the thread ends by itself."""
    monkeypatch.setattr(contexts, "PATIENCE_S", 0.01)
    gate = threading.Event()

    class Stubborn(Source):
        async def gather(self, ask: Ask) -> Piece:
            running = asyncio.ensure_future(asyncio.to_thread(gate.wait, 30))
            try:
                await asyncio.shield(running)
            except asyncio.CancelledError:
                await asyncio.wait({running})  # as whoever uses what may be closed has to
                raise
            return await super().gather(ask)

    sources += [Stubborn("repo_map", "the map")]
    try:
        async with asyncio.timeout(10):
            request = await ask(place)
    finally:
        gate.set()

    assert notes(request) == []
    (added,) = [event.data for event in place.events("context_added")]
    assert [one.why for one in added.sections] == ["it took longer than 10 ms"]


async def test_what_a_source_tells_is_held_within_its_budget(place, sources):
    """Whatever it says itself."""
    place.configure('{"context": {"repoMapTokens": 100}}')
    sources += [Source("repo_map", "word\n" * 10_000)]
    request = await ask(place)

    assert len(notes(request)[0]) < 500
    (added,) = [event.data for event in place.events("context_added")]
    assert added.sections[0].status == "cut"


def add_skill(place, name: str) -> None:
    folder = place.project / ".agi" / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: How to {name}.\n---\nDo it.\n")


async def test_skills_are_listed_in_the_head_and_a_new_one_is_told_later(place):
    """For an agent that can load them; the head stays."""
    add_skill(place, "bake")
    first = await ask(place)
    add_skill(place, "brew")
    second = await ask(place)

    assert "How to bake." in first.system
    assert "How to brew." in notes(second)[0]
    assert len(set(heads(place))) == 1
    assert causes(place) == ["first_turn"]


async def test_many_skills_are_cut_to_their_budget_and_said_to_be(place):
    """`skills.maxTokens` holds for the section; 0 lists none."""
    place.configure('{"skills": {"maxTokens": 300}}')
    for number in range(100):
        add_skill(place, f"skill-{number}")
    (told,) = [one for one in (await place.harness.context(place.session_id)).sections if one.name == "skills"]
    assert (told.status, told.budget) == ("cut", 300)
    assert told.tokens <= 300
    assert told.why.endswith("skills are not listed")

    place.configure('{"skills": {"maxTokens": 0}}')
    report = await place.harness.context(place.session_id)
    assert not [one for one in report.sections if one.name == "skills"]


async def test_of_more_skills_than_fit_those_are_listed_that_the_session_began_with(place):
    """Ranked by the first message, so the bytes stay whatever is asked later."""
    place.configure('{"skills": {"maxTokens": 300}}')
    for number in range(100):
        add_skill(place, f"skill-{number}")
    add_skill(place, "zip-archives")

    first = await ask(place, "unpack these archives")
    second = await ask(place, "now do skill-77")

    assert "How to zip-archives." in first.system
    assert first.system == second.system
    assert notes(second) == []
    assert causes(place) == ["first_turn"]


def test_where_skills_are_looked_for_is_said_twice_alike():
    """The quick look and the real one."""
    assert own_skills.FOLDERS == finding.PROJECT_FOLDERS
    assert finding.USER_FOLDER == "skills"


async def test_what_the_user_pinned_is_in_the_head_and_a_new_note_is_told_later(place):
    """The user's word about this workspace."""
    add_note(place.home, place.project, "Run make check.")
    first = await ask(place)
    add_note(place.home, place.project, "Never touch dist.")
    second = await ask(place)

    assert first.system.endswith("Notes the user keeps about this workspace:\n\n- Run make check.")
    assert "- Never touch dist." in notes(second)[0]
    assert len(set(heads(place))) == 1


async def test_a_repository_of_some_size_is_told_as_a_map_once_it_is_read(place, monkeypatch):
    """The real index, given all the time it needs; a folder that is no repository has none."""
    monkeypatch.setattr(contexts, "PATIENCE_S", 60.0)
    for number in range(40):
        (place.project / f"module_{number}.py").write_text(f"def function_{number}():\n    return {number}\n")
    assert notes(await ask(place)) == []
    (place.project / ".git").mkdir()
    (place.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    told = notes(await ask(place))

    assert len(told) == 1
    assert "A map of the repository" in told[0]
    assert "function_7" in told[0]
