"""Changes as diffs: those git could apply, and a word for what is no text."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agi.checkpoints import diffing
from agi.checkpoints.diffing import told
from agi.checkpoints.nodes import Change, Node, key_of

BLOBS: dict[bytes, bytes] = {}


def node(data: bytes, mode: int = 0o644, kind: str = "file") -> Node:
    BLOBS[key_of(data)] = data
    return Node(kind, mode, len(data), key_of(data))  # type: ignore[arg-type]


def fetch(one: Node) -> bytes | None:
    return BLOBS.get(one.key)


def test_each_file_has_a_diff_and_all_together_a_sum():
    """By path, with the lines counted."""
    found = told([Change("b", None, node(b"1\n2\n")), Change("a", node(b"1\n"), node(b"2\n"))], fetch)

    assert [(one.path, one.status) for one in found.files] == [("a", "modified"), ("b", "added")]
    assert found.summary == {"files": 2, "additions": 3, "deletions": 1}
    assert found.files[0].artifact.patch == "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-1\n+2\n"
    assert (found.files[0].artifact.kind, found.files[0].artifact.patch_format) == ("file_diff", "unified")


def test_modes_links_renames_and_deletions_are_told_as_git_tells_them():
    """In the header, where a patch program looks for them."""
    found = told(
        [
            Change("run", node(b"1\n"), node(b"1\n", 0o755)),
            Change("new", None, node(b"1\n", 0o755)),
            Change("link", None, node(b"run", 0, "link")),
            Change("old name", node(b"moved\n"), None),
            Change("new name", None, node(b"moved\n")),
            Change("gone", node(b"2\n"), None),
        ],
        fetch,
    )
    by_path = {one.path: one for one in found.files}

    assert by_path["run"].artifact.patch == "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
    assert "new file mode 100755\n" in by_path["new"].artifact.patch
    assert "new file mode 120000\n" in by_path["link"].artifact.patch
    assert "deleted file mode 100644\n" in by_path["gone"].artifact.patch
    assert (by_path["new name"].status, by_path["new name"].old_path) == ("renamed", "old name")
    assert "rename from old name\nrename to new name\n" in by_path["new name"].artifact.patch
    assert "old name" not in by_path


def test_what_is_no_text_is_named_only():
    """Bytes with a zero, bytes that are not UTF-8, a file whose content is not kept."""
    changes = [
        Change("zero", node(b"\0"), node(b"\0\1")),
        Change("latin", node(b"\xe9\n"), None),
        Change("large", None, Node("opaque", 0o644, 9, b"large:1")),
    ]
    found = told(changes, fetch)

    assert all(one.binary for one in found.files)
    assert found.files[2].artifact.patch == "diff --git a/zero b/zero\nBinary files a/zero and b/zero differ\n"


def test_a_name_that_is_no_text_can_be_told():
    """As JSON, whatever it is."""
    found = told([Change(os.fsdecode(b"\xff.txt"), None, node(b"1\n"))], fetch)

    assert found.files[0].path == "\\xff.txt"


def test_too_much_is_cut_and_said_to_be(monkeypatch: pytest.MonkeyPatch):
    """A long diff is left out, and so are files beyond a number; the counts are of all."""
    monkeypatch.setattr(diffing, "MOST_FILES", 2)
    monkeypatch.setattr(diffing, "LONGEST_PATCH", 300)
    found = told(
        [Change(name, None, node(b"x\n" * 200 if name == "a" else name.encode())) for name in ("a", "b", "c")], fetch
    )

    assert [(one.path, bool(one.artifact.patch)) for one in found.files] == [("a", False), ("b", True)]
    assert found.truncated
    assert found.summary["files"] == 3


def test_folders_are_not_told():
    """A folder is what is in it."""
    assert told([Change("new", None, Node("folder", 0o755))], fetch).files == ()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_can_apply_them(tmp_path: Path):
    """All kinds at once, on files with odd names and odd endings."""
    before = {"a b.txt": b"1\r\n2\r\n", "run": b"x", "gone": b"1\n", "old": b"moved\n", "deep/é": b"1\n2\n3\n"}
    after = {"a b.txt": b"1\r\n3\r\n", "run": b"x\n", "new/er": b"", "moved": b"moved\n", "deep/é": b"1\n3\n"}
    for name, data in before.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    changes = [
        Change(
            name,
            node(before[name]) if name in before else None,
            node(after[name], 0o755 if name == "run" else 0o644) if name in after else None,
        )
        for name in sorted(before.keys() | after.keys())
    ]
    patch = "".join(one.artifact.patch for one in told(changes, fetch).files)

    ran = subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch.encode(), capture_output=True)

    assert ran.returncode == 0, ran.stderr.decode() + patch
    files = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == after
    assert os.access(tmp_path / "run", os.X_OK)
