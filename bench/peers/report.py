"""The table for people: who costs what, beside ours; and who leads where. Pure, from what was measured to text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.peers.columns import COLUMNS, Column, Samples, median

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
NOT_RANKED = ("request",)
"""Told, but not a race: how long a question is depends on what is in it."""


RUN_COMMANDS = ("called_cpu", "step_cpu", "step_gap", "crowd_cpu", "crowd_wall")
"""Where commands are run, which costs more where they are held in: told like with like, too."""


class Match(NamedTuple):
    """Those who do the same work: ours in that setting, and its rivals."""

    said: str
    ours: str
    rivals: Sequence[str]


class Field(NamedTuple):
    """Who is who in a table."""

    ours: str
    apart: Sequence[str]
    """Who is measured and not ranked: the floor, and ours in another setting."""
    aside: Mapping[str, Sequence[str]]
    """By column, who does less than what the column is about: told, but not ranked."""
    matches: Sequence[Match] = ()
    """For columns where commands are run."""


def table(found: Mapping[str, Samples], ours: str) -> str:
    """A row a column of figures, a column a peer; in brackets how many times ours it is."""
    names = list(found)
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for column in COLUMNS:
        base = median(column, found[ours]) if ours in found else None
        cells = [_cell(column, found[name], None if name == ours else base) for name in names]
        lines.append(f"| {column.head} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(column: Column, samples: Samples, base: float | None) -> str:
    value = median(column, samples)
    if value is None or value < 0:  # less than nothing is no figure: something was cleared up meanwhile
        return "–"
    ratio = f" ({shown(value / base)}×)" if base and base > 0 and value else ""
    return f"{shown(value)}{ratio}"


def shown(value: float) -> str:
    """Three digits at most, none that mean nothing."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2g}"


def standing(found: Mapping[str, Samples], field: Field) -> str:
    """Where ours leads, and where somebody else does; the floor and our other settings are nobody's rivals."""
    lines = []
    for column in COLUMNS:
        mine = median(column, found.get(field.ours, {}))
        if mine is None or column.key in NOT_RANKED:
            continue
        aside = field.aside.get(column.key, ())
        others = {name: median(column, found[name]) for name in found if name not in (field.ours, *field.apart)}
        rivals = {
            name: value for name, value in others.items() if value is not None and value >= 0 and name not in aside
        }
        less = [f"{name} {shown(value)}" for name in aside if (value := others.get(name)) is not None]
        note = f"; without showing text as it comes: {', '.join(less)}" if less else ""
        if column.key in RUN_COMMANDS:
            note += "".join(f"; {one.said}: {_between(column, found, one)}" for one in field.matches)
        lines.append(f"- {column.head}: {_verdict(column, mine, rivals)}{note}")
    return "\n".join(lines)


def _between(column: Column, found: Mapping[str, Samples], match: Match) -> str:
    mine = median(column, found.get(match.ours, {}))
    values = {name: median(column, found[name]) for name in match.rivals if name in found}
    rivals = {name: value for name, value in values.items() if value is not None and value >= 0}
    return "not measured" if mine is None else _verdict(column, mine, rivals)


def _verdict(column: Column, mine: float, rivals: Mapping[str, float]) -> str:
    if not rivals:
        return f"{shown(mine)}, nobody to compare with"
    best = min(rivals, key=lambda name: rivals[name])
    theirs = rivals[best]
    if abs(mine - theirs) <= column.resolves:
        return f"level with {best} ({shown(mine)}, {shown(theirs)})"
    if mine < theirs:
        return f"agi leads ({shown(mine)}; next {best}, {shown(theirs)})"
    return f"**{best} leads** ({shown(theirs)}; agi {shown(mine)})"


def put_into(page: str, measured: str) -> str:
    """Replace what stands between the marks of a page."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"The page has no {BEGIN} … {END}.")
    return f"{before}{BEGIN}\n\n{measured}\n\n{END}{after}"


def page_of(found: Mapping[str, Samples], about: Mapping[str, str], skipped: Mapping[str, str], field: Field) -> str:
    """All that a run has to say."""
    facts = "\n".join(f"- {name}: {value}" for name, value in about.items())
    missing = "\n".join(f"- {name}: {why}" for name, why in skipped.items()) or "- nobody"
    return (
        f"{facts}\n\n{table(found, field.ours)}\n\nWho leads:\n\n{standing(found, field)}\n\n"
        f"Skipped or failed:\n\n{missing}"
    )


def ranges(found: Mapping[str, Samples], names: Sequence[str]) -> str:
    """The least and the most of every figure, for whoever doubts a median."""
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for column in COLUMNS:
        cells = []
        for name in names:
            values = column.of(found[name])
            cells.append(f"{shown(min(values))} – {shown(max(values))}" if values else "–")
        lines.append(f"| {column.head} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
