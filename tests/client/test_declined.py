"""A no to trust: remembered for what was seen, and for nothing else."""

from __future__ import annotations

import pytest

from agi.client import declined
from agi.client.declined import FOLDER, decline, is_declined


def test_a_no_holds_for_this_folder_as_it_was(here):
    """Another fingerprint or another folder is another question."""
    assert not is_declined(here.project, here.home, "f1")
    decline(here.project, here.home, "f1")

    assert is_declined(here.project, here.home, "f1")
    assert not is_declined(here.project, here.home, "f2")
    assert not is_declined(here.project.parent, here.home, "f1")


def test_a_later_no_takes_the_place_of_the_earlier_one(here):
    """What changed back is asked about again."""
    decline(here.project, here.home, "f1")
    decline(here.project, here.home, "f2")

    assert is_declined(here.project, here.home, "f2")
    assert not is_declined(here.project, here.home, "f1")


def test_the_record_is_private_and_beside_the_settings(here):
    """Nobody else learns where one works, and no setting is touched."""
    settings = (here.home / "config.json").read_bytes()
    decline(here.project, here.home, "f1")
    (file,) = (here.home / FOLDER).glob("*.json")

    assert file.stat().st_mode & 0o777 == 0o600
    assert (here.home / "config.json").read_bytes() == settings


def test_of_very_many_the_oldest_is_forgotten(here, monkeypatch):
    """The record does not grow for ever."""
    monkeypatch.setattr(declined, "MOST", 2)
    folders = [here.project / name for name in "abc"]
    for folder in folders:
        decline(folder, here.home, "f")

    assert [is_declined(folder, here.home, "f") for folder in folders] == [False, True, True]


@pytest.mark.parametrize("text", ["{", "[]", '{"declinedWorkspaces": 7}', '{"declinedWorkspaces": {"a": 1}}'])
def test_a_damaged_record_is_no_answer(here, text):
    """Then one is asked once more."""
    (here.home / FOLDER).mkdir(parents=True)
    (here.home / FOLDER / "config.json").write_text(text)

    assert not is_declined(here.project, here.home, "f1")
