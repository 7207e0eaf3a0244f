"""`agi skills`: what agents can load here, and why others do not count; with a daemon or without."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

SKILL = "---\nname: pdf-forms\ndescription: Fills in forms.\n---\n# Forms\n\nRead more.md.\n"


@pytest.fixture(params=["in this process", "by a daemon"])
async def way(cli, request) -> AsyncIterator[str]:
    """Reached both ways, with a good skill and a bad one."""
    cli.write(".agi/skills/pdf-forms/SKILL.md", SKILL)
    cli.write(".agi/skills/pdf-forms/more.md", "More.\n")
    cli.write(".claude/skills/bad/SKILL.md", "nothing")
    if request.param == "in this process":
        yield request.param
        return
    async with cli.daemon():
        yield request.param


async def test_skills_are_listed_and_what_is_wrong_with_others_is_said(cli, way):
    """The list on stdout, the rest on stderr."""
    shown = await cli("skills")

    assert (shown.code, shown.out) == (0, "pdf-forms  project  Fills in forms.\n")
    assert ".claude/skills/bad/SKILL.md: It has no front matter." in shown.err


async def test_programs_get_it_as_json(cli, way):
    """What `GET /v1/skills` answers."""
    told = json.loads((await cli("skills", "--json")).out)

    assert [skill["name"] for skill in told["skills"]] == ["pdf-forms"]
    assert [problem["code"] for problem in told["problems"]] == ["invalid"]


async def test_a_skill_is_shown_with_its_files(cli, way):
    """Its text on stdout, as it is; one of its files, too."""
    shown = await cli("skills", "show", "pdf-forms")
    file = await cli("skills", "show", "pdf-forms", "more.md")
    told = json.loads((await cli("skills", "show", "pdf-forms", "--json")).out)

    assert shown.out == "# Forms\n\nRead more.md.\n"
    assert "  more.md" in shown.err
    assert file.out == "More.\n"
    assert (told["skill"]["name"], told["files"]) == ("pdf-forms", ["more.md"])


async def test_a_skill_can_be_checked_before_it_counts(cli):
    """The exit code says it to scripts."""
    cli.write("drafts/pdf-forms/SKILL.md", SKILL)
    cli.write("drafts/other/SKILL.md", SKILL)

    good = await cli("skills", "check", "drafts/pdf-forms/SKILL.md")
    bad = await cli("skills", "check", "drafts/other")

    assert (good.code, good.out) == (0, "pdf-forms: Fills in forms.\n")
    assert (bad.code, bad.out) == (1, "")
    assert "its folder is called other" in bad.err


async def test_wrong_words_are_told_what_to_do(cli):
    """And looking makes no data folder."""
    cli.write(".claude/skills/pdf-forms/SKILL.md", SKILL)
    for line in (["shwo"], ["show"], ["check"], ["list", "x"], ["check", "nowhere"], ["show", "a", "b", "c"]):
        assert (await cli("skills", *line)).code == 2, line
    wrong = await cli("skills", "show", "pdf-form")

    assert wrong.code == 2
    assert "Did you mean pdf-forms?" in wrong.err
    assert not (cli.project / ".agi").exists()


async def test_where_there_are_none_it_says_how_to_begin(cli):
    """An empty list is no riddle."""
    shown = await cli("skills")

    assert (shown.code, shown.out) == (0, "")
    assert ".agi/skills" in shown.err
