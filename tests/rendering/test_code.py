"""Code is coloured by classes; whatever it is, it comes out whole."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.rendering import code

LANGUAGES = ["python", "js", "c", "html", "json", "bash", "diff", "php", "yaml", "rust", "nothing-like-it", "", None]


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200), st.sampled_from(LANGUAGES))
def test_every_character_comes_out_and_nothing_else(look, text, language):
    """No lexer leaves something out, and none of its classes is more than a class."""
    seen = look(code.html(text.replace("\r", "").replace("\x00", ""), language))
    assert seen.text.removesuffix("\n") == text.replace("\r", "").replace("\x00", "")


@pytest.mark.parametrize("language", ["../x", '"><script>', "x" * 500, "PYTHON", "\n", "text"])
def test_a_language_is_a_name_or_nothing(look, language):
    """It leads to no file, and to no markup."""
    seen = look(code.html("a < b", language))
    assert seen.text.strip() == "a < b"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("c", "/*" * 45_000),
        ("python", '"""' * 30_000),
        ("html", "<a " * 30_000),
        ("js", "`${" * 30_000),
        ("php", "<?php " * 15_000),
        ("perl", "q{" * 40_000),
        ("yaml", "- " * 900),
        ("json", "[" * 90_000),
        ("python", "x = 1\n" * 200_000),
    ],
)
def test_a_slow_lexer_is_not_waited_for(look, language, text):
    """The rest stays uncoloured and is all there."""
    text = "\n".join(text[n : n + 1000] for n in range(0, len(text), 1000)) if "\n" not in text else text
    began = time.perf_counter()
    seen = look(code.html(text, language))
    assert time.perf_counter() - began < 10
    assert seen.text.removesuffix("\n") == text
