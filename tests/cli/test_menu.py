"""A choice among rows: how keys move it, what is looked for, and what is drawn."""

from __future__ import annotations

import pytest

from agi.cli.keyboard import Key
from agi.cli.menu import Menu, Row, answered

ROWS = [Row("alpha", "one"), Row("beta", "two"), Row("gamma"), Row("delta")]
MANY = [Row(f"model-{number:02}", "big" if number % 2 else "small") for number in range(30)]


def press(menu: Menu, *keys: str) -> str:
    """Press keys by name, or letters; gives what the last one came to."""
    outcome = ""
    for key in keys:
        outcome = menu.press(Key("text", key) if len(key) == 1 else Key(key))
    return outcome


@pytest.mark.parametrize(
    ("keys", "at"),
    [
        ((), 0),
        (("down",), 1),
        (("j", "j", "k"), 1),
        (("up",), 3),
        (("end", "down"), 0),
        (("3",), 2),
        (("9", "0"), 0),
        (("page_down",), 3),
        (("end", "page_up"), 0),
        (("end", "home"), 0),
        (("x", "other", "redraw", "left"), 0),
    ],
)
def test_keys_move_to_the_row_they_should(keys, at):
    """Arrows and letters go round, pages stop at the ends, other keys do nothing."""
    menu = Menu(ROWS)
    press(menu, *keys)

    assert menu.at == at


def test_enter_takes_the_row_and_escape_leaves():
    """Nothing is taken by a digit alone."""
    menu = Menu(ROWS, at=2)

    assert press(menu, "2") == ""
    assert press(menu, "enter") == "taken"
    assert menu.at == 1
    assert press(menu, "escape") == "left"
    assert press(menu, "end_of_input") == "left"


def test_looking_for_a_row_shows_those_that_fit():
    """By all words, in the label and the note; letters that else move are text then."""
    menu = Menu(MANY)
    press(menu, "/", *"1 BIG")

    assert [MANY[number].label for number in menu.found()] == [
        "model-01",
        *(f"model-{n}" for n in range(11, 20, 2)),
        "model-21",
    ]
    assert menu.at == 1
    assert press(menu, "down", "enter") == "taken"
    assert menu.at == 11


def test_where_nothing_fits_nothing_is_taken():
    """And the first Escape only ends the search."""
    menu = Menu(ROWS)
    press(menu, "/", *"zzz", "down")

    assert press(menu, "enter") == ""
    assert "Nothing fits." in menu.lines(80, 5, colors=False)[0]
    assert press(menu, "escape") == ""
    assert menu.found() == [0, 1, 2, 3]
    assert press(menu, "escape") == "left"


def test_a_search_can_be_mended():
    """Backspace takes letters away, and in the end the search itself."""
    menu = Menu(ROWS)
    press(menu, "/", *"gx", "backspace")
    assert [ROWS[number].label for number in menu.found()] == ["gamma"]
    press(menu, "erase_all", "backspace")

    assert menu.wanted is None
    assert menu.at == 2


def test_the_rows_are_drawn_around_the_chosen_one():
    """As many as fit; the rest is counted."""
    menu = Menu(MANY, at=15)
    lines = menu.lines(80, 5, colors=False)

    assert [line[4:12] for line in lines[:-1]] == [f"model-{number}" for number in (13, 14, 15, 16, 17)]
    assert lines[2].startswith("❯")
    assert lines[-1].startswith("  25 more · ↑↓ move · / find")


def test_a_line_never_exceeds_the_screen_and_never_acts():
    """Names come from servers: what could move the cursor is shown, what is long is cut."""
    menu = Menu([Row("evil\x1b[2J\r\n", "x" * 300), Row("模型" * 100)])
    lines = menu.lines(40, 5, colors=False)

    assert "\x1b" not in "".join(lines)
    assert r"evil\x1b[2J\r\n" in lines[0]
    assert all(len(line) <= 40 for line in lines)


def test_colours_are_left_out_where_they_are_not_wanted():
    """The chosen row is told by its mark, not by colour alone."""
    coloured, plain = (Menu(ROWS).lines(80, 5, colors=colors) for colors in (True, False))

    assert coloured[0] == f"\x1b[36m{plain[0]}\x1b[0m"
    assert coloured[1:] == plain[1:]
    assert answered("Which model?", "a", colors=False) == "✓ Which model: a"
