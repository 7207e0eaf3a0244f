"""Searching without another program."""

import threading

import pytest

from agi.errors import Invalid
from agi.tools import plain_search
from agi.tools.matches import Match, Query, glob_rules

EVERYWHERE = Query(text="hit", path=".", is_folder=True)


def search(desk, stop=None):
    return plain_search.search(desk.workspace, EVERYWHERE, stop or threading.Event())


def test_a_line_counts_once_however_often_it_matches(desk):
    """Lines end with newlines only."""
    desk.write("a", "hit hit\n\u2028hit\x0c hit\nno\nhit")

    assert search(desk).matches == (
        Match("a", 1, "hit hit"),
        Match("a", 2, "\u2028hit\x0c hit"),
        Match("a", 4, "hit"),
    )


def test_a_search_that_is_called_off_stops(desk):
    """No further file is looked at."""
    desk.write("a", "hit\n")
    stop = threading.Event()
    stop.set()

    assert search(desk, stop).matches == ()


def test_time_and_files_are_bounded_and_it_is_said(desk, monkeypatch):
    """What was not looked at is not passed over in silence."""
    for name in ("a", "b", "c"):
        desk.write(name, "hit\n")

    monkeypatch.setattr(plain_search, "MOST_FILES", 2)
    assert search(desk).partial == "there are too many files to look at all"
    monkeypatch.setattr(plain_search, "TIME_LIMIT_S", -1.0)
    assert search(desk).partial == "the search took too long"


def takes(glob, path):
    return plain_search._Picks(glob).takes(path)


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("", "a/b.py", True),
        ("*.py", "a/b.py", True),
        ("b.py", "a/b.py", True),
        ("a/*.py", "a/b.py", True),
        ("./a/*.py", "a/b.py", True),
        ("/b.py", "a/b.py", False),
        ("a/**", "a/b/c", True),
        ("a/", "a/b/c", True),
        ("**/c", "a/b/c", True),
        ("a/**/c", "a/c", True),
        ("a/*/c", "a/c", False),
        ("!a", "a/b", False),
        ("!*.py", "a/b.js", True),
        ("[ab].py", "a.py", True),
        ("*.{py,js}", "a/b.js", True),
        ("*.{py,js}", "a/b.ts", False),
        ("{src,lib}/*.{h,c}", "lib/x.c", True),
        ("*.py, *.js", "b.js", True),
        ("*.py,!test_*", "test_b.py", False),
        ("#x", "#x", True),
    ],
)
def test_globs_mean_what_they_mean_to_git(glob, path, fits):
    """A name at any depth, or with a slash a whole path; braces offer a choice, commas stand between several globs."""
    assert takes(glob, path) is fits


@pytest.mark.parametrize("glob", ["[", "a\\", "{a,b}" * 20])
def test_a_glob_that_is_none_is_refused(glob):
    """It is not taken for one that fits nothing."""
    with pytest.raises(Invalid):
        glob_rules(glob)


@pytest.mark.threat("T41")
def test_many_stars_take_no_time():
    """A glob cannot blow up."""
    assert not takes("/".join(["**", "a"] * 20) + "/b", "/".join(["a"] * 60))
    assert not takes("*a" * 30 + "b", "a" * 200)
