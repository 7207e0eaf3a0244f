"""Finding the places of hunks, and keeping everything else."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agi.editing.applying import applied
from agi.editing.documents import Document
from agi.editing.ladder import Places
from agi.editing.matching import place_hunks
from agi.editing.patches import Hunk, Line
from agi.editing.placing import Placed
from agi.editing.reading import read_patch


def outcomes(text, *lines, **more):
    """What becomes of hunks written as in an envelope, or as in a unified diff if they begin with its names."""
    if lines[0].startswith("---"):
        patch = "\n".join(lines)
    else:
        patch = "\n".join(["*** Begin Patch", "*** Update File: f", *lines, "*** End Patch"])
    (section,) = read_patch(patch, lambda _: True)
    document = Document.read("f", text.encode())
    return document, section.hunks, place_hunks(Places(document.lines), section.hunks, **more)


def patched(text, *lines, **more):
    """The text with all hunks applied."""
    document, hunks, found = outcomes(text, *lines, **more)
    assert all(isinstance(outcome, Placed) for outcome in found), found
    return applied(document, hunks, found)


def trouble(text, *lines):
    """What kinds of trouble there are; an empty word for a hunk that has its place."""
    return [getattr(outcome, "kind", "") for outcome in outcomes(text, *lines)[2]]


def diff(*lines):
    return ("--- a/f", "+++ b/f", *lines)


def test_hunks_are_found_one_after_another():
    """The second one is looked for after the first."""
    assert patched("a\nb\na\nb\n", "@@", " a", "-b", "+1", "@@", "-b", "+2") == "a\n1\na\n2\n"
    assert trouble("a\nb\n", "@@", "-b", "@@", "-a") == ["", "missing"]


def test_an_anchor_says_after_which_line():
    """The same lines further up are left alone."""
    text = "def f():\n    pass\n\ndef g():\n    pass\n"

    assert patched(text, "@@ def g():", "-    pass", "+    return") == "def f():\n    pass\n\ndef g():\n    return\n"


def test_stacked_anchors_narrow_one_after_another():
    """First the class, then the method in it."""
    text = "class A\n def f\n  1\nclass B\n def g\n  2\n def f\n  1\n"

    assert patched(text, "@@ class B", "@@  def f", "-  1", "+  3") == text[:-4] + "  3\n"


def test_an_anchor_may_be_repeated_as_the_first_line():
    """Then the lines begin at the anchor, not at the next line like it."""
    text = "def f():\n  x\ndef g():\n  x\n"

    assert patched(text, "@@ def f():", " def f():", "-  x", "+  y") == "def f():\n  y\ndef g():\n  x\n"


def test_an_anchor_that_is_not_there_matters_only_where_the_place_is_unclear():
    """Lines that are there once need no anchor; lines that are there twice do."""
    assert patched("a\nb\n", "@@ class Gone", "-b", "+c") == "a\nc\n"
    assert patched("b\nanchor\n", "@@ anchor", "-b", "+c") == "c\nanchor\n"
    assert trouble("b\nb\n", "@@ class Gone", "-b", "+c") == ["ambiguous"]
    assert trouble("b\n", "@@ class Gone", "+c") == ["missing"]


def test_lines_that_stand_in_several_places_are_refused_with_all_of_them():
    """By themselves, and behind an anchor that is there several times."""
    twice = "def f():\n    pass\n\ndef f():\n    pass\n"

    assert outcomes("x\na\nx\n", "@@", "-x", "+y")[2][0].candidates == (0, 2)
    assert outcomes(twice, "@@ def f():", "-    pass", "+    return")[2][0].candidates == (1, 4)
    assert outcomes("a\nb\na\n", "@@ a", "+c")[2][0].candidates == (1, 3)


def test_several_hunks_may_leave_each_other_only_one_place_each():
    """Two equal hunks for two equal places are clear; one more or less is not."""
    twice = "def f():\n    pass\n\ndef f():\n    pass\n"
    hunk = ("@@ def f():", "-    pass", "+    return")

    assert patched(twice, *hunk, *hunk) == twice.replace("pass", "return")
    assert trouble(twice + "\n" + twice, *hunk, *hunk) == ["ambiguous", "ambiguous"]
    assert patched("x\ny\nx\n", "@@", "-x", "+1", "@@", "-y", "+2") == "1\n2\nx\n"


@pytest.mark.parametrize(
    ("line", "written", "rung"),
    [
        ("x = 1", "x = 1", 0),
        ("x = 1   ", "x = 1", 1),
        ("\t\tx = 1", "    x = 1", 2),
        ("say(“hi”) – it’s\u00a0late", 'say("hi") - it\'s late', 3),
    ],
)
def test_lines_are_compared_ever_more_leniently_but_kept_as_they_are(line, written, rung):
    """Blanks and typographic characters may differ; the file's own stay, and it is told how they were found."""
    text = f"{line}\nold\n"

    assert patched(text, "@@", f" {written}", "-old", "+new") == f"{line}\nnew\n"
    assert patched(text, "@@", f"-{written}", "+gone") == "gone\nold\n"
    assert outcomes(text, "@@", f"-{written}", "+gone")[2][0].rung == rung


def test_an_exact_match_further_down_wins_over_a_lenient_one():
    """Leniency is a last resort."""
    assert patched("  a\na\n", "@@", "-a", "+b") == "  a\nb\n"
    assert trouble("  a\n a\n", "@@", "-a", "+b") == ["ambiguous"]


def test_only_added_lines_go_to_the_end_or_after_their_anchor():
    """With nothing to look for, the end is meant."""
    assert patched("a\nb\n", "@@", "+c") == "a\nb\nc\n"
    assert patched("a\nb\n", "@@ a", "+c") == "a\nc\nb\n"
    assert patched("a\nb\n", "@@ a", "+c", "*** End of File") == "a\nb\nc\n"
    assert patched("", "@@", "+c") == "c\n"
    assert patched("a", "@@", "+b", "@@", "+c") == "a\nb\nc\n"
    assert patched("a\nb\n", "@@", "+c", "@@", "-a", "+1") == "1\nb\nc\n"


def test_the_end_of_file_mark_looks_from_the_end():
    """Of two places the last is meant, and one at the very end before any other."""
    assert patched("a\nb\na\nb\n", "@@", " a", "-b", "+c", "*** End of File") == "a\nb\na\nc\n"
    assert patched("b\nb\n b\n", "@@", "-b", "+c", "*** End of File") == "b\nb\nc\n"
    assert patched("b\na\nb\nx\n", "@@", "-b", "+c", "*** End of File") == "b\na\nc\nx\n"
    assert patched("f\nb\nb\n", "@@ f", "-b", "+c", "*** End of File") == "f\nb\nc\n"


def test_blank_lines_between_hunks_may_be_mere_spacing():
    """They count if the file has them, and do not stand in the way if not."""
    assert patched("a\n\nb\n", "@@", "-a", "", "@@", "-b", "+c") == "\nc\n"
    assert patched("a\nb\n", "@@", "-a", "", "@@", "-b", "+c") == "c\n"
    assert trouble("a\nb\n", "@@", "-a", " ", "+c") == ["missing"]


def test_a_last_line_without_an_end_stays_without_unless_it_is_added():
    """What is not touched is not repaired."""
    assert patched("a\nb", "@@", "-a", "+x", " b") == "x\nb"
    assert patched("a\nb", "@@", " a", "-b", "+c") == "a\nc\n"
    assert patched("a\nb", "@@", " a", "-b") == "a\n"
    assert patched("a", "@@", "-a") == ""


def test_a_hunk_that_was_applied_before_is_recognised():
    """Replaced, removed or added: what it would make stands there, and is not made a second time."""
    assert trouble("keep\nnew value\n", "@@", " keep", "-old value", "+new value") == ["already"]
    assert trouble("some line\nother line\n", "@@", " some line", "-gone", " other line") == ["already"]
    assert trouble("import os\nimport sys\n", "@@", " import os", "+import sys") == ["already"]
    assert trouble("import sys\nimport os\n", "@@", "+import sys", " import os") == ["already"]


def test_lines_that_stand_where_they_would_be_added_are_not_added_again():
    """Where it is certain it is said; where the place or the meaning is not, it is refused."""
    twice = "try:\n    check_input(x)\ntry:\n    go()\n"

    assert trouble(twice, "@@", " try:", "+    check_input(x)") == ["misplaced"]
    assert trouble("import os\n", *diff("@@ -1 +1,2 @@", " import os", "+import sys")) == [""]
    assert trouble("import os\nimport sys\n", *diff("@@ -1 +1,2 @@", " import os", "+import sys")) == ["already"]
    again = diff("@@ -1,2 +1,3 @@", " first line", "+second line", " second line")
    assert trouble("first line\nsecond line\nsecond line\n", *again) == ["misplaced"]
    assert patched("first line\nsecond line\nsecond line\n", *again, numbered=True).count("second line") == 3


def test_lines_that_are_left_stand_for_no_removal_that_was_made():
    """The line after a removed one stands above as well, where the number says: the removal is still to be made."""
    removal = diff("@@ -1,2 +1 @@", "-line number one", " line number two")

    assert patched("line number two\nline number one\nline number two\n", *removal) == "line number two\n" * 2


def test_a_hunk_that_fits_elsewhere_and_seems_made_where_its_number_says_is_refused():
    """It may have drifted, or been applied before: neither is certain."""
    text = "new value here\nkept line\nx\nold value here\nkept line\n"
    hunk = diff("@@ -1,2 +1,2 @@", "-old value here", "+new value here", " kept line")

    assert trouble(text, *hunk) == ["misplaced"]


def test_little_that_stands_twice_in_a_row_is_added_all_the_same():
    """A brace or a blank line says nothing."""
    assert patched("}\n}\n", *diff("@@ -1,2 +1,3 @@", " }", "+}", " }")) == "}\n}\n}\n"
    assert patched("a\n\nb\n", "@@", " a", "+") == "a\n\n\nb\n"


def test_a_line_number_decides_between_equal_places():
    """Also after a hunk that was found further down by as much."""
    text = "head\nabcdefgh\nx\nabcdefgh\nx\n"
    second = ("@@ -4 +4 @@", "-abcdefgh", "+y")

    assert patched(text, *diff(*second)) == "head\nabcdefgh\nx\ny\nx\n"
    drifted = patched("new\n" + text, *diff("@@ -1,2 +1,2 @@", "-head", "+H", " abcdefgh", *second))
    assert drifted == "new\nH\nabcdefgh\nx\ny\nx\n"
    assert trouble("new\n" + text, *diff(*second)) == ["ambiguous"]


def test_a_hunk_that_drifted_is_found_by_its_lines_and_says_how_far():
    """Down and up; but where its lines say little, its number must be right."""
    down = outcomes("1\n2\none line\nanother\n", *diff("@@ -1,2 +1,2 @@", "-one line", "+x", " another"))[2][0]
    up = outcomes("one line\nanother\n", *diff("@@ -9,2 +9,2 @@", "-one line", "+x", " another"))[2][0]

    assert (down.at, down.drift, up.at, up.drift) == (2, 2, 0, -8)
    assert trouble("1\n}\n", *diff("@@ -9 +9 @@", "-}", "+x")) == ["misplaced"]


def test_wrong_sizes_make_the_number_worthless():
    """Then only lines decide."""
    assert patched("x\ny\n", *diff("@@ -7,9 +7,9 @@", "-x", "+z")) == "z\ny\n"
    assert trouble("x\ny\nx\n", *diff("@@ -1,9 +1,9 @@", "-x", "+z")) == ["ambiguous"]


def test_what_a_diff_leaves_out_at_its_ends_is_not_there():
    """Lines added at the end or the top of a file have no place in one that goes on there."""
    assert patched("a\nb\n", *diff("@@ -1,2 +1,3 @@", " a", " b", "+c")) == "a\nb\nc\n"
    assert trouble("a\nb\nmore\n", *diff("@@ -1,2 +1,3 @@", " a", " b", "+c")) == ["misplaced"]
    assert trouble("more\nabcdefgh\n", *diff("@@ -1 +1,2 @@", "+c", " abcdefgh")) == ["misplaced"]
    assert patched("a\nb\nmore\n", *diff("@@ -1,2 +1,2 @@", " a", "-b", "+c")) == "a\nc\nmore\n"


def test_a_number_alone_is_no_proof():
    """Unless the file is empty, or the diff is known to have been made from this very file."""
    insertion = diff("@@ -1,0 +2 @@", "+new")

    assert trouble("a\nb\n", *insertion) == ["misplaced"]
    assert patched("a\nb\n", *insertion, numbered=True) == "a\nnew\nb\n"
    assert patched("", *diff("@@ -0,0 +1 @@", "+new")) == "new\n"
    assert trouble("a\n", *diff("@@ -0,0 +1 @@", "+new")) == ["misplaced"]


def test_the_end_of_the_file_is_where_a_missing_newline_is():
    """And nowhere else."""
    without = "\\ No newline at end of file"

    assert patched("a\nb", *diff("@@ -1,2 +1,2 @@", " a", "-b", without, "+c", without)) == "a\nc"
    assert patched("a\nb", *diff("@@ -2 +2 @@", "-b", without, "+b")) == "a\nb\n"
    assert patched("a\nb\n", *diff("@@ -1,2 +1,2 @@", " a", "-b", "+b", without)) == "a\nb"
    assert trouble("a\nb\nc\n", *diff("@@ -1,2 +1,2 @@", " a", "-b", "+x", without)) == ["misplaced"]


def test_after_many_failures_no_more_is_looked_for():
    """A patch made to be slow is not."""
    kinds = trouble("a\n" * 1000, *(line for n in range(500) for line in ("@@", f"-{n}")))

    assert (kinds[0], kinds[-1], kinds.count("missing")) == ("missing", "skipped", 20)


LINES = st.lists(st.sampled_from(["a", "b", " c", "d  ", ""]), min_size=1, max_size=12)


@given(lines=LINES, start=st.integers(0, 11), count=st.integers(1, 4), new=LINES, ends=st.sampled_from(["\n", "\r\n"]))
def test_a_change_that_names_a_unique_place_changes_nothing_else(lines, start, count, new, ends):
    """What stands before and behind is the same, byte for byte."""
    assume(start < len(lines))
    old = lines[start : start + count]
    places = [
        at for at in range(len(lines)) if [x.strip() for x in lines[at : at + len(old)]] == [x.strip() for x in old]
    ]
    assume(len(places) == 1)
    hunk = Hunk((), (*(Line("-", line) for line in old), *(Line("+", line) for line in new)))
    document = Document.read("f", "".join(line + ends for line in lines).encode())

    (found,) = place_hunks(Places(document.lines), [hunk])

    wanted = [*lines[:start], *new, *lines[start + count :]]
    assert applied(document, [hunk], [found]) == "".join(line + ends for line in wanted)
