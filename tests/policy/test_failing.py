"""Which tests failed, in the words of eight programs; and silence where some may be missing."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from agi.policy.failing import MOST_TESTS, failing_tests

CARGO = """
running 3 tests
test tests::good ... ok
test tests::bad ... FAILED
test tests::worse ... FAILED

failures:

---- tests::bad stdout ----
assertion `left == right` failed

failures:
    tests::bad
    tests::worse

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.31s

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
GO = """
ok  \texample.org/a\t0.004s
--- FAIL: TestOne (0.00s)
    --- FAIL: TestOne/small (0.00s)
        one_test.go:9: no
FAIL
FAIL\texample.org/b\t0.005s
# example.org/c
c/c.go:3:1: syntax error
FAIL\texample.org/c [build failed]
FAIL
"""
TAP = """
TAP version 13
not ok 1 - adds
  ---
  error: '2 == 3'
  ...
ok 2 - ok
not ok 3 - later # TODO
# Subtest: outer
    not ok 1 - inner
    1..1
not ok 4 - outer
1..4
# fail 3
"""
JEST = """
FAIL src/sum.test.js
  ● sums › adds

    expect(received).toBe(expected)

  ● sums › multiplies (large)

FAIL src/broken.test.js
  ● Test suite failed to run

    Cannot find module './gone'

PASS src/good.test.js

Test Suites: 2 failed, 1 passed, 3 total
Tests:       2 failed, 4 passed, 6 total
Snapshots:   0 total
"""
VITEST = """
 ❯ src/sum.test.ts (2 tests | 1 failed) 5ms

⎯⎯⎯⎯⎯⎯ Failed Suites 1 ⎯⎯⎯⎯⎯⎯

 FAIL  src/broken.test.ts [ src/broken.test.ts ]
Error: Failed to load url ./gone

⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯

 FAIL  src/sum.test.ts > sums > adds
AssertionError: expected 2 to be 3

 Test Files  2 failed (2)
      Tests  1 failed | 1 passed (2)
"""
MOCHA = """
  sums
    1) adds
    ✔ subtracts

  1 passing (5ms)
  2 failing

  1) sums
       adds:

      AssertionError: expected 2 to equal 3
      at Context.<anonymous> (test/sum.js:5:10)

  2) "before each" hook for "loads":
     Error: no
"""
UNITTEST = """
FE.
======================================================================
FAIL: test_adds (test_sum.Sums.test_adds)
----------------------------------------------------------------------
AssertionError: 2 != 3

======================================================================
ERROR: test_loads (test_sum.Sums.test_loads)
----------------------------------------------------------------------
Ran 3 tests in 0.001s

FAILED (failures=1, errors=1)
"""
KNOWN = {
    "cargo": (CARGO, ("tests::bad", "tests::worse")),
    "go": (
        GO,
        (
            "example.org/b.TestOne",
            "example.org/b.TestOne/small",
            "example.org/c [build failed]",
        ),
    ),
    "TAP": (TAP, ("adds", "inner", "outer")),
    "jest": (
        JEST,
        ("src/broken.test.js", "src/sum.test.js sums › adds", "src/sum.test.js sums › multiplies (large)"),
    ),
    "vitest": (VITEST, ("src/broken.test.ts", "src/sum.test.ts > sums > adds")),
    "mocha": (MOCHA, ('"before each" hook for "loads"', "sums adds")),
    "unittest": (UNITTEST, ("test_adds (test_sum.Sums.test_adds)", "test_loads (test_sum.Sums.test_loads)")),
}


@pytest.mark.parametrize(("output", "tests"), KNOWN.values(), ids=KNOWN)
def test_the_failing_tests_are_named(output, tests):
    """Each by a name that is the same the next time."""
    assert failing_tests(output) == tests


@pytest.mark.parametrize(
    "output",
    [
        "",
        "make: *** [Makefile:2: test] Error 1",
        CARGO.replace("test tests::bad ... FAILED\n", ""),
        GO.replace("ok  \t", "[812 bytes, 10 lines, are not shown here.]\nok  \t"),
        "--- FAIL: TestOne (0.00s)\n",
        TAP.replace("ok 2 - ok", "[10 lines, 812 bytes left out]"),
        JEST.replace("  ● sums › adds\n", ""),
        VITEST.replace("src/sum.test.ts > sums > adds", ""),
        MOCHA.replace('  2) "before', '  "before'),
        UNITTEST.replace("ERROR: test_loads", "test_loads"),
        "=== 2 failed, 3 passed in 0.10s ===\nFAILED tests/test_a.py::test_b - no\n",
    ],
    ids=range(11),
)
def test_where_one_may_be_missing_nothing_is_said(output):
    """Half a list would make an old failure look new, or a new one old."""
    assert failing_tests(output) is None


def test_pytest_is_read_as_it_really_writes(tmp_path):
    """Failures and errors in a fixture, each by its id."""
    (tmp_path / "test_a.py").write_text(
        textwrap.dedent("""
            import pytest

            @pytest.fixture
            def broken():
                raise OSError("no")

            @pytest.mark.parametrize("n", [1, 2])
            def test_even(n):
                assert n % 2 == 0, "odd - really"

            def test_with(broken): ...
        """)
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--color=yes", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )

    assert failing_tests(ran.stdout) == ("test_a.py::test_even[1]", "test_a.py::test_with")


def test_too_many_failures_are_one():
    """What is kept with a session stays small."""
    lines = "".join(f"FAILED test_a.py::test_{n}\n" for n in range(MOST_TESTS + 1))

    assert failing_tests(f"{lines}{MOST_TESTS + 1} failed in 1.00s\n") is None


def test_hostile_output_is_read_quickly():
    """A line made to slow a pattern down is a line like any other."""
    for line in (
        "1 a " * 20_000 + "in x",
        "not ok 1 " * 9_000,
        "  ● " * 20_000,
        "FAILED " + "- " * 30_000,
        "\t" * 60_000,
    ):
        failing_tests(f"1..1\n{line}\n")
