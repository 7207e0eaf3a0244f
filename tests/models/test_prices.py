"""Prices and windows from the table, held against genai-prices, which the table is made from."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import genai_prices
import msgspec
import pytest
from genai_prices.data import providers as oracle_providers
from genai_prices.data_snapshot import find_provider_by_id, get_snapshot

from agi.models import prices
from agi.models.base import Price
from agi.models.prices import Rates, Tiered
from agi.protocol.messages import Usage

ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "src" / "agi" / "models" / "prices.json"
SELLERS = tuple(msgspec.json.decode(TABLE.read_bytes())["providers"])
MOMENTS = [
    datetime(year, month, 3, hour, 30, tzinfo=UTC) for year in (2024, 2026, 2031) for month, hour in ((1, 2), (9, 20))
]
"""Before and after prices changed, and at different hours, which matter to one provider."""


def entries(seller: str) -> list[dict]:
    return msgspec.json.decode(TABLE.read_bytes())["providers"][seller]["models"]


def ids(seller: str) -> list[str]:
    return [entry["id"] for entry in entries(seller)]


def name_of(entry: dict) -> str:
    """A name that leads to this entry: its own, or one of those it is matched by."""
    plain = [rule[1:] for rule in entry["match"] if isinstance(rule, str) and rule[0] in "=^*$"]
    return plain[0] if plain else entry["id"]


def usages() -> list[Usage]:
    """Calls of every size: short, right at the steps of tiered prices, long; with and without a cache and thought."""
    dice = random.Random(7)
    made = [Usage(), Usage(input_tokens=1), Usage(output_tokens=1)]
    for sent in (17, 32_001, 128_000, 128_001, 200_000, 200_001, 272_001, 900_000, dice.randrange(2_000_000)):
        read = dice.choice([0, dice.randrange(sent)])
        written = dice.choice([0, dice.randrange(sent - read)])
        said = dice.randrange(60_000)
        made.append(
            Usage(
                input_tokens=sent,
                cached_tokens=read,
                cache_write_tokens=written,
                output_tokens=said,
                reasoning_tokens=dice.choice([0, dice.randrange(said + 1)]),
                requests=1,
            )
        )
    return made


def oracle(seller: str, model: str, usage: Usage, at: datetime) -> float:
    """The same sum by genai-prices itself."""
    told = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
        output_reasoning_tokens=usage.reasoning_tokens,
    )
    done = genai_prices.calc_price(told, model, provider_id=seller, genai_request_timestamp=at)
    return float(done.total_price)


@pytest.mark.parametrize("seller", SELLERS)
def test_every_model_costs_what_genai_prices_says(seller):
    """To a billionth, for calls of every size and at any time; a model without a price has none, instead of 0."""
    wrong, compared = [], 0
    for name in map(name_of, entries(seller)):
        for at in MOMENTS:
            known = prices.find(seller, name, at=at.timestamp())
            assert known is not None
            for usage in usages():
                ours, theirs = prices.cost(seller, name, usage, at=at.timestamp()), oracle(seller, name, usage, at)
                compared += ours is not None
                if (ours is None) != (known.price is None) or not math.isclose(ours or 0.0, theirs, rel_tol=1e-9):
                    wrong.append((name, at, usage, ours, theirs))

    assert wrong == []
    assert compared > 100


@pytest.mark.parametrize("seller", SELLERS)
def test_every_spelling_leads_to_the_model_genai_prices_finds(seller):
    """Its own names, dated ones with and without dashes, other case, and names of nobody."""
    tails = ("", "-latest", "-20250514", "-2025-05-14", "@20250514", ":free", "-preview", "-x")
    some = ids(seller)[:: 1 + len(ids(seller)) // 150]
    names = [f"{name}{tail}" for name in some for tail in tails] + ["nothing-like-it", ""]
    provider = find_provider_by_id(oracle_providers, seller)
    assert provider is not None
    sellers = [name for name in (seller, *(provider.fallback_model_providers or ())) if name in SELLERS]
    kept = {entry for name in sellers for entry in ids(name)}
    ours = {name: known.id if (known := prices.find(seller, name.upper())) else None for name in names}
    found = {name: provider.find_model(name, all_providers=get_snapshot().providers) for name in names}
    theirs = {name: model.id if model and model.id in kept else None for name, model in found.items()}

    assert {name: (ours[name], theirs[name]) for name in names if ours[name] != theirs[name]} == {}


def test_the_table_is_what_the_generator_writes():
    """Nobody typed into it, and it belongs to the version of genai-prices that is pinned."""
    made = subprocess.run([sys.executable, ROOT / "scripts" / "prices", "-"], capture_output=True, check=True)

    assert made.stdout == TABLE.read_bytes()


def test_a_price_is_told_with_its_window():
    """What clients are shown: USD for a million tokens."""
    known = prices.find("openai", "gpt-5-mini")

    assert known is not None
    assert known.context_window == 400_000
    assert known.price == Price(input_usd=0.25, output_usd=2, cache_read_usd=0.025)
    assert prices.cost("openai", "gpt-5-mini", Usage(input_tokens=1_000_000, cached_tokens=400_000)) == pytest.approx(
        0.16
    )


def test_a_window_the_maker_leaves_out_is_taken_from_where_the_model_is_sold():
    """Else the most used models of one provider would have none."""
    known = prices.find("google", "models/gemini-2.5-pro")

    assert known is not None
    assert known.context_window == 1_048_576


def test_unknown_is_none():
    """A provider or a model nobody knows has no price and no window; so has one that is listed without a price."""
    free = prices.find("google", "gemma-4-31b-it")

    assert prices.find("nobody", "gpt-5") is None
    assert prices.find("openai", "gpt-99") is None
    assert prices.cost("openai", "gpt-99", Usage(input_tokens=5)) is None
    assert free is not None
    assert free.price is None
    assert prices.cost("google", "gemma-4-31b-it", Usage(input_tokens=5)) is None
    assert prices.cost("openai", "ft:gpt-4o-mini:acme::x1", Usage(input_tokens=5)) is None


def test_a_price_that_changed_counts_from_its_day():
    """The day begins at midnight in UTC."""
    before, after = (datetime(2025, 6, day, tzinfo=UTC).timestamp() for day in (1, 30))
    known = [prices.find("openai", "o3", at=at) for at in (before, after)]

    assert [one.price.input_usd for one in known if one and one.price] == [10, 2]


def test_a_price_may_hang_on_the_hour():
    """One provider is cheaper at night."""
    at = [datetime(2026, 11, 1, hour, tzinfo=UTC).timestamp() for hour in (2, 20)]
    found = [prices.cost("deepseek", "deepseek-v4-pro", Usage(input_tokens=10**6), at=moment) for moment in at]

    assert found[0] != found[1]


def test_past_a_step_every_token_is_dearer():
    """Exactly at the step nothing changes yet."""
    rates = Rates(input=Tiered(2, ((200_000, 4),)), output=Tiered(10, ((200_000, 20),)))

    assert rates.cost(Usage(input_tokens=200_000, output_tokens=10)) == pytest.approx(0.4 + 0.0001)
    assert rates.cost(Usage(input_tokens=200_001, output_tokens=10)) == pytest.approx(0.800004 + 0.0002)
    assert rates.dearer_above() == 200_000
    assert rates.price() == Price(input_usd=2, output_usd=10)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (Usage(input_tokens=100, cached_tokens=500), 0.00001),
        (Usage(input_tokens=100, cached_tokens=60, cache_write_tokens=60), 0.000006 + 0.00008),
        (Usage(input_tokens=-5, cached_tokens=-5, output_tokens=-1), 0.0),
        (Usage(output_tokens=10, reasoning_tokens=99), 0.0001),
    ],
)
def test_counts_that_cannot_be_are_kept_within_bounds(usage, expected):
    """A server may claim more cached than sent; the cost never goes below what the rest costs."""
    assert Rates(input=1, output=10, read=0.1, write=2).cost(usage) == pytest.approx(expected)


def test_half_a_price_is_none():
    """What is said must have a price as well as what is sent."""
    assert Rates(input=1).cost(Usage(input_tokens=1)) is None
    assert Rates(input=1).price() == Price(input_usd=1)
    assert Rates(read=1).price() is None


@pytest.mark.parametrize(
    ("url", "seller"),
    [
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://API.groq.com/openai/v1", "groq"),
        ("https://api.openai.com:443/v1", "openai"),
        ("https://mine.openai.azure.com/openai/v1", "azure"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/x", "aws"),
        ("http://127.0.0.1:11434/v1", None),
        ("https://api.openai.com.evil.example/v1", None),
        ("https://evil.example/openrouter.ai", None),
        ("https://evil.example/x.openai.azure.com", None),
        ("", None),
    ],
)
def test_a_seller_is_known_by_the_address(url, seller):
    """By the whole host, never by a part of it; a server of one's own is nobody's."""
    assert prices.seller_at(url) == seller


@pytest.mark.parametrize(
    ("name", "seller"),
    [
        ("bedrock", "aws"),
        ("google-vertex", "google"),
        ("xai", "x-ai"),
        ("OpenAI", "openai"),
        ("ollama", None),
        ("lab", None),
    ],
)
def test_a_seller_is_known_by_its_other_names(name, seller):
    """As the bridge to other providers calls them."""
    assert prices.seller_named(name) == seller


def test_the_table_is_not_read_before_it_is_needed():
    """Importing costs next to nothing; the first price reads one provider's part."""
    code = (
        "from agi.models import prices; assert prices._table.cache_info().currsize == 0; "
        "prices.find('openai', 'gpt-5'); "
        "print(prices._entries.cache_info().currsize)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "1"
