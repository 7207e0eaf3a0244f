"""What words and paths mean for where the ranking starts."""

import pytest

from agi.index.focus import EVERYWHERE, pieces, starts, words_in
from agi.index.graph import Graph
from agi.index.symbols import Definition, Symbols

FILES = ["src/cart.py", "src/prices.py", "tests/test_cart.py", "web/cart_view.js"]


@pytest.fixture
def graph():
    made = Graph()
    for path, name in zip(FILES, ["Cart", "lookupPrice", "test_adding", "drawView"], strict=True):
        made.put(path, Symbols("python", (Definition(name, "function", 1, 1),)))
    return made


def test_words_and_paths_are_taken_from_a_text():
    """Those that may name something, each once; small words and signs are left out."""
    text = "Please fix the bug in src/cart.py: Cart.add() is called, and lookupPrice (see cart.py) is not!"

    assert words_in(text) == (
        *("src/cart.py", "Cart.add", "cart.py"),
        *("bug", "src", "cart", "Cart", "called", "lookupPrice", "see"),
    )


def test_a_flood_of_words_is_cut():
    """A pasted book does not make a query of a book."""
    assert len(words_in(" ".join(f"word{n}" for n in range(5000)))) == 40
    assert words_in("a" * 1_000_000) == ("a" * 64,)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("parseHTTPHeader", ("parse", "http", "header")),
        ("snake_case2", ("snake", "case", "2")),
        ("_X", ("x",)),
        ("__", ()),
    ],
)
def test_a_name_is_made_of_words(name, words):
    """In whatever way they are put together."""
    assert pieces(name) == words


def test_without_focus_there_is_no_start(graph):
    """All files count alike then."""
    assert starts(graph, FILES, [], []) == ({}, frozenset())
    assert starts(graph, FILES, ["gone.py"], ["nothing"]) == ({}, frozenset())


def test_a_path_that_was_touched_gets_all_but_a_little(graph):
    """The rest stays within reach."""
    told, meant = starts(graph, FILES, ["src/prices.py"], [])

    assert told["src/prices.py"] == pytest.approx(1 - EVERYWHERE + EVERYWHERE / 4)
    assert told["src/cart.py"] == pytest.approx(EVERYWHERE / 4)
    assert not meant


@pytest.mark.parametrize(
    ("word", "first", "meant"),
    [
        ("lookupPrice", "src/prices.py", {"lookupPrice"}),
        ("price", "src/prices.py", {"lookupPrice"}),
        ("view", "web/cart_view.js", {"drawView"}),
        ("test_cart.py", "tests/test_cart.py", set()),
        ("./src/cart.py", "src/cart.py", set()),
        ("CART", "src/cart.py", {"Cart"}),
    ],
)
def test_a_word_finds_the_file_it_names(graph, word, first, meant):
    """By a defined name, a part of one, a file's name or the end of its path."""
    told, found = starts(graph, FILES, [], [word])

    assert max(told, key=told.__getitem__) == first
    assert found == meant


def test_a_part_of_a_word_is_not_that_word(graph):
    """`art` is not meant by `Cart`."""
    assert starts(graph, FILES, [], ["art"]) == ({}, frozenset())
