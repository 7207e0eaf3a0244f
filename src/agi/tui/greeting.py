"""What an empty conversation shows: where one is, who answers, and the keys one needs first. Pure.

Drawn in the place of the transcript, and gone with its first entry. May import: client, tui.
"""

from __future__ import annotations

from msgspec import Struct
from rich.segment import Segment
from textual.strip import Strip

from agi.client.base import ModelList
from agi.tui.drawing import MARGIN, Look, style
from agi.tui.markdown import plain
from agi.tui.safe import one_line

SCRIPTED, EMBEDDED = "scripted", "embedded"
NOT_KNOWN_YET = "…"
KEYS = (("enter", "send what you wrote"), ("?", "all keys; / lists the commands"), ("ctrl+d", "leave"))
"""What nobody should have to look for."""
LABEL = 10
"""Columns of what stands before a value."""


class Greeting(Struct, frozen=True, kw_only=True):
    """What is said to somebody who begins."""

    place: str
    agent: str = ""
    model: str = ""
    warns: bool = False
    """Whether nobody would answer, and `model` says why."""


def greeting(place: str, agent: str | None, listed: ModelList | None) -> Greeting:
    """Greet by what is known so far; `listed` is who would answer, once that was asked."""
    if listed is None:
        return Greeting(place=place, agent=agent or NOT_KNOWN_YET, model=NOT_KNOWN_YET)
    answers = listed.default
    if answers is None:
        model = listed.problem or "nobody answers"
    elif answers.provider == SCRIPTED:
        model = "none: a script answers, not an AI model. `agi setup` sets one up."
    elif answers.provider == EMBEDDED:
        model = f"{answers.model}, embedded: for looking things up, not for real coding"
    else:
        model = f"{answers.model} of {answers.provider}"
    return Greeting(place=place, agent=listed.agent or agent or "", model=model, warns=answers is None)


def greeting_lines(told: Greeting, look: Look) -> list[Strip]:
    """The lines of a greeting."""
    head = Strip([Segment(" " * MARGIN), Segment("A new conversation", style(look.palette, "accent", "", "bold"))])
    rows = [
        *_row("project", told.place, look),
        *(_row("agent", told.agent, look) if told.agent else ()),
        *_row("model", told.model, look, "bad" if told.warns else "text"),
    ]
    keys = [strip for key, does in KEYS for strip in _row(key, does, look, "muted", "accent")]
    return [Strip([]), head.crop(0, look.width), Strip([]), *rows, Strip([]), *keys]


def _row(label: str, value: str, look: Look, colour: str = "text", labelled: str = "faint") -> list[Strip]:
    """A label and what is said of it, broken into lines behind it."""
    made = style(look.palette, colour)
    lines = plain(one_line(value, 400), look.width - 2 * MARGIN - LABEL, look.palette)
    heads = [f"{label:<{LABEL}}", " " * LABEL]
    return [
        Strip(
            [
                Segment(" " * MARGIN),
                Segment(heads[min(number, 1)], style(look.palette, labelled)),
                *Segment.apply_style(line, made),
            ]
        ).crop(0, look.width)
        for number, line in enumerate(lines)
    ]
