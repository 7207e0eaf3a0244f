"""The front matter of a SKILL.md: what we know is read, what we do not is skipped, whatever it holds."""

from __future__ import annotations

import time

import pytest

from agi.skills.frontmatter import FrontMatter, read, split
from agi.skills.scalars import Unreadable

WHOLE = """\
---
# what real ones look like
name: pdf-forms
description: >
  Fill in PDF forms.

  Use when: a form is there.
license: Apache-2.0
compatibility: "Needs Python 3.11, pypdf"
allowed-tools:
- Read
- "Bash(git add:*)"
metadata:
  author: somebody # me
  version: "1.0"
  deep:
    more: 1
hooks:
  PreToolUse:
    - matcher: &all "*"
      run: *all
other: {a: [1, 2,
]}
---
# Text

---
"""


def test_every_field_of_the_format_is_read_and_unknown_ones_are_skipped():
    """Also where an unknown one holds what we would refuse."""
    lines, body = split(WHOLE)

    assert body == "# Text\n\n---\n"
    assert read(lines) == FrontMatter(
        name="pdf-forms",
        description="Fill in PDF forms.\nUse when: a form is there.",
        license="Apache-2.0",
        compatibility="Needs Python 3.11, pypdf",
        allowed_tools="Read, Bash(git add:*)",
        metadata={"author": "somebody", "version": "1.0"},
    )


def test_the_end_is_a_line_of_its_own_and_a_long_text_takes_no_time():
    """Dashes elsewhere end nothing; a quarter of a megabyte without an end is looked through once."""
    assert split("---\na: ---\n ---\n----\n---") == (["a: ---", " ---", "----"], "")
    assert split("---\n---\n\nx") == ([], "\nx")
    began = time.perf_counter()
    for text in ("\n" * 262_144, "-" * 262_144, "x ---\n" * 50_000):
        with pytest.raises(Unreadable):
            split("---\n" + text)
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize("text", ["\ufeff" + WHOLE, WHOLE.replace("\n", "\r\n"), WHOLE.replace("---\n", "--- \n")])
def test_marks_and_line_ends_of_other_systems_make_no_difference(text):
    """What an editor did to it is not the writer's fault."""
    assert read(split(text)[0]) == read(split(WHOLE)[0])


def test_metadata_in_braces_gives_what_is_plain_in_it():
    """It is only shown; what is deeper is left out."""
    assert read(['metadata: {"a": {"b": 1}, c: d, e: "f, g"}']).metadata == {"c": "d", "e": "f, g"}
    assert read(["metadata: plain"]).metadata == {}
    assert read(["metadata: {broken"]).metadata == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no front matter"),
        ("# Title\n", "no front matter"),
        (" ---\nname: x\n---\n", "no front matter"),
        ("---\nname: x\n", "does not end"),
    ],
)
def test_a_file_without_front_matter_is_refused(text, said):
    """With what to write."""
    with pytest.raises(Unreadable, match=said) as caught:
        split(text)
    assert "---" in caught.value.hint


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["name x"], "Line 2 is no `key: value`"),
        (["name: x", "just words"], "Line 3 is no `key: value`"),
        (["  name: x"], "Line 2 is set in"),
        (["\tname: x"], "Line 2 begins with a tab"),
        (["name: x", "name: y"], "Line 3: 'name' stands there twice"),
        (["name: x", "description: [a]"], "Line 3, `description`: it must be a text"),
        (["description: *x"], "cannot begin with"),
        (["- a"], "Line 2 is no `key: value`"),
    ],
)
def test_what_cannot_be_read_names_its_line(lines, said):
    """So that it can be mended."""
    with pytest.raises(Unreadable, match=said.replace("*", r"\*").replace("(", r"\(")):
        read(lines)
