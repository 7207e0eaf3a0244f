"""Telling a question from a remark."""

import pytest

from agi.jobs.output import Output
from agi.jobs.prompts import SILENT_S, Attention, full_screen, question_at_end, repeated_question, wanted_input

QUESTIONS = [
    "Continue? [y/N] ",
    "Do you want to continue? [Y/n]",
    "Overwrite config.json (y/n): ",
    "Proceed ([y]/n)? ",
    "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
    "Password:",
    "[sudo] password for me: ",
    "Enter passphrase for key '/k': ",
    "Username for 'https://example.org': ",
    "What is your name? ",
    "? Project name: (demo) ",
    "package name: (demo) ",
    "Your choice: ",
    "Please enter a value between 1 and 5: ",
    "Select an option [1-4]: ",
    "Press any key to continue . . .",
    "Press [ENTER] to continue or Ctrl-c to cancel adding it",
    ">>> ",
    "mysql> ",
    "Ok to proceed? (y) ",
    "\x1b[1mRemove it?\x1b[0m \x1b[2m(y/N)\x1b[0m ",
    "Verification code: ",
]
REMARKS = [
    "",
    "\n",
    "Continue? [y/N] \n",
    "Downloading: ",
    "Downloading packages: 45% ",
    "Receiving objects:  50% (1/2)",
    "Compiling: ",
    "Running tests: ",
    "Running type checks: ",
    "Type checking src: ",
    "Input files: ",
    "checking whether the C compiler works... ",
    "[##########          ] 50%",
    "collecting ... ",
    "test_a.py ......F..",
    "10/100 [=>....] - ETA: 3s - loss: 0.5",
    "Waiting for the server: ",
    "GET /?q=1 ",
    "http://localhost:8000/?a=b",
    "2026-11-16 10:00:00 INFO: ",
    "Building wheel for x (pyproject.toml): started",
    "1.2.3",
    "a" * 400 + "? ",
    "100 200 300",
    "\rfetching 3/7\r",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_line_that_asks_for_something_is_a_question(text):
    """Whatever stands before it."""
    assert question_at_end("some\nearlier lines\n" + text)


@pytest.mark.parametrize("text", REMARKS)
def test_progress_and_half_finished_remarks_are_none(text):
    """Where words leave a doubt, the command is left alone."""
    assert question_at_end("What? [y/n]\n" + text) == ""


def test_only_what_is_shown_last_on_a_line_counts():
    """What was drawn over is gone."""
    assert question_at_end("Really? \rfetching 1/2 ") == ""
    assert question_at_end("fetching\rReally? ") == "Really?"


@pytest.mark.parametrize(
    "once", ["Continue? [y/n] ", "Please answer yes or no.\nContinue? [y/n] ", "Continue (yes/no)? Try again.\n"]
)
def test_a_question_asked_for_ever_is_a_question(once):
    """A program that is told that there is no input, and asks again."""
    assert "Continue" in repeated_question(once * 1000 + once[:7])


@pytest.mark.parametrize(
    "text", ["y\n" * 4000, "what?\n" * 10, "x" * 5000, "".join(f"is {n} ok?\n" for n in range(900))]
)
def test_other_repetition_is_not(text):
    """`yes` is a flood, not a question."""
    assert repeated_question(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "bash: /dev/tty: No such device or address\n",
        "sudo: a terminal is required to read the password\n",
        "EOFError: EOF when reading a line\n",
        "the input device is not a TTY\n",
        "fatal: could not read Username for 'https://example.org': terminal prompts disabled\n",
    ],
)
def test_a_program_that_could_not_ask_says_so(text):
    """Which is worth a hint."""
    assert wanted_input(text)


def test_a_failure_of_another_kind_is_no_wish_for_input():
    """A hint must not mislead."""
    assert not wanted_input("AssertionError: 1 != 2\nno such file or directory\n")


def test_a_program_that_took_the_whole_screen_waits_for_keys():
    """Until it gives it back."""
    assert full_screen("Vim: Warning: Input is not from a terminal\n~\n~\n")
    assert full_screen("\x1b[?1049h~\n")
    assert not full_screen("\x1b[?1049h~\n\x1b[?1049lbye\n")
    assert not full_screen("just text")


def test_a_question_counts_once_it_has_stood_for_a_while():
    """And only while nothing else is said."""
    now = [0.0]
    output = Output(clock=lambda: now[0])
    attention = Attention(output, clock=lambda: now[0])
    output.add("Continue? [y/N] ")
    now[0] = SILENT_S - 0.1
    early = attention.question()
    now[0] = SILENT_S
    late = attention.question()
    output.add("y\n")
    now[0] += 2 * SILENT_S

    assert (early, late, attention.question()) == ("", "Continue? [y/N]", "")


def test_a_question_repeated_for_a_while_counts_too():
    """Although it is anything but silent."""
    now = [0.0]
    output = Output(clock=lambda: now[0])
    attention = Attention(output, clock=lambda: now[0])
    found = []
    for second in range(int(SILENT_S) + 2):
        now[0] = float(second)
        output.add("Continue? [y/n] " * 500)
        found.append(bool(attention.question()))

    assert found == [False] * int(SILENT_S) + [True, True]
