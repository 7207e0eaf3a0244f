"""`agi tasks`: what is to be done in a folder, without a daemon."""

from __future__ import annotations

import json

import pytest


def test_tasks_are_made_and_listed(here):
    """`new` prints the slug, for scripts; the list shows the title."""
    assert "no tasks" in here("tasks").err
    slug = here("tasks", "new", "Sort out \x1b[2J it").out.strip()
    named = json.loads(here("tasks", "new", "Other", "--slug", "other", "--json").out)

    listed = here("tasks")

    assert (slug, named["taskSlug"]) == ("sort-out-2j-it", "other")
    assert listed.out == "other           Other\nsort-out-2j-it  Sort out \\x1b[2J it\n"
    assert [one["taskSlug"] for one in json.loads(here("tasks", "list", "--json").out)] == ["other", slug]
    assert not (here.project / ".agi").exists()


@pytest.mark.parametrize(
    "words",
    [("new",), ("new", "two", "words"), ("list", "x"), ("nwe", "x"), ("--slug", "x"), ("new", "t", "--slug", "../x")],
)
def test_a_wrong_line_says_what_is_meant(here, words):
    """And makes nothing."""
    refused = here("tasks", *words)

    assert refused.code == 2
    assert refused.err
    assert not (here.project / ".agents").exists()
