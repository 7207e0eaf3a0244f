"""`docs/threat-model.md` and the tests say the same: each row names the tests that carry its mark, and all of them run.

The marks are read from a collection by pytest itself, so that a test that was renamed, or is not found any more, shows.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "threat-model.md"
THREATS = [*(f"T{number}" for number in range(1, 57)), "T18b"]
"""Those that are to be there; more may be added, each with a row and a test."""
COLLECT = """
import json, sys, pytest

class Collector:
    def pytest_collection_finish(self, session):
        marks = [(item.nodeid.partition("[")[0], mark.name, mark.args)
                 for item in session.items for mark in item.iter_markers() if mark.name in ("threat", "advisory")]
        print("FOUND" + json.dumps(marks))

sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[Collector()]))
"""

Marked = dict[str, set[str]]
"""Tests by the threat or the advisory that they are marked with."""


@cache
def marked() -> dict[str, Marked]:
    """What pytest finds in the files that carry such marks, by the kind of the mark."""
    files = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"mark\.(threat|advisory)\(", path.read_text())
    ]
    command = [sys.executable, "-c", COLLECT, *(str(path.relative_to(ROOT)) for path in files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found: dict[str, Marked] = {"threat": defaultdict(set), "advisory": defaultdict(set)}
    for test, kind, ids in json.loads(done.stdout.split("FOUND", 1)[1].split("\n", 1)[0]):
        for id in ids:
            found[kind][id].add(test)
    return found


def rows(heading: str) -> Marked:
    """The table under a heading: the tests each row names, by each of the ids in its first cell."""
    section = PAGE.read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found: Marked = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        tests = set(re.findall(r"`(tests/[^`]+)`", cells[-1]))
        if line.startswith("| ") and tests:
            for id in cells[0].split(", "):
                assert id not in found, f"{id} has two rows"
                found[id] = tests
    return found


@pytest.mark.parametrize(
    ("heading", "kind"), [("What is tried", "threat"), ("What others were attacked with", "advisory")]
)
def test_each_row_names_the_tests_that_carry_its_mark(heading: str, kind: str) -> None:
    """No row without a test, no mark without a row, and no test in a row that is not there or not marked."""
    told, found = rows(heading), marked()[kind]

    assert told.keys() == found.keys()
    for id, tests in told.items():
        assert tests == found[id], f"{PAGE.name}, {id}: name exactly the tests that are marked with it"


def test_every_threat_of_the_list_has_a_row() -> None:
    """The list may grow; nothing falls off it."""
    assert set(THREATS) <= rows("What is tried").keys()


def test_the_page_says_what_is_not_defended() -> None:
    """A model of threats without its gaps is an advertisement."""
    assert len(re.findall(r"^- ", PAGE.read_text().split("\n## What is not held\n", 1)[1], re.MULTILINE)) >= 8
