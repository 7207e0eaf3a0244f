"""A terminal that is sent what should act on it: tmux shows what it would have believed."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agi.testing.provider import ProviderServer, calls, says

from .conftest import FREE, Served

HOSTILE = (
    "\x1b]0;owned\x07\x1b]2;owned\x1b\\\x1b]52;c;b3duZWQ=\x07\x1b]8;;http://evil.example\x07link\x1b]8;;\x07"
    "\x1b[?1049h\x1b[2J\x1b[5;5H\x9d0;owned\x9c\x9b2J\x1bPq\x1b\\\x1b[?1000h\x1b[?2004h\x1bcover\roverwritten\u202ex"
)


class Tmux:
    """A terminal of its own, that can be asked what it shows."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")

    async def __call__(self, *words: str) -> str:
        command = ("tmux", "-S", self._socket, "-f", "/dev/null", *words)
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        out, _ = await process.communicate()
        return out.decode(errors="replace")

    async def shows(self, text: str) -> str:
        """Wait until something stands on the screen; gives all of it."""
        async with asyncio.timeout(20):
            while text not in (screen := await self("capture-pane", "-p", "-J", "-S", "-", "-t", "0")):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return screen

    async def drawn(self) -> None:
        """Wait until something has taken the whole screen and drawn on it."""
        async with asyncio.timeout(30):
            while "1" not in await self("display-message", "-p", "-t", "0", "#{alternate_on}"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            while not (await self("capture-pane", "-p", "-t", "0")).strip():  # noqa: ASYNC110
                await asyncio.sleep(0.05)


@asynccontextmanager
async def terminal(folder: Path) -> AsyncIterator[Tmux]:
    """A terminal that takes titles and clipboards from whoever writes to it, as many do."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed, so there is no terminal to be asked")
    tmux = Tmux(folder)
    await tmux("new-session", "-d", "-x", "250", "-y", "50", "sh")
    await tmux("set-option", "-g", "set-clipboard", "on")
    await tmux("select-pane", "-T", "mine", "-t", "0")
    try:
        yield tmux
    finally:
        await tmux("kill-server")


FORMAT = "#{pane_title} #{alternate_on} #{mouse_any_flag} #{cursor_flag} #{scroll_region_upper}"


@pytest.mark.threat("T39")
async def test_a_terminal_is_as_it_was_whatever_a_model_and_a_command_said(served: Served, tmp_path: Path) -> None:
    """Neither title, clipboard, screen nor mouse is anybody's but the user's; what was sent can be read."""
    script = served.project / "say"
    script.write_text(f"import sys; sys.stdout.buffer.write({HOSTILE.encode()!r}); print('said by a command')")
    shell = {"command": f"{shlex.quote(sys.executable)} say"}
    async with ProviderServer((calls(("shell", shell)), says(HOSTILE + " said by a model"))) as provider:
        served.env |= {"OPENAI_API_KEY": "sk-mine-0123456789", "OPENAI_BASE_URL": provider.base_url, "TERM": "screen"}
        served.configure(**FREE, defaultModel="script")
        async with terminal(tmp_path) as tmux:
            before = await tmux("display-message", "-p", "-t", "0", FORMAT)
            settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in served.env.items())
            line = (
                f"cd {served.project}; env -i {settings} {sys.executable} -m agi.cli.main --trust hello; echo over-$?"
            )
            await tmux("send-keys", "-t", "0", "-l", line)
            await tmux("send-keys", "-t", "0", "Enter")
            screen = await tmux.shows("over-0")
            after = await tmux("display-message", "-p", "-t", "0", FORMAT)
            copied = await tmux("list-buffers")

    assert (before, after, copied) == ("mine 0 0 1 0\n", "mine 0 0 1 0\n", "")
    shown = screen.replace("\n", "")
    assert "said by a model" in shown
    assert "said by a command" in shown
    assert r"\x1b]52;c;b3duZWQ=\x07" in shown
    assert r"over\roverwritten\u202ex" in shown


@pytest.mark.threat("T39")
async def test_the_same_bytes_do_move_such_a_terminal(tmp_path: Path) -> None:
    """The judge of the judge: sent as they are, they change its title."""
    (tmp_path / "said").write_bytes(b"\x1b]2;owned\x1b\\")
    async with terminal(tmp_path) as tmux, asyncio.timeout(20):
        await tmux("send-keys", "-t", "0", "-l", f"cat {tmp_path}/said")
        await tmux("send-keys", "-t", "0", "Enter")
        while not (await tmux("display-message", "-p", "-t", "0", "#{pane_title}")).startswith("owned"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@pytest.mark.threat("T39")
async def test_the_whole_screen_interface_leaves_a_terminal_as_it_was(served: Served, tmp_path: Path) -> None:
    """What acts is taken out or shown while it draws; after it, title, clipboard, screen and mouse are the user's."""
    async with ProviderServer((says(HOSTILE + " said by a model"),)) as provider:
        served.env |= {"OPENAI_API_KEY": "sk-mine-0123456789", "OPENAI_BASE_URL": provider.base_url, "TERM": "screen"}
        served.configure(**FREE, defaultModel="script")
        async with terminal(tmp_path) as tmux:
            before = await tmux("display-message", "-p", "-t", "0", FORMAT)
            settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in served.env.items())
            line = f"cd {served.project}; env -i {settings} {sys.executable} -m agi.cli.main tui --trust; echo over-$?"
            await tmux("send-keys", "-t", "0", "-l", line)
            await tmux("send-keys", "-t", "0", "Enter")
            await tmux.drawn()
            await tmux("send-keys", "-t", "0", "-l", "hello")
            await tmux("send-keys", "-t", "0", "Enter")
            screen = await tmux.shows("said by a model")
            meanwhile = await tmux("display-message", "-p", "-t", "0", "#{pane_title}")
            await tmux("send-keys", "-t", "0", "-l", "/exit")
            await tmux("send-keys", "-t", "0", "Enter")
            await tmux.shows("over-0")
            after = await tmux("display-message", "-p", "-t", "0", FORMAT)
            copied = await tmux("list-buffers")

    assert (before, after, copied) == ("mine 0 0 1 0\n", "mine 0 0 1 0\n", "")
    assert "owned" not in meanwhile
    assert "\\u202ex" in screen
