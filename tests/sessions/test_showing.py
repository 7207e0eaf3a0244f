"""What is in the context, what was left out and why: before the first turn, after it, and for no session at all."""

from __future__ import annotations

import json

from agi.context.measuring import request_size, size_of
from agi.models.scripted import Say, Stop
from agi.protocol.messages import Usage
from agi.sessions.showing import workspace_context


async def report(place, **fields):
    return await place.harness.context(place.session_id, **fields)


def found(report, name: str):
    return [one for one in report.sections if one.name == name]


async def test_before_the_first_turn_it_says_what_that_would_be_told(place):
    """And writes nothing."""
    (place.project / "AGENTS.md").write_text("Be kind.")
    (place.project / "CLAUDE.md").write_text("Be kind.")
    before = place.types()
    told = await report(place)

    assert [one.name for one in told.sections] == ["agent", "workspace", "rules", "rules", "tools"]
    assert [(one.source, one.status, one.why) for one in found(told, "rules")] == [
        ("AGENTS.md", "in", ""),
        ("CLAUDE.md", "left_out", "the same as AGENTS.md"),
    ]
    assert not told.recorded
    assert (told.messages, told.conversation_tokens) == (0, 0)
    assert told.total_tokens == sum(one.tokens for one in told.sections)
    assert all(not one.text for one in told.sections)
    assert place.types() == before


async def test_the_very_text_is_that_of_the_request(place):
    """Section by section, tools too."""
    (place.project / "AGENTS.md").write_text("Be kind.")
    place.model.says("done")
    await place.ask("go")
    (place.project / "AGENTS.md").write_text("Be quick.")
    told = await report(place, text=True)
    request = place.model.requests[0]

    assert "\n\n".join(one.text for one in told.sections if one.place == "prefix" and one.text) == request.system
    assert [one[0] for one in json.loads(found(told, "tools")[0].text)] == [tool.name for tool in request.tools]
    assert told.recorded
    assert told.cause == "first_turn"


async def test_what_was_told_since_and_the_list_of_things_to_do_are_shown(place):
    """With where they are told."""
    (place.project / "AGENTS.md").write_text("Be kind.")
    place.model.calls("todo", items=[{"text": "think"}]).then_says("noted")
    await place.ask("go")
    (place.project / "AGENTS.md").write_text("Be quick.")
    place.model.says("done")
    await place.ask("go")
    told = await report(place, text=True)

    assert [(one.source, one.place) for one in found(told, "rules")] == [
        ("AGENTS.md", "prefix"),
        ("AGENTS.md", "conversation"),
    ]
    assert "Be quick." in found(told, "rules")[1].text
    assert [(one.source, one.text) for one in found(told, "todo")] == [("log", "[ ] think\n0 of 1 done.")]


async def test_how_full_the_window_is_goes_by_what_the_provider_reported(place):
    """And by an estimate for what came after it; the window is the user's word, if they gave it."""
    place.configure(
        '{"providers": {"scripted": {"models": {"script": {"contextWindow": 10000, "maxOutputTokens": 1000}}}}}'
    )
    await place.reopen()
    place.model.plays(Say("done"), Stop(usage=Usage(input_tokens=4_400, output_tokens=150, reasoning_tokens=50)))
    await place.ask("go")
    told = await report(place)

    assert (told.window, told.window_source, told.reserve) == (10_000, "config", 1_000)
    assert told.total_tokens == 4_500
    assert told.percent == 50.0


async def test_an_unknown_window_is_unknown(place):
    """No number is made up."""
    told = await report(place)

    assert (told.window, told.window_source, told.percent) == (None, "", None)


async def test_without_a_session_it_says_what_a_new_one_would_be_told(place):
    """As an agent of one's choice."""
    (place.project / "AGENTS.md").write_text("Be kind.")
    told = await workspace_context(place.harness.site(), place.harness.registry, agent="plan", text=True)

    assert (told.session_id, told.agent, told.recorded) == ("", "plan", False)
    assert "Be kind." in found(told, "rules")[0].text


async def test_a_small_budget_or_window_cuts_the_rules(place):
    """Said with the budget that cut them."""
    (place.project / "AGENTS.md").write_text("rule\n" * 4_000)
    place.configure('{"context": {"rulesTokens": 500}}')
    told = await report(place)
    assert [(one.status, one.budget) for one in found(told, "rules")] == [("cut", 500)]

    place.configure('{"providers": {"scripted": {"models": {"script": {"contextWindow": 1000}}}}}')
    told = await report(place)
    assert found(told, "rules")[0].tokens <= 250


async def test_messages_are_measured_with_what_surrounds_them(place):
    """The estimate is the one that budgets go by."""
    place.model.says("x" * 400)
    await place.ask("y" * 40)
    history = place.messages()

    assert size_of(history) == 100 + 10 + 2 * 6
    assert request_size(history, 7, ("scripted", "script"), None) == 7 + size_of(history)
