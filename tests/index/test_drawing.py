"""The map as text, within its budget."""

import pytest

from agi.index.drawing import MOST_PER_FILE, Outline, draw, tokens_in
from agi.index.graph import Graph
from agi.index.symbols import Definition, Symbols


def outline(path, rank, *definitions):
    return Outline(path, rank, tuple(definitions))


CART = outline(
    "shop/cart.py",
    0.6,
    Definition("Cart", "class", 3, 20, "", "class Cart(Base):"),
    Definition("add", "method", 5, 8, "Cart", "def add(self, item):"),
    Definition("checkout", "function", 22, 30, "", "def checkout(cart):"),
)
PRICES = outline("shop/prices.py", 0.3, Definition("price", "function", 1, 4, "", "def price(item):"))
EMPTY = outline("shop/__init__.py", 0.1)


def test_files_come_in_the_order_of_their_rank_with_their_definitions_by_line():
    """What stands in a class that is shown is set in; at the end is what it adds up to."""
    drawn = draw([CART, PRICES, EMPTY], Graph(), (), 1_000)

    assert drawn.text == (
        "shop/cart.py\n  3: class Cart(Base):\n  5:   def add(self, item):\n  22: def checkout(cart):\n"
        "shop/prices.py\n  1: def price(item):\nshop/__init__.py\n[3 of 3 source files, 4 of 4 symbols]"
    )
    assert (drawn.files_shown, drawn.files_left_out, drawn.symbols_shown, drawn.symbols_left_out) == (3, 0, 4, 0)
    assert drawn.tokens == tokens_in(drawn.text)


def test_nothing_to_draw_is_an_empty_map():
    """No footer stands alone."""
    assert draw([], Graph(), (), 1_000).text == ""


@pytest.mark.parametrize("budget", [0, 61, 80, 100, 150, 400, 2_000])
def test_the_budget_is_kept_and_what_is_left_out_is_counted(budget):
    """However many files there are and whatever their names are made of."""
    many = [
        outline(
            f"pkg/{'ä' * (n % 9)}file{n}.py",
            1 / (n + 2),
            *CART.definitions,
            Definition("x", "type", 40, 41, "", "é" * 90),
        )
        for n in range(300)
    ]

    drawn = draw(many, Graph(), (), budget)

    assert drawn.tokens <= max(budget, 60)
    assert drawn.files_shown + drawn.files_left_out == 300
    assert drawn.symbols_shown + drawn.symbols_left_out == 1200
    assert f"{drawn.files_shown} of 300 source files" in drawn.text


def test_more_budget_shows_more():
    """Nothing that fits is left out."""
    many = [outline(f"f{n}.py", 1 / (n + 2), *CART.definitions) for n in range(50)]

    shown = [draw(many, Graph(), (), budget).symbols_shown for budget in (100, 200, 400, 800)]

    assert shown == sorted(shown)
    assert len(set(shown)) == 4


def test_a_name_that_is_asked_for_is_shown_before_others():
    """Even a small method, when there is room for one line."""
    meant = draw([CART], Graph(), {"add"}, 75)
    plain = draw([CART], Graph(), (), 75)

    assert "def add" in meant.text
    assert "def add" not in plain.text


def test_what_many_files_use_is_shown_before_what_none_does():
    """The graph tells which definitions of a file matter."""
    graph = Graph()
    graph.put("shop/cart.py", Symbols("python", CART.definitions))
    for n in range(5):
        graph.put(f"user{n}.py", Symbols("python", (), {"checkout": 1}))

    assert "def checkout" in draw([CART], graph, (), 75).text


def test_one_large_file_does_not_fill_the_map():
    """There is a limit to what is shown of each."""
    large = outline(
        "large.py", 0.9, *(Definition(f"f{n}", "function", n, n, "", f"def f{n}():") for n in range(1, 400))
    )

    drawn = draw([large, PRICES], Graph(), (), 5_000)

    assert drawn.symbols_shown == MOST_PER_FILE + 1
    assert "shop/prices.py" in drawn.text


def test_what_would_act_or_hide_is_made_visible():
    """A repository chooses its names; none of them forges a line or turns one around."""
    odd = outline(
        "a\nb\x1b[2J.py",
        1.0,
        Definition("f", "function", 1, 1, "", "def f(): '\x1b]0;x\x07 \u202e \t'"),
    )

    text = draw([odd], Graph(), (), 500).text

    assert "a\\nb\\x1b[2J.py\n  1: def f(): '\\x1b]0;x\\x07 \\u202e \\t'\n" in text


def test_a_name_that_is_no_text_is_shown_all_the_same():
    """Bytes of a file's name that are no UTF-8 are replaced."""
    assert draw([outline("b\udcffd.py", 1.0)], Graph(), (), 500).text.startswith("b?d.py")
