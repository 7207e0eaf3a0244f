"""Where a call would run, as far as rules about it go by that. May import: nothing of ours."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class Ground(Struct, frozen=True, kw_only=True):
    """Where a call would run."""

    trusted: bool = False
    """Whether the user trusts the workspace; only then can something be remembered for it."""
    boundary: str = ""
    """What holds commands in, such as `namespaces`; empty if nothing does."""
    network: bool = True
    """Whether commands reach the network."""
    runs: tuple[str, ...] = ()
    """The commands a call stands for without naming them, as those of verification."""
    locate: Callable[[str], str] | None = None
    """Says where a path really leads, from the workspace's root; raises if it leads out."""
