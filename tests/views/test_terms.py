"""Words that can be found, and what is typed to find them: nothing typed is ever a syntax error."""

from __future__ import annotations

import sqlite3

import pytest

from agi.views.terms import Term, expression, index_text, parse_terms, pattern

TEXT = "def parse_envelope(raw): return parseEnvelope(HTTPServer) # 数据库连接失败 naïve résumé สวัสดี"


@pytest.fixture
def index():
    """A full-text index with one text in it."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE w USING fts5 (words, content='', tokenize=\"unicode61 remove_diacritics 2\")")
    db.execute("INSERT INTO w (rowid, words) VALUES (1, ?)", (index_text(TEXT),))
    yield lambda typed: bool(
        db.execute("SELECT 1 FROM w WHERE w MATCH ?", (expression(parse_terms(typed)),)).fetchone()
    )
    db.close()


@pytest.mark.parametrize(
    "typed",
    [
        *("parse_envelope", "parseEnvelope", "envelope", "PARSE", "server", "http", "HTTPServer", "pars*", "parseEnv*"),
        *(
            '"parse envelope"',
            "envelope raw",
            "raw envelope",
            "数据库",
            "据库",
            "数据库 失败",
            "naive",
            "RÉSUMÉ",
            "สวัส",
        ),
        *('"', "(", "AND", "parse AND", "NEAR(parse", "parse:x*", "-raw", "parse^", "{raw}", "a" * 400, "*"),
    ],
)
def test_whatever_is_typed_can_be_looked_for(index, typed):
    """Whole names and their parts, scripts without blanks, any case; signs of a query language mean nothing."""
    terms = parse_terms(typed)
    hopeless = {"AND", "parse AND", "NEAR(parse", "parse:x*", "a" * 400}

    assert (index(typed) if terms else True) is (typed not in hopeless)


@pytest.mark.parametrize("typed", ["velope", "据数", '"envelope parse"', "missing", "raw missing"])
def test_what_is_not_there_is_not_found(index, typed):
    """Words from their beginning, characters in their order, all of them."""
    assert not index(typed)


def test_terms_are_read_as_they_are_meant():
    """Words, phrases and beginnings; an open quotation mark is no error, and what has no letter is left out."""
    assert parse_terms('fix "two words" par* "ab c"* !! "open') == (
        Term("fix"),
        Term("two words"),
        Term("par", True),
        Term("ab c", True),
        Term("open"),
    )
    assert parse_terms(" \0 … ") == ()
    assert len(parse_terms("a " * 500)) == 32


def test_a_text_is_indexed_the_same_way_forever():
    """Words are taken out by being made again; if this fails, VERSION of the index must change with it."""
    assert index_text("plain words only") == "plain words only"
    assert index_text("getHTTPServer in getHTTPServer") == "getHTTPServer in getHTTPServer\nget HTTP Server"
    assert index_text("v8引擎") == "v8 引  擎 "


def test_a_very_long_word_takes_no_time():
    """A megabyte without a blank is looked at once."""
    assert index_text("aB" * 500_000).startswith("aBaB")
    assert pattern(Term("x"), strict=True).search("y" * 100_000) is None
