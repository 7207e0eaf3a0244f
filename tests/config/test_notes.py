"""Notes are kept beside the user's settings, by workspace, bounded, and whole or not at all."""

from __future__ import annotations

import json
import stat

import pytest

from agi.config.notes import NOTES_NAME, add_note, read_notes, remove_note
from agi.errors import AgiError, ConfigError, NotFound
from agi.protocol.notes import LONGEST_NOTE, MOST_NOTES


def test_a_note_is_kept_for_its_workspace_alone(tmp_path):
    """By the real path, readable by its owner alone, outside of the project."""
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    (tmp_path / "link").symlink_to(work)
    note = add_note(home, tmp_path / "link", "  Use tabs.\n")

    assert read_notes(home, work) == (note,)
    assert (note.text, note.workspace_path) == ("Use tabs.", str(work))
    assert read_notes(home, tmp_path) == ()
    assert stat.S_IMODE((home / NOTES_NAME).stat().st_mode) == 0o600
    assert list(work.iterdir()) == []
    assert not (home / "config.json").exists()


def test_a_note_is_removed_by_its_id(tmp_path):
    """Whichever workspace it is of; once."""
    first, second = add_note(tmp_path, "/a", "one"), add_note(tmp_path, "/b", "two")
    remove_note(tmp_path, second.id)

    assert (read_notes(tmp_path, "/a"), read_notes(tmp_path, "/b")) == ((first,), ())
    with pytest.raises(NotFound) as refused:
        remove_note(tmp_path, second.id)
    assert refused.value.code == "note_not_found"


@pytest.mark.parametrize("text", ["", " \n", "x" * (LONGEST_NOTE + 1), "a\0b"])
def test_what_is_no_note_is_refused_and_changes_nothing(tmp_path, text):
    """Empty, too long, or not text."""
    with pytest.raises(AgiError) as refused:
        add_note(tmp_path, "/a", text)

    assert refused.value.code == "note_invalid"
    assert not (tmp_path / NOTES_NAME).exists()


def test_there_is_a_limit_to_their_number(tmp_path):
    """Every session is told all of them."""
    for number in range(MOST_NOTES):
        add_note(tmp_path, "/a", str(number))
    with pytest.raises(AgiError) as refused:
        add_note(tmp_path, "/a", "one more")

    assert refused.value.code == "too_many_notes"
    assert len(read_notes(tmp_path, "/a")) == MOST_NOTES
    add_note(tmp_path, "/b", "elsewhere there is room")


@pytest.mark.parametrize("entries", [[], "x", {"/a": 1}, {"/a": [1, {"id": "n"}, {"id": "n", "text": ""}]}])
def test_entries_that_make_no_sense_say_nothing(tmp_path, entries):
    """A file that a person edited by hand."""
    (tmp_path / NOTES_NAME).write_text(json.dumps({"workspaces": entries}))

    assert read_notes(tmp_path, "/a") == ()


def test_a_file_that_cannot_be_read_is_said_to_the_user(tmp_path):
    """Whoever lists them is told which."""
    (tmp_path / NOTES_NAME).write_text("{")

    with pytest.raises(ConfigError):
        read_notes(tmp_path, "/a")
