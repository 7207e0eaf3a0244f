"""An empty conversation: where one is, who answers, and the first keys."""

from __future__ import annotations

import pytest

from agi.client.base import ModelChoice, ModelList
from agi.client.daemon import DaemonClient
from agi.testing.person import sitting_at
from agi.tui.drawing import Look
from agi.tui.greeting import KEYS, Greeting, greeting, greeting_lines
from agi.tui.keys import IN_THE_BOX
from agi.tui.tokens import DARK


def listed(provider: str = "", model: str = "m1", **told: str) -> ModelList:
    """Who answers, as a daemon says it."""
    choice = ModelChoice(provider=provider, model=model, reason="asked", because="") if provider else None
    return ModelList(models=(), default=choice, **told)


def drawn(told: Greeting, width: int = 80) -> list[str]:
    return [strip.text.rstrip() for strip in greeting_lines(told, Look(width, DARK))]


@pytest.fixture
def asked(monkeypatch):
    """How often it was asked who answers, and for whom."""
    found: list[dict[str, str]] = []
    models = DaemonClient.models

    async def counted(self, **wanted: str) -> ModelList:
        found.append(wanted)
        return await models(self, **wanted)

    monkeypatch.setattr(DaemonClient, "models", counted)
    return found


def test_a_greeting_says_the_project_the_agent_the_model_and_three_keys():
    """Each on a line, and nothing else."""
    told = greeting("~/larder", None, listed("openai", "gpt-5", agent="build"))

    assert drawn(told) == [
        "",
        " A new conversation",
        "",
        " project   ~/larder",
        " agent     build",
        " model     gpt-5 of openai",
        "",
        " enter     send what you wrote",
        " ?         all keys; / lists the commands",
        " ctrl+d    leave",
    ]


@pytest.mark.parametrize(
    ("answer", "said", "warns"),
    [
        (None, "…", False),
        (listed("scripted", "demo"), "none: a script answers, not an AI model. `agi setup` sets one up.", False),
        (listed("embedded", "small"), "small, embedded: for looking things up, not for real coding", False),
        (listed(problem="No model is set up. `agi setup` does."), "No model is set up. `agi setup` does.", True),
        (listed(), "nobody answers", True),
    ],
)
def test_nobody_takes_something_else_for_a_model(answer, said, warns):
    """That a script answers, or nobody, is said before the first word."""
    told = greeting("~", "plan", answer)

    assert (told.model, told.warns, told.agent) == (said, warns, "plan")


def test_what_a_daemon_does_not_say_is_left_out():
    """One of an older version names no agent."""
    assert not [line for line in drawn(greeting("~", None, listed("openai"))) if "agent" in line]


def test_a_long_word_is_broken_and_a_hostile_one_is_only_text():
    """Whatever a server calls its model, no line is wider than the screen, and nothing reaches the terminal."""
    lines = drawn(greeting("~", None, listed("lab\x1b[2J", "very long " * 9)), width=30)

    assert max(map(len, lines)) <= 30
    assert "\x1b" not in "".join(lines)
    assert len([line for line in lines if line.startswith(" " * 11 + "very")]) > 1


def test_the_keys_of_the_greeting_are_keys():
    """As the table of keys has them."""
    assert {key for key, _ in KEYS} <= {key.shown for key in IN_THE_BOX}


async def test_the_first_screen_greets_and_the_first_word_ends_it(daemon, asked):
    """It is asked once who answers, also across the session that then begins; a new conversation greets again."""
    daemon.model.says("Bread.")
    async with sitting_at(daemon, agent="general") as person:
        await person.sees("none: a script answers")
        assert f"project   {daemon.workspace.path}"[:60] in person.transcript
        assert "agent     general" in person.transcript

        await person.says("what is there?")
        await person.sees("Bread.")
        assert "A new conversation" not in person.transcript
        await person.says("/new")
        await person.sees("A new conversation")

        assert not person.app.desk.answers_otherwise
    assert asked == [{"agent": "general", "provider": "", "model": ""}]


async def test_another_model_is_greeted_by_its_name(daemon, asked):
    """It is asked anew who answers; that nobody would is said there, and not only after the first word."""
    async with sitting_at(daemon) as person:
        await person.sees("none: a script answers")
        await person.says("/model openai/gpt-5")
        await person.sees("There is no key for the provider openai.")

    assert [(one["provider"], one["model"]) for one in asked] == [("", ""), ("openai", "gpt-5")]


async def test_settings_that_cannot_be_read_are_told_on_the_first_screen(daemon):
    """With what is wrong about them."""
    daemon.workspace.write(".agi/config.json", "{")
    async with sitting_at(daemon) as person:
        await person.sees("config.json")

        assert "model" in person.transcript


async def test_a_session_that_is_gone_on_with_is_not_greeted(daemon):
    """Neither before it is there nor afterwards: the screen would be filled twice."""
    daemon.model.says("Bread.")
    turn = await daemon.ask("what is there?")
    await turn.ended()
    async with sitting_at(daemon, session_id=turn.session_id) as person:
        assert "A new conversation" not in person.transcript
        await person.sees("Bread.")

        assert person.app.transcript.greeting is None


async def test_a_greeting_leaves_nothing_to_do(daemon, asked):
    """Once it is there the screen rests: drawing it makes no other frame due, and asks nobody."""
    async with sitting_at(daemon) as person:
        await person.sees("none: a script answers")
        await person.sees(lambda: not person.app._due)
        person.app.draw()

        assert (person.app._due, person.app._clock) == (False, None)
    assert len(asked) == 1
