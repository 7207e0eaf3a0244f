"""The built-in providers and their models' names, which come from the table."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agi.models import prices
from agi.models.catalog import BUILT_IN, is_openai, is_own, knows, nearest, without_date


@pytest.mark.parametrize("provider", BUILT_IN)
def test_the_first_choice_is_in_the_table(provider):
    """With a price and a window, and not on its way out; it stands first."""
    first = BUILT_IN[provider].first_choice
    known = prices.find(provider, first)

    assert known is not None
    assert known.id == first
    assert known.price is not None
    assert known.context_window
    assert not known.deprecated
    assert BUILT_IN[provider].models[0].id == first


@pytest.mark.parametrize("provider", BUILT_IN)
def test_every_name_that_is_offered_is_known_and_means_itself(provider):
    """None leads to another model's price."""
    names = [info.id for info in BUILT_IN[provider].models]
    found = [prices.find(provider, name) for name in names]

    assert len(names) == len(set(names)) > 20
    assert [known.id if known else None for known in found] == names
    assert all(knows(provider, name) for name in names)


def test_newer_models_come_first_and_those_on_their_way_out_last():
    """By the numbers in their names."""
    claudes = [info.id for info in BUILT_IN["anthropic"].models]
    geminis = BUILT_IN["google"].models

    assert claudes.index("claude-opus-5-5") < claudes.index("claude-opus-4-8") < claudes.index("claude-opus-4-1")
    assert claudes.index("claude-opus-4-1") < claudes.index("claude-3-haiku")
    assert [info.note for info in geminis][-1] == "deprecated"
    assert geminis[1].id.startswith("gemini-")


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openai", "gpt-4o-2024-08-06"),
        ("openai", "gpt-4o-2024-05-13"),
        ("openai", "gpt-5-chat-latest"),
        ("openai", "gpt-5-2031-01-01"),
        ("openai", "ft:gpt-4o-mini:acme::x1"),
        ("anthropic", "claude-3-5-haiku-latest"),
        ("anthropic", "claude-haiku-4-5-20251001"),
        ("google", "models/gemini-2.5-pro"),
        ("google", "gemini-2.5-flash-lite"),
    ],
)
def test_snapshots_and_other_spellings_are_known(provider, name):
    """Also those that are younger than the table."""
    assert knows(provider, name)


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openai", "gpt-image-1"),
        ("openai", "text-embedding-3-small"),
        ("openai", "gpt-4o-realtime-preview"),
        ("openai", "gpt-oss-20b"),
        ("openai", "claude-opus-5"),
        ("google", "claude-opus-5"),
        ("google", "gemini-2.5-flash-preview-tts"),
        ("openai", "ft:"),
        ("openai", ""),
    ],
)
def test_models_that_hold_no_conversation_are_not_known(provider, name):
    """Neither are those of another provider."""
    assert not knows(provider, name)


def test_the_nearest_names_are_of_models_that_can_be_chosen():
    """The likeliest first, at most three."""
    assert nearest("openai", "gpt-5-minni")[0] == "gpt-5-mini"
    assert nearest("anthropic", "claude-sonet-5")[0] == "claude-sonnet-5"
    assert nearest("openai", "zzz") == []
    assert len(nearest("google", "gemini")) <= 3


def test_a_providers_own_address_is_known():
    """With or without a slash at its end."""
    assert is_openai("https://api.openai.com/v1/")
    assert is_own("anthropic", "https://API.anthropic.com")
    assert not is_openai("http://127.0.0.1:1/v1")
    assert not is_own("lab", "https://api.openai.com/v1")


def test_a_date_is_taken_off_a_name():
    """In both ways it is written."""
    assert without_date("gpt-4o-2024-08-06") == "gpt-4o"
    assert without_date("claude-haiku-4-5-20251001") == "claude-haiku-4-5"
    assert without_date("gpt-4-0613") == "gpt-4-0613"


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["help", "models"]])
def test_the_command_line_reads_no_table_for_its_help(arguments):
    """Nor does it load what reads it."""
    code = (
        "import sys; from agi.cli.main import main; main(sys.argv[1:]); "
        "print([name for name in sys.modules if name.startswith('agi.models')], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)

    assert ran.stderr.strip() == "[]"


def test_the_first_choice_needs_no_table():
    """Who sets a key and nothing else starts without it."""
    code = (
        "from agi.models.catalog import BUILT_IN, knows; knows('openai', BUILT_IN['openai'].first_choice); "
        "import sys; print('agi.models.prices' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "False"
