"""How much a request is: what was reported counts, guesses fill in, and the limit leaves room for an answer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agi.context.measuring import limit_of, request_size, room_of, tokens_of
from agi.protocol.compaction import CompactionPolicy
from agi.protocol.events import ContextCompacted
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Image, Text

MAKER = ("p", "m")


def message(id: str, text: str = "x" * 400, used: int = 0, model: str = "m") -> Message:
    usage = Usage(input_tokens=used, output_tokens=30, reasoning_tokens=10) if used else None
    role = "assistant" if used else "user"
    return Message(
        id=id,
        role=role,
        parts=(Text(text=text),),
        created_at="",
        status="complete",
        usage=usage,
        provider="p",
        model=model,
    )


def facts(window: int | None, output: int | None = None) -> SimpleNamespace:
    return SimpleNamespace(window=lambda provider, model: window, max_output=lambda provider, model: output)


@pytest.mark.parametrize(
    ("window", "output", "policy", "asked", "limit"),
    [
        (None, 100, {}, None, None),
        (100_000, 4_000, {}, None, 85_000),
        (100_000, 64_000, {}, None, 73_000),
        (100_000, 64_000, {"reserve_tokens": 1_000}, None, 85_000),
        (100_000, 64_000, {}, 2_000, 85_000),
        (100_000, 4_000, {"threshold": 0.5}, None, 50_000),
        (4_000, None, {}, None, 2_920),
    ],
)
def test_the_limit_leaves_room_for_the_answer(window, output, policy, asked, limit):
    """The threshold or the reserve, whichever comes first; unknown where the window is."""
    assert limit_of(facts(window, output), "p", "m", CompactionPolicy(**policy), asked) == limit


@pytest.mark.parametrize(
    ("window", "output", "policy", "asked", "room"),
    [
        (None, 100, {}, None, None),
        (100_000, 4_000, {}, None, 96_000),
        (100_000, 64_000, {}, None, 75_000),
        (100_000, 64_000, {"reserve_tokens": 1_000}, None, 99_000),
        (100_000, 64_000, {}, 2_000, 98_000),
        (100_000, 4_000, {"threshold": 0.5}, None, 96_000),
    ],
)
def test_the_room_there_is_is_the_window_without_the_reserve(window, output, policy, asked, room):
    """When conversations are made shorter has no part in it."""
    assert room_of(facts(window, output), "p", "m", CompactionPolicy(**policy), asked) == room


def test_what_was_reported_counts_and_only_what_came_after_is_guessed():
    """Thoughts are not sent again."""
    told = [message("a"), message("b", used=5_000), message("c")]

    assert request_size(told, 100, MAKER, None) == 5_020 + 106


def test_another_models_report_counts_only_where_it_is_higher():
    """Two models count differently; too early is better than too late."""
    assert request_size([message("b", used=5_000, model="other")], 100, MAKER, None) == 5_020
    assert request_size([message("b", used=50, model="other")], 1_000, MAKER, None) == 1_106


def test_a_report_that_cannot_be_true_is_not_believed():
    """As of a server that counts only what it had not cached."""
    assert request_size([message("a", "x" * 40_000), message("b", used=12)], 100, MAKER, None) > 10_000


def test_right_after_a_compaction_what_it_left_counts():
    """Until the next report."""
    made = ContextCompacted(compaction_id="c", trigger="manual", pre_tokens=9_000, post_tokens=700, last_message="a")

    assert request_size([message("a"), message("b")], 100, MAKER, made) == 700 + 106


def test_other_scripts_and_attachments_count_too():
    """A letter of three bytes is more than a quarter of a token."""
    assert tokens_of("語" * 100) == 75
    picture = Message(
        id="a", role="user", parts=(Image(ref="a.png", mime_type="image/png"),), created_at="", status="complete"
    )
    assert request_size([picture], 0, MAKER, None) > 1_000
