"""Names of files in questions."""

from agi.index.asking import read_question
from agi.index.naming import Names

PATHS = ["shop/cart.py", "shop/cart_rules.py", "shop/db/utils.py", "shop/utils.py", "web/index.js", "readme"]


def by_words(text):
    names, folders = Names(PATHS).by_words(read_question(text).terms)
    return {PATHS[n]: value for n, value in names.items()}, {PATHS[n]: value for n, value in folders.items()}


def by_path(*mentioned):
    return {PATHS[n] for n in Names(PATHS).by_path(mentioned)}


def test_a_name_that_is_said_wholly_is_worth_more_than_one_said_in_part():
    """`cart` means cart.py before cart_rules.py; "cart rules" the other way round."""
    names, _ = by_words("empty the cart")
    assert names["shop/cart.py"] > names["shop/cart_rules.py"]
    names, _ = by_words("the cart rules are wrong")
    assert names["shop/cart_rules.py"] > names["shop/cart.py"]


def test_folders_count_on_their_own():
    """A word for a folder speaks for all that is in it."""
    _, folders = by_words("the db hangs")
    assert set(folders) == {"shop/db/utils.py"}


def test_a_path_is_known_by_its_end():
    """From another machine it begins elsewhere; from the head it is cut short."""
    assert by_path("/home/ann/project/shop/db/utils.py") == {"shop/db/utils.py"}
    assert by_path("db/utils.py") == {"shop/db/utils.py"}
    assert by_path("shop\\cart.py") == {"shop/cart.py"}
    assert by_path("utils.py") == {"shop/utils.py", "shop/db/utils.py"}
    assert by_path("other/cart.py", "e.g", "") == set()


def test_a_name_that_many_files_have_names_none():
    """`mod.rs` alone says nothing in a large tree."""
    names = Names([f"m{n}/mod.rs" for n in range(20)])
    assert names.by_path(["mod.rs"]) == {}
    assert list(names.by_path(["m3/mod.rs"])) == [3]


def test_no_files_and_no_words_are_no_error():
    """The empty project has no names."""
    assert Names([]).by_words({"cart": 1.0}) == ({}, {})
    assert Names(PATHS).by_words({}) == ({}, {})
