"""Which tests failed, in the words of the programs that test JavaScript: TAP, jest, vitest, mocha.

Readers as `policy.failing` wants them: the failures, none if the output is another program's, None if some may be
missing. May import: nothing of ours.
"""

from __future__ import annotations

import re

_TAP_PLAN = re.compile(r"^1\.\.\d+\s*(?:#.*)?$", re.MULTILINE)
_TAP_TEST = re.compile(r"^\s*not ok \d+(?: -)? ?(.*)$", re.MULTILINE)
_TAP_EXCUSED = re.compile(r"#\s*(?:todo|skip)\b", re.IGNORECASE)
_JEST_END = re.compile(r"^Tests: +(?:(\d+) failed, )?", re.MULTILINE)
_JEST_SUITES = re.compile(r"^Test Suites: +(?:(\d+) failed, )?", re.MULTILINE)
_JEST_FILE = re.compile(r"^\s*FAIL (?:\S+ )?(\S+?)(?: \([\d.]+ m?s\))?$")
_JEST_TEST = re.compile(r"^  ● (.+)$")
_JEST_BROKEN = "Test suite failed to run"
_VITEST_END = re.compile(r"^ +Tests +(\d+) failed", re.MULTILINE)
_VITEST_FILES = re.compile(r"^ +Test Files +(\d+) failed", re.MULTILINE)
_VITEST_TEST = re.compile(r"^ FAIL +(\S.*)$", re.MULTILINE)
_MOCHA_END = re.compile(r"^ +(\d+) failing$", re.MULTILINE)
_MOCHA_TEST = re.compile(r"^ +(\d+)\) (.+)$")


def read_tap(text: str) -> list[str] | None:
    """Lines `not ok`, but for those that are to do or skipped; what is nested counts with what it stands in."""
    if not _TAP_PLAN.search(text):
        return []
    return [name for name in _TAP_TEST.findall(text) if not _TAP_EXCUSED.search(name)]


def read_jest(text: str) -> list[str] | None:
    """`●` and a name, below `FAIL` and a file; a failure may be told twice."""
    end, suites = _JEST_END.search(text), _JEST_SUITES.search(text)
    if not end or not suites:
        return []
    tests: set[str] = set()
    broken: set[str] = set()
    file = ""
    for line in text.splitlines():
        if named := _JEST_FILE.match(line):
            file = named[1]
        elif test := _JEST_TEST.match(line):
            kept = broken if test[1] == _JEST_BROKEN else tests
            kept.add(file if test[1] == _JEST_BROKEN else f"{file} {test[1]}")
    whole = len(tests) == int(end[1] or 0) and len(tests) + len(broken) >= int(suites[1] or 0)
    return sorted(tests | broken) if whole else None


def read_vitest(text: str) -> list[str] | None:
    """`FAIL`, a file, and behind `>` the test; a file alone could not be run."""
    end, files = _VITEST_END.search(text), _VITEST_FILES.search(text)
    if not end and not files:
        return []
    found = {name for line in _VITEST_TEST.findall(text) if (name := line.partition(" [")[0].strip())}
    tests = [name for name in found if " > " in name]
    return sorted(found) if found and len(tests) == int(end[1] if end else 0) else None


def read_mocha(text: str) -> list[str] | None:
    """The numbered list behind `N failing`: a name over several lines, which ends in a colon."""
    end = _MOCHA_END.search(text)
    if not end:
        return []
    found: list[str] = []
    name: list[str] = []
    for line in text[end.end() :].splitlines():
        if (test := _MOCHA_TEST.match(line)) and int(test[1]) == len(found) + 1:
            name = [test[2]]
        elif name and line.strip():
            name.append(line.strip())
        if name and name[-1].endswith(":"):
            found.append(" ".join(name).removesuffix(":"))
            name = []
    return found if len(found) == int(end[1]) else None
