"""The access log: one line for each request, refused ones included. Never a header, a query or a token.

May import: nothing of ours.
"""

from __future__ import annotations

import msgspec

_LONGEST_LOGGED_PATH = 500


class AccessLine(msgspec.Struct, frozen=True):
    """One request as the access log tells it: no query, no headers, no control characters."""

    method: str
    path: str
    status: int
    duration_ms: float
    bytes_sent: int
    how: str
    """By which right it came in: `token`, `peer`, `none`, or `refused:<code>`."""


def format_line(line: AccessLine) -> str:
    """The line as text, six fields separated by single spaces."""
    return f"{line.method} {line.path} {line.status} {line.duration_ms:.1f}ms {line.bytes_sent}B {line.how}"


def printable(path: str) -> str:
    """A path on one line and as one field: whatever a terminal or a reader of fields could trip over is escaped."""
    shown = path[:_LONGEST_LOGGED_PATH] + ("…" if len(path) > _LONGEST_LOGGED_PATH else "")
    if shown.isprintable() and " " not in shown and "\\" not in shown:
        return shown
    return "".join(c if c.isprintable() and c not in " \\" else _escaped(c) for c in shown)


def _escaped(character: str) -> str:
    return "\\x20" if character == " " else character.encode("unicode_escape").decode()
