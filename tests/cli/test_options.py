"""Reading a command line: what is an option, what is a value, what is text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.cli.options import FLAG, nearest, parse
from agi.errors import ConfigError

OPTIONS = {"--model": "NAME", "--project": "PATH", "--yes": FLAG, "--timeout": "SECONDS"}


def test_options_come_before_or_after_the_words():
    """Where an option stands makes no difference."""
    before = parse("", ["--model", "m", "--yes", "hello"], OPTIONS)
    after = parse("", ["hello", "--yes", "--model=m"], OPTIONS)

    assert (before.words, before.given) == (["hello"], {"--model": "m", "--yes": ""})
    assert (after.words, after.given) == (before.words, before.given)


@pytest.mark.threat("T29")
@pytest.mark.parametrize("text", ["--yes", "--model=x", "serve", "-", "--", "--settings=/tmp/x", "-h", "--help"])
def test_whatever_follows_two_dashes_is_text(text: str):
    """No text can become an option there."""
    read = parse("", ["--model", "m", "--", text], OPTIONS)

    assert (read.after, read.given, read.words) == ([text], {"--model": "m"}, [])


@pytest.mark.threat("T29")
@pytest.mark.parametrize(
    "text", ["--yes, and then some", "--yes\nplease", "- one\n- two", "-5 + 3", "--model gpt --yes", "— dash", "-"]
)
def test_text_that_only_looks_like_an_option_stays_text(text: str):
    """An option is one word; a prompt that begins with dashes is still a prompt."""
    read = parse("", [text], OPTIONS)

    assert (read.words, read.given) == ([text], {})


@pytest.mark.threat("T29")
@pytest.mark.parametrize("value", ["-", "a b", "--not an option", "--unknown", "-x", "x=--yes"])
def test_what_an_option_takes_as_its_value_never_becomes_an_option(value: str):
    """The word after an option is its value, whatever it looks like."""
    read = parse("", ["--model", value, "hello"], OPTIONS)

    assert (read.given, read.words) == ({"--model": value}, ["hello"])


def test_short_spellings_mean_the_long_ones():
    """Where the command knows them; they take their value alike."""
    read = parse("", ["-m", "gpt", "-y", "hello"], OPTIONS)

    assert (read.given, read.words) == ({"--model": "gpt", "--yes": ""}, ["hello"])
    assert parse("", ["-m=gpt"], OPTIONS).given == {"--model": "gpt"}
    assert parse("doctor", ["-h"], {}).has("--help")
    with pytest.raises(ConfigError, match="'-m' of `agi doctor`"):
        parse("doctor", ["-m", "x"], {})
    with pytest.raises(ConfigError, match="twice"):
        parse("", ["-m", "a", "--model", "b"], OPTIONS)


@pytest.mark.parametrize("next_word", ["--yes", "--model", "--project=/x", "--", "--help", "-y", "-m", "-h"])
def test_a_forgotten_value_is_noticed(next_word: str):
    """An option of ours in the place of a value is a mistake, and nothing is run on its account."""
    with pytest.raises(ConfigError, match="needs a value"):
        parse("", ["--model", next_word, "hello"], OPTIONS)


def test_a_value_that_looks_like_an_option_can_be_said_with_an_equals_sign():
    """Nothing is impossible to say."""
    assert parse("", ["--model=--yes"], OPTIONS).given == {"--model": "--yes"}


def test_a_value_in_brackets_can_be_left_out():
    """It is said with an equals sign; the next word is none of it."""
    options = {"--project": "[PATH]", "--yes": FLAG}

    assert parse("setup", ["--project", "--yes"], options).given == {"--project": "", "--yes": ""}
    assert parse("setup", ["--project=x"], options).given == {"--project": "x"}
    assert parse("setup", ["--project", "x"], options).words == ["x"]


def test_an_option_without_the_value_it_needs_says_which():
    """The message shows what was expected."""
    with pytest.raises(ConfigError, match="--timeout SECONDS"):
        parse("", ["hello", "--timeout"], OPTIONS)


def test_an_unknown_option_names_the_nearest_and_the_way_to_say_it_as_text():
    """A typing mistake is answered with what was probably meant."""
    with pytest.raises(ConfigError) as caught:
        parse("", ["--modle", "x"], OPTIONS)

    assert "'--modle'" in caught.value.message
    assert "Did you mean --model?" in caught.value.hint
    assert "`--`" in caught.value.hint


def test_an_option_that_says_so_may_be_given_several_times():
    """In the order they came."""
    read = parse("", ["--file", "a", "x", "--file=b", "--", "--file"], {"--file": "FILE…"})

    assert (read.all("--file"), read.has("--file"), read.words, read.after) == (["a", "b"], True, ["x"], ["--file"])


def test_an_option_cannot_be_given_twice():
    """Two answers to one question are a mistake, or a smuggled one."""
    with pytest.raises(ConfigError, match="twice"):
        parse("", ["--model", "a", "--model=b"], OPTIONS)
    assert parse("", ["--yes", "--yes"], OPTIONS).given == {"--yes": ""}


def test_a_flag_takes_no_value():
    """`--yes=no` does not mean yes."""
    with pytest.raises(ConfigError, match="takes no value"):
        parse("", ["--yes=no"], OPTIONS)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e99", "soon", ""])
def test_a_number_out_of_range_is_refused(text: str):
    """What cannot be meant is not guessed."""
    with pytest.raises(ConfigError, match="must be a number from 1 to 60"):
        parse("", [f"--timeout={text}"], OPTIONS).number("--timeout", least=1, most=60)


def test_a_large_limit_is_written_out():
    """Not as 1e+09, which few people read."""
    with pytest.raises(ConfigError, match=r"from 0\.001 to 1000000000,"):
        parse("", ["--timeout=x"], OPTIONS).number("--timeout", least=0.001, most=1e9)


def test_words_beyond_what_a_command_takes_are_refused():
    """A word too many is a mistake, not something to skip."""
    with pytest.raises(ConfigError, match="doctor"):
        parse("doctor", ["now"], {}).only(0)
    assert parse("trust", ["here"], {}).only(0, 1) == ["here"]


def test_nearest_is_silent_where_nothing_is_near():
    """A wild guess helps nobody."""
    assert nearest("--xyzzy", OPTIONS) == ""


@given(st.lists(st.text(max_size=12), max_size=6), st.text(max_size=20))
def test_no_text_after_two_dashes_changes_what_was_given(before: list[str], text: str):
    """Whatever comes first, the text after `--` decides nothing."""
    try:
        with_text = parse("", [*before, "--", text], OPTIONS)
    except ConfigError:
        return
    without = parse("", [*before, "--"], OPTIONS)

    assert with_text.given == without.given
    assert with_text.words == without.words
