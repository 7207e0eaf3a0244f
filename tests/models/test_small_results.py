"""What a small model is shown of a result."""

from __future__ import annotations

import pytest

from agi.models.small_results import MOST_CHARS, has_worked, shown_result
from agi.protocol.parts import Json, Text, ToolResultContent


def result(name: str, text: str, facts: Json | None = None, *, ok: bool = True) -> ToolResultContent:
    return ToolResultContent(
        id="c",
        name=name,
        ok=ok,
        parts=(Text(text=text),),
        error="" if ok else text,
        result={} if facts is None else facts,
    )


def test_a_file_is_shown_with_its_name_and_length() -> None:
    """Who asks how long it is need not count."""
    facts: Json = {"path": "a.txt", "total_lines": 2, "start_line": 1}

    assert shown_result(result("read_file", "one\ntwo\n", facts), "?") == "a.txt (2 lines):\none\ntwo\n"


def test_a_long_file_is_cut_down_to_what_the_question_is_about() -> None:
    """Its beginning, and the lines that share words with the question, with their numbers; and that it was cut."""
    lines = [f"filler number {n}" for n in range(1, 500)]
    lines[299] = "MAX_RETRIES = 4"
    facts: Json = {"path": "a.py", "total_lines": 499, "start_line": 1}

    shown = shown_result(result("read_file", "\n".join(lines), facts), "How many retries are made?")

    assert shown.startswith("a.py (499 lines): (only its beginning")
    assert "1: filler number 1\n" in shown
    assert "300: MAX_RETRIES = 4" in shown
    assert len(shown) < MOST_CHARS + 200


def test_numbers_count_from_where_the_excerpt_begins() -> None:
    """Line 1 of what was read may be line 1000 of the file."""
    text = "\n".join(["x" * 100] * 20 + ["the port is 7"])

    shown = shown_result(result("read_file", text, {"path": "a", "start_line": 1000}), "Which port?")

    assert "1020: the port is 7" in shown


def test_of_a_search_the_first_lines_the_count_and_what_stands_around_the_best_are_shown() -> None:
    """Lines that only come near are fewer."""
    found = ["  4- before", "a:5: hit", "  6- after", *(f"a:{n}: hit" for n in range(7, 50)), "[44 matching lines]"]
    near = ["[other lines with such words, best first:]", *(f"b:{n}: near" for n in range(9))]

    assert shown_result(result("search", "\n".join(found + near)), "?").split("\n") == [
        *("  4- before", "a:5: hit", "  6- after", "a:7: hit", "a:8: hit", "[44 matching lines]"),
        *("[other lines with such words, best first:]", "b:0: near", "b:1: near"),
    ]


def test_of_a_long_output_both_ends_are_shown() -> None:
    """What was left out between them is said."""
    text = "first\n" + "noise\n" * 5000 + "last\n[exit code 0]"

    shown = shown_result(result("shell", text), "?")

    assert shown.startswith("first\n")
    assert shown.endswith("last\n[exit code 0]")
    assert "[some lines are left out here]" in shown
    assert len(shown) < MOST_CHARS + 100


@pytest.mark.parametrize("name", ["read_file", "search", "shell", "repo_tree", "other"])
@pytest.mark.parametrize("text", ["", "x" * 100_000, "\n" * 10_000, ("y" * 500 + "\n") * 500])
def test_whatever_comes_is_bounded(name: str, text: str) -> None:
    """A few hundred tokens, not more; and never nothing."""
    for ok in (True, False):
        shown = shown_result(result(name, text, ok=ok), "What?")
        assert 0 < len(shown) < 2 * MOST_CHARS


def test_an_error_is_told_as_one() -> None:
    """A command's output is told as it is: its exit code says the rest."""
    assert shown_result(result("read_file", "'x' does not exist.", ok=False), "?") == "Error: 'x' does not exist."
    assert shown_result(result("shell", "no such option\n[exit code 2]", ok=False), "?").endswith("[exit code 2]")


@pytest.mark.parametrize(
    ("content", "worked"),
    [
        (result("search", "a:1: x", {"matches": 1}), True),
        (result("search", "near", {"matches": 0, "near": 2}), True),
        (result("search", "No matches.", {"matches": 0}), False),
        (result("read_file", "x"), True),
        (result("read_file", "x", ok=False), False),
    ],
)
def test_a_search_that_found_nothing_has_not_worked(content: ToolResultContent, worked: bool) -> None:
    """There is nothing to answer with, as after an error."""
    assert has_worked(content) is worked
