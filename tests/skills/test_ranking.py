"""Which skills fit a text best."""

from __future__ import annotations

from agi.protocol.skills import Skill
from agi.skills.ranking import ranked


def skill(name: str, description: str, source: str = "project") -> Skill:
    return Skill(name=name, description=description, source=source, path=f"{name}/SKILL.md")  # type: ignore[arg-type]


SKILLS = [
    skill("charts", "Draws charts of numbers."),
    skill("mail", "Writes letters and mails to customers.", "user"),
    skill("pdf-forms", "Fills in forms, also scanned ones."),
    skill("tables", "Reads numbers from a PDF and makes tables of them."),
]


def order(query: str) -> list[str]:
    return [one.name for one, score in ranked(SKILLS, query) if score > 0]


def test_words_in_common_decide_and_those_of_the_name_count_more():
    """Plurals and case make no difference."""
    assert order("Please fill in this PDF form for me") == ["pdf-forms", "tables"]
    assert order("a table of NUMBERS")[0] == "tables"


def test_words_that_say_nothing_find_nothing():
    """Else every skill would fit every question."""
    assert order("can you do this for me when it is used") == []
    assert order("") == []


def test_the_order_is_the_same_whatever_order_they_come_in():
    """The project's first, then by name, where nothing tells them apart."""
    assert [one.name for one, _ in ranked(SKILLS, "")] == ["charts", "pdf-forms", "tables", "mail"]
    assert ranked(SKILLS, "numbers and forms") == ranked(SKILLS[::-1], "numbers and forms")


def test_no_skills_and_no_words_are_no_trouble():
    """There is nothing to divide by."""
    assert ranked([], "pdf") == []
    assert len(ranked([skill("a", "!")], "?!" * 100_000)) == 1
