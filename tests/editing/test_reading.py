"""A patch in whichever form it comes."""

import pytest

from agi.editing.patches import Delete, FileDiff
from agi.editing.reading import MOST_FILES, MOST_HUNKS, read_patch
from agi.errors import Invalid, TooLarge

DIFF = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-x\n+y\n z"
WRAPPERS = [
    "\n\n  \n{}\n\n",
    "```\n{}\n```",
    "```diff\n{}\n```\n",
    "````\n{}\n````",
    "<<'EOF'\n{}\nEOF",
    "apply_patch <<EOF\n{}\nEOF\n",
    'git apply <<-"PATCH" \n\n{}\nPATCH',
    "```sh\napply_patch <<'EOF'\n{}\nEOF\n```",
]


def read(patch):
    return read_patch(patch, lambda _: True)


@pytest.mark.parametrize("wrapped", WRAPPERS)
def test_what_is_wrapped_around_a_patch_is_taken_off(wrapped):
    """Blanks, fences and here-documents are no part of it, whichever form it has."""
    assert read(wrapped.format("*** Begin Patch\n*** Delete File: a\n*** End Patch")) == (Delete("a"),)
    assert read(wrapped.format(DIFF)) == read(DIFF)
    assert isinstance(read(DIFF)[0], FileDiff)


def test_an_empty_kept_line_at_the_end_of_a_diff_is_no_spacing():
    """Its blank says that it is a line of the file."""
    (diff,) = read("--- f\n+++ f\n@@ -1,2 +1,2 @@\n-x\n+y\n \n\n")

    assert [line.text for line in diff.hunks[0].lines] == ["x", "y", ""]


@pytest.mark.parametrize(
    "text", ["", "   \n", "hello", "+ x\n- y", "1c1\n< a\n---\n> b", "*** f\n--- g\n***************"]
)
def test_what_is_no_patch_is_refused(text):
    """Other kinds of diff too."""
    with pytest.raises(Invalid) as caught:
        read(text)

    assert caught.value.code == "patch_invalid"


def test_a_patch_has_so_many_parts_and_no_more():
    """The time it takes stays bounded."""
    many_files = [f"*** Delete File: {n}" for n in range(MOST_FILES + 1)]
    many_hunks = ["*** Update File: a", *["@@", "-x"] * (MOST_HUNKS + 1)]
    for lines in (many_files, many_hunks):
        with pytest.raises(TooLarge):
            read("\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


def test_a_very_long_patch_of_blank_lines_and_wrappers_takes_no_time():
    """Nothing here is quadratic."""
    with pytest.raises(Invalid):
        read("\n" * 2_000_000)
    with pytest.raises(Invalid):
        read("```\n" * 500_000)
