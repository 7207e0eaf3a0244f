"""`scripts/run-tests`: what fails once by chance is named and stops nothing; what fails is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "run-tests"
ONCE = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("n", range({count}))
def test_the_second_time(n, tmp_path):
    mark = Path(__file__).with_name(f"seen{{n}}")
    seen = mark.exists()
    mark.touch()
    assert seen

def test_always():
    assert True
"""


def run(folder: Path, source: str, name: str = "test_some.py") -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(source)
    env = {**os.environ, "PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(SCRIPT), "-q", "-p", "no:schemathesis", name]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("count", [1, 3])
def test_what_passes_the_second_time_is_named_and_stops_nothing(tmp_path: Path, count: int) -> None:
    """So that it is mended, and holds nobody up meanwhile."""
    done = run(tmp_path, ONCE.format(count=count))

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} failed, 1 passed" in done.stdout
    told = [line for line in done.stdout.splitlines() if line.startswith("UNSTEADY")]
    assert told == [f"UNSTEADY, to be mended: test_some.py::test_the_second_time[{n}]" for n in range(count)]


def test_what_may_have_lost_something_is_not_tried_again(tmp_path: Path) -> None:
    """A kill that loses an event once in a thousand times has lost it."""
    done = run(tmp_path, ONCE.format(count=1), "tests/torture/test_some.py")

    assert done.returncode != 0
    assert "UNSTEADY" not in done.stdout


@pytest.mark.parametrize(
    "source",
    ["def test_never():\n    assert False\n", ONCE.format(count=4), "import nothing_of_this_name\n", "x = 1\n"],
    ids=["fails again", "more than three", "cannot be read", "no test at all"],
)
def test_a_failure_is_a_failure(tmp_path: Path, source: str) -> None:
    """Nothing else is taken for chance."""
    done = run(tmp_path, source)

    assert done.returncode != 0
    assert "UNSTEADY" not in done.stdout
