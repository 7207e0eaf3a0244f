"""How commands run where there is neither a sandbox nor Linux: with limits, and nothing more.

May import: sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agi.sandbox.base import Confinement
from agi.sandbox.inner import SHELL
from agi.sandbox.limits import as_shell, wanted
from agi.sandbox.wrapped import Wrapped


class Plain:
    """Keeps nothing in."""

    def wrap(
        self, argv: Sequence[str], confinement: Confinement, *, cwd: str, env: Mapping[str, str], grouped: bool
    ) -> Wrapped:
        """Make a command ready; memory and processes are not limited, since that differs from system to system."""
        wrapped = Wrapped()
        wrapped.env = dict(env)
        script = f'{as_shell(wanted(confinement.limits, grouped=True))}\nexec "$@"'
        wrapped.argv = [SHELL, "-c", script, "sh", *argv]
        return wrapped
