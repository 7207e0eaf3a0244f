"""Bytes from a terminal become keys, however they are torn apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.cli.keyboard import LARGEST_PASTE, Key, Keyboard


def typed(text: str) -> list[Key]:
    return [Key("text", character) for character in text]


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"\x1b[A\x1b[B\x1bOA\x1bOB", ["up", "down", "up", "down"]),
        (b"\x1b[C\x1b[D\x1b[H\x1b[F", ["right", "left", "home", "end"]),
        (b"\x1b[1~\x1b[4~\x1b[7~\x1b[8~\x1b[3~", ["home", "end", "home", "end", "delete"]),
        (b"\x1b[5~\x1b[6~\x1b[1;5A", ["page_up", "page_down", "up"]),
        (b"\r\n\x7f\x08\x03\x04", ["enter", "enter", "backspace", "backspace", "interrupt", "end_of_input"]),
        (b"\x01\x05\x0e\x10\x15\x17\x1a\t", ["home", "end", "down", "up", "erase_all", "erase_word", "other", "other"]),
        (b"\x1b[24~\x1b[<0;1;1M\x1bx\x1b[99z", ["other", "other", "other", "other"]),
    ],
)
def test_what_terminals_send_for_keys_is_known(data, keys):
    """Both spellings of the arrows, with and without modifiers; what is not known does nothing."""
    assert [key.name for key in Keyboard().feed(data)] == keys


def test_letters_of_any_alphabet_are_text():
    """Also where a letter comes in pieces."""
    keyboard = Keyboard()
    keys = [key for byte in "aü€🙂".encode() for key in keyboard.feed(bytes([byte]))]

    assert keys == typed("aü€🙂")


def test_a_lone_escape_is_one_once_nothing_has_followed():
    """Arrows begin with the same byte."""
    keyboard = Keyboard()
    assert keyboard.feed(b"\x1b") == []
    assert keyboard.is_waiting
    assert keyboard.settle() == [Key("escape")]
    assert not keyboard.is_waiting
    assert keyboard.feed(b"\x1b") == []
    assert keyboard.feed(b"[A") == [Key("up")]


def test_a_paste_is_one_thing_whatever_is_in_it():
    """Its line breaks are no Enter."""
    keyboard = Keyboard()
    pieces = [keyboard.feed(piece) for piece in (b"\x1b[200~sk-", b"1\r\n\x1b[A", b"2\x1b[20", b"1~x")]

    assert pieces == [[], [], [], [Key("paste", "sk-1\r\n\x1b[A2"), *typed("x")]]
    assert not keyboard.is_waiting


def test_a_paste_without_an_end_can_be_left():
    """Ctrl-C works always."""
    keyboard = Keyboard()
    keyboard.feed(b"\x1b[200~for ever")

    assert not keyboard.is_waiting
    assert keyboard.feed(b"\x03") == [Key("interrupt")]


def test_a_paste_that_is_too_long_is_thrown_away_as_a_whole():
    """Neither its beginning nor its end is taken for what was meant."""
    keyboard = Keyboard()
    keyboard.feed(b"\x1b[200~")
    for _ in range(3):
        keyboard.feed(b"x" * LARGEST_PASTE)
    keys = keyboard.feed(b"yz\x1b[201~a")

    assert keys == [Key("paste", ""), *typed("a")]
    assert keyboard.feed(b"\x1b[200~b\x1b[201~") == [Key("paste", "b")]


def test_a_sequence_that_never_ends_is_dropped():
    """Nothing is kept for ever."""
    assert Keyboard().feed(b"\x1b[" + b"1;" * 40)[0] == Key("other")


@given(st.binary(max_size=60), st.integers(1, 7))
def test_cutting_makes_no_difference(data, size):
    """The same bytes are the same keys, in whatever pieces they come."""
    whole, pieces = Keyboard(), Keyboard()
    cut = [key for at in range(0, len(data), size) for key in pieces.feed(data[at : at + size])]

    assert cut + pieces.settle() == whole.feed(data) + whole.settle()
