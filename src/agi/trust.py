"""Trust in a workspace: given by its user, kept in the user's own settings, and only for the content that was seen.

A fingerprint covers every file of a workspace that could run something or loosen a rule; when one of them changes, the
workspace must be trusted again. What trust allows is decided where it is used. May import: errors, protocol, config.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from agi.config.files import CONFIG_NAME, is_inside
from agi.config.fingerprint import differences, fingerprint
from agi.config.parse import convert
from agi.config.store import Document, read_document, update_document
from agi.errors import ConfigError, Conflict, NotFound
from agi.protocol.times import Clock, to_rfc3339

TrustReason = Literal["trusted", "never_trusted", "changed"]

_KEY = "trustedWorkspaces"


class TrustState(Struct, frozen=True, kw_only=True):
    """How a workspace stands."""

    trusted: bool
    """Whether its user trusts it as it is now."""
    reason: TrustReason
    """Why it is, or is not."""
    fingerprint: str
    """What its covered files amount to now; empty if they cannot be covered."""
    changed: tuple[str, ...] = ()
    """The files that were added, removed or altered since it was trusted."""
    problem: str = ""
    """Why it cannot be trusted at all, for people."""


class TrustedWorkspace(Struct, frozen=True, kw_only=True):
    """A workspace the user once trusted."""

    path: str
    """Its folder, with links followed."""
    fingerprint: str
    """What its covered files amounted to then."""
    trusted_at: str
    """When that was."""


class _Record(Struct, frozen=True, kw_only=True, rename="camel"):
    fingerprint: str
    trusted_at: str
    files: dict[str, str] = {}


def trust_state(workspace: Path, home_config: Path) -> TrustState:
    """Tell whether a workspace is trusted as it is now. What is in it cannot make this fail."""
    record = _records(read_document(home_config), home_config).get(os.path.realpath(workspace))
    reason: TrustReason = "changed" if record else "never_trusted"
    try:
        _refuse_untrustable(workspace, home_config)
        now = fingerprint(workspace)
    except ConfigError as error:
        return TrustState(trusted=False, reason=reason, fingerprint="", problem=f"{error.message} {error.hint}")
    if record is None or record.fingerprint != now.value:
        changed = differences(record.files, now.files) if record else ()
        return TrustState(trusted=False, reason=reason, fingerprint=now.value, changed=changed)
    return TrustState(trusted=True, reason="trusted", fingerprint=now.value)


def set_trust(
    workspace: Path, home_config: Path, trusted: bool, *, seen: str | None = None, clock: Clock = time.time
) -> TrustState:
    """Trust a workspace as it is now, or no longer; with `seen`, only if its fingerprint is still that one."""
    path, record = os.path.realpath(workspace), None
    if trusted:
        if not os.path.isdir(path):
            raise NotFound(f"There is no folder {path}.", hint="Name the folder of a project.")
        _refuse_untrustable(workspace, home_config)
        now = fingerprint(workspace)
        if seen not in (None, now.value):
            raise Conflict(f"{path} has changed meanwhile.", hint="Look at it again.", code="workspace_changed")
        record = _Record(fingerprint=now.value, trusted_at=to_rfc3339(clock()), files=now.files)
    update_document(home_config, lambda document: _put(document, home_config, path, record))
    return trust_state(workspace, home_config)


def list_trusted(home_config: Path) -> tuple[TrustedWorkspace, ...]:
    """Give every workspace the user trusted, by path."""
    records = _records(read_document(home_config), home_config)
    return tuple(
        TrustedWorkspace(path=path, fingerprint=record.fingerprint, trusted_at=record.trusted_at)
        for path, record in sorted(records.items())
    )


def _records(document: Document, home_config: Path) -> dict[str, _Record]:
    file, content = str(home_config / CONFIG_NAME), document.get(_KEY)
    entries = msgspec.json.decode(content) if content else {}
    if not isinstance(entries, dict):
        raise ConfigError(f"{file}: `{_KEY}` must be an object.", hint="Remove it, then trust workspaces again.")
    return {path: convert(entry, _Record, f"{_KEY}.{path}", file) for path, entry in entries.items()}


def _put(document: Document, home_config: Path, path: str, record: _Record | None) -> None:
    records = _records(document, home_config)
    records.pop(path, None)
    if record:
        records[path] = record
    document[_KEY] = Raw(msgspec.json.encode(records))


def _refuse_untrustable(workspace: Path, home_config: Path) -> None:
    """A workspace that holds the record of trust could trust itself; one that JSON cannot name cannot be recorded."""
    if is_inside(home_config, workspace) or is_inside(home_config / CONFIG_NAME, workspace):
        raise ConfigError(
            f"{workspace} holds your own settings, {home_config}, and so cannot be trusted.",
            hint="Work in a folder below it, or set XDG_CONFIG_HOME to a folder outside.",
        )
    if any("\ud800" <= character <= "\udfff" for character in os.path.realpath(workspace)):
        raise ConfigError(f"The path {str(workspace)!r} is not valid UTF-8.", hint="Rename the folder.")
