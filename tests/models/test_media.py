"""What each way of asking takes besides text."""

from __future__ import annotations

import pytest

from agi.config import Config
from agi.models import media
from agi.models.media import limits_of, without
from agi.models.resolve import Models
from agi.testing.adapters import APIS


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("own", [True, False])
def test_every_format_takes_pictures_within_what_its_provider_says(api, own):
    """Base64 makes four bytes of three; nothing of it may go beyond the request's limit."""
    limits = limits_of(api, own=own, model="m")
    most = {"messages": 32, "chat": 50, "responses": 50, "gemini": 20}[api] * 1_000_000
    assert limits.picture is not None
    assert limits.picture.size <= limits.total
    assert limits.total * 4 / 3 < most
    assert limits.pdf


def test_anthropic_s_pictures_fit_also_where_there_are_more_than_twenty():
    """2,000 pixels a side, 5 MB in base64."""
    picture = limits_of("messages", own=True, model="m").picture
    assert picture is not None
    assert picture.side <= 2_000
    assert picture.size * 4 / 3 <= 5_000_000


def test_of_openai_s_own_models_only_those_for_audio_hear():
    """Elsewhere it is tried."""
    assert not limits_of("chat", own=True, model="gpt-5-mini").audio
    assert limits_of("chat", own=True, model="gpt-audio").audio
    assert limits_of("chat", own=False, model="qwen-omni").audio


def test_what_a_server_says_its_model_lacks_is_not_sent():
    """Each on its own."""
    limits = limits_of("chat", own=False, model="m")
    assert without(limits, ()) is limits
    assert without(limits, ("images",)).picture is None
    assert without(limits, ("images",)).audio == limits.audio
    assert not without(limits, ("files",)).pdf
    assert not without(limits, ("audio",)).audio


def test_small_models_take_text_only_and_the_bridge_what_most_take():
    """By the way a provider is asked, as it is configured."""
    models = Models(Config())
    assert models.media("embedded", "x") == media.NOTHING
    assert models.media("scripted", "x") == media.ANYTHING
    assert models.media("anthropic", "claude") == limits_of("messages", own=True, model="claude")
    assert models.media("openai", "gpt") == limits_of("chat", own=True, model="gpt")
    assert models.media("mistral", "m") == media.BRIDGED
