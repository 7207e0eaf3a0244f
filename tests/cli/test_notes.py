"""`agi notes`: what agents should know in a folder, written by its user alone."""

from __future__ import annotations

import json

import pytest


def test_notes_are_added_listed_and_removed(here, cli):
    """Kept beside the user's settings; the project has nothing of it."""
    assert here("notes").out == "No notes for this folder.\n"
    note_id = here("notes", "add", "Use tabs.\n\x1b[2J").out.strip()
    listed, as_json = here("notes"), json.loads(here("notes", "list", "--json").out)

    assert listed.out == f"{note_id}\n    Use tabs.\n    \\x1b[2J\n"
    assert [one["id"] for one in as_json] == [note_id]
    assert (cli.home / "notes.json").exists()
    assert not (here.project / ".agi").exists()
    assert here("notes", "rm", note_id[-6:]).out == f"Removed: {note_id}\n"
    assert json.loads(here("notes", "--json").out) == []


def test_notes_of_another_folder_are_not_shown(here, tmp_path):
    """Each folder has its own."""
    here("notes", "add", "Elsewhere.", "--project", str(tmp_path))

    assert here("notes").out == "No notes for this folder.\n"
    assert "Elsewhere." in here("notes", "--project", str(tmp_path)).out


@pytest.mark.parametrize(
    "words", [("add",), ("add", "two", "words"), ("rm",), ("list", "x"), ("ad", "x"), ("rm", "zzzzzz"), ("add", " ")]
)
def test_a_wrong_line_says_what_is_meant(here, words):
    """And changes nothing."""
    refused = here("notes", *words)

    assert refused.code == 2
    assert json.loads(here("notes", "--json").out) == []
