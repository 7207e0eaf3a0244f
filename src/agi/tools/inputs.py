"""What a program is given to read: bytes behind a descriptor, in a file without a name. May import: nothing of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def given(data: bytes) -> Iterator[int]:
    """Hold bytes ready as a program's input."""
    import tempfile  # late: it brings a good deal along, and few calls need it

    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file.fileno()
