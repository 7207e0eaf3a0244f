"""The skills of a project over HTTP."""

from __future__ import annotations

from agi.testing.box import Daemon

SKILL = "---\nname: pdf\ndescription: Fills in forms.\nmetadata:\n  version: 1\n---\nText.\n"


async def test_skills_are_listed_with_those_that_do_not_count(daemon: Daemon) -> None:
    """Name, description, whose, where; and the reason for each that was skipped. No trust is needed: it is text."""
    daemon.workspace.write(".agi/skills/pdf/SKILL.md", SKILL)
    daemon.workspace.write(".claude/skills/bad/SKILL.md", "no front matter")

    listed = (await daemon.get("/v1/skills")).json()

    assert listed["skills"] == [
        {
            "name": "pdf",
            "description": "Fills in forms.",
            "source": "project",
            "path": ".agi/skills/pdf/SKILL.md",
            "license": "",
            "compatibility": "",
            "allowed_tools": "",
            "metadata": {"version": "1"},
        }
    ]
    assert [(one["name"], one["code"], one["path"]) for one in listed["problems"]] == [
        ("bad", "invalid", ".claude/skills/bad/SKILL.md")
    ]
    assert listed["enabled"] is True


async def test_where_they_are_switched_off_none_are_listed(daemon: Daemon) -> None:
    """A project may do that without trust."""
    daemon.workspace.write(".agi/skills/pdf/SKILL.md", SKILL)
    daemon.workspace.write(".agi/config.json", '{"skills": {"enabled": false}}')

    assert (await daemon.get("/v1/skills")).json() == {"skills": [], "problems": [], "enabled": False}


async def test_settings_that_cannot_be_read_are_a_clear_error(daemon: Daemon) -> None:
    """As for the other lists."""
    daemon.workspace.write(".agi/config.json", '{"skills": {"maxTokens": -1}}')

    reply = await daemon.get("/v1/skills")

    assert (reply.status, reply.code) == (422, "config_invalid")
    assert "skills.maxTokens" in reply.json()["error"]["message"]
