"""Which more places may be opened to commands: none that holds what the sandbox keeps from them.

What is opened is said by the user's settings (`sandbox.writable`), and a folder above a protected one would undo its
protection. May import: errors, sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from agi.errors import Invalid, Unavailable
from agi.sandbox.base import Confinement
from agi.sandbox.homes import SYSTEM, within
from agi.sandbox.places import kept_places

_HINT = "Look at sandbox.writable: name single folders that commands need, such as a cache."


def refuse_too_wide(confinement: Confinement, env: Mapping[str, str]) -> None:
    """Raise if an opened place is the system's, is or holds the workspace, or meets a place that is kept hidden."""
    if not confinement.writable:
        return
    workspace = str(confinement.workspace)
    kept, hidden = kept_places(confinement, env), [os.path.realpath(path) for path in confinement.hidden]
    for given in confinement.writable:
        place = os.path.realpath(given)
        if not os.path.exists(place):
            raise Unavailable(f"{str(given)!r}, which is to be writable, is not there.", hint=_HINT, code="not_there")
        if place in SYSTEM:
            raise _too_wide(place, "is the system's")
        if within(workspace, place):
            raise _too_wide(place, "holds the workspace, and with it what is protected there")
        for one in kept:
            if within(one, place) or (one in hidden and within(place, one)):
                raise _too_wide(place, f"would open {one!r}, which is hidden from commands")


def _too_wide(place: str, why: str) -> Invalid:
    return Invalid(f"Commands cannot be given {place!r}: it {why}.", hint=_HINT, code="writable_too_wide")
