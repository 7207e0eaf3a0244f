"""What of a workspace could run something or loosen a rule, as one hash.

Whoever loads one of the covered files must read it by `read_inside` without `links`, and run nothing from a cache that
lies elsewhere: then what is loaded is what was hashed. Who trusts it is `trust`'s business. May import: errors.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from agi.config.files import is_held, read_inside
from agi.config.rules import RULES_NAME, read_rules, verify_commands
from agi.errors import ConfigError

COVERED = (
    *(".agi/config.json", ".agi/agents.json", ".agi/mcp.json", ".agi/tools", ".mcp.json"),
    *(".agi/roles", ".agents/roles"),
)
"""What the fingerprint covers, folders with all that is in them; besides, the verification commands in AGENTS.md."""
LARGEST_FILE = 10 << 20
LARGEST_SUM = 50 << 20
MOST_FILES = 2000
DEEPEST = 20
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""The fingerprint of a workspace without any such file: SHA-256 of no bytes."""

_HINT = "Remove it from the workspace to be able to trust it."


class Fingerprint(Struct, frozen=True):
    """One hash of everything covered, and a short one of each file by its name, to tell what changed."""

    value: str
    files: dict[str, str]


def fingerprint(workspace: Path) -> Fingerprint:
    """Hash what is covered of a workspace; raises ConfigError if that is too much, or no file at all."""
    hashes: dict[bytes, bytes] = {}
    size = 0
    for name, content in _covered(workspace):
        size += len(content)
        if size > LARGEST_SUM or len(hashes) == MOST_FILES:
            what = f"more than {MOST_FILES} files or {LARGEST_SUM >> 20} MiB"
            raise ConfigError(f"{workspace} has {what} of settings and tools.", hint=_HINT)
        hashes[os.fsencode(name)] = _sha256(content)
    if not hashes:
        return Fingerprint(NOTHING, {})
    total = b"".join(b"%d:%b%b" % (len(name), name, digest) for name, digest in sorted(hashes.items()))
    files = {name.decode(errors="backslashreplace"): digest.hex()[:16] for name, digest in hashes.items()}
    return Fingerprint(_sha256(total).hex(), files)


def differences(before: dict[str, str], after: dict[str, str]) -> tuple[str, ...]:
    """Name the files that were added, removed or altered."""
    return tuple(name for name in sorted(before | after) if before.get(name) != after.get(name))


def _covered(workspace: Path) -> Iterator[tuple[str, bytes]]:
    for name in COVERED:
        yield from _walk(workspace, name)
    commands = _commands(workspace)
    if commands:
        yield RULES_NAME, "\n".join(commands).encode()


def _commands(workspace: Path) -> tuple[str, ...]:
    try:
        return verify_commands(read_rules(workspace))
    except ConfigError:  # an AGENTS.md that is refused names no commands, and `load_config` says so
        return ()


def _walk(root: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Give a file, a link as what it points to, or a folder and all in it; their kind is part of the content."""
    path = os.path.join(root, name)
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            yield name, b"link " + os.fsencode(os.readlink(path))
        elif is_held(path):
            return
        elif stat.S_ISDIR(mode):
            yield name, b"folder"
            for child in _children(path, name):
                yield from _walk(root, f"{name}/{child}")
        else:
            yield name, b"file " + (read_inside(root, name, limit=LARGEST_FILE) or b"")
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", hint=_HINT) from error


def _children(path: str, name: str) -> list[str]:
    with os.scandir(path) as entries:
        children = sorted(entry.name for entry in islice(entries, MOST_FILES + 1))
    if len(children) > MOST_FILES or name.count("/") > DEEPEST:
        raise ConfigError(f"{path} holds too many files, or too deep folders.", hint=_HINT)
    return children


def _sha256(content: bytes) -> bytes:
    from hashlib import sha256  # late: it loads OpenSSL, and most workspaces have nothing to hash

    return sha256(content).digest()
