"""apply_patch: all or nothing."""

import os

import pytest


def patch(*lines):
    return {"patch": "\n".join(["*** Begin Patch", *lines, "*** End Patch"])}


async def test_a_patch_changes_several_files_at_once(desk):
    """Added, changed, moved and deleted; told by letters and as one diff."""
    desk.write("a.txt", "1\r\n2\r\n")
    desk.write("b.txt", "x\n")
    desk.write("c.txt", "y\n")

    result = await desk.use(
        "apply_patch",
        **patch(
            *("*** Update File: a.txt", "@@", "-1", "+one"),
            *("*** Update File: b.txt", "*** Move to: sub/b.txt", "@@", "-x", "+z"),
            *("*** Delete File: c.txt", "*** Add File: new/d.txt", "+d"),
        ),
    )

    assert desk.tree() == {"a.txt": b"one\r\n2\r\n", "sub/b.txt": b"z\n", "new/d.txt": b"d\n"}
    assert (result.ok, result.changed) == (True, True)
    assert result.parts[0].text == "Changed:\nM a.txt\nR sub/b.txt\nD c.txt\nA new/d.txt"
    assert result.result["files"][0] == {"path": "a.txt", "change": "modified"}
    assert result.artifact.patch_format == "unified"
    assert result.artifact.summary == {"files": 4, "additions": 3, "deletions": 3}


@pytest.mark.parametrize(
    "bad",
    [
        ["*** Update File: b.txt", "@@", "-stale", "+x"],
        ["*** Update File: gone.txt", "@@", "-x", "+y"],
        ["*** Delete File: gone.txt"],
        ["*** Delete File: folder"],
        ["*** Add File: folder", "+x"],
        ["*** Add File: .git/hooks/pre-commit", "+x"],
        ["*** Add File: ../out.txt", "+x"],
        ["*** Add File: b.txt/below", "+x"],
        ["*** Update File: b.txt", "*** Move to: .agi/config.json"],
        ["*** Update File: latin.txt", "@@", "-x", "+y"],
        ["*** Update File: b.txt", "nonsense"],
    ],
)
async def test_one_section_that_fails_leaves_every_file_as_it_was(desk, bad):
    """Also those whose own change was fine, wherever the bad one stands."""
    desk.write("a.txt", "1\n")
    desk.write("b.txt", "x\n")
    desk.write("latin.txt", b"x\n\xe9\n")
    desk.write("folder/f", "f")
    before = desk.tree()
    good = ["*** Update File: a.txt", "@@", "-1", "+2", "*** Add File: made/new.txt", "+n"]

    for lines in ([*good, *bad], [*bad, *good]):
        result = await desk.use("apply_patch", **patch(*lines))
        assert not result.ok
        assert not result.changed
        assert result.error

    assert desk.tree() == before
    assert not (desk.root / "made").exists()


async def test_a_stale_hunk_is_explained(desk):
    """The model is told which hunk, what was looked for and what to do."""
    desk.write("a.txt", "new content\n")

    result = await desk.use("apply_patch", **patch("*** Update File: a.txt", "@@", "-old content", "+x"))

    assert "Hunk 1 of 'a.txt' has no place" in result.error
    assert "old content" in result.error
    assert "Read the file again" in result.error


async def test_marks_modes_and_encodings_survive(desk):
    """A byte order mark, the executable bit, and bytes of other lines."""
    file = desk.write("a.sh", b"\xef\xbb\xbfone\r\ntw\xc3\xb6\n")
    os.chmod(file, 0o755)

    await desk.use("apply_patch", **patch("*** Update File: a.sh", "@@", "-one", "+eins"))

    assert file.read_bytes() == b"\xef\xbb\xbfeins\r\ntw\xc3\xb6\n"
    assert file.stat().st_mode & 0o777 == 0o755


async def test_a_patch_without_effect_says_so(desk):
    """It is no failure; there was nothing to do."""
    desk.write("a", "x\n")

    result = await desk.use("apply_patch", **patch("*** Update File: a", "@@", "-x", "+x"))

    assert result.ok
    assert result.parts[0].text.startswith("Nothing to change")


async def test_a_failure_while_writing_puts_everything_back(desk, monkeypatch):
    """When the disk fails at the last file, the first ones are as before."""
    desk.write("a", "1\n")
    desk.write("b", "1\n")
    rename, seen = os.rename, []

    def fail_second(*args, **kwargs):
        seen.append(args)
        if len(seen) == 2:
            raise OSError(5, "I/O error")
        return rename(*args, **kwargs)

    monkeypatch.setattr(os, "rename", fail_second)
    result = await desk.use("apply_patch", **patch("*** Update File: a", "-1", "+2", "*** Update File: b", "-1", "+2"))

    assert not result.ok
    assert desk.tree() == {"a": b"1\n", "b": b"1\n"}
