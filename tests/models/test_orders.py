"""Orders: what is spelled out becomes one call, to the letter; everything else is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from agi.models.orders import FORMS, order_in

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("write notes.txt: eggs", "write_file", {"path": "notes.txt", "content": "eggs\n"}),
        ("write a/b.txt: two\nlines: here", "write_file", {"path": "a/b.txt", "content": "two\nlines: here\n"}),
        ("edit a.py: x => y", "edit", {"path": "a.py", "old_text": "x", "new_text": "y"}),
        ("edit a.py: x => y => z", "edit", {"path": "a.py", "old_text": "x", "new_text": "y => z"}),
        (" run: ls | wc -l \n", "shell", {"command": "ls | wc -l"}),
        ("start: sleep 9", "shell", {"command": "sleep 9", "background": True}),
    ],
)
def test_an_order_is_one_call_with_just_what_was_said(text, name, arguments):
    """Nothing is added but the end of the last line, and nothing is read into it."""
    order = order_in(text)

    assert order is not None
    assert (order.name, order.arguments) == (name, arguments)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is this project?",
        "please run: ls",
        "run:",
        "run ls",
        "Run: ls",
        "write two words.txt: x",
        "write notes.txt:",
        "edit a.py: x",
        "edit a.py: x =>",
        "Say: write notes.txt: eggs",
    ],
)
def test_what_only_resembles_an_order_is_none(text):
    """A question about an order is not carried out."""
    assert order_in(text) is None


def test_every_form_is_an_order_and_in_the_tutorial():
    """What the page promises is what is understood."""
    page = TUTORIAL.read_text(encoding="utf-8")

    assert [form for form in FORMS if order_in(form) is None or f"| `{form}` |" not in page] == []
