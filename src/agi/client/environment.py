"""What this shell says about providers and a running daemon does not hear: that was started with its own environment.

Values are compared and never told. May import: config.
"""

from __future__ import annotations

from collections.abc import Mapping

from agi.config.load import VARIABLES


def unheard(env: Mapping[str, str], pid: int) -> tuple[str, ...]:
    """Name the variables for providers that are set here and not alike in the process that answers."""
    said = {name: env[name] for names in VARIABLES.values() for name in names if env.get(name)}
    if not said:
        return ()
    theirs = _environment_of(pid)
    return tuple(name for name, value in said.items() if theirs is None or theirs.get(name) != value)


def _environment_of(pid: int) -> dict[str, str] | None:
    """The environment a process was started with; None where the system does not tell."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return None
    pairs = (entry.decode(errors="surrogateescape").partition("=") for entry in entries if entry)
    return {name: value for name, _, value in pairs}
