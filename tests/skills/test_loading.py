"""A skill is loaded when it is used: its text, its files, nothing beside it."""

from __future__ import annotations

import time

import pytest

from agi.errors import AgiError, Invalid, NotFound, TooLarge, WorkspaceError
from agi.protocol.skills import Skill, SkillProblem
from agi.skills.catalogue import catalogue
from agi.skills.loading import LARGEST_FILE, MOST_FILES, SkillFile, Skills, check_folder


@pytest.mark.parametrize("at", [".agi/skills", ".claude/skills", "~/skills"])
def test_a_skill_is_its_text_and_the_files_beside_it(desk, at):
    """Of a project or the user alike; hidden files and caches are not named."""
    desk.add("pdf", at=at, body="# PDF\n\nRead reference.md.")
    desk.write(f"{at}/pdf/reference.md", "More.\n")
    desk.write(f"{at}/pdf/scripts/fill.py", "print()\n")
    desk.write(f"{at}/pdf/.env", "x")
    desk.write(f"{at}/pdf/__pycache__/x.pyc", "x")

    loaded = desk.skills.load("pdf")

    assert loaded.skill.name == "pdf"
    assert loaded.body == "# PDF\n\nRead reference.md."
    assert loaded.files == (SkillFile("reference.md", 6), SkillFile("scripts/fill.py", 8))
    assert desk.skills.read("pdf", "reference.md") == "More.\n"
    assert desk.skills.read("pdf", "./scripts/../scripts/fill.py") == "print()\n"


def test_hidden_characters_are_taken_out_of_text_and_files(desk):
    """As of AGENTS.md."""
    desk.add("x", body="a\u200bb\U000e0041")
    desk.write(".agi/skills/x/f", "c\u202ed")

    assert (desk.skills.load("x").body, desk.skills.read("x", "f")) == ("ab", "cd")


@pytest.mark.threat("T18")
@pytest.mark.parametrize("at", [".agi/skills", "~/skills"])
@pytest.mark.parametrize(
    "path", ["../other/SKILL.md", "../../config.json", "/etc/passwd", "out/secret", "out.txt", "..", ".", "a\0b", "~/x"]
)
def test_nothing_outside_a_skills_folder_is_read(desk, tmp_path, at, path):
    """Not by `..`, an absolute path or a link; of a user's skill above all not the settings."""
    (tmp_path / "secret").write_text("secret")
    desk.write("secret", "secret")
    desk.add("x", at=at)
    desk.add("other", at=at)
    desk.write("~/config.json", "secret")
    desk.write(".agi/config.json", "secret")
    folder = (desk.home / "skills/x") if at.startswith("~") else desk.root / at / "x"
    (folder / "out").symlink_to("../../..")
    (folder / "out.txt").symlink_to("../../config.json")

    with pytest.raises(AgiError):
        desk.skills.read("x", path)


def test_a_link_inside_a_skills_folder_works(desk):
    """It leads nowhere else."""
    desk.add("x")
    desk.write(".agi/skills/x/a.md", "a")
    (desk.root / ".agi/skills/x/b.md").symlink_to("a.md")

    assert desk.skills.read("x", "b.md") == "a"


def test_a_file_that_is_no_text_or_too_large_is_refused_with_what_to_do(desk):
    """Never bytes, never megabytes."""
    desk.add("x")
    desk.write(".agi/skills/x/logo.png", b"\x89PNG\0")
    desk.write(".agi/skills/x/big.txt", b"x" * (LARGEST_FILE + 1))
    (desk.root / ".agi/skills/x/folder").mkdir()

    with pytest.raises(Invalid, match="is no text: it has a zero byte"):
        desk.skills.read("x", "logo.png")
    with pytest.raises(TooLarge, match="1,048,577 bytes") as caught:
        desk.skills.read("x", "big.txt")
    assert "read_file" in caught.value.hint
    with pytest.raises(WorkspaceError, match="not a regular file"):
        desk.skills.read("x", "folder")
    with pytest.raises(NotFound):
        desk.skills.read("x", "missing")


def test_a_skill_that_vanished_or_broke_after_listing_says_so(desk):
    """What was listed a moment ago need not be there any more."""
    desk.add("gone")
    desk.add("broken")
    assert desk.names() == ["broken", "gone"]
    (desk.root / ".agi/skills/gone/SKILL.md").unlink()
    desk.write(".agi/skills/broken/SKILL.md", "now something else")

    with pytest.raises(NotFound, match="It has no SKILL"):
        desk.skills.load("gone")
    with pytest.raises(NotFound, match="It has no front matter"):
        desk.skills.load("broken")


def test_a_text_that_is_broken_behind_its_front_matter_is_found_when_it_is_loaded(desk):
    """Listing reads the beginning only."""
    desk.write(".agi/skills/x/SKILL.md", b"---\nname: x\ndescription: y\n---\n" + b"a" * 20_000 + b"\xff")

    assert desk.names() == ["x"]
    with pytest.raises(Invalid, match="not UTF-8"):
        desk.skills.load("x")


def test_an_unknown_name_is_answered_with_the_nearest(desk):
    """A slip is easy to mend; a path is no name."""
    desk.add("pdf-forms")

    with pytest.raises(NotFound) as caught:
        desk.skills.load("pdf-form")
    assert caught.value.hint == "Did you mean pdf-forms?"
    with pytest.raises(NotFound):
        desk.skills.load("../pdf-forms")


def test_a_skill_with_very_many_files_names_some_of_them(desk):
    """And says that there are more."""
    desk.add("x")
    for number in range(MOST_FILES + 1):
        desk.write(f".agi/skills/x/{number:03}", "")

    loaded = desk.skills.load("x")

    assert (len(loaded.files), loaded.more_files) == (MOST_FILES, True)


def test_where_skills_are_switched_off_none_are_looked_for(desk):
    """Not even opened."""
    desk.add("x")
    off = Skills(desk.workspace, desk.home, enabled=False)
    desk.opened.clear()

    assert (off.all().skills, off.all().enabled) == ((), False)
    with pytest.raises(NotFound, match="switched off"):
        off.load("x")
    assert desk.opened == []


def test_a_folder_anywhere_can_be_checked(desk):
    """Before it is put where it counts."""
    good = desk.add("good", at="drafts").parent
    bad = desk.add("bad", at="drafts").parent.rename(desk.root / "drafts/worse")

    assert isinstance(check_folder(good), Skill)
    assert isinstance(check_folder(bad), SkillProblem)
    with pytest.raises(NotFound):
        check_folder(desk.root)


def test_listing_two_thousand_skills_and_choosing_takes_no_noticeable_time(desk):
    """Seconds would be felt at every session's start; the bound is generous for slow machines."""
    for number in range(2_000):
        desk.add(f"skill-{number:04}", "Handles work of kind " + f"{number} and all that belongs to it. " * 10)
    began = time.perf_counter()

    found = catalogue(desk.all().skills, query="work of kind 77")

    assert time.perf_counter() - began < 10
    assert found.shown[0] == "skill-0077"
    assert found.tokens <= 1_500
