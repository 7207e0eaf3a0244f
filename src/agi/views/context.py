"""What a session's models have been told beside the conversation, as the log has it: digests, not texts.

A part of the fold (see state). Where the texts are, `seq` says. Pure. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec
from msgspec import Struct, field

from agi.protocol import events as ev
from agi.protocol.context import AssemblyCause, ContextSection
from agi.protocol.events import Event
from agi.protocol.reading import reader

MOST_PATHS = 64
"""How many of the paths that calls named last are remembered."""
LONGEST_PATH = 500


class Told(Struct, frozen=True):
    """A section that was told in the conversation: which version of it, and where."""

    digest: str
    seq: int
    message_id: str = ""
    """The message that says it; empty where none does."""


class _Named(Struct, frozen=True):
    path: str = ""


_decode_named: Callable[[bytes | str], _Named] = reader(_Named)


class ContextState(Struct, kw_only=True, omit_defaults=True):
    """Which head the session's requests have, and what was told since."""

    seq: int = 0
    """The event that holds the head; 0 if there is none yet."""
    turn_id: str = ""
    """The turn it was made for."""
    agent: str = ""
    provider: str = ""
    model: str = ""
    """Who was asked last."""
    head: dict[str, str] = field(default_factory=dict)
    """What the head says: the digest of each section in it, by its key."""
    added: dict[str, Told] = field(default_factory=dict)
    """What was told in the conversation since, likewise."""
    due: AssemblyCause | None = None
    """Why the head is to be made anew, whatever it says."""
    paths: list[str] = field(default_factory=list)
    """What calls were about, the latest last."""

    def digest(self, key: str) -> str | None:
        """Which version of a section was told last; None if it never was."""
        told = self.added.get(key)
        return told.digest if told is not None else self.head.get(key)

    def assembled(self, event: Event, data: ev.ContextAssembled) -> None:
        """A new head: it says everything as it is now."""
        self.seq, self.turn_id, self.due = event.seq, event.turn_id or "", None
        self.agent, self.provider, self.model = data.agent, data.provider, data.model
        self.head = {one.key: one.digest for one in data.sections}
        for key in self.head:
            self.added.pop(key, None)

    def told(self, event: Event, sections: tuple[ContextSection, ...], message_id: str) -> None:
        """Sections were told in a message; of those that were left out nothing was."""
        self.added.update(
            (one.key, Told(one.digest, event.seq, message_id))
            for one in sections
            if one.status != "left_out" or not one.digest
        )

    def asked(self, agent: str, provider: str, model: str) -> None:
        """A turn is over: whoever it asked has the head in its cache."""
        self.agent, self.provider, self.model = agent, provider, model

    def reverted(self, to_seq: int) -> None:
        """What was told after this point is no part of the conversation any more."""
        self.added = {key: told for key, told in self.added.items() if told.seq <= to_seq}

    def compacted(self, carried: Collection[str] = ()) -> None:
        """The conversation was made anew: what was told in it is gone unless carried along, and no cache holds it."""
        self.added = {key: told for key, told in self.added.items() if told.message_id in carried}
        self.due = "compacted" if self.seq else None

    def called(self, data: ev.ToolCallStarted) -> None:
        """A call may name a path."""
        try:
            path = _decode_named(data.tool_call.input).path
        except (msgspec.DecodeError, RecursionError):
            return
        if path and len(path) <= LONGEST_PATH:
            self.paths = [*(one for one in self.paths if one != path), path][-MOST_PATHS:]
