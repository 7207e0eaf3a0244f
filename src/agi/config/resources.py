"""The resources the user registered: kept in the user's own file, since they name folders anywhere.

By kind and name. An entry that makes no sense is left out. Whether what they name is there is others' business.
May import: errors, protocol.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec
from msgspec import UNSET, Raw

from agi.config.store import Document, read_document, update_document
from agi.errors import ConfigError, NotFound
from agi.protocol.resources import ONE, Resource, ResourceKind

MOST = 1000
"""How many of a kind are kept."""
_KEY = "resources"


def read_resources(home_config: Path, kind: ResourceKind | None = None) -> tuple[Resource, ...]:
    """Those of one kind, or all of them, by name."""
    return tuple(one for one in _listed(read_document(home_config)) if kind in (None, one.kind))


def bound_to(home_config: Path, workspace: Path) -> list[Resource]:
    """The constitutions that are bound to the repository in this folder, by name; none if the file cannot be read."""
    try:
        everything = read_resources(home_config)
    except ConfigError:
        return []  # whoever loads the settings says so
    names = {one.name for one in everything if one.kind == "repositories" and one.path == str(workspace)}
    return [one for one in everything if one.repositories is not UNSET and names & set(one.repositories)]


def put_resource(home_config: Path, resource: Resource) -> bool:
    """Register it; True if there was none of that name."""
    new: list[bool] = []

    def put(document: Document) -> None:
        known = [one for one in _listed(document) if one.tag != resource.tag]
        new[:] = [len(known) == len(_listed(document))]
        if sum(one.kind == resource.kind for one in known) >= MOST:
            raise ConfigError(f"More than {MOST} {resource.kind} are registered.", hint="Remove some first.")
        _write(document, [*known, resource])

    update_document(home_config, put)
    return new[0]


def remove_resource(home_config: Path, kind: ResourceKind, name: str) -> None:
    """Forget it; raises NotFound if it was not registered."""

    def remove(document: Document) -> None:
        known = _listed(document)
        kept = [one for one in known if (one.kind, one.name) != (kind, name)]
        if len(kept) == len(known):
            raise no_such(kind, name)
        _write(document, kept)

    update_document(home_config, remove)


def no_such(kind: ResourceKind, name: str) -> NotFound:
    """What to say of a name nobody registered."""
    hint = f"GET /api/{kind} lists them; PUT /api/{kind}/{{name}} registers one."
    return NotFound(f"There is no {ONE[kind]} {name[:80]!r}.", code="resource_not_found", hint=hint)


def _write(document: Document, resources: list[Resource]) -> None:
    document[_KEY] = Raw(msgspec.json.encode(sorted(resources, key=lambda one: (one.kind, one.name))))


def _listed(document: Document) -> list[Resource]:
    found = msgspec.json.decode(document[_KEY]) if _KEY in document else []
    return [one for entry in found if (one := _read(entry))] if isinstance(found, list) else []


def _read(entry: object) -> Resource | None:
    try:
        one = msgspec.convert(entry, Resource)
    except msgspec.ValidationError:
        return None
    return one if one.kind in get_args(ResourceKind) else None
