"""Hunks that were applied before: known only where their place is certain."""

import random
from difflib import unified_diff

import pytest

from agi.editing.applying import applied
from agi.editing.documents import Document
from agi.editing.encodings import Encoding
from agi.editing.ladder import Places
from agi.editing.made import made
from agi.editing.matching import place_hunks
from agi.editing.patches import new_lines, old_lines
from agi.editing.placing import Placed, Search, readings
from agi.editing.reading import read_patch
from agi.errors import AgiError


def hunks_of(*lines):
    patch = "\n".join(lines)
    if not patch.startswith("---"):
        patch = f"*** Begin Patch\n*** Update File: f\n{patch}\n*** End Patch"
    return read_patch(patch, lambda _: True)[0].hunks


def found(text, *lines):
    """At which line (from 1) a hunk seems made; None if that is not certain."""
    (hunk,) = hunks_of(*lines)
    trouble = made(Search(Places(text.split("\n")[:-1])), hunk)
    return None if trouble is None else trouble.candidates[0] + 1


def numbered(*lines):
    return ("--- a/f", "+++ b/f", *lines)


CHANGE = ("-old value", "+new value")
TWO = "def a():\n    new value\n    end\n\ndef b():\n    other\n    end\n"


def test_kept_lines_that_stand_only_once_say_where_it_is():
    """Before the change, behind it, or between two of them."""
    assert found("one\ntop\nnew value\n", "@@", " top", *CHANGE) == 2
    assert found("new value\nend\n", "@@", *CHANGE, " end") == 1
    assert found("x\nnew value\nmid\nmore new\n", "@@", *CHANGE, " mid", "-gone", "+more new") == 2


def test_kept_lines_that_stand_in_several_places_do_not():
    """Also where the other one differs only in blanks."""
    assert found(TWO, "@@", "-    old value", "+    new value", "     end") is None
    assert found("end\nx\nnew value\n  end\n", "@@", *CHANGE, "   end") is None
    assert found("new value\n", "@@", *CHANGE) is None


def test_an_anchor_that_stands_once_says_so_for_what_follows_it_at_once():
    """Not for what stands somewhere behind it, nor before it."""
    change = ("-    old value", "+    new value")

    assert found(TWO, "@@ def a():", *change) == 2
    assert found(TWO, "@@ def a():", " def a():", *change) == 1
    assert found(TWO, "@@ def b():", *change) is None
    assert found(TWO.replace("    new", "    x\n    new"), "@@ def a():", *change) is None
    assert found(TWO + TWO, "@@ def a():", *change) is None
    assert found(TWO, "@@ def gone():", *change) is None


def test_kept_lines_before_the_anchor_are_not_meant():
    """The anchor says that the place is behind it."""
    assert found("top\nnew value\nanchor\n", "@@ anchor", " top", *CHANGE) is None
    assert found("anchor\nx\ntop\nnew value\n", "@@ anchor", " top", *CHANGE) == 3


def test_a_line_number_says_so_if_the_hunk_has_lines_to_replace():
    """Lines that are only added by number may stand there for another reason."""
    text = "end\nnew value\nend\n"

    assert found(text, *numbered("@@ -2,2 +2,2 @@", *CHANGE, " end")) == 2
    assert found(text, *numbered("@@ -3,2 +3,2 @@", *CHANGE, " end")) is None
    assert found(text, *numbered("@@ -2,9 +2,9 @@", *CHANGE, " end")) is None
    assert found(text, *numbered("@@ -1,0 +2 @@", "+new value")) is None


def test_a_removal_shows_only_where_lines_on_both_sides_follow_each_other():
    """The lines before it alone stand there in any case."""
    assert found("line before\nline behind\n", "@@", " line before", "-gone", " line behind") == 1
    assert found("line before\nline behind\n", "@@", " line before", "-gone") is None
    assert found("line behind\n", *numbered("@@ -1,2 +1 @@", "-gone", " line behind")) is None


def test_little_says_nothing():
    """A brace and a letter are everywhere."""
    assert found("{\nx\n}\n", "@@", " {", "-y", "+x", " }") is None


def test_two_hunks_do_not_share_what_one_of_them_made():
    """Each has its own lines."""
    one = ("@@", " top", *CHANGE)
    document = Document("f", "top\nnew value\n", Encoding())

    assert [outcome.kind for outcome in place_hunks(Places(document.lines), hunks_of(*one, *one))] == [
        "already",
        "missing",
    ]


VOCABULARY = ["line number one", "line number two", "line number three", "    return value", "}", ""]


def mutated(chance, lines):
    lines = list(lines)
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(lines))
        lines[at : at + chance.randint(0, 2)] = [chance.choice(VOCABULARY)] * chance.randint(0, 2)
    return lines


def random_patch(chance, old, new):
    """A diff between two files, as git writes it or as an envelope; with anchors at times."""
    body = list(unified_diff(old, new, "a/f", "b/f", n=chance.choice([0, 1, 3]), lineterm=""))
    if chance.random() < 0.5:
        return "\n".join(body)
    head = ["@@", "@@", f"@@ {chance.choice(VOCABULARY[:4])}"]
    body = [chance.choice(head) if line.startswith("@@") else line for line in body[2:]]
    return "\n".join(["*** Begin Patch", "*** Update File: f", *body, "*** End Patch"])


def cases(count):
    """Random patches, and files they were made from, were made to, or have little to do with."""
    chance = random.Random(11)
    for _ in range(count):
        words = [*VOCABULARY, *(f"word number {n}" for n in range(chance.choice([0, 5, 50])))]
        old = [chance.choice(words) for _ in range(chance.randint(1, 12))]
        new = mutated(chance, old)
        if old != new:
            other = [chance.choice(words) for _ in range(3)]
            files = [old, new, other + new, other + old, mutated(chance, new), mutated(chance, old)]
            yield random_patch(chance, old, new), chance.choice(files)


def before_it(document, hunks, outcomes):
    """The file as it was before hunks were applied that are said to be."""
    lines = list(document.lines)
    for hunk, outcome in reversed(list(zip(hunks, outcomes, strict=True))):
        (at,) = outcome.candidates
        reading = next(one for one in readings(hunk.lines) if lines[at : at + len(new_lines(one))] == new_lines(one))
        lines[at : at + len(new_lines(reading))] = old_lines(reading)
    return Document("f", "".join(f"{line}\n" for line in lines), Encoding())


def test_what_is_said_to_be_applied_is_what_the_patch_makes_of_the_file_without_it():
    """Taken back and applied again, the file is the same: so it is no other file that merely has such lines."""
    told = 0
    for patch, lines in cases(6_000):
        hunks = read_patch(patch, lambda _: True)[0].hunks
        document = Document("f", "".join(f"{line}\n" for line in lines), Encoding())
        outcomes = place_hunks(Places(document.lines), hunks)
        if any(getattr(outcome, "kind", "") != "already" for outcome in outcomes):
            continue
        told += 1
        before = before_it(document, hunks, outcomes)
        again = place_hunks(Places(before.lines), hunks)
        assert all(isinstance(outcome, Placed) for outcome in again), (patch, lines, again)
        assert applied(before, hunks, again) == document.text, (patch, lines)
    assert told > 200


def test_a_patch_that_is_refused_changes_nothing(folder):
    """Whichever of its files did not fit; and one that is not refused says of each file what it is now."""
    refused = 0
    for patch, lines in cases(300):
        folder.write("f", "".join(f"{line}\n" for line in lines))
        folder.write("g", "x\n")
        before = folder.tree()
        whole = _with_another(patch)
        try:
            folder.apply(whole)
        except AgiError:
            refused += 1
            assert folder.tree() == before
        else:
            assert folder.tree()["g"] == b"y\n"
    assert 30 < refused < 270


def _with_another(patch):
    """The same patch with a change of another file, that fits."""
    if patch.startswith("---"):
        return f"{patch}\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n"
    return patch.replace("*** End Patch", "*** Update File: g\n@@\n-x\n+y\n*** End Patch")


@pytest.mark.parametrize("context", [1, 3])
def test_an_ordinary_patch_applied_twice_is_recognised(context):
    """In a file whose lines are not all the same."""
    old = [f"line number {number}" for number in range(40)]
    new = [*old[:5], "put in", *old[5:20], "another line", *old[21:30], *old[31:], "at the end"]
    body = list(unified_diff(old, new, "a/f", "b/f", n=context, lineterm=""))
    envelope = ["@@" if line.startswith("@@") else line for line in body[2:]]

    for lines in (body, envelope):
        outcomes = place_hunks(Places(new), hunks_of(*lines))
        assert [outcome.kind for outcome in outcomes] == ["already"] * len(outcomes)
