"""Diffs that git itself can apply."""

import subprocess
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agi.workspace.diffs import summary, unified_diff


def test_a_changed_file_is_shown_with_its_surroundings():
    """Three lines around each change, as is the custom."""
    before = "".join(f"{number}\n" for number in range(1, 21))
    after = before.replace("10\n", "ten\n")

    assert unified_diff("n.txt", before, after) == (
        "diff --git a/n.txt b/n.txt\n--- a/n.txt\n+++ b/n.txt\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    )


def test_files_that_come_go_and_move_are_told_apart():
    """An empty file is not a missing one."""
    assert unified_diff("a", None, "x\n") == (
        "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+x\n"
    )
    assert unified_diff("a", "x", None) == (
        "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n"
        "@@ -1,1 +0,0 @@\n-x\n\\ No newline at end of file\n"
    )
    assert unified_diff("a", None, "") == "diff --git a/a b/a\nnew file mode 100644\n"
    assert unified_diff("a", "x", "x", new_path="b") == "diff --git a/a b/b\nrename from a\nrename to b\n"
    assert unified_diff("a", "x", "x") == ""


def test_a_name_that_would_break_the_header_is_quoted():
    """Otherwise a file name could pass for part of the diff."""
    assert '"a/a\\012b"' in unified_diff("a\nb", None, "x")


def test_a_summary_counts_files_and_lines():
    """Lines that look like headers are lines all the same."""
    patch = unified_diff("a", "x\n-- y\n", "x\n++ z\n+1\n") + unified_diff("b", "gone\n", None)

    assert summary(patch) == {"files": 2, "additions": 2, "deletions": 2}


def test_a_text_with_everything_changed_takes_no_time():
    """Where comparing would take long, all is shown as replaced."""
    before, after = "a\nb\n" * 20_000, "b\nb\na\n" * 15_000
    started = time.perf_counter()

    patch = unified_diff("x", before, after)

    assert time.perf_counter() - started < 2
    assert summary(patch)["files"] == 1


TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "b\r\n", "\n", "c\u2028d\n", "\x0c\n", "e"]), max_size=25).map("".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("apply")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.none() | TEXTS, after=st.none() | TEXTS)
def test_git_applies_what_we_write(folder, before, after):
    """Whatever the texts, git makes the one of the other."""
    file = folder / "f"
    file.unlink(missing_ok=True)
    if before is not None:
        file.write_bytes(before.encode())

    patch = unified_diff("f", before, after)
    if patch:
        subprocess.run(["git", "apply", "-p1", "-"], input=patch.encode(), cwd=folder, check=True, capture_output=True)

    assert (file.read_bytes().decode() if file.exists() else None) == after
