"""A program that stopped before it had run everything says nothing about what it did not run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agi.policy.failing import failing_tests
from agi.policy.stopping import may_have_stopped

SUITE = """
import unittest

class Sums(unittest.TestCase):
    def test_a(self): self.assertEqual(1, 2)
    def test_b(self): pass
"""
UNITTEST = "{}\n" + "=" * 70 + "\nFAIL: test_a (t.A.test_a)\n\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\n"
MOCHA = "\n  sums\n{}\n\n  1 passing (5ms)\n  1 failing\n\n  1) sums\n       adds:\n     Error\n"
GO = "--- FAIL: TestOne (0.00s)\n{}FAIL\texample.org/b\t0.005s\n"
CARGO = """
test a ... FAILED

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.21s

error: test failed, to rerun pass `--lib`
"""
JEST = "FAIL a.test.js\n  ● adds\n\nTest Suites: 1 failed, {} total\nTests:       1 failed, 1 total\n"
VITEST = " FAIL  a.test.ts > adds\n\n Test Files  1 failed (1)\n      Tests  1 failed | {} (3)\n"
PYTEST = "FAILED a.py::b - no\n{}1 failed in 0.25s\n"


def ran(folder, *words: str) -> str:
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=folder, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "stopped"),
    [
        (("unittest",), False),
        (("unittest", "-v"), False),
        (("unittest", "-f"), True),
        (("unittest", "-f", "-v"), True),
        (("pytest", "-q", "-p", "no:cacheprovider"), False),
        (("pytest", "-q", "-p", "no:cacheprovider", "-x"), True),
        (("pytest", "-p", "no:cacheprovider", "--maxfail=1"), True),
    ],
    ids=range(7),
)
def test_a_run_up_to_the_first_failure_is_told_from_a_whole_one(tmp_path, words, stopped):
    """By what the programs really print; a run that stopped names no failure for certain."""
    (tmp_path / "test_sums.py").write_text(SUITE)
    output = ran(tmp_path, *words)

    assert may_have_stopped("", output) is stopped
    assert (failing_tests(output) is None) is stopped


def test_a_file_that_cannot_be_loaded_keeps_pytest_from_running_the_others(tmp_path):
    """So nothing is known about them."""
    (tmp_path / "test_b.py").write_text("import no_such_module\n")
    (tmp_path / "test_c.py").write_text("def test_c(): assert False\n")
    words = ("pytest", "-q", "-p", "no:cacheprovider", ".")

    assert failing_tests(ran(tmp_path, *words)) is None
    assert failing_tests(ran(tmp_path, *words, "--continue-on-collection-errors")) == ("test_b.py", "test_c.py::test_c")


@pytest.mark.parametrize(
    "output",
    [
        PYTEST.format("!!!!!!! _pytest.outcomes.Exit: enough !!!!!!!\n"),
        PYTEST.format("\x1b[31m!!!!! stopping after 1 failures !!!!!\x1b[0m\r\n"),
        PYTEST.format("!!! xdist.dsession.Interrupted: stopping after 1 failures !!!\n"),
        UNITTEST.format("..F"),
        UNITTEST.format("something printed"),
        CARGO,
        "error: could not compile `probe` (lib test) due to 1 previous error\n",
        GO.format("panic: no [recovered]\n\nexit status 2\n"),
        "FAIL\texample.org/d\t0.002s\nFAIL\n",
        "1..3\nnot ok 1 - adds\n",
        "not ok 1 - adds\nBail out!\n1..1\n",
        JEST.format("1 of 3"),
        VITEST.format("2 skipped"),
        MOCHA.format("    ✔ subtracts\n    1) adds"),
        "$ vitest --bail=1\n" + VITEST.format("2 passed"),
        "go test -failfast ./...\n" + GO.format("FAIL\n"),
    ],
    ids=range(16),
)
def test_what_may_lie_behind_a_stop_is_not_known(output):
    """Each program shows it in its own way; in doubt it has stopped."""
    assert may_have_stopped("", output)
    assert failing_tests(output) is None


@pytest.mark.parametrize(
    "output",
    [
        PYTEST.format(""),
        UNITTEST.format("F."),
        UNITTEST.format(".FFs"),
        UNITTEST.format("test_a (t.A.test_a) ... FAIL\ntest_b (t.A.test_b) ... ok\n"),
        CARGO + "\nerror: 1 target failed:\n    `--lib`\n",
        GO.format("FAIL\ncoverage: 3% of statements\nexit status 1\n"),
        "1..2\nnot ok 1 - adds\nok 2 - more\n",
        JEST.format("3"),
        VITEST.format("2 passed"),
        MOCHA.format("    1) adds\n    ✔ subtracts"),
        "cargo test --no-fail-fast\n",
        "",
    ],
    ids=range(12),
)
def test_a_run_to_the_end_is_taken_for_one(output):
    """Something came after the failure, or the program says how much it ran."""
    assert not may_have_stopped("", output)


@pytest.mark.parametrize("command", ["python -m unittest --failfast", "pytest -q --lf", "go test -failfast ./..."])
def test_an_option_of_the_command_tells_too(command):
    """Where the output shows nothing."""
    assert may_have_stopped(command, "")
    assert not may_have_stopped("cargo test --no-fail-fast", "")


def test_hostile_output_is_read_quickly():
    """A line made to slow a pattern down is a line like any other."""
    for line in ("! " * 30_000 + "x", "!" * 60_000, ".F" * 30_000, "-" * 60_000, "  - " * 15_000, "FAIL\t" * 12_000):
        may_have_stopped("", f"{line}\nRan 1 test in 1s\n  1 failing\n1..1\n")
