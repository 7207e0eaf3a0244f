"""What a key pressed at a question means: no single one of them lets anything run."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from agi.protocol.commands import Approve
from agi.protocol.grants import Remember
from agi.protocol.sessions import PendingApproval
from agi.tui.questions import NOTHING, PATIENCE_S, Outcome, Question

KEYS = [
    *((letter, letter) for letter in string.printable if letter.isprintable()),
    ("enter", "\r"),
    ("escape", "\x1b"),
    ("tab", "\t"),
    ("backspace", "\x7f"),
    *((name, None) for name in ("up", "down", "left", "right", "home", "end", "ctrl+y", "ctrl+j", "shift+tab", "f1")),
]


def asked(**fields):
    rules = Remember(rules=(), text="commands that begin with `git status`", scopes=("session", "workspace"))
    default = {"risk": "medium", "remember": rules, "input": Raw(b'{"command": "git status -s"}')}
    return PendingApproval(
        turn_id="turn_1",
        tool_call_id="call_1",
        name="shell",
        rule="kind:exec",
        reason="Commands are asked about.",
        requested_at="",
        digest="d1",
        **{**default, **fields},
    )


def press(question, *keys, at=PATIENCE_S):
    """Press keys, one after the other; gives the last outcome."""
    outcome = NOTHING
    for key in keys:
        character = key if len(key) == 1 else {"enter": "\r", "space": " "}.get(key)
        outcome = question.press(key, character, at)
    return outcome


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[0])
def test_no_single_key_answers(key):
    """Whichever it is, and however long the question stood there."""
    assert Question(asked(), 0.0).press(key[0], key[1], 100.0).answer is None


@settings(max_examples=300)
@given(st.lists(st.sampled_from(KEYS), max_size=30))
def test_nothing_that_is_pressed_in_the_first_half_second_answers(keys):
    """Not one key, and no sequence of them; nor does it leave anything chosen for later."""
    question = Question(asked(), 0.0)

    outcomes = [question.press(key, character, PATIENCE_S - 0.001) for key, character in keys]

    assert not [one for one in outcomes if one.answer]
    assert question.press("enter", "\r", PATIENCE_S) == NOTHING


@settings(max_examples=300)
@given(st.lists(st.sampled_from([key for key in KEYS if key[0] not in ("1", "2", "3", "up", "down")]), max_size=30))
def test_nothing_is_approved_without_choosing_it(keys):
    """Only a digit or an arrow, and Enter behind it, can let something run."""
    question = Question(asked(), 0.0)
    for key, character in keys:
        answer = question.press(key, character, 10.0).answer
        assert answer is None or answer.action == "deny"


@pytest.mark.parametrize(
    ("digit", "answer"),
    [
        ("1", Approve(tool_call_id="call_1", action="approve", digest="d1")),
        ("2", Approve(tool_call_id="call_1", action="approve", digest="d1", remember="session")),
        ("3", Approve(tool_call_id="call_1", action="approve", digest="d1", remember="workspace")),
        ("4", Approve(tool_call_id="call_1", action="deny")),
    ],
)
def test_a_digit_chooses_and_enter_confirms_this_very_call(digit, answer):
    """The answer names the digest of what was shown."""
    assert press(Question(asked(), 0.0), digit, "enter") == Outcome("answer", answer=answer)


def test_what_could_destroy_something_is_never_allowed_for_longer():
    """At high risk there is neither 2 nor 3, and no rule."""
    question = Question(asked(risk="high"), 0.0)

    assert [option.digit for option in question.options()] == ["1", "4", "5"]
    assert question.rule == ""
    assert press(question, "2", "enter") == NOTHING


def test_without_a_rule_an_answer_counts_once():
    """There is nothing to be remembered."""
    assert [option.digit for option in Question(asked(remember=UNSET), 0.0).options()] == ["1", "4", "5"]


def test_what_was_not_seen_whole_cannot_be_allowed_for_longer():
    """Once it was viewed to its end, it can."""
    question = Question(asked(), 0.0)
    question.is_cut = True
    assert press(question, "2", "enter") == NOTHING
    question.was_viewed = True
    assert press(question, "2", "enter").answer


@pytest.mark.threat("T21")
def test_every_character_of_a_command_is_visible():
    """Nothing hides, nothing acts, nothing looks like another letter."""
    question = Question(asked(input=Raw(b'{"command": "echo a\\u200b\\u001b[2J; rm \\u202ex"}')), 0.0)

    assert question.lines == ["echo a\\u200b\\x1b[2J; rm \\u202ex"]


def test_a_reason_is_written_letter_by_letter_and_escape_gives_it_up():
    """Even digits are text then; nothing was answered."""
    question = Question(asked(), 0.0)
    press(question, "5", "enter", "n", "o", "1")
    assert question.reason == "no1"
    press(question, "escape")
    assert (question.reason, question.chosen) == (None, None)
