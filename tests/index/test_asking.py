"""Questions, and what they can be found by."""

import time

import pytest

from agi.index.asking import LONGEST, MOST_TERMS, read_question


def test_what_is_written_as_code_weighs_more_than_plain_words():
    """Names are meant literally."""
    terms = read_question("The cookie `jar` of SessionStore leaks").terms
    assert terms["cooki"] == terms["leak"] == 1.0
    assert terms["jar"] == terms["session"] == 1.5
    assert terms["sessionstor"] == 1.5


def test_words_side_by_side_make_the_name_they_may_be():
    """ "content length limit" finds ContentLengthLimit; a plain word between parts them."""
    terms = read_question("raise the content length limit of a form").terms
    assert {"contentlength", "lengthlimit", "contentlengthlimit"} <= terms.keys()
    assert "limitform" not in terms


def test_the_first_line_weighs_twice_the_rest():
    """The first line says what it is about."""
    terms = read_question("fix router\n\nwhile the parser waits").terms
    assert (terms["router"], terms["parser"]) == (1.0, 0.5)


def test_addresses_and_trailers_say_nothing():
    """Who signed it and where it was discussed is not what it is about."""
    text = "tidy\n\nhttps://example.org/kangaroo\nSigned-off-by: Wombat\nCo-authored-by: Emu"
    assert not {"kangaroo", "wombat", "emu", "http"} & read_question(text).terms.keys()


def test_paths_and_commits_are_noticed():
    """As a stack trace and a bug report write them."""
    question = read_question('File "/app/shop/cart.py", line 3\nsince 1a2b3c4d5e, see main.go; 1234567 is a number')
    assert "/app/shop/cart.py".removeprefix("/") in {path.removeprefix("/") for path in question.paths}
    assert "main.go" in question.paths
    assert question.commits == ("1a2b3c4d5e",)


def test_it_is_told_when_tests_or_documents_are_meant():
    """Only by the first line: many messages end with "and add tests"."""
    assert read_question("the tests of the cart hang").about == {"test"}
    assert read_question("fix a typo in the README").about == {"doc"}
    assert read_question("sum rounds down\n\nAlso add tests").about == frozenset()


def test_an_empty_or_endless_question_is_answered_all_the_same():
    """Bounded, and no error."""
    assert read_question(" \n \0").terms == {}
    assert "cart" in read_question("\ud800 cart \udfff").terms
    long = read_question(" ".join(f"word{n}x" for n in range(100_000)))
    assert len(long.terms) == MOST_TERMS


@pytest.mark.parametrize("piece", ["a", "a_", "0a", "Aa", "-", "a/", "a.", "`", "a::", " ", "\n", "x" * 199 + " "])
def test_no_text_takes_long_to_read(piece):
    """Runs without end would make patterns quadratic: twenty seconds for 20,000 letters."""
    began = time.process_time()
    read_question(piece * (LONGEST // len(piece)))
    assert time.process_time() - began < 2


def test_identifiers_are_known_by_how_they_are_written():
    """As code; plain words are none, nor what stands in an address."""
    text = "Fix `flush` of HttpClient.send_all() when done, see https://example.org/not_this"
    assert read_question(text).names == ("flush", "HttpClient", "send_all")
