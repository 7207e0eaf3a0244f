"""What the user allowed in a workspace until it is revoked: kept in the user's own file, never in the project's.

By the workspace's real path, with when and in which session it was given. An entry that makes no sense allows nothing.
Whether the workspace is trusted, which it must be for any of this to count, is others' business. May import: errors,
protocol.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from agi.config.files import CONFIG_NAME
from agi.config.store import Document, read_document, update_document
from agi.errors import ConfigError, NotFound
from agi.protocol.grants import Grant
from agi.protocol.policies import Rule

MOST = 500
"""How many are kept for one workspace."""
_KEY = "workspaceGrants"


class _Entry(Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    rule: Rule
    text: str
    granted_at: str
    session_id: str = ""


def read_grants(home_config: Path, workspace: str | Path | None = None) -> tuple[Grant, ...]:
    """What is allowed in a workspace, or in all of them; what cannot be read is left out."""
    wanted = None if workspace is None else os.path.realpath(workspace)
    return tuple(
        Grant(
            id=entry.id,
            scope="workspace",
            rule=entry.rule,
            text=entry.text,
            granted_at=entry.granted_at,
            session_id=entry.session_id,
            workspace_path=path,
        )
        for path, entries in _entries(read_document(home_config)).items()
        if wanted in (None, path)
        for entry in entries
    )


def add_grants(home_config: Path, workspace: str | Path, grants: tuple[Grant, ...]) -> None:
    """Keep what was allowed; a rule that is there already is not kept twice."""
    path = os.path.realpath(workspace)

    def add(document: Document) -> None:
        entries = _entries(document)
        known = entries.setdefault(path, [])
        rules = [entry.rule for entry in known]
        known += [_entry(grant) for grant in grants if grant.rule not in rules]
        if len(known) > MOST:
            raise ConfigError(
                f"More than {MOST} rules are remembered for {path}.", hint="`agi grants` lists them; revoke some."
            )
        document[_KEY] = Raw(msgspec.json.encode(entries))

    update_document(home_config, add)


def remove_grant(home_config: Path, grant_id: str) -> None:
    """Allow it no longer; raises NotFound if it was not there."""

    def remove(document: Document) -> None:
        entries = _entries(document)
        kept = {path: [entry for entry in known if entry.id != grant_id] for path, known in entries.items()}
        if kept == entries:
            hint = "`agi grants` lists what is granted."
            raise NotFound(f"There is no grant {grant_id[:80]!r}.", code="grant_not_found", hint=hint)
        document[_KEY] = Raw(msgspec.json.encode({path: known for path, known in kept.items() if known}))

    update_document(home_config, remove)


class WorkspaceGrants:
    """What is allowed in one workspace now: read again when the user's file has changed."""

    def __init__(self, home_config: Path, workspace: str | Path) -> None:
        self._home_config = home_config
        self._workspace = workspace
        self._stamp: tuple[int, int, int] | None = None
        self._found: tuple[Grant, ...] = ()

    def __call__(self) -> tuple[Grant, ...]:
        """The grants; none while the file cannot be read."""
        try:
            status = os.stat(self._home_config / CONFIG_NAME)
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                self._found, self._stamp = read_grants(self._home_config, self._workspace), stamp
        except (OSError, ConfigError):
            self._found, self._stamp = (), None
        return self._found


def _entry(grant: Grant) -> _Entry:
    return _Entry(
        id=grant.id, rule=grant.rule, text=grant.text, granted_at=grant.granted_at, session_id=grant.session_id
    )


def _entries(document: Document) -> dict[str, list[_Entry]]:
    found = msgspec.json.decode(document[_KEY]) if _KEY in document else {}
    listed = found if isinstance(found, dict) else {}
    return {path: _read_all(entries) for path, entries in listed.items()}


def _read_all(entries: object) -> list[_Entry]:
    return [one for entry in entries if (one := _read(entry))] if isinstance(entries, list) else []


def _read(entry: object) -> _Entry | None:
    try:
        one = msgspec.convert(entry, _Entry)
    except msgspec.ValidationError:
        return None
    return one if one.rule.verdict == "allow" else None
