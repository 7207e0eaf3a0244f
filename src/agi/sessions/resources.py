"""Resources and their sessions: who is meant by a name, what is said to its agent, how it stands.

A resource holds no state: its sessions are those begun for it, and for a repository also those that others began in
its folder. May import: errors, config, protocol, views, sessions.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agi.config.resources import no_such, put_resource, read_resources, remove_resource
from agi.errors import AgiError, Conflict, Invalid, NotFound
from agi.protocol.commands import Cancel, CreateSession
from agi.protocol.resources import ONE, PutResource, Resource, ResourceKind
from agi.views import queries
from agi.views.state import SessionState

if TYPE_CHECKING:
    from agi.sessions.harness import Harness

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


class Resources:
    """The resources a harness knows, by kind and name."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self._home_config = harness.settings.home_config

    def all(self, kind: ResourceKind) -> list[Resource]:
        """Those of one kind, by name; the project itself is a repository under its folder's name."""
        found = {one.name: one for one in read_resources(self._home_config, kind)}
        if kind == "repositories":
            found.setdefault(self._own.name, self._own)
        return sorted(found.values(), key=lambda one: one.name)

    def find(self, kind: ResourceKind, name: str) -> Resource:
        """One of them; raises NotFound."""
        for one in self.all(kind):
            if one.name == name:
                return one
        raise no_such(kind, name)

    def put(self, kind: ResourceKind, name: str, command: PutResource) -> tuple[Resource, bool]:
        """Register it as checked; and whether it is new."""
        if not NAME.fullmatch(name):
            raise Invalid(
                f"{name[:80]!r} cannot be a name.",
                code="resource_name_invalid",
                hint="Letters, digits, '.', '_' and '-', at most 100, the first a letter or digit.",
            )
        resource = Resource(
            kind=kind,
            name=name,
            path=self._checked_path(kind, command.path),
            title=command.title,
            agent=command.agent,
            repositories=self._checked_binding(kind, command),
        )
        if command.agent is not UNSET:
            self._harness.site(workspace_of(resource)).agents.find(command.agent)
        return resource, put_resource(self._home_config, resource)

    def remove(self, kind: ResourceKind, name: str) -> None:
        """Forget the name; its sessions and files stay."""
        laws = [one.name for one in read_resources(self._home_config, "constitutions")]
        bound = [one for one in laws if kind == "repositories" and name in self._bound(one)]
        if bound:
            raise Conflict(
                f"The constitution {bound[0]!r} is bound to the repository {name!r}.",
                code="resource_bound",
                hint=f"First PUT /api/constitutions/{bound[0]} without {name!r} among its `repositories`.",
            )
        try:
            remove_resource(self._home_config, kind, name)
        except NotFound:
            if kind == "repositories" and name == self._own.name:
                raise Conflict(
                    f"{name!r} is the daemon's own project; it is there without being registered.",
                    code="resource_is_project",
                    hint="Only what was registered can be removed.",
                ) from None
            raise

    def _bound(self, constitution: str) -> tuple[str, ...]:
        names = self.find("constitutions", constitution).repositories
        return () if names is UNSET else names

    def sessions(self, resource: Resource, limit: int) -> list[SessionState]:
        """Its sessions, most recently touched first."""
        return queries.sessions_of(self._harness.log.db, resource.tag, self._folder(resource), limit)

    def session(self, resource: Resource, session_id: str) -> SessionState:
        """One of its sessions; raises NotFound for any other."""
        with suppress(NotFound):
            state = self._harness.state(session_id)
            if state.resource == resource.tag or self._is_of_folder(state, resource):
                return state
        raise NotFound(
            f"{resource.name!r} has no session {session_id[:80]!r}.",
            code="session_not_found",
            hint=f"GET /api/{resource.kind}/{{name}}/agent/sessions lists them; without sessionId one begins.",
        )

    async def begin(self, resource: Resource) -> str:
        """A new session for it; gives its id."""
        command = CreateSession(
            workspace_path=workspace_of(resource),
            agent=None if resource.agent is UNSET else resource.agent,
            system_prompt=instructions(resource),
        )
        return (await self._harness.create_session(command, resource=resource.tag)).id

    def busy(self, resource: Resource) -> list[SessionState]:
        """Its sessions that have something to answer, the longest running first."""
        live = (self._harness.state(one) for one in queries.live_sessions(self._harness.log.db))
        mine = [one for one in live if one.resource == resource.tag or self._is_of_folder(one, resource)]
        working = [one for one in mine if one.turn is not None or one.queue]
        return sorted(working, key=lambda one: one.turn.started_at if one.turn else one.updated_at)

    async def cancel(self, resource: Resource) -> list[tuple[str, str]]:
        """Stop whatever its agent does; gives the turns that end, by session."""
        ended: list[tuple[str, str]] = []
        for state in self.busy(resource):
            with suppress(AgiError):  # over by itself meanwhile, which is as good
                turns = await self._harness.cancel(state.id, Cancel(reason="canceled by the user"))
                ended += [(state.id, turn) for turn in turns]
        return ended

    @property
    def _own(self) -> Resource:
        project = self._harness.project
        return Resource(kind="repositories", name=project.name or "root", path=str(project))

    def _folder(self, resource: Resource) -> str | None:
        """The folder whose other sessions are its own too."""
        return resource.path if resource.kind == "repositories" else None

    def _is_of_folder(self, state: SessionState, resource: Resource) -> bool:
        return state.resource is UNSET and not state.ephemeral and state.workspace_path == self._folder(resource)

    def _checked_path(self, kind: ResourceKind, path: str) -> str:
        if "\0" in path or not Path(path).is_absolute():
            raise Invalid(f"{path[:200]!r} is not an absolute path.", code="path_not_absolute", hint="Begin it with /.")
        real = os.path.realpath(path)
        if not (os.path.isdir(real) or (kind != "repositories" and os.path.isfile(real))):
            wanted = "a folder" if kind == "repositories" else "a folder or a document"
            raise Invalid(
                f"{path[:200]!r} is not {wanted} on this machine.",
                code="path_not_found",
                hint=f"A {ONE[kind]} is {wanted} that is there.",
            )
        return real

    def _checked_binding(self, kind: ResourceKind, command: PutResource) -> tuple[str, ...] | UnsetType:
        if command.repositories is UNSET:
            return UNSET
        names = tuple(dict.fromkeys(command.repositories))
        if names and kind != "constitutions":
            raise Invalid(
                f"A {ONE[kind]} is not bound to repositories.",
                code="binding_invalid",
                hint="`repositories` is for constitutions.",
            )
        for name in names:
            bound = self.find("repositories", name)
            if bound == self._own:
                put_resource(self._home_config, bound)  # a binding outlives the daemon by whose project it is known
        return names


def workspace_of(resource: Resource) -> str:
    """The folder its agent works in: its own, or the one a document lies in; raises Conflict if it is gone."""
    if not os.path.exists(resource.path):
        raise Conflict(
            f"{resource.path} is not there any more.",
            code="resource_gone",
            hint=f"Bring it back, or register {resource.name!r} with another path.",
        )
    return str(Path(resource.path).parent) if os.path.isfile(resource.path) else resource.path


def titled(resource: Resource) -> Resource:
    """The same with a title: its name, where it has none."""
    return resource if resource.title is not UNSET else replace(resource, title=resource.name)


def instructions(resource: Resource) -> str | None:
    """What its agent is told about it; a repository needs no words."""
    if resource.kind == "repositories":
        return None
    what = Path(resource.path).name if os.path.isfile(resource.path) else "this folder"
    title = titled(resource).title
    if resource.kind == "knowledge":
        return (
            f"You look after a knowledge artefact, “{title}”: {what}. Read it before you answer. Cite the file and line"
            " of everything you take from it, and say so plainly where it does not hold an answer. Change it only when"
            " you are asked to."
        )
    names = () if resource.repositories is UNSET else resource.repositories
    bound = f" It binds the repositories {', '.join(names)}." if names else ""
    return (
        f"You look after a constitution, “{title}”: {what}, a document of rules.{bound} Help to keep it consistent:"
        " point out rules that contradict or repeat each other, gaps and words that can be read in two ways, and cite"
        " the rule you mean. Change it only when you are asked to, and then the least that is needed."
    )
