"""A list of models as a table for people: what each holds and costs, and which one answers by default.

Names and notes come from servers, and are shown, never obeyed. Only text. May import: client, cli.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agi.cli.display import exact, line
from agi.client.base import ModelChoice, ModelList, ModelOffer

HANDFUL = 6
"""How many models of a provider are shown unless all are asked for."""
LONGEST = 60
UNKNOWN = "?"
HEAD = ("", "PROVIDER", "MODEL", "WINDOW", "IN", "OUT", "NOTE")
_NUMBERS = (3, 4, 5)
"""The columns that are aligned on the right."""


def table(found: ModelList, *, everything: bool = False) -> Iterator[str]:
    """The lines of the table; none if there is no model."""
    rows = [HEAD, *_rows(found, everything=everything)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    for row in rows if len(rows) > 1 else ():
        cells = [
            cell.rjust(width) if column in _NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def notes(found: ModelList) -> Iterator[str]:
    """What to know beside the table: what the figures are, who answers and why, which servers said nothing."""
    if found.models:
        yield "Prices are USD for a million tokens; ? is unknown."
    default = found.default
    if default is None:
        yield line(found.problem, 500)
    else:
        shown = any(_is(one, default) for one in found.models)
        who = "*" if shown else f"{line(default.model, LONGEST)} of {line(default.provider, LONGEST)}"
        yield f"{who} answers by default: {line(default.because, 200)}."
    yield from (line(note, 300) for note in found.notes)


def tokens(count: int | None) -> str:
    """A number of tokens, in three figures."""
    if count is None:
        return UNKNOWN
    if count >= 1_000_000:
        return f"{count / 1_000_000:.3g}M"
    return f"{count / 1000:.3g}k" if count >= 1000 else str(count)


def usd(value: float | None) -> str:
    """An amount of money; unknown is not nothing."""
    if value is None:
        return UNKNOWN
    return f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.3g}"


def _rows(found: ModelList, *, everything: bool) -> Iterator[Sequence[str]]:
    for provider in dict.fromkeys(one.provider for one in found.models):
        offered = [one for one in found.models if one.provider == provider]
        shown = offered if everything else _handful(offered, found.default)
        yield from (_row(one, found.default) for one in shown)
        if len(shown) < len(offered):
            yield ("", "", f"{len(offered) - len(shown)} more: --all", "", "", "", "")


def _handful(offered: list[ModelOffer], default: ModelChoice | None) -> list[ModelOffer]:
    """The first ones, and the one that answers by default wherever it stands."""
    first = [one for one in offered if _is(one, default)] + [one for one in offered if not _is(one, default)]
    return first[:HANDFUL] if len(first) > HANDFUL + 1 else first


def _row(one: ModelOffer, default: ModelChoice | None) -> Sequence[str]:
    price = one.price
    return (
        "*" if _is(one, default) else "",
        line(one.provider, LONGEST),
        exact(one.id) if len(one.id) <= LONGEST else line(one.id, LONGEST),
        tokens(one.context_window),
        usd(price.input_usd if price else None),
        usd(price.output_usd if price else None),
        line("; ".join(part for part in (", ".join(one.capabilities), one.note) if part), 100),
    )


def _is(one: ModelOffer, default: ModelChoice | None) -> bool:
    return default is not None and (one.provider, one.id) == (default.provider, default.model)
