"""Diffs as tables: every line once, with its sign and number, inline and side by side, hunk by hunk."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.protocol.hunks import Hunk
from agi.rendering import diffs
from agi.workspace.diffs import unified_diff

VIEWS = ("inline", "split")
lines = st.lists(st.text("ab<>&\" '\t\u202e", max_size=6) | st.sampled_from(["--- a", "+++ b", "@@ -1 +1 @@", "-x"]))
texts = lines.map(lambda found: "\n".join(found))


@pytest.mark.parametrize("view", VIEWS)
def test_a_change_shows_what_goes_what_comes_and_where_they_differ(look, view):
    """By a sign, by a class and by a mark."""
    patch = unified_diff("a.py", "one\nsay hello\nend\n", "one\nsay hi\nend\n")
    seen = look(diffs.html(patch, view=view))

    assert ("div", {"class": "diff", "data-view": view}) in seen.elements
    assert sum(tag == "mark" for tag, _ in seen.elements) == 2
    assert "-say hello" in seen.text
    assert "+say hi" in seen.text
    assert "a.py" in seen.text


@settings(max_examples=150, deadline=None)
@given(texts, texts, st.sampled_from(VIEWS))
def test_every_line_of_a_diff_is_there_once(look, before, after, view):
    """Also lines that look like a header of a diff, and lines that are markup."""
    patch = unified_diff("a <b>.txt", before + "\n", after + "\n")
    html = diffs.html(patch, view=view)
    look(html)
    added = sum(line.startswith("+") for line in _body(patch))
    removed = sum(line.startswith("-") for line in _body(patch))

    assert html.count('<span class="sign">+</span>') == added
    assert html.count('<span class="sign">-</span>') == removed


def _body(patch: str) -> list[str]:
    """The lines of the hunks, told apart from headers by counting."""
    found: list[str] = []
    old = new = 0
    for line in patch.split("\n"):
        if old <= 0 and new <= 0:
            if line.startswith("@@ -"):
                spans = line.split(" ")[1:3]
                old, new = (int(span.partition(",")[2] or 1) for span in spans)
            continue
        found.append(line)
        old -= line[:1] in ("-", " ")
        new -= line[:1] in ("+", " ")
    return found


def test_the_hunks_of_a_question_carry_their_ids(look):
    """So that each can be accepted by itself; a hostile path or id is only text."""
    hunks = [
        Hunk(id="h1", path='"><script>', header="@@ -1 +1 @@", diff="@@ -1 +1 @@\n-a\n+b\n"),
        Hunk(id="h2", path="new.txt", header="new file", diff="@@ -0,0 +1,2 @@\n+x\n+y\n"),
    ]
    seen = look(diffs.hunks_html(hunks, view="split"))
    sections = [attrs for tag, attrs in seen.elements if tag == "section"]

    assert [one["data-hunk"] for one in sections] == ["h1", "h2"]
    assert sections[0]["data-path"] == '"><script>'
    assert "new file" in seen.text


def test_what_hides_in_a_line_is_written_out(look):
    """A reviewer sees what would be written."""
    patch = unified_diff("a", "x\n", "if (admin\u202e) {\u2066\n")
    assert "\\u202e" in look(diffs.html(patch)).text


@pytest.mark.parametrize(
    "text", ["", "no diff at all", "@@ -1,999999999 +1 @@\n a", "@@ -1 +1 @@", "\\ No newline", "\x00"]
)
def test_what_is_no_diff_is_no_harm(look, text):
    """It is shown as far as it goes."""
    for view in VIEWS:
        look(diffs.html(text, view=view))


def test_a_very_long_diff_is_cut_and_says_so(look):
    """With how much is not shown."""
    patch = unified_diff("a", "", "x\n" * (diffs.MOST_LINES + 5))
    began = time.perf_counter()
    seen = look(diffs.html(patch))
    assert time.perf_counter() - began < 20
    assert "5 more lines are not shown." in seen.text
