"""The beginning of every conversation, read once and kept in a file: the next process goes on from there.

Reading the few hundred tokens that all requests share takes ten seconds and more, taking them up from a file a few
milliseconds. A file that is not byte for byte what was written, or was written for other weights, another runtime or
another beginning, is not used. Whatever fails here costs only time. May import: models.embedded_runtime.
"""

from __future__ import annotations

from hashlib import file_digest, sha256
from pathlib import Path

from agi.models.embedded_runtime import Runtime, RuntimeSettings


class Kept:
    """The file for one set of weights, in a folder of the user's; beside it a label that says what it is."""

    def __init__(self, folder: Path, settings: RuntimeSettings) -> None:
        self._file = folder / f"{settings.weights.stem}.begun"
        self._label = folder / f"{settings.weights.stem}.begun.txt"
        found = settings.weights.stat()
        self._fits = f"{found.st_size} {found.st_mtime_ns} {settings.context_tokens}"

    def take_up(self, runtime: Runtime, beginning: bytes) -> bool:
        """Put the runtime where it was after reading this beginning; False if there is nothing that fits."""
        try:
            return self._label.read_text() == self._written(runtime, beginning) and runtime.restore(self._file)
        except (OSError, ValueError):
            return False

    def write(self, runtime: Runtime, beginning: bytes) -> None:
        """Keep where the runtime is now, having just read this beginning."""
        try:
            self._label.unlink(missing_ok=True)  # first: a label must never stand beside another file
            if runtime.save(self._file):
                self._label.write_text(self._written(runtime, beginning))
                self._label.chmod(0o600)
        except OSError:
            return

    def _written(self, runtime: Runtime, beginning: bytes) -> str:
        with self._file.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        return f"{digest} {sha256(beginning).hexdigest()} {self._fits} {runtime.version}\n"
