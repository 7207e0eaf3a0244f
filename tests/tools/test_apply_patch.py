"""apply_patch: all or nothing."""

import os

import pytest
from msgspec import UNSET

from agi.workspace import replace
from agi.workspace.digests import digest
from agi.workspace.unfinished import Note, Step


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
    hunks = [{"line": 1, "lines": 1, "matched": "exact"}]
    assert result.result["files"][0] == {"path": "a.txt", "change": "modified", "hunks": hunks}
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
    """The model is told which hunk, what was looked for, what is nearest and what to do."""
    desk.write("a.txt", "one\nnew content\nthree\n")

    patched = patch("*** Update File: a.txt", "@@", "-one", "+1", "@@", "-old content", "+x", " three")
    result = await desk.use("apply_patch", **patched)

    assert "'a.txt': 1 of 2 hunks could not be applied." in result.error
    assert "Hunk 1: line 1, exact." in result.error
    assert "Hunk 2: not found. Looked for:\nold content\nthree\n" in result.error
    assert "Nearest is line 2, where 1 of 2 lines agree:\n1| one\n2| new content" in result.error
    assert "Nothing was changed" in result.error


async def test_it_is_told_where_hunks_were_found_and_how(desk):
    """For the model where it is not as written, for programs always."""
    desk.write("a.txt", "1\n2\nsome line  \nother line\n")
    diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n some line\n-other line\n+x\n"

    result = await desk.use("apply_patch", patch=diff)

    told = "Changed:\nM a.txt\n  hunk 1 at line 3: ignoring trailing blanks, drifted by 2 lines down"
    assert result.parts[0].text == told
    assert result.result["files"][0]["hunks"] == [
        {"line": 3, "lines": 2, "matched": "ignoring trailing blanks", "drift": 2}
    ]


async def test_a_patch_that_was_applied_before_changes_nothing_and_says_so(desk):
    """For each file by itself; but half of a file is neither."""
    desk.write("a", "first line\nsecond line\nthird line\n")
    desk.write("b", "x\n")
    done = ["*** Update File: a", "@@", "-1st line", "+first line", " second line"]

    result = await desk.use("apply_patch", **patch(*done, "*** Update File: b", "@@", "-x", "+y"))
    again = await desk.use("apply_patch", **patch(*done))
    half = await desk.use("apply_patch", **patch(*done, "@@", "-third line", "+3rd line"))

    assert result.parts[0].text == "Changed:\n= a (already applied)\nM b"
    assert (again.ok, again.changed, again.artifact) == (True, False, UNSET)
    assert again.parts[0].text.startswith("Nothing to change")
    assert not half.ok
    assert "Hunk 1: is already applied, at line 1; leave it out." in half.error
    assert desk.tree() == {"a": b"first line\nsecond line\nthird line\n", "b": b"y\n"}


TWO = (
    "def a():\n    config = read_config(path)\n    return config\n\n"
    "def b():\n    config = load_cfg(path)\n    return config\n"
)
STALE = ("-    config = load_config(path)", "+    config = read_config(path)")


@pytest.mark.parametrize(
    "lines",
    [
        ["*** Update File: f.py", "@@ def b():", *STALE],
        ["*** Update File: f.py", "@@ def b():", *STALE, "     return config"],
        ["*** Update File: f.py", "@@ def a():", "@@ def b():", *STALE],
        ["*** Update File: f.py", "@@ def gone():", *STALE],
        ["*** Update File: f.py", "@@", *STALE],
        ["*** Update File: f.py", "@@", *STALE, "     return config"],
    ],
)
async def test_a_stale_hunk_is_not_taken_for_applied_because_its_new_lines_stand_elsewhere(desk, lines):
    """Nor is the other half of the patch made then."""
    desk.write("f.py", TWO)
    desk.write("other", "x\n")
    before = desk.tree()

    result = await desk.use("apply_patch", **patch("*** Update File: other", "@@", "-x", "+y", *lines))

    assert (result.ok, result.changed) == (False, False)
    assert "already" not in result.error
    assert desk.tree() == before


async def test_only_what_was_shown_for_approval_is_done(desk):
    """A preview is exact; when the file changed since, nothing is done."""
    desk.write("a", "1\n2\n3\n")
    asked = patch("*** Update File: a", "@@", "-2", "+two")
    shown = desk.propose("apply_patch", **asked)
    desk.approved = shown.digest
    desk.write("a", "1\n2\n3\nmore\n")

    refused = await desk.use("apply_patch", **asked)
    desk.write("a", "1\n2\n3\n")
    done = await desk.use("apply_patch", **asked)

    assert "changed since this change was approved" in refused.error
    assert done.artifact.patch == shown.diff


async def test_a_change_of_which_nothing_could_be_shown_is_not_made(desk):
    """What was approved was nothing."""
    asked = patch("*** Update File: a", "@@", "-2", "+two")
    desk.approved = desk.propose("apply_patch", **asked).digest
    desk.write("a", "2\n")

    assert not (await desk.use("apply_patch", **asked)).ok
    assert desk.tree() == {"a": b"2\n"}


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

    assert (result.ok, result.changed) == (True, False)
    assert result.parts[0].text.startswith("Nothing to change")


async def test_a_failure_while_writing_puts_everything_back(desk, monkeypatch):
    """When the disk fails at the last file, the first ones are as before."""
    desk.write("a", "1\n")
    desk.write("b", "1\n")
    exchange, seen = replace.exchange, []

    def fail_second(*args):
        seen.append(args)
        if len(seen) == 2:
            raise OSError(5, "I/O error")
        return exchange(*args)

    monkeypatch.setattr(replace, "exchange", fail_second)
    result = await desk.use("apply_patch", **patch("*** Update File: a", "-1", "+2", "*** Update File: b", "-1", "+2"))

    assert not result.ok
    assert desk.tree() == {"a": b"1\n", "b": b"1\n"}


async def test_a_link_stays_and_the_file_it_names_is_changed(desk):
    """Inside the workspace; one that leads out is refused."""
    desk.write("real.txt", "x\n")
    (desk.root / "link.txt").symlink_to("real.txt")
    (desk.root / "out.txt").symlink_to("../session/x")

    result = await desk.use("apply_patch", **patch("*** Update File: link.txt", "@@", "-x", "+y"))
    refused = await desk.use("apply_patch", **patch("*** Update File: out.txt", "@@", "-x", "+y"))

    assert result.parts[0].text == "Changed:\nM real.txt"
    assert os.readlink(desk.root / "link.txt") == "real.txt"
    assert (desk.root / "real.txt").read_text() == "y\n"
    assert not refused.ok


async def test_a_kill_in_the_middle_is_put_back_by_the_next_change(desk):
    """The note of what was half done is found in the session's folder."""
    desk.write("a", "half done\n")
    desk.write(".0.tmp", "before\n")
    step = Step("a", ".0.tmp", ".1.tmp", digest(b"before\n"), digest(b"half done\n"))
    Note(desk.session / "unfinished", [step, step]).close(settled=False)

    await desk.use("apply_patch", **patch("*** Add File: b", "+x"))

    assert desk.tree() == {"a": b"before\n", "b": b"x\n"}
