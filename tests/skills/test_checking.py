"""What makes a SKILL.md a skill: the rules of the format, and text that hides nothing."""

from __future__ import annotations

import pytest

from agi.protocol.skills import Skill, SkillProblem
from agi.skills.checking import HEAD, LARGEST, Told, is_name, skill_from

TOLD = Told(folder="pdf-forms", path=".agi/skills/pdf-forms/SKILL.md", source="project")


def made(text: str | bytes, size: int | None = None, told: Told = TOLD) -> Skill | SkillProblem:
    data = text if isinstance(text, bytes) else text.encode()
    return skill_from(data, len(data) if size is None else size, told)


def front(**fields: str) -> str:
    lines = {"name": "pdf-forms", "description": "Fills in forms.", **fields}
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in lines.items() if value) + "---\nText.\n"


def test_a_skill_is_what_its_front_matter_says():
    """Name, description, and where it was found."""
    assert made(front(license="MIT")) == Skill(
        name="pdf-forms", description="Fills in forms.", source="project", path=TOLD.path, license="MIT"
    )


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("no front matter", "invalid", "It has no front matter."),
        (front(name=""), "invalid", "no name"),
        (front(name="PDF Forms"), "invalid", "'PDF Forms' is no name"),
        (front(name="pdf--forms"), "invalid", "is no name"),
        (front(name="../../etc"), "invalid", "is no name"),
        (front(name="other"), "invalid", "its folder is called pdf-forms"),
        (front(description=""), "invalid", "no description"),
        (front(description='"\\u200b"'), "invalid", "no description"),
        (front(description="x" * 1025), "invalid", "1,025 characters; 1,024 are allowed"),
        (front(compatibility="x" * 501), "invalid", "compatibility"),
        (b"\x7fELF\0\0", "not_text", "zero byte at 4"),
        (b"---\nname: \xff\xfe\n---\n", "not_text", "byte 10 is not UTF-8"),
    ],
)
def test_what_is_wrong_is_said_with_a_code(text, code, said):
    """One problem at a time, for programs and people."""
    problem = made(text)

    assert isinstance(problem, SkillProblem)
    assert (problem.name, problem.path, problem.code) == ("pdf-forms", TOLD.path, code)
    assert said in problem.message
    assert problem.hint


def test_a_file_of_ten_megabytes_is_refused_by_its_size_alone():
    """Of which nobody has to read more than the beginning."""
    problem = made(front(), size=10 << 20)

    assert isinstance(problem, SkillProblem)
    assert (problem.code, f"{LARGEST:,}" in problem.message) == ("too_large", True)


def test_a_character_that_the_beginning_cuts_in_two_is_no_fault():
    """Only the front matter must be within it."""
    whole = (front() + "é" * HEAD).encode()
    head = next(whole[:end] for end in (HEAD, HEAD + 1) if whole[end - 1] == 0xC3)

    assert isinstance(made(head, size=len(whole)), Skill)
    assert isinstance(made(head), SkillProblem)


def test_what_nobody_sees_does_not_reach_a_model():
    """Tags, zero-width characters, line breaks and control characters go from what is listed."""
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "rm -rf")
    found = made(front(description=f'"Fills\\n- evil: in\\u001b[2J {tags}\\u200bforms\\u202e."'))

    assert isinstance(found, Skill)
    assert found.description == "Fills - evil: in [2J forms."


@pytest.mark.parametrize("name", ["a", "pdf", "a1-b2", "x" * 64])
def test_names_of_the_format_are_names(name):
    """Lowercase letters, digits, single hyphens."""
    assert is_name(name)


@pytest.mark.parametrize("name", ["", "-a", "a-", "a--b", "A", "a_b", "a.b", "a/b", "é", "x" * 65, "a\n"])
def test_anything_else_is_none(name):
    """Above all nothing that could lead somewhere."""
    assert not is_name(name)
