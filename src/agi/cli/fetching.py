"""`agi models fetch`: bring the embedded model's weights here, saying their size first and how far it is.

May import: errors, extras, client, cli.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from agi.cli import exits
from agi.cli.options import Arguments
from agi.cli.output import STDERR, is_terminal, put, say, write
from agi.cli.place import place
from agi.client.settings import ClientSettings
from agi.extras import how_to_add

if TYPE_CHECKING:
    from agi.client.weights import Progress

WIDTH = 30
OFTEN_S = 0.1


async def fetch(arguments: Arguments) -> int:
    """Fetch the weights, unless they are here; `--if-needed` does nothing where another model answers."""
    from agi.client.weights import bring, plan  # late: it brings the network with it

    settings = place(arguments)
    if arguments.has("--if-needed") and (who := await _answers(settings)):
        say(f"{who} answers here, so nothing is fetched.")
        return exits.OK
    found = await asyncio.to_thread(plan, settings)
    if found.here is None:
        say(f"{found.title} ({found.maker}, {found.licence}): {_size(found.size)} are fetched once and kept.")
        bar = _Bar()
        try:
            path = await bring(settings, found.configured, bar.tell)
        finally:
            bar.close()
        say("Fetched, and verified to be the very file that was published.")
    else:
        path = found.here
        say("The weights are here.")
    put(f"{path}\n")
    if not found.runs:
        say(f"What runs it is not installed yet. Run `{how_to_add('local')}`.")
    return exits.OK


async def _answers(settings: ClientSettings) -> str:
    """Who would answer without the embedded model; empty if nobody."""
    from agi.client.inprocess import offered_models  # late: it brings the whole house

    default = (await offered_models(settings)).default
    return f"{default.provider} ({default.model})" if default else ""


class _Bar:
    """One line that grows, on a terminal; a line every tenth, elsewhere."""

    def __init__(self) -> None:
        self._is_terminal = is_terminal(STDERR)
        self._last = 0.0
        self._tenth = -1
        self._stage = ""

    def tell(self, progress: Progress) -> None:
        """Show how far it is; may be called from a thread."""
        share = progress.done / progress.total if progress.total else 0.0
        text = f"{progress.stage} ({progress.source}): {_size(progress.done)} of {_size(progress.total)}"
        if not self._is_terminal:
            if (progress.stage, int(share * 10)) != (self._stage, self._tenth):
                self._stage, self._tenth = progress.stage, int(share * 10)
                say(text)
            return
        now = time.monotonic()
        if now - self._last < OFTEN_S and share < 1:
            return
        self._last = now
        full = round(share * WIDTH)
        self._show(f"\r[{'#' * full}{'.' * (WIDTH - full)}] {share:4.0%} {text}\x1b[K")

    def close(self) -> None:
        """Leave the line as it is."""
        if self._is_terminal and self._last:
            self._show("\n")

    def _show(self, text: str) -> None:
        try:
            write(STDERR, text.encode(errors="replace"))
        except OSError:
            pass


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
