"""Where the interface cannot be drawn, it says so and what to do instead."""

from __future__ import annotations

import os
import pty

import pytest

from agi.errors import ConfigError
from agi.extras import how_to_add
from agi.tui.fit import check_fit


@pytest.fixture
def terminal():
    """A terminal's end."""
    master, slave = pty.openpty()
    yield slave
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize("term", ["", "dumb", "unknown"])
def test_a_terminal_that_knows_only_lines_is_refused(term, terminal):
    """With the command that works there."""
    with pytest.raises(ConfigError) as caught:
        check_fit({"TERM": term}, keys=terminal, screen=terminal)
    assert caught.value.code == "no_terminal"
    assert "agi" in caught.value.message


def test_a_pipe_is_refused(terminal):
    """Neither keys nor a screen can be a pipe."""
    read, write = os.pipe()
    for keys, screen in ((read, terminal), (terminal, write)):
        with pytest.raises(ConfigError, match="needs a terminal"):
            check_fit({"TERM": "xterm"}, keys=keys, screen=screen)
    os.close(read)
    os.close(write)


def test_without_the_extra_it_says_what_to_install(terminal, monkeypatch):
    """And nothing else is tried."""
    monkeypatch.setattr("agi.tui.fit.find_spec", lambda name: None)
    with pytest.raises(ConfigError) as caught:
        check_fit({"TERM": "xterm"}, keys=terminal, screen=terminal)
    assert how_to_add("tui") in caught.value.hint


def test_a_usual_terminal_is_fit(terminal):
    """Nothing is raised."""
    check_fit({"TERM": "xterm-256color"}, keys=terminal, screen=terminal)
