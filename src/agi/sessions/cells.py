"""Where the commands of a workspace run: its settings, made into a cell of the sandbox.

What holds commands on this machine is found out once, when first needed. May import: errors, config, sandbox,
sessions.sites.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agi.config import SandboxSettings
from agi.errors import Unavailable

if TYPE_CHECKING:
    from agi.sandbox.base import Confinement, Network, Rung
    from agi.sandbox.cell import Cell
    from agi.sandbox.ladder import Ladder
    from agi.sessions.sites import Site


_OFF = SandboxSettings(mode="off")


class Cells:
    """The cells of all workspaces, on one ladder for each way to use the sandbox."""

    def __init__(self, env: Mapping[str, str], hidden: Sequence[Path] = ()) -> None:
        self._env = env
        self._hidden = tuple(hidden)
        self._ladders: dict[bool, Ladder] = {}

    def cell(self, site: Site) -> Cell:
        """Where a workspace's commands run."""
        from agi.sandbox.cell import Cell  # late: most one-shots run no command

        return Cell(self._ladder(site.config.sandbox), self._confinement(site))

    def lasting(self, site: Site) -> Cell:
        """The same for a program that runs as long as the daemon does: it may use processor time without end."""
        from agi.sandbox.cell import Cell  # late, as above

        held = self._confinement(site)
        limits = replace(held.limits, cpu_seconds=None)
        return Cell(self._ladder(site.config.sandbox), replace(held, limits=limits, must_confine=True))

    def outside(self, site: Site) -> Cell:
        """Where programs of the user's own run: nothing keeps them in, and they end when the daemon does."""
        from agi.sandbox.base import Confinement, Limits  # late, as above
        from agi.sandbox.cell import Cell

        endless = Limits(memory=0, processes=None, file_size=None, cpu_seconds=None, open_files=None)
        return Cell(self._ladder(_OFF), Confinement(workspace=site.workspace.root, network="on", limits=endless))

    def rung(self, site: Site) -> Rung:
        """What holds a workspace's commands; tried out when first asked, which takes some milliseconds.

        Raises `Unavailable` if it cannot be tried, or if nothing holds and something did.
        """
        return self._ladder(site.config.sandbox).rung

    def no_commands(self, site: Site) -> str:
        """Why no command may run in a workspace; empty if commands may."""
        if site.config.sandbox.mode != "require":
            return ""
        try:
            rung = self.rung(site)
        except Unavailable as error:
            return f"sandbox.mode is `require`, so commands may not run. {error.message} {error.hint}"
        if rung.confines:
            return ""
        return f"sandbox.mode is `require` and no sandbox works here ({'; '.join(rung.why)}), so commands may not run."

    def close(self) -> None:
        """Give back what commands were limited with."""
        for ladder in self._ladders.values():
            ladder.close()

    def _ladder(self, settings: SandboxSettings) -> Ladder:
        from agi.sandbox.ladder import Ladder  # late, as above

        off = settings.mode == "off"
        if off not in self._ladders:
            self._ladders[off] = Ladder(self._env, "off" if off else "auto")
        return self._ladders[off]

    def _confinement(self, site: Site) -> Confinement:
        from agi.sandbox.base import MIB, Confinement, Limits  # late, as above

        settings = site.config.sandbox
        usual = Limits()
        return Confinement(
            workspace=site.workspace.root,
            network=network_of(settings),
            hosts=settings.hosts,
            denied_hosts=settings.denied_hosts,
            writable=tuple(Path(one) for one in settings.writable),
            hidden=tuple(one for one in self._hidden if one.parent != site.workspace.root),
            limits=Limits(
                memory=usual.memory if settings.memory_mb is None else settings.memory_mb * MIB,
                processes=settings.processes or usual.processes,
            ),
            must_confine=settings.mode == "require",
        )


def network_of(settings: SandboxSettings) -> Network:
    """How far commands reach."""
    if settings.network:
        return "on"
    return "allow-list" if settings.hosts else "off"
