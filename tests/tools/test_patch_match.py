"""Finding a patch's places, and keeping everything else."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agi.errors import Conflict
from agi.tools.patch_envelope import Hunk, Line, parse_envelope
from agi.tools.patch_match import apply_hunks


def patched(text, *lines):
    """Apply hunks written as in a patch."""
    (update,) = parse_envelope("\n".join(["*** Begin Patch", "*** Update File: f", *lines, "*** End Patch"]))
    return apply_hunks("f", text, update.hunks)


def test_hunks_are_found_one_after_another():
    """The second one is looked for after the first."""
    assert patched("a\nb\na\nb\n", "@@", " a", "-b", "+1", "@@", "-b", "+2") == "a\n1\na\n2\n"


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
    text = "def f():\n  x\ndef f():\n  x\n"

    assert patched(text, "@@ def f():", " def f():", "-  x", "+  y") == "def f():\n  y\ndef f():\n  x\n"


def test_an_anchor_that_is_not_there_matters_only_where_the_place_is_unclear():
    """Lines that are there once need no anchor; lines that are there twice do."""
    assert patched("a\nb\n", "@@ class Gone", "-b", "+c") == "a\nc\n"
    assert patched("b\nanchor\n", "@@ anchor", "-b", "+c") == "c\nanchor\n"
    with pytest.raises(Conflict):
        patched("b\nb\n", "@@ class Gone", "-b", "+c")
    with pytest.raises(Conflict):
        patched("b\n", "@@ class Gone", "+c")


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("x = 1", "x = 1"),
        ("x = 1   ", "x = 1"),
        ("\t\tx = 1", "    x = 1"),
        ("say(“hi”) – it’s\u00a0late", 'say("hi") - it\'s late'),
    ],
)
def test_lines_are_compared_ever_more_leniently_but_kept_as_they_are(line, written):
    """Blanks and typographic characters may differ; the file's own stay."""
    text = f"{line}\nold\n"

    assert patched(text, "@@", f" {written}", "-old", "+new") == f"{line}\nnew\n"
    assert patched(text, "@@", f"-{written}", "+gone") == "gone\nold\n"


def test_an_exact_match_further_down_wins_over_a_lenient_one():
    """Leniency is a last resort."""
    assert patched("  a\na\n", "@@", "-a", "+b") == "  a\nb\n"


def test_only_added_lines_go_to_the_end_or_after_their_anchor():
    """With nothing to look for, the end is meant."""
    assert patched("a\nb\n", "@@", "+c") == "a\nb\nc\n"
    assert patched("a\nb\n", "@@ a", "+c") == "a\nc\nb\n"
    assert patched("", "@@", "+c") == "c\n"
    assert patched("a", "@@", "+b") == "a\nb\n"
    assert patched("a\nb\n", "@@", "+c", "@@", "-a", "+1") == "1\nb\nc\n"


def test_the_end_of_file_mark_looks_from_the_end():
    """Of two places the last is meant."""
    assert patched("a\nb\na\nb\n", "@@", " a", "-b", "+c", "*** End of File") == "a\nb\na\nc\n"


def test_blank_lines_between_hunks_may_be_mere_spacing():
    """They count if the file has them, and do not stand in the way if not."""
    assert patched("a\n\nb\n", "@@", "-a", "", "@@", "-b", "+c") == "\nc\n"
    assert patched("a\nb\n", "@@", "-a", "", "@@", "-b", "+c") == "c\n"
    with pytest.raises(Conflict):
        patched("a\nb\n", "@@", "-a", " ", "+c")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_added_lines_take_the_files_ending(ending):
    """Whatever the patch was written with."""
    text = ending.join(["a", "b", "c", ""])

    assert patched(text, "@@", " a", "-b\r", "+x", "+y\r", " c") == ending.join(["a", "x", "y", "c", ""])


def test_untouched_lines_keep_their_endings_and_odd_separators():
    """Mixed endings stay mixed; form feeds and Unicode separators end no line."""
    text = "a\r\nb\rc\nd\u2028e\x0cf\x85\nlast"

    assert patched(text, "@@", " c", "-d\u2028e\x0cf\x85", "+x") == "a\r\nb\rc\nx\nlast"


def test_a_last_line_without_an_end_stays_without_unless_it_is_added():
    """What is not touched is not repaired."""
    assert patched("a\nb", "@@", "-a", "+x", " b") == "x\nb"
    assert patched("a\nb", "@@", " a", "-b", "+c") == "a\nc\n"
    assert patched("a\nb", "@@", " a", "-b") == "a\n"
    assert patched("a", "@@", "-a") == ""


def test_a_place_that_is_not_there_is_refused_with_what_was_looked_for():
    """The model learns which hunk, and what to do."""
    with pytest.raises(Conflict) as caught:
        patched("a\nb\n", "@@", "-a", "+x", "@@ anchor", " gone", "-a")

    assert caught.value.code == "patch_stale"
    assert "Hunk 2 of 'f'" in caught.value.message
    assert "@@ anchor\ngone\na" in caught.value.message
    assert "Nothing was changed" in caught.value.hint


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

    result = apply_hunks("f", "".join(line + ends for line in lines), [hunk])

    assert result == "".join(line + ends for line in [*lines[:start], *new, *lines[start + count :]])
