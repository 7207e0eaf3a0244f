"""What providers charge and how much their models hold: a table made from genai-prices, read when first needed.

`scripts/prices` writes the table; nothing here is typed by hand. An unknown price is None, never 0. What the user or a
server says about a model comes before this table, and is `facts`' business. May import: protocol, models.base.
"""

from __future__ import annotations

import re
import time
from functools import cache, lru_cache
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from agi.models.base import Price
from agi.protocol.messages import Usage

_MILLION = 1_000_000
_COMPACT_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)", re.ASCII)


class Tiered(Struct, frozen=True, array_like=True):
    """A rate that rises with the length of the prompt: past a step, every token costs the step's rate."""

    base: float
    steps: tuple[tuple[int, float], ...]


Rate = float | Tiered


class Rates(Struct, frozen=True, kw_only=True):
    """What a model costs, in USD for a million tokens, and for a thousand requests."""

    input: Rate | None = None
    output: Rate | None = None
    read: Rate | None = None
    """Input that was in the provider's cache; like other input where it has no rate."""
    write: Rate | None = None
    """Input that is put into the provider's cache, likewise."""
    reasoning: Rate | None = None
    """Output that is thought and not said; like other output where it has no rate."""
    request: Rate | None = None

    def cost(self, usage: Usage) -> float | None:
        """What one call cost, in USD; None if what was read or said has no price."""
        if self.input is None or self.output is None:
            return None
        sent, said = max(usage.input_tokens, 0), max(usage.output_tokens, 0)
        read = 0 if self.read is None else _within(usage.cached_tokens, sent)
        written = 0 if self.write is None else _within(usage.cache_write_tokens, sent - read)
        thought = 0 if self.reasoning is None else _within(usage.reasoning_tokens, said)
        counts = (
            (self.input, sent - read - written),
            (self.read, read),
            (self.write, written),
            (self.output, said - thought),
            (self.reasoning, thought),
            (self.request, 1000),
        )
        return sum(_rate(rate, sent) * count for rate, count in counts if rate is not None) / _MILLION

    def price(self) -> Price | None:
        """The same for people and programs to read: the rates of a short prompt."""
        if self.input is None and self.output is None:
            return None
        return Price(
            input_usd=_base(self.input),
            output_usd=_base(self.output),
            cache_read_usd=_base(self.read),
            cache_write_usd=_base(self.write),
        )

    def dearer_above(self) -> int | None:
        """The length of a prompt, in tokens, above which it costs more."""
        return self.input.steps[0][0] if isinstance(self.input, Tiered) and self.input.steps else None


class Known(Struct, frozen=True, kw_only=True):
    """What the table says about a model, as of a moment."""

    id: str
    """Its name in the table; dated and other spellings lead to the same entry."""
    context_window: int | None
    max_output_tokens: int | None = None
    rates: Rates | None = None
    chat: bool = False
    """Whether people choose from it at a built-in provider."""
    deprecated: bool = False

    @property
    def price(self) -> Price | None:
        """What it costs, if that is known."""
        return self.rates.price() if self.rates else None


class _Dated(Rates, frozen=True, kw_only=True):
    since: str = ""
    """The first day it counts, in UTC."""
    between: tuple[int, int] | None = None
    """The minutes of the day, in UTC, from and until which it counts."""

    def is_active(self, day: str, minute: int) -> bool:
        if self.between is not None:
            start, end = self.between
            return start <= minute < end if start <= end else minute >= start or minute < end
        return self.since <= day


_Rules = tuple[str | tuple[str, ...], ...]
"""Alternatives, each a term or several that must all hold: `=` equals, `^` begins, `$` ends, `*` has, `~` a pattern."""


class _Entry(Struct, frozen=True):
    id: str
    match: _Rules
    window: int | None = None
    chat: bool = False
    old: bool = False
    rates: tuple[_Dated, ...] = ()


class _Seller(Struct, frozen=True):
    at: str
    """A pattern that its addresses begin with."""
    names: _Rules
    models: Raw
    """Read when one of them is asked for: one seller is all a process usually needs."""
    fallback: tuple[str, ...] = ()
    """Whose models it sells too, under the same names."""


class _Table(Struct, frozen=True):
    source: str
    providers: dict[str, _Seller]


def find(provider: str, model: str, *, at: float | None = None) -> Known | None:
    """Look a model up under any spelling its provider knows; `at` is the unix time that prices count at, else now."""
    seller = seller_named(provider)
    entry = _entry(seller, model.lower()) if seller else None
    if entry is None:
        return None
    return Known(
        id=entry.id,
        context_window=entry.window,
        rates=_rates_at(entry, time.time() if at is None else at),
        chat=entry.chat,
        deprecated=entry.old,
    )


def cost(provider: str, model: str, usage: Usage, *, at: float | None = None) -> float | None:
    """What one call cost, in USD; None if the price is not known."""
    known = find(provider, model, at=at)
    return known.rates.cost(usage) if known and known.rates else None


def chat_models(provider: str) -> tuple[str, ...]:
    """The names people choose from at a built-in provider, in the table's order."""
    return tuple(entry.id for entry in _entries(provider) if entry.chat)


@lru_cache(maxsize=256)
def seller_named(name: str) -> str | None:
    """Who in the table is meant by a provider's name, such as `aws` by `bedrock`."""
    text = name.lower().strip()
    sellers = _table().providers
    if text in sellers:
        return text
    return next((seller for seller, about in sellers.items() if _holds(about.names, text)), None)


@lru_cache(maxsize=256)
def seller_at(url: str) -> str | None:
    """Who in the table has this address; nobody for a server of one's own."""
    scheme, _, rest = url.partition("://")
    origin = f"{scheme}://{rest.partition('/')[0]}".lower()
    for seller, about in _table().providers.items():
        found = re.match(about.at, origin)
        if found and origin[found.end() : found.end() + 1] in ("", ":"):
            return seller
    return None


@cache
def _table() -> _Table:
    return msgspec.json.decode(Path(__file__).with_name("prices.json").read_bytes(), type=_Table)


@cache
def _entries(seller: str) -> tuple[_Entry, ...]:
    return msgspec.json.decode(_table().providers[seller].models, type=tuple[_Entry, ...])


@lru_cache(maxsize=1024)
def _entry(seller: str, model: str) -> _Entry | None:
    """The first entry that a name fits; some write dates without dashes, which no entry does."""
    sellers = [name for name in (seller, *_table().providers[seller].fallback) if name in _table().providers]
    model = model.removeprefix("models/")
    for spelling in dict.fromkeys((model, _COMPACT_DATE.sub(r"-\1-\2-\3", model))):
        for name in sellers:
            for entry in _entries(name):
                if _holds(entry.match, spelling):
                    return entry
    return None


def _rates_at(entry: _Entry, at: float) -> Rates | None:
    """The last rates whose time has come, else the first."""
    if not entry.rates:
        return None
    now = time.gmtime(at)
    day, minute = time.strftime("%Y-%m-%d", now), now.tm_hour * 60 + now.tm_min
    return next((rates for rates in reversed(entry.rates) if rates.is_active(day, minute)), entry.rates[0])


def _holds(rules: _Rules, text: str) -> bool:
    for rule in rules:
        if _fits(rule, text) if isinstance(rule, str) else all(_fits(term, text) for term in rule):
            return True
    return False


def _fits(term: str, text: str) -> bool:
    kind, what = term[0], term[1:]
    if kind == "=":
        return text == what
    if kind == "^":
        return text.startswith(what)
    if kind == "$":
        return text.endswith(what)
    return what in text if kind == "*" else re.search(what, text) is not None


def _rate(rate: Rate, sent: int) -> float:
    if not isinstance(rate, Tiered):
        return rate
    return next((price for above, price in reversed(rate.steps) if sent > above), rate.base)


def _base(rate: Rate | None) -> float | None:
    return rate.base if isinstance(rate, Tiered) else rate


def _within(count: int, most: int) -> int:
    return max(0, min(count, most))
