"""What setup says about a model: what is known, in a few words, and nothing that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from agi.cli.setup_words import describe_model, short
from agi.client.base import ModelOffer, ModelPrice


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({}, ""),
        ({"context_window": 8192}, "8.19k context"),
        ({"context_window": 1_048_576, "note": "free"}, "1.05M context · free"),
        (
            {"context_window": 200_000, "price": ModelPrice(input_usd=2.0, output_usd=0.25)},
            "200k context · $2 in, $0.25 out per 1M tokens",
        ),
        ({"price": ModelPrice(input_usd=2.0)}, ""),
    ],
)
def test_a_model_is_described_by_what_is_known(known, words):
    """Half a price is none."""
    assert describe_model(ModelOffer(provider="p", id="m", **known)) == words


def test_a_path_below_the_home_begins_with_a_tilde(monkeypatch, tmp_path):
    """As people write it; others stay as they are."""
    monkeypatch.setenv("HOME", str(tmp_path))

    assert short(tmp_path / "a" / "b") == "~/a/b"
    assert short(tmp_path) == str(tmp_path)
    assert short(Path("/etc/x")) == "/etc/x"
