"""Searching word by word, where the text as a whole is nowhere."""

import threading
import time

import pytest

from agi.tools import word_search
from agi.tools.matches import Match, Query
from agi.tools.word_search import MOST_NEAR, words_of


def near(desk, text, stop=None, path="."):
    query = Query(text=text, path=path, is_folder=path == ".")
    return word_search.search(desk.workspace, query, stop or threading.Event())


@pytest.mark.parametrize(
    "text", ["max retries", "maxRetries", "MAX_RETRIES", "MaxRetry", "max-retry", "Max Retries", "max  retried"]
)
def test_one_thing_spelled_in_many_ways_is_the_same_words(text):
    """Case, underscores, humps and endings make no difference."""
    assert [word[:4] for word in words_of(text)] == ["max", "retr"]


@pytest.mark.parametrize(
    ("text", "words"),
    [("HTTPServer2", ["http", "server", "2"]), ("größe_x", ["gr", "öß", "e", "x"]), ("classes", ["class"]), ("", [])],
)
def test_a_text_is_taken_apart_into_words(text, words):
    """Whatever it is made of; letters outside ASCII stand for themselves."""
    assert words_of(text) == words


def test_the_line_with_most_and_rarest_words_comes_first(desk):
    """A word that is everywhere counts little."""
    desk.write("a", "timeout = 1\ntimeout = 2\ntimeout = 3\n")
    desk.write("b", "x\nconnect_timeout = 30\n")

    assert near(desk, "the connection timeout of connect()").matches[0] == Match("b", 2, "connect_timeout = 30")


def test_names_of_files_are_told_too(desk):
    """What is in a name may be in no line."""
    desk.write("docs/install.md", "Run it.\n")

    assert near(desk, "how to install").paths == ("docs/install.md",)
    assert near(desk, "how to install").matches == ()


@pytest.mark.parametrize("text", ["zebra", "the of and", "!?", "x", "in the file"])
def test_words_that_are_nowhere_or_say_nothing_find_nothing(desk, text):
    """Nothing near is nothing."""
    desk.write("a", "in the file x of and\n")

    assert near(desk, text) == word_search.Near()


def test_what_is_shown_is_bounded(desk):
    """Ten lines are enough to choose from; a long line is cut."""
    desk.write("a", "needle here\n" * 500 + "needle " + "x" * 10_000)

    found = near(desk, "needle hay")

    assert len(found.matches) == MOST_NEAR
    assert all(len(match.text) < 400 for match in found.matches)


def test_binaries_and_what_is_off_limits_are_passed_over(desk):
    """As in any other search."""
    desk.write("binary", b"\0needle\n")
    desk.write(".git/needle", "needle\n")
    desk.write(".agi/sessions/needle", "needle\n")

    assert near(desk, "needles") == word_search.Near()


def test_a_search_that_is_called_off_or_takes_too_long_ends(desk, monkeypatch):
    """What was found until then is shown."""
    desk.write("a", "needle\n")
    stop = threading.Event()
    stop.set()
    assert near(desk, "needles", stop).matches == ()

    monkeypatch.setattr(word_search, "TIME_LIMIT_S", -1.0)
    assert near(desk, "needles").matches == ()


def test_a_hostile_line_takes_no_time(desk):
    """A megabyte without a break is one line, looked at once."""
    desk.write("a", "aA1_" * 250_000 + " needle\n")
    began = time.process_time()

    near(desk, "needle " * 1000)

    assert time.process_time() - began < 2
