"""An agent loads the skills of its workspace and of its user, in a turn of its own."""

from __future__ import annotations

import pytest

from agi.protocol.events import ToolCallCompleted
from agi.protocol.parts import Text

SKILL = "---\nname: {name}\ndescription: Says a word.\nallowed-tools: shell\n---\nSay {name}, after running go.sh.\n"


def told(place) -> list[tuple[bool, str]]:
    """What the calls of the session gave, one after the other."""
    results = [event.data.tool_result for event in place.events("tool_call_completed")]
    return [
        (one.ok, one.error or "".join(part.text for part in one.parts if isinstance(part, Text))) for one in results
    ]


def write(folder, name):
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(SKILL.format(name=name))
    (folder / name / "go.sh").write_text("touch ran\n")
    (folder / name / "go.sh").chmod(0o755)


@pytest.mark.parametrize("agent", ["build", "general", "plan"])
async def test_every_built_in_agent_loads_skills_unasked(place, agent):
    """A skill is text: it is read without a question, and nothing of it is run."""
    write(place.project / ".claude/skills", "hello")
    write(place.home / "skills", "bye")
    place.model.calls("skill", query="word").calls("skill", name="hello").calls("skill", name="bye").then_says("ok")

    turn = await place.ask("say it", agent=agent)

    assert turn.status == "completed"
    found, hello, bye = told(place)
    assert found == (True, "- hello (project): Says a word.\n- bye (user): Says a word.")
    assert hello[1].startswith("Skill hello, the project's: .claude/skills/hello/SKILL.md\n")
    assert hello[1].endswith("Say hello, after running go.sh.")
    assert bye[1].startswith("Skill bye, the user's own: ")
    assert place.events("approval_requested") == []
    assert not (place.project / "ran").exists()


async def test_a_skill_that_wishes_for_a_tool_is_not_granted_it(place):
    """After loading it, a command still asks."""
    write(place.project / ".agi/skills", "hello")
    place.model.calls("skill", name="hello").calls("shell", command="sh .agi/skills/hello/go.sh").then_says("ok")

    await place.ask("say it", on_ask="deny")

    assert [one.data.name for one in place.events("approval_requested")] == ["shell"]
    assert not (place.project / "ran").exists()


async def test_skills_switched_off_are_not_read(place):
    """The tool says so."""
    write(place.project / ".agi/skills", "hello")
    place.configure('{"skills": {"enabled": false}}')
    place.model.calls("skill", name="hello").then_says("ok")

    await place.ask("say it")

    ((ok, text),) = told(place)
    assert (ok, text) == (False, "Skills are switched off here. `skills.enabled` does it.")
    assert isinstance(place.events("tool_call_completed")[0].data, ToolCallCompleted)
