"""Unified diffs worked into files: applied right, or refused clean."""

import shutil
import subprocess

import pytest

from agi.editing.reports import diff, told
from agi.errors import AgiError, Conflict, Invalid, NotFound

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(root, *words):
    """Ask git, as a second opinion."""
    made = subprocess.run(
        ("git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.fileMode=true", *words),
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout


def changed(folder, change, *options):
    """The diff git makes of a change, which is then undone."""
    git(folder.root, "init", "-q")
    git(folder.root, "add", "-A")
    git(folder.root, "commit", "-qm", "before")
    change()
    git(folder.root, "add", "-A")
    patch = git(folder.root, "diff", "--cached", *options)
    after = {path: data for path, data in folder.tree().items() if not path.startswith(".git/")}
    git(folder.root, "reset", "-q", "--hard")
    return patch, after


def files(folder):
    return {path: data for path, data in folder.tree().items() if not path.startswith(".git/")}


@needs_git
@pytest.mark.parametrize("options", [(), ("--no-prefix",), ("-U0",), ("-U1",), ("-M",), ("-C", "--find-copies-harder")])
def test_what_git_writes_is_applied_as_git_means_it(folder, options):
    """New, deleted, moved, copied and changed files, endings, marks, missing newlines, permissions."""
    long = "".join(f"line {n} of the file\n" for n in range(30))
    folder.write("src/long.py", long)
    folder.write("gone.txt", "bye\n")
    folder.write("empty", "")
    folder.write("crlf.txt", "a\r\nb\r\nc\r\n")
    folder.write("end.txt", "a\nb")
    folder.write("run.sh", "#!/bin/sh\n")
    folder.write("with blank ä.txt", "x\n")

    def change():
        (folder.root / "src/long.py").rename(folder.root / "moved.py")
        folder.write("moved.py", long.replace("line 7 ", "LINE 7 "))
        folder.write("copy.py", long + "one more\n")
        (folder.root / "gone.txt").unlink()
        (folder.root / "empty").unlink()
        folder.write("new/also empty", "")
        folder.write("new/file.txt", "1\n2")
        folder.write("crlf.txt", "a\r\nB\r\nc\r\nd\r\n")
        folder.write("end.txt", "a\nb\n")
        folder.write("run.sh", "#!/bin/sh\n", 0o755)
        folder.write("with blank ä.txt", "y\n")

    patch, after = changed(folder, change, *options)
    folder.apply(patch)

    assert files(folder) == after
    assert (folder.root / "run.sh").stat().st_mode & 0o777 == 0o755


def test_two_files_may_change_places(folder):
    """All parts of a diff start from the same files."""
    folder.write("a", "first\n")
    folder.write("b", "second\n")

    folder.apply(
        "diff --git a/a b/b\nrename from a\nrename to b\n"
        "diff --git a/b b/a\nrename from b\nrename to a\n--- a/b\n+++ b/a\n@@ -1 +1 @@\n-second\n+SECOND\n"
    )

    assert folder.tree() == {"a": b"SECOND\n", "b": b"first\n"}


def test_a_series_of_diffs_is_applied_one_after_another(folder):
    """The second speaks of what the first made."""
    one = "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+one\n"
    two = "diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -1 +1,2 @@\n one\n+two\n"

    folder.apply(one + two)

    assert folder.tree() == {"n": b"one\ntwo\n"}


@needs_git
def test_a_diff_made_from_this_very_file_may_go_by_its_numbers(folder):
    """Git's name for the content proves it; of another file's numbers nothing is known."""
    folder.write("f", "a\nb\n")
    patch, after = changed(folder, lambda: folder.write("f", "a\nnew\nb\n"), "-U0")
    folder.apply(patch)
    assert files(folder) == after

    folder.write("f", "z\na\nb\n")
    with pytest.raises(Conflict, match="only a line number"):
        folder.apply(patch)


@pytest.mark.parametrize(
    ("patch", "error", "says"),
    [
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+other\n", Conflict, "is there already"),
        ("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one line\n", Conflict, "holds more"),
        ("diff --git a/f b/f\ndeleted file mode 100644\n", Conflict, "holds more"),
        ("--- a/gone\n+++ b/gone\n@@ -1 +1 @@\n-a\n+b\n", NotFound, "does not exist"),
        ("--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", NotFound, "does not exist"),
        ("diff --git a/f b/g\nrename from f\nrename to g\n", Conflict, "is there already"),
        ("diff --git a/f b/g\ncopy from f\ncopy to g\n", Conflict, "is there already"),
        ("diff --git a/x b/y\nrename from x\nrename to y\n", NotFound, "does not exist"),
        ("--- /dev/null\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n", Invalid, "lines it has already"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-stale\n+b\n", Conflict, "not found"),
        ("--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n one line\n another\n+x\n", Conflict, "end of the file"),
        ("--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-a\n+b\n", AgiError, "leads out"),
        ("--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+a\n", AgiError, "inside .git"),
    ],
)
def test_what_does_not_fit_the_files_changes_nothing(folder, patch, error, says):
    """Nor does anything else in the same patch."""
    folder.write("f", "one line\nanother\na third\n")
    folder.write("g", "g\n")
    good = "--- a/f2\n+++ b/f2\n@@ -1 +1 @@\n-x\n+y\n"
    folder.write("f2", "x\n")
    before = folder.tree()

    for whole in (good + patch, patch + good):
        with pytest.raises(error, match=says):
            folder.apply(whole)

    assert folder.tree() == before


def test_what_was_applied_before_is_recognised(folder):
    """A new file, and a changed one: nothing is done, and it is said."""
    folder.write("n", "one\n")
    folder.write("f", "kept line\nnew line\n")
    patch = (
        "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+one\n"
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n kept line\n-old line\n+new line\n"
    )

    draft = folder.apply(patch)

    assert [one.text() for one in told(draft)] == ["= n (already applied)", "= f (already applied)"]
    assert draft.changes() == []


def test_a_change_of_permissions_is_shown(folder):
    """With a new file, and with one that is there."""
    folder.write("f", "x\n")

    draft = folder.draft("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n")
    made = folder.draft("diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n")

    assert diff(draft) == "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
    assert "new file mode 100755\n--- /dev/null" in diff(made)
    assert draft.changes()[0].mode == 0o755
