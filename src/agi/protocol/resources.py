"""Resources: named workspaces of three kinds, which seed 002's clients talk about by name. May import: protocol."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from agi.protocol.commands import Command, Name, Path, Title

ResourceKind = Literal["repositories", "knowledge", "constitutions"]
KINDS: tuple[ResourceKind, ...] = ("repositories", "knowledge", "constitutions")
ONE: dict[ResourceKind, str] = {
    "repositories": "repository",
    "knowledge": "knowledge artefact",
    "constitutions": "constitution",
}
"""What one of a kind is called."""


class ResourceTag(Struct, frozen=True):
    """The resource a session was begun for."""

    kind: ResourceKind
    name: str


class Resource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A folder or document that can be talked about by name."""

    kind: ResourceKind
    name: str
    path: str
    title: str | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    """Who answers; absent is the default agent."""
    repositories: tuple[str, ...] | UnsetType = UNSET
    """The repositories a constitution is bound to: it enters the context of their sessions."""

    @property
    def tag(self) -> ResourceTag:
        """Which one it is."""
        return ResourceTag(self.kind, self.name)


class PutResource(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Register a resource, or change one: what is left out is not kept."""

    path: Path
    title: Title | UnsetType = UNSET
    agent: Name | UnsetType = UNSET
    repositories: Annotated[tuple[Name, ...], Meta(max_length=200)] | UnsetType = UNSET
    """Only for a constitution: the names of the repositories it is bound to."""


class AgentMessage(Command, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Say something to a resource's agent; without `sessionId` a session begins."""

    message: Annotated[str, Meta(min_length=1, max_length=1_000_000)]
    session_id: Name | UnsetType = UNSET
    wait: bool = True
    """Whether the answer to this is the agent's."""
