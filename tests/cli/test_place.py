"""Where a command works, and what is said of a folder that cannot be worked in."""

from __future__ import annotations

import os

import pytest


@pytest.mark.parametrize("command", [("hello",), ("sessions",), ("serve", "--port", "0"), ("doctor",), ("trust",)])
def test_a_folder_that_was_removed_meanwhile_is_told(here, command):
    """As happens in a terminal that stands in a folder another one deleted."""
    here.project.rmdir()
    result = here(*command)

    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[0] == "agi: The folder you are in is not there any more."
    assert "--project" in result.err


def test_another_folder_can_be_named_from_there(here):
    """With its whole path."""
    here.project.rmdir()

    assert here("sessions", "--project", str(here.project.parent)).code == 0


@pytest.mark.parametrize("command", [("hello",), ("sessions",), ("serve", "--port", "0")])
def test_a_folder_whose_name_is_not_utf_8_is_refused_and_untouched(here, command):
    """The log is UTF-8 and names the folder."""
    odd = os.fsencode(here.project) + b"/caf\xe9"
    os.mkdir(odd)
    result = here(*command, "--project", os.fsdecode(odd))

    assert (result.code, result.out) == (2, "")
    assert "is not valid UTF-8." in result.err
    assert "Rename the folder." in result.err
    assert not os.listdir(odd)


@pytest.mark.parametrize("command", [["sessions"], ["log", "verify"], ["search", "x"], ["gc"], ["replay", "x"], ["x"]])
def test_a_file_in_place_of_the_data_folder_is_not_taken_for_no_sessions(here, command):
    """Whatever is asked, it is named, and stays where it is."""
    data = here.project / ".agi"
    data.write_text("mine")

    told = here(*command)

    assert (told.code, told.out) == (1, "")
    assert f"{data} is no folder." in told.err
    assert "Move it away" in told.err
    assert data.read_text() == "mine"
