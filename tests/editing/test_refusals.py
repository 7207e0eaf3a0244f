"""What is said when an edit does not fit."""

import pytest

from agi.editing.seen import Seen
from agi.errors import Conflict


def refused(folder, *lines, seen=None):
    with pytest.raises(Conflict) as caught:
        folder.draft("\n".join(["*** Begin Patch", "*** Update File: f", *lines, "*** End Patch"]), seen)
    return caught.value


def test_every_hunk_is_reported(folder):
    """Those that have their place, and why the others have none."""
    folder.write("f", "alpha\nbeta\ngamma delta\nbeta\ndelta line\nlast\n")

    error = refused(
        folder,
        *("@@", "-alpha", "+A", "@@", "-beta", "+B", "@@", "-gamma omega", "+C", "@@", "-o", "+delta line", " last"),
    )

    assert error.message == (
        "'f': 3 of 4 hunks could not be applied.\n"
        "Hunk 1: line 1, exact.\n"
        "Hunk 2: fits in several places, at lines 2, 4; keep more lines around it, or name one above it after '@@ '.\n"
        "Hunk 3: not found. Looked for:\ngamma omega\n"
        "Nearest is line 3, where 0 of 1 lines agree:\n1| alpha\n2| beta\n3| gamma delta\n4| beta\n5| delta line\n"
        "Hunk 4: is already applied, at line 5; leave it out.\n"
    )
    assert error.hint.startswith("Nothing was changed.")


def test_hunks_in_the_wrong_order_are_told_so(folder):
    """The place is there, but before that of the hunk above."""
    folder.write("f", "one\ntwo\n")

    assert "write hunks in the file's order" in refused(folder, "@@", "-two", "@@", "-one").message


def test_what_was_looked_for_and_what_is_shown_is_bounded(folder):
    """A patch of a thousand lines is not repeated."""
    folder.write("f", "x" * 10_000 + "\n")

    message = refused(folder, "@@", *(f"-line {n}" for n in range(1000))).message

    assert "… (1000 lines)" in message
    assert len(message) < 2000


def test_an_empty_file_is_said_to_be_empty(folder):
    """There is nothing near."""
    folder.write("f", "")

    assert "The file is empty." in refused(folder, "@@", "-x").message


def test_a_file_that_changed_since_it_was_read_is_said_to_have(folder):
    """That explains why the hunk does not fit; and after a second failure more is shown."""
    folder.write("f", "".join(f"{n}\n" for n in range(200)))
    seen = Seen()
    seen.note("f", "older")

    first = refused(folder, "@@", " 99", "-x", seen=seen).message
    second = refused(folder, "@@", " 99", "-x", seen=seen).message

    assert "The file changed since you last read it." in first
    assert (first.count("\n"), second.count("\n") > 80) == (11, True)
