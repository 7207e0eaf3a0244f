"""write_file: a whole file."""

import os

from agi.editing.seen import Seen


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


async def test_what_is_there_already_is_left_alone_and_it_is_said(desk):
    """No bytes changed, so nothing counts as changed."""
    desk.write("a", "same\r\n")

    result = await desk.use("write_file", path="a", content="same\n")

    assert (result.ok, result.changed) == (True, False)
    assert result.parts[0].text == "Left as it was: a (6 bytes). Its line endings were kept."


async def test_a_file_is_replaced_only_by_a_session_that_knows_it(desk):
    """Else it is shown how it begins; after writing it, the session knows it."""
    desk.seen = Seen()
    desk.write("a", "theirs\n")

    refused = await desk.use("write_file", path="a", content="ours\n")
    await desk.use("write_file", path="b", content="1\n")
    again = await desk.use("write_file", path="b", content="2\n")

    assert not refused.ok
    assert "you have not read it. It begins now:\n1| theirs" in refused.error
    assert "Read it with read_file first" in refused.error
    assert again.ok
    assert desk.tree() == {"a": b"theirs\n", "b": b"2\n"}


async def test_reading_a_file_is_what_makes_it_known(desk):
    """As it was then: if it changes afterwards, it must be read again."""
    desk.seen = Seen()
    desk.write("a", "1\n")
    await desk.use("read_file", path="a")
    desk.write("a", "2\n")

    stale = await desk.use("write_file", path="a", content="x\n")
    await desk.use("read_file", path="a")
    fresh = await desk.use("write_file", path="a", content="x\n")

    assert "'a' changed since you last read it. It begins now:\n1| 2" in stale.error
    assert fresh.ok


async def test_what_was_no_text_is_left_alone(desk):
    """Nothing of how it is written could be kept."""
    desk.write("a", b"caf\xe9\n")

    result = await desk.use("write_file", path="a", content="text")

    assert (result.ok, result.changed) == (False, False)
    assert "byte 0xe9 at offset 3" in result.error
    assert desk.tree() == {"a": b"caf\xe9\n"}


async def test_a_file_of_which_only_some_lines_were_read_is_not_replaced(desk):
    """It is said which lines are missing; pages add up, and changing parts of it is possible all the while."""
    desk.seen = Seen()
    desk.write("big", "".join(f"{number}\n" for number in range(1, 5001)))
    await desk.use("read_file", path="big", start_line=1, end_line=2)

    refused = await desk.use("write_file", path="big", content="x\n")
    edited = await desk.use("edit", path="big", old_text="4321", new_text="one")
    for start in (2001, 1, 4001):
        await desk.use("read_file", path="big", start_line=start)
    written = await desk.use("write_file", path="big", content="x\n")

    assert "read only a part of it: lines 3-5000 were not shown" in refused.error
    assert (edited.ok, written.ok) == (True, True)
    assert desk.tree() == {"big": b"x\n"}


async def test_places_that_are_off_limits_stay_untouched(desk):
    """Hooks, git's configuration, our own folder, folders and pipes."""
    (desk.root / "folder").mkdir()
    os.mkfifo(desk.root / "pipe")
    for path in (".git/hooks/pre-commit", ".git/config", ".GIT/config", ".agi/config.json", "folder", "pipe"):
        result = await desk.use("write_file", path=path, content="x")
        assert not result.ok, path
        assert not result.changed

    assert desk.tree() == {}
