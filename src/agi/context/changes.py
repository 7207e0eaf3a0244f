"""What has changed since it was told: found by digest, said in a message, so that what was told before stays as it is.

Pure. May import: protocol, views, context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from agi.context.base import AGENT, NOTES, RULES, SESSION, SKILLS, WORKSPACE
from agi.context.tokens import tokens_of
from agi.protocol.context import ContextSection
from agi.views.context import ContextState

FOLLOWED = frozenset({AGENT, WORKSPACE, RULES, SKILLS, SESSION, NOTES})
"""Sections that hold until they are said to have changed; the others were about one moment."""
ABOUT = "[Said by the harness, not by the user.]"
CHANGED = "{} has changed since you were told it. It now says:\n\n{}"
EDITED = "{} has changed since you were told it. This is what is different in it:\n\n{}"
GONE = "{} is gone; what it said no longer holds."


def changes(
    now: Sequence[ContextSection], told: ContextState, before: Mapping[str, ContextSection]
) -> list[ContextSection]:
    """The sections that say something else than the model was told last, each with the text that tells so.

    `before` holds, by key, what the head says, for a change that is told sooner than the whole.
    """
    here = {one.key: one for one in now}
    found = [_changed(one, told, before) for one in now if one.text and told.digest(one.key) != one.digest]
    return [*found, *_gone(here, told)]


def _changed(now: ContextSection, told: ContextState, before: Mapping[str, ContextSection]) -> ContextSection:
    if not told.digest(now.key):
        return _said(now, now.text)
    was = before.get(now.key)
    edited = _difference(was.text, now.text) if was is not None and now.key not in told.added else ""
    return _said(now, EDITED.format(_named(now), edited) if edited else CHANGED.format(_named(now), now.text))


def _gone(here: Mapping[str, ContextSection], told: ContextState) -> list[ContextSection]:
    keys = [key for key in dict.fromkeys((*told.head, *told.added)) if key.partition(" ")[0] in FOLLOWED]
    found = []
    for key in keys:
        now = here.get(key)
        if told.digest(key) and (now is None or not now.digest):
            name, _, source = key.partition(" ")
            section = ContextSection(name=name, source=source, status="left_out", why="it is gone")
            found.append(_said(section, GONE.format(_named(section))))
    return found


def _said(section: ContextSection, text: str) -> ContextSection:
    return replace(section, place="conversation", text=text, tokens=tokens_of(text))


def _named(section: ContextSection) -> str:
    if section.name == RULES:
        return section.source
    return f"What you were told of the {section.name} ({section.source})"


def _difference(before: str, now: str) -> str:
    """The lines that differ, if that is much shorter than the whole."""
    from difflib import unified_diff  # late: hardly anything changes

    lines = list(unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=1))[2:]
    text = "\n".join(lines)
    return text if len(text) < len(now) // 2 else ""
