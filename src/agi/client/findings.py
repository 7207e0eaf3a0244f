"""A finding: what was seen about one subject, how bad it is, and what to do about it. May import: nothing of ours."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Finding(Struct, frozen=True, kw_only=True):
    """What was found about one subject."""

    subject: str
    state: Literal["ok", "note", "warning", "broken"]
    text: str
    hint: str = ""


def ok(subject: str, text: str) -> Finding:
    """All is well."""
    return Finding(subject=subject, state="ok", text=text)


def note(subject: str, text: str, hint: str = "") -> Finding:
    """Good to know."""
    return Finding(subject=subject, state="note", text=text, hint=hint)


def warning(subject: str, text: str, hint: str = "") -> Finding:
    """It works, but not as somebody meant it."""
    return Finding(subject=subject, state="warning", text=text, hint=hint)


def broken(subject: str, text: str, hint: str = "") -> Finding:
    """It does not work."""
    return Finding(subject=subject, state="broken", text=text, hint=hint)
