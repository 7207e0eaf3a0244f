"""Words as they are compared."""

import pytest

from agi.index.words import PLAIN, parts_of, stem, terms_of


@pytest.mark.parametrize("spelled", ["maxRetries", "MAX_RETRIES", "MaxRetries", "max_retries", "$max_retries"])
def test_the_spelling_of_an_identifier_makes_no_difference(spelled):
    """All ways to write a name meet in its words and in their compound."""
    assert set(terms_of(spelled)) == {"max", "retri", "maxretri"}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("HTTPServer", ["http", "server"]),
        ("parseURL2", ["parse", "url", "2"]),
        ("_", []),
        ("sha256", ["sha", "256"]),
        ("größe", ["gr", "öß", "e"]),
    ],
)
def test_a_name_is_taken_apart_at_case_digits_and_underscores(name, parts):
    """Runs of capitals stay together."""
    assert parts_of(name) == parts


@pytest.mark.parametrize(
    "family",
    [
        ("cache", "cached", "caching", "caches"),
        ("retry", "retries"),
        ("cookie", "cookies"),
        ("stop", "stopped", "stopping"),
        ("class", "classes"),
    ],
)
def test_the_forms_of_a_word_meet(family):
    """Plural and tense are cut off."""
    assert len({stem(word) for word in family}) == 1


def test_short_words_and_those_in_double_s_keep_their_ends():
    """`bus`, `this` and `pass` are no plurals."""
    assert [stem(word) for word in ("bus", "pass", "axis", "red")] == ["bus", "pass", "axis", "red"]


def test_pairs_and_triples_inside_a_long_name_are_terms():
    """A question rarely says the whole of a long name."""
    terms = terms_of("ContentLengthLimitLayer")
    assert {"contentlength", "lengthlimit", "contentlengthlimit", "contentlengthlimitlayer"} <= set(terms)


def test_plain_words_are_no_terms_but_may_be_in_a_compound():
    """`to` says nothing, `to_string` does."""
    assert "to" in PLAIN
    assert set(terms_of("to_string")) == {"str", "tostr"}


def test_a_name_without_end_gives_few_terms():
    """Hostile input is bounded."""
    assert len(terms_of("a_b" * 100_000)) < 40
