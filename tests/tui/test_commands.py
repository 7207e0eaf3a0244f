"""The slash commands and the keys: one table each, which the interface and the manual agree with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agi.errors import Invalid
from agi.tui.boxes import BoxActions
from agi.tui.commands import COMMANDS, is_command, read_command
from agi.tui.draft_verbs import DraftVerbs
from agi.tui.keys import IN_THE_BOX, PLACES
from agi.tui.verbs import Verbs

MANUAL = (Path(__file__).parents[2] / "docs" / "tui.md").read_text(encoding="utf-8")
TAKEN = {"ctrl+a", "ctrl+b", "ctrl+h", "ctrl+i", "ctrl+m", "ctrl+[", "f1", "f10", "f11"}
"""Keys that terminals, multiplexers and editors have for themselves."""


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_does_something_and_is_in_the_manual(command):
    """By its name, with what may follow it."""
    assert hasattr(Verbs, f"do_{command.name}") or hasattr(DraftVerbs, command.name)
    usage = f"/{command.name} {command.argument}".strip()
    assert f"| `{usage}` |".replace("[dark|light|terminal]", "[dark\\|light\\|terminal]") in MANUAL
    assert command.does in MANUAL


@pytest.mark.parametrize("key", [key for keys in PLACES.values() for key in keys], ids=lambda key: key.shown)
def test_every_key_is_in_the_manual(key):
    """With what it does."""
    assert f"| {key.shown} | {key.does} |" in re.sub(r"`", "", MANUAL).replace("\\\\", "\\")


def test_every_key_that_is_told_the_interface_does_something():
    """There is an action for it."""
    assert [key.action for key in IN_THE_BOX if key.action and not hasattr(BoxActions, f"key_{key.action}")] == []


def test_no_key_means_two_things_and_none_is_one_that_others_have():
    """In the same place."""
    for keys in PLACES.values():
        names = [name for key in keys for name in key.names]
        assert len(names) == len(set(names))
        assert not set(names) & TAKEN


def test_no_two_commands_share_a_name():
    """Aliases count."""
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("/help", True),
        ("/draft pm", True),
        ("/etc/hosts is missing", False),
        ("/a\nb", False),
        ("a /help", False),
        ("", False),
    ],
)
def test_a_path_is_no_command(text, is_one):
    """Nor is a text of several lines."""
    assert is_command(text) is is_one


def test_an_alias_is_the_command():
    """And what follows it is kept."""
    command, rest = read_command("/compress the parser")
    assert (command.name, rest) == ("compact", "the parser")


def test_a_word_that_is_no_command_is_refused_with_the_nearest():
    """Never run by guessing."""
    with pytest.raises(Invalid) as caught:
        read_command("/undoo")
    assert "/undo" in caught.value.hint
