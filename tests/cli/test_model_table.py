"""The table of models: short, aligned, and safe to look at."""

from __future__ import annotations

import pytest

from agi.cli.model_table import HANDFUL, notes, table, tokens, usd
from agi.client.base import ModelChoice, ModelList, ModelOffer, ModelPrice


def offers(count: int) -> tuple[ModelOffer, ...]:
    return tuple(ModelOffer(provider="lab", id=f"m{number}") for number in range(count))


def test_the_default_is_marked_and_shown_wherever_it_stands():
    """It comes first, and the rest of a long list is counted."""
    default = ModelChoice(provider="lab", model="m19", reason="configured", because="defaultProvider names it")
    found = ModelList(models=offers(20), default=default)
    lines = list(table(found))

    assert lines[1].split() == ["*", "lab", "m19", "?", "?", "?"]
    assert len(lines) == HANDFUL + 2
    assert lines[-1].strip() == f"{20 - HANDFUL} more: --all"
    assert len(list(table(found, everything=True))) == 21


def test_one_more_than_a_handful_is_shown():
    """A line that says that one is missing takes as much room as the one."""
    assert len(list(table(ModelList(models=offers(HANDFUL + 1), default=None)))) == HANDFUL + 2


def test_nothing_to_list_is_no_table():
    """But why nobody answers is said."""
    found = ModelList(models=(), default=None, problem="There is no key.", notes=("lab: it is asleep.",))

    assert list(table(found)) == []
    assert list(notes(found)) == ["There is no key.", "lab: it is asleep."]


def test_a_default_that_is_not_in_the_table_is_named():
    """Where only one provider is looked at, another may be the one that answers."""
    default = ModelChoice(provider="openai", model="gpt-5-mini", reason="detected", because="a key is set")
    found = ModelList(models=offers(1), default=default)

    assert list(notes(found))[-1] == "gpt-5-mini of openai answers by default: a key is set."


def test_columns_are_aligned():
    """Numbers on the right, words on the left; abilities and notes share a column."""
    found = ModelList(
        models=(
            ModelOffer(provider="a", id="x", context_window=128_000, price=ModelPrice(input_usd=10, output_usd=0.05)),
            ModelOffer(provider="long", id="y", capabilities=("tools", "images"), note="not loaded"),
        ),
        default=None,
    )

    assert list(table(found)) == [
        "  PROVIDER  MODEL  WINDOW     IN   OUT  NOTE",
        "  a         x        128k  10.00  0.05",
        "  long      y           ?      ?     ?  tools, images; not loaded",
    ]


def test_what_a_server_calls_its_models_cannot_act_on_the_screen():
    """A name is shown, never obeyed; a long one does not break the table."""
    found = ModelList(
        models=(ModelOffer(provider="lab", id="a\u202eb"), ModelOffer(provider="lab", id="x" * 200, note="n\n" * 200)),
        default=ModelChoice(provider="lab", model="x" * 200, reason="asked", because="it was\nasked for"),
    )
    lines = [*table(found), *notes(found)]

    assert not any("\u202e" in line or "\n" in line for line in lines)
    assert max(map(len, lines)) < 320
    assert [line[0] for line in lines[:3]] == [" ", "*", " "]


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, "?"), (512, "512"), (4096, "4.1k"), (131072, "131k"), (1_048_576, "1.05M"), (10**6, "1M")],
)
def test_windows_are_short(count, text):
    """Three figures say enough to choose by."""
    assert tokens(count) == text


@pytest.mark.parametrize(
    ("amount", "text"), [(None, "?"), (0.0, "0.00"), (2, "2.00"), (0.25, "0.25"), (0.029, "0.029")]
)
def test_an_unknown_price_is_not_nothing(amount, text):
    """A question mark; nothing is 0.00."""
    assert usd(amount) == text
