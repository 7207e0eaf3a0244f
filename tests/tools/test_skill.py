"""skill: instructions loaded by name, found by words, their files read, nothing run."""

from __future__ import annotations

import pytest

from agi.skills.loading import Skills

TEXT = "---\nname: {name}\ndescription: {said}\n{more}---\n{body}\n"


@pytest.fixture
def shelf(desk, tmp_path):
    """A workspace whose tools know its skills."""
    desk.home = tmp_path / "home"
    desk.skills = Skills(desk.workspace, desk.home)

    def add(name, said="Does a thing.", *, at=".agi/skills", body="Do it.", more=""):
        text = TEXT.format(name=name, said=said, body=body, more=more)
        if at != "user":
            return desk.write(f"{at}/{name}/SKILL.md", text)
        file = desk.home / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(text)
        return file

    desk.add = add
    return desk


async def test_a_skill_is_shown_with_where_it_comes_from_and_its_files(shelf):
    """Provenance first, then what it needs, its files, its text."""
    shelf.add("pdf", body="# PDF\nRun scripts/fill.py.", more="compatibility: Python\nallowed-tools: Bash(python:*)\n")
    shelf.write(".agi/skills/pdf/scripts/fill.py", "print()\n")

    result = await shelf.use("skill", name="pdf")

    assert result.ok
    assert result.parts[0].text == (
        "Skill pdf, the project's: .agi/skills/pdf/SKILL.md\n"
        "It needs: Python\n"
        "It wishes for these tools, which grants nothing: Bash(python:*)\n"
        "Its files, in .agi/skills/pdf; read them with `file`, run scripts as any other file of the project:\n"
        "- scripts/fill.py (8 bytes)\n"
        "\n"
        "# PDF\nRun scripts/fill.py."
    )
    assert result.result == {
        "name": "pdf",
        "source": "project",
        "path": ".agi/skills/pdf/SKILL.md",
        "files": ["scripts/fill.py"],
    }
    assert await shelf.text("skill", name="pdf", file="scripts/fill.py") == "print()\n"


async def test_a_users_skill_is_read_outside_the_workspace_and_nothing_beside_it(shelf):
    """Beneath its own folder only."""
    file = shelf.add("mine", at="user", body="Mine.")
    (shelf.home / "config.json").write_text("secret-key")
    (file.parent / "link").symlink_to(shelf.home / "config.json")

    text = await shelf.text("skill", name="mine")
    refused = [
        await shelf.use("skill", name="mine", file=path) for path in ("link", "../../config.json", "/etc/passwd")
    ]

    assert text.startswith("Skill mine, the user's own: ")
    assert text.endswith("Mine.")
    assert [result.ok for result in refused] == [False] * 3
    assert "secret-key" not in str(refused)


async def test_skills_are_found_by_words(shelf):
    """Best first; all of them, shown in a list before or not."""
    shelf.add("charts", "Draws charts of numbers.")
    shelf.add("pdf-forms", "Fills in forms.", at="user")
    shelf.add("tables", "Makes tables from a PDF.")

    result = await shelf.use("skill", query="a PDF form")
    none = await shelf.text("skill", query="weather")

    assert result.parts[0].text == "- pdf-forms (user): Fills in forms.\n- tables (project): Makes tables from a PDF."
    assert result.result == {"names": ["pdf-forms", "tables"]}
    assert none == "None of 3 skills fits. Try other words."


async def test_a_search_that_finds_very_many_shows_some(shelf):
    """And counts the rest."""
    for number in range(50):
        shelf.add(f"form-{number:02}", "Fills in a form.")

    text = await shelf.text("skill", query="form")

    assert len(text.splitlines()) == 21
    assert text.endswith("[30 more fit less well; other words find them]")


@pytest.mark.parametrize(
    "given", [{}, {"file": "x"}, {"name": "a", "query": "b"}, {"query": "b", "file": "x"}, {"name": ""}, {"path": "x"}]
)
async def test_a_call_that_says_nothing_or_too_much_is_told_what_to_give(shelf, given):
    """A name, with a file or without; or a query."""
    result = await shelf.use("skill", **given)

    assert not result.ok
    assert result.error


async def test_what_is_not_there_is_a_result_that_says_what_is(shelf):
    """The nearest name, or why the one that was meant cannot be used."""
    shelf.add("pdf-forms")
    shelf.write(".agi/skills/broken/SKILL.md", "x")
    shelf.write(".agi/skills/pdf-forms/logo.png", b"\x89PNG\0")

    errors = [
        (await shelf.use("skill", **given)).error
        for given in (
            {"name": "pdf-form"},
            {"name": "broken"},
            {"name": "pdf-forms", "file": "nothing.md"},
            {"name": "pdf-forms", "file": "logo.png"},
        )
    ]

    assert errors[0] == "There is no skill 'pdf-form'. Did you mean pdf-forms?"
    assert errors[1].startswith("The skill 'broken' cannot be used. It has no front matter.")
    assert "does not exist" in errors[2]
    assert "is no text" in errors[3]


async def test_a_long_text_goes_through_the_one_limiter(shelf):
    """Both ends are shown, the whole is kept as a file of the session."""
    shelf.add("long", body="\n".join(f"line {number}" for number in range(10_000)))

    result = await shelf.use("skill", name="long")

    assert len(result.parts[0].text) < 70_000
    assert "left out; read them with read_file on artifacts/" in result.parts[0].text
    assert result.artifacts


async def test_where_skills_are_off_or_unknown_the_tool_says_so(shelf):
    """A failure the model can act on."""
    shelf.skills = Skills(shelf.workspace, shelf.home, enabled=False)
    assert "switched off" in (await shelf.use("skill", name="x")).error
    assert "switched off" in (await shelf.use("skill", query="x")).error
    shelf.skills = None
    assert (await shelf.use("skill", name="x")).error == "No skills are known here."
