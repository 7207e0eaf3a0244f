"""Whether a test program may have stopped before it had run everything; what it did not run may fail as well.

Programs stop at a failure when told to, when a file cannot be loaded or built, or when they crash. Each sign here is
one program's; where a program leaves none, an option by which it would stop is looked for in the command and in what
was printed. In doubt it has stopped. May import: nothing of ours.
"""

from __future__ import annotations

import re

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_OPTION = re.compile(
    r"(?<![\w-])(?:--?fail-?fast|--(?:bail|exitfirst|maxfail|lf|last-failed|sw|stepwise|onlyFailures))(?![\w-])"
)
_SAID = re.compile(
    r"^(?:"
    r"!+ .+ !+$"  # pytest: interrupted, or stopping after so many failures
    r"|INTERNALERROR>"
    r"|error: could not compile "  # cargo builds all before it runs any
    r"|Bail out!"
    r"|Test Suites: .* \d+ of \d+ total"  # jest
    r"| +(?:Test Files|Tests) .*\d skipped"  # vitest counts what it did not come to as skipped
    r")",
    re.MULTILINE,
)
_CARGO_FAST = "test failed, to rerun pass "
_CARGO_ALL = re.compile(r"^error: \d+ targets? failed:", re.MULTILINE)
_GO_PACKAGE = re.compile(r"(?:ok  |FAIL)\t\S+(\t)?")
_TAP_PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)
_TAP_RESULT = re.compile(r"^(?:not )?ok\b", re.MULTILINE)
_UNITTEST_END = re.compile(r"^Ran \d+ tests? in ", re.MULTILINE)
_UNITTEST_FAILURE = re.compile(r"^(?:FAIL|ERROR): ", re.MULTILINE)
_UNITTEST_LINE = re.compile(r" \.\.\. (ok|skipped|expected|FAIL|ERROR|unexpected)")
_UNITTEST_DOTS = re.compile(r"[.FEsxu]+")
_RULE = "=" * 70
_MOCHA_END = re.compile(r"^ +(\d+) failing$", re.MULTILINE)
_MOCHA_PASSING = re.compile(r"^ +\d+ passing\b", re.MULTILINE)
_MOCHA_LINE = re.compile(r"^ +(?:(\d+\))|[✔✓√-]) ", re.MULTILINE)
_MOST_AT_A_STOP = 4
"""More failures than one test and what cleans up behind it can give; so it went on after the first."""


def may_have_stopped(command: str, output: str) -> bool:
    """Tell whether some of what a command should have run may not have been run."""
    text = _COLOUR.sub("", output).replace("\r\n", "\n")
    if _OPTION.search(command) or _OPTION.search(text) or _SAID.search(text):
        return True
    return _cargo(text) or _go(text) or _tap(text) or _unittest(text) or _mocha(text)


def _cargo(text: str) -> bool:
    """Without --no-fail-fast it ends with the first target that failed."""
    return _CARGO_FAST in text and not _CARGO_ALL.search(text)


def _go(text: str) -> bool:
    """A package that ran to its end says `FAIL` before go says so of it; one that crashed does not."""
    ended = False
    for line in text.splitlines():
        if line == "FAIL":
            ended = True
        elif package := _GO_PACKAGE.match(line):
            if line.startswith("FAIL") and package[1] and not ended:
                return True
            ended = False
    return False


def _tap(text: str) -> bool:
    """Fewer results than were planned."""
    planned = sum(int(number[:9]) for number in _TAP_PLAN.findall(text))
    return planned > len(_TAP_RESULT.findall(text))


def _unittest(text: str) -> bool:
    """It says nothing of stopping; but then nothing comes after the failure."""
    return any(_unittest_run(run) for run in _UNITTEST_END.split(text)[:-1])


def _unittest_run(text: str) -> bool:
    failures = len(_UNITTEST_FAILURE.findall(text))
    if not 0 < failures <= _MOST_AT_A_STOP:
        return False
    before = text.partition(_RULE)[0]
    told = "".join("P" if word in ("ok", "skipped", "expected") else "F" for word in _UNITTEST_LINE.findall(before))
    last = before.rstrip().rpartition("\n")[2]
    if not told and _UNITTEST_DOTS.fullmatch(last):
        told = "".join("F" if one in "FEu" else "P" for one in last)
    return not _went_on(told)


def _mocha(text: str) -> bool:
    """Neither does this one."""
    end, passing = _MOCHA_END.search(text), _MOCHA_PASSING.search(text)
    if not end or int(end[1][:9]) > _MOST_AT_A_STOP:
        return False
    before = text[: (passing or end).start()]
    return not _went_on("".join("F" if failed else "P" for failed in _MOCHA_LINE.findall(before)))


def _went_on(told: str) -> bool:
    """Whether something passed after the last failure, or after an earlier one."""
    return "P" in told.lstrip("P") or (bool(told) and "F" not in told)
