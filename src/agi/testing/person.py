"""Someone at the terminal interface, on a screen that nobody sees, with a real daemon behind it.

    async with daemon_in_a_box(tmp_path) as daemon, sitting_at(daemon) as person:
        daemon.model.says("Bread and butter.")
        await person.says("what is there?")
        await person.sees("Bread and butter.")

Needs the extra `agi[tui]`. May import: everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from agi.client.daemon import DaemonClient
from agi.config.daemon import DaemonRecord
from agi.testing.box import Daemon
from agi.tui.app import AgiApp
from agi.tui.pages import Page
from agi.tui.rows import Rows
from agi.tui.tokens import DARK


class Person:
    """Someone at the interface: presses keys, and sees what is on the screen."""

    def __init__(self, app: AgiApp, pilot: Pilot[str]) -> None:
        self.app = app
        self._pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys."""
        await self._pilot.press(*keys)

    async def types(self, text: str) -> None:
        """Write into whatever has the focus, key by key."""
        await self._pilot.press(*({" ": "space", "\n": "ctrl+j"}.get(letter, letter) for letter in text))

    async def says(self, text: str) -> None:
        """Write into the box and press Enter."""
        await self.types(text)
        await self._pilot.press("enter")

    async def resizes(self, columns: int, rows: int) -> None:
        """Make the window another size."""
        await self._pilot.resize_terminal(columns, rows)

    @property
    def title(self) -> str:
        """The first line."""
        return self.app.title_bar.text

    @property
    def status(self) -> str:
        """The last line."""
        return self.app.status_bar.text

    @property
    def transcript(self) -> str:
        """What is seen of the conversation."""
        return "\n".join(self.app.transcript.visible_text())

    @property
    def news(self) -> str:
        """What is said below the transcript, if somebody reads further up."""
        return "\n".join(self.app.query_one("#news", Rows).text)

    @property
    def panel(self) -> str:
        """What the question says, if there is one."""
        return "\n".join(self.app.panel.visible_text())

    @property
    def page(self) -> str:
        """What is seen of the page that is open."""
        screen = self.app.screen
        return "\n".join(screen.lines.visible_text()) if isinstance(screen, Page) else ""

    @property
    def box(self) -> str:
        """What is written."""
        return self.app.box.text

    async def sees(self, what: str | Callable[[], object], where: str = "transcript") -> None:
        """Wait until it is on the screen."""
        for _ in range(500):
            if what() if callable(what) else what in getattr(self, where):
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"{what!r} did not come to be seen in the {where}:\n{getattr(self, where)}")

    async def waits_out_the_patience(self) -> None:
        """Until keys count at the question; the clock is set, nobody sleeps."""
        if self.app.panel.question is None:
            raise AssertionError("nothing waits for an answer")
        self.app.panel.question.since -= 10


def record_of(daemon: Daemon) -> DaemonRecord:
    """How a daemon in a box is reached."""
    return DaemonRecord(url=daemon.url, pid=1, started_at="", token="")


@asynccontextmanager
async def sitting_at(daemon: Daemon, *, size: tuple[int, int] = (80, 24), **options: Any) -> AsyncIterator[Person]:
    """Someone at an interface of this daemon."""
    record = record_of(daemon)
    client = DaemonClient(daemon.workspace.path, record)
    options = {"palette": DARK, "env": {"HOME": "/nowhere"}, "daemon": lambda: record, **options}
    app = AgiApp(client, daemon.workspace.path, **options)
    try:
        async with app.run_test(size=size) as pilot:
            yield Person(app, pilot)
    finally:
        await client.close()
