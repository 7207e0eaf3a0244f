"""The shape of what a model is shown: pieces that sources offer, and the context they are assembled to.

A source that takes time (a map of the repository, a choice of files) is asked at the start of a turn, for so long and
no longer; what it brings is said in the conversation. May import: protocol.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from agi.protocol.context import ContextSection, SectionPlace

AGENT, WORKSPACE, RULES, SKILLS = "agent", "workspace", "rules", "skills"
TOOLS, SESSION, NOTES = "tools", "session", "notes"
REPO_MAP, SELECTED, TODO = "repo_map", "selected_files", "todo"
ORDER = (AGENT, WORKSPACE, RULES, SKILLS, TOOLS, SESSION, NOTES, REPO_MAP, SELECTED, TODO)
"""What changes seldom comes first; nothing that changes by itself is in the prefix at all."""


class Piece(Struct, frozen=True, kw_only=True):
    """What a source offers for a section; with `refused`, why it has nothing to offer."""

    name: str
    source: str
    text: str = ""
    heading: str = ""
    """A line that stands before it, so that the model knows where it comes from."""
    place: SectionPlace = "prefix"
    rank: int = 0
    """Who gets what is left of a budget: the lowest first."""
    longer: str = ""
    """Why this is not all of it; empty if it is."""
    says_so: bool = False
    """Whether the text itself says that."""
    refused: str = ""
    size: int | None = None
    """Bytes it costs, where the text is told elsewhere."""
    digest: str = ""
    """Of the whole source, where it is not the text's."""


class Context(Struct, frozen=True):
    """The sections of one assembly, in the order in which they are told."""

    sections: tuple[ContextSection, ...] = ()

    @property
    def system(self) -> str:
        """The text at the head of every request."""
        return "\n\n".join(one.text for one in self.sections if one.place == "prefix" and one.text)

    @property
    def tokens(self) -> int:
        """What head and tools cost."""
        return sum(one.tokens for one in self.sections if one.place != "conversation")

    def of(self, place: SectionPlace) -> tuple[ContextSection, ...]:
        """The sections told in one place."""
        return tuple(one for one in self.sections if one.place == place)


class Ask(Struct, frozen=True, kw_only=True):
    """What a source is asked with, at the start of a turn."""

    text: str
    """What the person said."""
    paths: tuple[str, ...]
    """Files the session was about so far, the latest last."""
    tokens: int
    """What the answer may cost."""


class Source(Protocol):
    """Something that can tell more about the workspace, for one turn."""

    @property
    def name(self) -> str:
        """The section it fills: `repo_map` or `selected_files`."""

    async def gather(self, ask: Ask) -> Piece:
        """What there is to tell. It may be canceled at any time, when it takes too long; work begun in the background
        may go on for the next turn. A piece that is `refused` says why there is nothing."""
