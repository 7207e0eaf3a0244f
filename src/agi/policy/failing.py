"""Which tests failed, read from what a test program printed.

Each reader knows one program's words and answers only where it is sure to have seen all failures: by the program's own
count, or because nothing is missing from the output. Of a program that stopped before its end nothing is said. Where no
reader is sure, a command is judged as a whole. The output is a project's and may say anything; it is only compared,
never run. May import: policy.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agi.policy.failing_scripts import read_jest, read_mocha, read_tap, read_vitest
from agi.policy.stopping import may_have_stopped

MOST_TESTS = 200
"""With more failures than this the command is judged as a whole."""
LONGEST_NAME = 300

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CUT = re.compile(r"^\[.{0,200}(?:left out|not shown)", re.MULTILINE)
_PYTEST_END = re.compile(r"^=* ?((?:\d+ [a-z]+,? ?)+)in [\d.]+s", re.MULTILINE)
_PYTEST_TEST = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)
_PYTEST_COUNT = re.compile(r"(\d+) (?:failed|errors?)\b")
_UNITTEST_END = re.compile(r"^FAILED \(([^)]*)\)$", re.MULTILINE)
_UNITTEST_TEST = re.compile(r"^(?:FAIL|ERROR): (.+)$", re.MULTILINE)
_UNITTEST_COUNT = re.compile(r"(?:failures|errors)=(\d+)")
_CARGO_END = re.compile(r"^test result: \w+\. \d+ passed; (\d+) failed;", re.MULTILINE)
_CARGO_TEST = re.compile(r"^test (\S.*) \.\.\. FAILED$", re.MULTILINE)
_GO_TEST = re.compile(r"^\s*--- FAIL: (\S+) \(")
_GO_PACKAGE = re.compile(r"^FAIL\t(\S+)(?:\t| (\[[^\]]*\]))")

Reader = Callable[[str], "list[str] | None"]


def failing_tests(output: str) -> tuple[str, ...] | None:
    """The tests that failed, sorted; None where the output does not tell for certain."""
    text = _ANSI.sub("", output).replace("\r\n", "\n")
    if may_have_stopped("", text):
        return None
    found: set[str] = set()
    for reader in _READERS:
        tests = reader(text)
        if tests is None:
            return None
        found.update(tests)
    if not found or len(found) > MOST_TESTS:
        return None
    return tuple(sorted(name.strip()[:LONGEST_NAME] for name in found))


def _read_pytest(text: str) -> list[str] | None:
    ends = _PYTEST_END.findall(text)
    expected = sum(int(number) for end in ends for number in _PYTEST_COUNT.findall(end))
    tests: list[str] = _PYTEST_TEST.findall(text) if expected else []
    return tests if len(tests) == expected else None


def _read_unittest(text: str) -> list[str] | None:
    ends = _UNITTEST_END.findall(text)
    expected = sum(int(number) for end in ends for number in _UNITTEST_COUNT.findall(end))
    tests: list[str] = _UNITTEST_TEST.findall(text) if expected else []
    return tests if len(tests) == expected else None


def _read_cargo(text: str) -> list[str] | None:
    tests: list[str] = _CARGO_TEST.findall(text)
    return tests if len(tests) == sum(int(number) for number in _CARGO_END.findall(text)) else None


def _read_go(text: str) -> list[str] | None:
    """A package's tests come before the line that names it; one that failed without any did not build."""
    found: list[str] = []
    waiting: list[str] = []
    for line in text.splitlines():
        if test := _GO_TEST.match(line):
            waiting.append(test[1])
        elif package := _GO_PACKAGE.match(line):
            name = f"{package[1]} {package[2]}" if package[2] else package[1]
            found += [f"{package[1]}.{one}" for one in waiting] or [name]
            waiting = []
    return None if waiting or (found and _CUT.search(text)) else found


def _read_tap(text: str) -> list[str] | None:
    found = read_tap(text)
    return None if found and _CUT.search(text) else found


_READERS: tuple[Reader, ...] = (
    _read_pytest,
    _read_unittest,
    _read_cargo,
    _read_go,
    _read_tap,
    read_jest,
    read_vitest,
    read_mocha,
)
"""Each gives the failures it sees, none if the output is not its program's, None if it may have missed some."""
