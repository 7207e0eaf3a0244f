"""Secrets are stars before anything is written or shown."""

from __future__ import annotations

from agi.redaction import Redactor


def test_a_known_secret_becomes_as_many_stars():
    """Lengths stay, so offsets into a text still hold."""
    redactor = Redactor(["sk-0123456789"])
    assert redactor.clean(b'{"text":"key sk-0123456789!"}') == b'{"text":"key *************!"}'
    assert redactor.clean_text("schlüssel sk-0123456789!") == "schlüssel *************!"


def test_a_secret_is_found_as_json_writes_it_and_counted_in_characters():
    """Quotes and backslashes are escaped in the log; a letter of two bytes is one character."""
    redactor = Redactor(['pass"wörd\\1'])
    assert redactor.clean(b'{"text":"is pass\\"w\xc3\xb6rd\\\\1."}') == b'{"text":"is ' + b"*" * 11 + b'."}'
    assert redactor.clean_text('is pass"wörd\\1.') == "is " + "*" * 11 + "."


def test_of_two_secrets_the_longer_goes_first():
    """One that contains another leaves nothing of itself over."""
    redactor = Redactor(["abcdefgh", "abcdefgh-and-more"])
    assert redactor.clean(b"abcdefgh-and-more abcdefgh") == b"*" * 17 + b" " + b"*" * 8


def test_short_values_are_ordinary_words():
    """A key of three letters would tear holes into every text."""
    assert Redactor(["abc"]).clean(b"abc abc") == b"abc abc"


def test_what_is_learned_later_counts_from_then_on():
    """Settings are loaded again while the daemon runs."""
    redactor = Redactor()
    assert redactor.clean(b"token-token") == b"token-token"
    redactor.learn("token-token")
    assert redactor.clean(b"token-token") == b"*" * 11
