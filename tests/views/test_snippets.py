"""The words around a match, and where the matches are in them."""

from __future__ import annotations

from agi.views.snippets import WIDTH, snippet
from agi.views.terms import parse_terms


def marked(text: str, typed: str) -> tuple[str, list[str]]:
    shown, marks = snippet(text, parse_terms(typed))
    return shown, [shown[first:last] for first, last in marks]


def test_marks_are_places_in_the_snippet():
    """Not markup: whatever the text holds, it is only text."""
    assert marked("<b>Parse</b> the\nenvelope", "parse envelope") == (
        "<b>Parse</b> the envelope",
        ["Parse", "envelope"],
    )


def test_the_part_with_the_most_terms_is_shown():
    """A long text is cut on both sides, and says so."""
    text = "one " + "x " * 500 + "one and two together " + "y " * 500
    shown, marks = marked(text, "one two")

    assert marks == ["one", "two"]
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= WIDTH + 2


def test_parts_of_names_and_characters_are_marked_too():
    """As they are found, so they are shown."""
    assert marked("call parseEnvelope now", "envelope")[1] == ["Envelope"]
    assert marked("call parse_envelope now", "parseEnvelope")[1] == ["parse_envelope"]
    assert marked("说:数据库连接", "数据库")[1] == ["数据库"]
    assert marked("overlapping laps", '"overlapping laps" laps')[1] == ["overlapping laps"]


def test_a_match_that_cannot_be_shown_still_has_its_text():
    """Where only the index can tell why it fits, nothing is marked."""
    assert marked("résumé", "resume") == ("résumé", [])
    assert marked("", "x") == ("", [])
