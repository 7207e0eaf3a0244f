"""The weights of the embedded model on this machine: where they lie, and whether they are the right ones.

Answers fast: a gigabyte is hashed once, and a stamp beside it says so for as long as the file's size and time stay as
they were. Getting them is `weights_fetch`'s business. May import: errors, models.weights_pin.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

from agi.errors import Invalid
from agi.models.weights_pin import PIN, Pin

MAGIC = b"GGUF"
_PIECE = 1 << 20


def cached(env: Mapping[str, str], configured: str | None = None, *, pin: Pin = PIN) -> Path | None:
    """The file to load: the user's own if `configured` (`local.weights`) names one, else the verified one, else None.

    A file of the user's may be any GGUF model. Raises Invalid if it is named and cannot be used.
    """
    if configured and not is_url(configured):
        return own_file(env, configured)
    folder = cache_folder(env)
    return verified(folder / pin.file, pin) if folder else None


def cache_folder(env: Mapping[str, str]) -> Path | None:
    """Where weights are kept: `$XDG_CACHE_HOME/agi/models`, else `~/.cache/agi/models`; None without a home."""
    base = env.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = f"{env['HOME']}/.cache" if os.path.isabs(env.get("HOME", "")) else ""
    return Path(base) / "agi" / "models" if base else None


def is_url(configured: str) -> bool:
    """Whether `local.weights` says where to fetch from, and not where the file is."""
    return configured.lower().startswith(("http://", "https://"))


def own_file(env: Mapping[str, str], configured: str) -> Path:
    """The user's own file; any GGUF model will do. Raises Invalid."""
    home = env.get("HOME", "")
    path = Path(home + configured[1:] if configured.startswith("~/") and home else configured)
    hint = "Set local.weights to a GGUF file, or remove it and run `agi models fetch`."
    try:
        with path.open("rb") as file:
            is_model = file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no path"
        message = f"local.weights names {configured[:200]!r}, which cannot be read: {why}."
        raise Invalid(message, hint=hint, code="weights_unusable") from error
    if not is_model:
        message = f"local.weights names {configured[:200]!r}, which is not a GGUF file."
        raise Invalid(message, hint=hint, code="weights_unusable")
    return path


def verified(path: Path, pin: Pin) -> Path | None:
    """The file if it is the pinned one; hashed again only where its stamp does not fit."""
    try:
        if path.stat().st_size != pin.size:
            return None
        if _read_stamp(path) == _stamp(path, pin.sha256):
            return path
        if digest_of(path) != pin.sha256:
            return None
        write_stamp(path, pin.sha256)
        return path
    except OSError:
        return None


def write_stamp(path: Path, digest: str) -> None:
    """Note that the file as it is now has this digest; a stamp that cannot be written costs only time."""
    stamp = _stamp_path(path)
    try:
        stamp.write_text(_stamp(path, digest))
        stamp.chmod(0o600)
    except OSError:
        return


def is_ours(path: Path) -> bool:
    """Whether the file lies in the cache, verified, and is not one of the user's own."""
    return _stamp_path(path).exists()


def digest_of(path: Path, heard: Callable[[int], None] = lambda _: None) -> str:
    """The file's SHA-256; `heard` is told how many bytes are done."""
    digest, done = sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            done += len(piece)
            heard(done)
    return digest.hexdigest()


def _stamp_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.verified")


def _read_stamp(path: Path) -> str:
    try:
        with _stamp_path(path).open() as file:
            return file.read(200)
    except (OSError, ValueError):
        return ""


def _stamp(path: Path, digest: str) -> str:
    found = path.stat()
    return f"{digest} {found.st_size} {found.st_mtime_ns}\n"
