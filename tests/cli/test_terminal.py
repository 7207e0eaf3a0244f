"""Taking a terminal over, and giving it back whatever happens. Questions on it are tested with `agi setup`."""

from __future__ import annotations

import os
import pty
import select
import signal
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agi.cli.keyboard import Key
from agi.cli.terminal import REDRAW, Stopped, Terminal, can_take_over, endings_raised


@contextmanager
def screen() -> Iterator[int]:
    """A terminal in the place of stdin and stderr; gives its other end."""
    master, slave = pty.openpty()
    kept = os.dup(0), os.dup(2)
    os.dup2(slave, 0)
    os.dup2(slave, 2)
    try:
        yield master
    finally:
        os.dup2(kept[0], 0)
        os.dup2(kept[1], 2)
        for descriptor in (*kept, master, slave):
            os.close(descriptor)


def test_a_terminal_is_given_back_as_it_was():
    """Also after an error in the middle."""
    taken: list[object] = []

    def fail() -> None:
        with Terminal():
            taken[:] = termios.tcgetattr(0)
            raise ZeroDivisionError

    with screen() as master:
        before = termios.tcgetattr(master)
        with pytest.raises(ZeroDivisionError):
            fail()
        after = termios.tcgetattr(master)

    assert not taken[3] & (termios.ECHO | termios.ICANON | termios.ISIG)
    assert after == before


def test_a_request_to_terminate_runs_through_every_finally():
    """So the terminal is given back then, too."""
    with screen() as master:
        before = termios.tcgetattr(master)
        with pytest.raises(Stopped) as stopped, endings_raised(), Terminal():
            signal.raise_signal(signal.SIGTERM)
        after = termios.tcgetattr(master)

    assert stopped.value.number == signal.SIGTERM
    assert after == before
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_keys_come_one_by_one_and_a_lone_escape_after_a_moment():
    """What was typed before a question began is forgotten."""
    with screen() as master, Terminal() as terminal:
        os.write(master, b"early")
        select.select([0], [], [], 10)
        terminal.begin()
        os.write(master, b"a\x1b[B\x1b")
        keys = [terminal.key() for _ in range(3)]

    assert keys == [Key("text", "a"), Key("down"), Key("escape")]


def test_ctrl_c_is_an_interrupt_and_a_resized_screen_a_reason_to_draw():
    """Also where no key was pressed."""
    with screen() as master, Terminal() as terminal:
        signal.raise_signal(signal.SIGWINCH)
        noticed = terminal.key()
        os.write(master, b"\x03")
        with pytest.raises(KeyboardInterrupt):
            terminal.key()

    assert noticed == REDRAW


def test_a_terminal_that_is_gone_ends_the_dialogue():
    """There is nobody to ask any more."""
    master, slave = pty.openpty()
    kept = os.dup(0)
    os.dup2(slave, 0)
    os.close(slave)
    try:
        with Terminal() as terminal:
            os.close(master)
            with pytest.raises(EOFError):
                terminal.key()
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_while_something_is_waited_for_only_ctrl_c_is_a_signal():
    """Nothing that is typed is shown, before, during or after."""
    with screen() as master, Terminal() as terminal:
        with terminal.waiting():
            waiting = termios.tcgetattr(master)
        asking = termios.tcgetattr(master)

    assert waiting[3] & termios.ISIG
    assert not waiting[3] & termios.ECHO
    assert waiting[6][termios.VSUSP] == waiting[6][termios.VQUIT] == b"\0"
    assert not asking[3] & (termios.ISIG | termios.ECHO)


def test_what_was_typed_and_not_asked_for_does_not_reach_the_shell():
    """The rest of a pasted key is none of its business."""
    with screen() as master:
        with Terminal():
            os.write(master, b"rm -rf precious\n")
            select.select([0], [], [], 10)
        ready, _, _ = select.select([0], [], [], 0)

    assert ready == []


@pytest.mark.parametrize(
    ("env", "can"), [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"TERM": ""}, False), ({}, False)]
)
def test_a_dumb_terminal_is_not_taken_over(env, can):
    """Nor one without a name."""
    with screen():
        assert can_take_over(env) is can


def test_what_is_no_terminal_is_not_taken_over():
    """Whatever the environment says."""
    kept = os.dup(0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    try:
        assert not can_take_over({"TERM": "xterm"})
    finally:
        os.dup2(kept, 0)
        os.close(kept)
