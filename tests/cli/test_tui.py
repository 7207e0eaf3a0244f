"""`agi tui` at a terminal of its own: the real command, started and left as a person does."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import termios

import pytest

from agi.testing.provider import says


@pytest.mark.parametrize("term", ["dumb", ""])
async def test_a_dumb_terminal_is_told_what_to_use_instead(cli, term):
    """Nothing is drawn, nothing is begun."""
    cli.env["TERM"] = term
    async with cli.terminal("tui") as terminal:
        await terminal.shows("knows only lines of text")
        assert await terminal.ends() == 2
    assert not (cli.project / ".agi").exists()


async def test_a_pipe_is_told_what_to_use_instead(cli):
    """A script that starts it hears so at once."""
    done = await cli("tui")

    assert done.code == 2
    assert "needs a terminal" in done.err


async def test_a_theme_that_is_none_and_a_session_that_is_none_are_refused(cli):
    """Before anything is drawn, and nothing is made by looking."""
    cli.env["TERM"] = "xterm-256color"
    async with cli.terminal("tui", "--theme", "pink") as terminal:
        await terminal.shows("There is no theme 'pink': dark, light, terminal.")
        assert await terminal.ends() == 2
    async with cli.terminal("tui", "--continue") as terminal:
        await terminal.shows("There are no sessions in")
        assert await terminal.ends() == 2
    assert not (cli.project / ".agi").exists()


@pytest.mark.parametrize("plain", [False, True], ids=["colours", "NO_COLOR"])
async def test_somebody_asks_reads_and_leaves(cli, plain):
    """In this process, without a daemon; the answer stays on the normal screen, and the terminal is as it was."""
    cli.env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | ({"NO_COLOR": "1"} if plain else {})
    async with cli.answered_by(says("Bread and butter.")), cli.terminal("tui") as terminal:
        await terminal.shows("No draft")
        terminal.type("what is there?\r")
        await terminal.shows("Bread and butter.")
        await terminal.shows("idle")
        drawn = terminal.text
        terminal.type("\x04")
        assert await terminal.ends() == 0

    after = terminal.text[len(drawn) :]
    assert "\x1b[?1049l" in after  # the normal screen
    assert "\x1b[?25h" in after  # the cursor
    assert "\x1b[?2004l" in after  # pastes
    assert after.rstrip().endswith("Bread and butter.")
    assert bool(re.search(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8])(?:;[0-9;]*)?m", drawn)) is not plain


async def test_an_escape_inside_a_paste_answers_and_leaves_nothing(cli):
    """Even where a paste ends its own bracket and goes on as keys, nothing is approved by it."""
    cli.env["TERM"] = "xterm-256color"
    async with cli.terminal("tui") as terminal:
        await terminal.shows("No draft")
        terminal.type("\x1b[200~harmless\x1b[201~\x19" + "1\r\x1b[201~")
        terminal.type("\x03\x03")
        await terminal.shows("Connected")
        assert terminal.process.returncode is None


async def test_a_terminal_that_goes_away_ends_it(cli):
    """No process is left behind that draws for nobody."""
    cli.env["TERM"] = "xterm-256color"
    async with cli.terminal("tui") as terminal:
        await terminal.shows("No draft")
        terminal.process.send_signal(signal.SIGHUP)
        assert await terminal.ends() != 0


async def test_a_window_that_changes_its_size_all_the_time_is_drawn_in_the_end(cli):
    """Also at sizes that no one could read."""
    cli.env["TERM"] = "xterm-256color"
    async with cli.terminal("tui") as terminal:
        await terminal.shows("No draft")
        for columns, rows in [(1, 1), (20, 5), (500, 200), (2, 40), (80, 24)] * 3:
            size = struct.pack("HHHH", rows, columns, 0, 0)
            fcntl.ioctl(terminal._master, termios.TIOCSWINSZ, size)
            os.killpg(terminal.process.pid, signal.SIGWINCH)
        terminal.type("/exit\r")
        assert await terminal.ends() == 0
