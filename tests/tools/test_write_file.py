"""write_file: a whole file."""

import os


async def test_a_new_file_is_written_and_shown_as_a_diff(desk):
    """Folders are made; the result says where and how much."""
    result = await desk.use("write_file", path="./src/new.py", content="x = 'é'\n")

    assert desk.tree() == {"src/new.py": "x = 'é'\n".encode()}
    assert (result.ok, result.changed) == (True, True)
    assert result.result == {"path": "src/new.py", "bytes": 9}
    assert result.artifact.summary == {"files": 1, "additions": 1, "deletions": 0}
    assert "new file" in result.artifact.patch
    assert result.parts[0].text == "Created src/new.py (9 bytes)."


async def test_a_file_is_replaced_with_its_mode(desk):
    """The diff shows the change against what was there."""
    file = desk.write("run.sh", "old\nsame\n")
    os.chmod(file, 0o755)

    result = await desk.use("fs.write", path="run.sh", content="new\nsame\n")

    assert file.read_text() == "new\nsame\n"
    assert file.stat().st_mode & 0o777 == 0o755
    assert result.artifact.patch.endswith("@@ -1,2 +1,2 @@\n-old\n+new\n same\n")


async def test_what_was_no_text_is_replaced_without_a_diff(desk):
    """There is nothing to compare with."""
    desk.write("a", b"\xff\0")

    result = await desk.use("write_file", path="a", content="text")

    assert result.ok
    assert not result.artifact
    assert desk.tree() == {"a": b"text"}


async def test_places_that_are_off_limits_stay_untouched(desk):
    """Hooks, git's configuration, our own folder, folders and pipes."""
    (desk.root / "folder").mkdir()
    os.mkfifo(desk.root / "pipe")
    for path in (".git/hooks/pre-commit", ".git/config", ".GIT/config", ".agi/config.json", "folder", "pipe"):
        result = await desk.use("write_file", path=path, content="x")
        assert not result.ok, path
        assert not result.changed

    assert desk.tree() == {}
