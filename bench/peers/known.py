"""Who is measured. A new peer is a file and a line here."""

from __future__ import annotations

from bench.peers.base import Peer
from bench.peers.codex import Codex, CodexBinary
from bench.peers.crush import Crush
from bench.peers.floor import Floor
from bench.peers.google_adk import GoogleAdk
from bench.peers.opencode import Opencode
from bench.peers.ours import Ours, OursUnconfined
from bench.peers.pi import Pi
from bench.peers.pydantic_ai import PydanticAi

PEERS: tuple[Peer, ...] = (
    Floor(),
    Ours(),
    OursUnconfined(),
    Codex(),
    CodexBinary(),
    Pi(),
    Crush(),
    Opencode(),
    GoogleAdk(),
    PydanticAi(),
)
OURS = "agi"
OURS_OPEN = "agi, no sandbox"
APART = ("floor", OURS_OPEN)
"""Measured, and nobody's rivals."""
CONFINED = ("codex", "codex, binary")
"""Who else holds commands in by default."""
