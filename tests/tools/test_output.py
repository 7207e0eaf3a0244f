"""Artifacts: private, bounded, hashed; and diffs that may be too long to stand in a result."""

import hashlib
import os
import stat

import msgspec
import pytest

from agi.redaction import Redactor
from agi.tools.output import INLINE_DIFF_LIMIT, ArtifactFile, diff_artifact, printable
from agi.workspace.diffs import unified_diff


def stored(desk, ref):
    return desk.session / ref


def test_an_artifact_is_private_and_describes_itself(desk):
    """Nobody else may read it; its size and hash are those of the file."""
    file = ArtifactFile(desk.context, "out.log")
    file.write(b"one ")
    file.write(b"two")
    file.close()
    artifact = file.artifact()
    path = stored(desk, artifact.path)

    assert path.read_bytes() == b"one two"
    assert (artifact.size, artifact.sha256) == (7, hashlib.sha256(b"one two").hexdigest())
    assert artifact.id.startswith("art_")
    assert artifact.path.startswith(desk.context.artifact_ref + "/out-")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700


def test_an_artifact_is_bounded(desk):
    """What does not fit is dropped and remembered as dropped."""
    file = ArtifactFile(desk.context, "out.log", limit=5)
    for _ in range(3):
        file.write(b"abc")
    file.close()

    assert file.truncated
    assert stored(desk, file.ref).read_bytes() == b"abcab"
    assert file.artifact().size == 5


@pytest.mark.threat("T37")
def test_an_artifact_holds_no_known_secret_and_keeps_its_length(desk):
    """Also where a secret comes in two pieces, or is the last that comes; its hash is that of the file."""
    context = msgspec.structs.replace(desk.context, redactor=Redactor(["sk-0123456789"]))
    file = ArtifactFile(context, "out.log")
    for piece in (b"one sk-01234", b"56789 two \xff sk-0123", b" three sk-0123456789"):
        file.write(piece)
    file.close()
    file.close()

    held = stored(desk, file.ref).read_bytes()
    assert held == b"one ************* two \xff sk-0123 three *************"
    assert (file.artifact().size, file.artifact().sha256) == (len(held), hashlib.sha256(held).hexdigest())


def test_a_planted_link_in_place_of_the_folder_is_refused(desk, tmp_path):
    """A command that put a link there does not choose where files go."""
    (tmp_path / "elsewhere").mkdir()
    desk.context.artifacts.parent.mkdir()
    desk.context.artifacts.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError):
        ArtifactFile(desk.context, "out.log")

    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_diff_stands_in_the_result_unless_it_is_very_long(desk):
    """A long one is kept as a file, with the same summary."""
    short = diff_artifact(desk.context, unified_diff("a", "x\n", "y\n"))
    long = diff_artifact(desk.context, unified_diff("a", None, "y" * INLINE_DIFF_LIMIT + "\n"))

    assert (short.kind, short.path, short.patch_format) == ("file_diff", "", "unified")
    assert short.patch.endswith("-x\n+y\n")
    assert short.summary == {"files": 1, "additions": 1, "deletions": 1}
    assert (long.kind, long.patch, long.summary) == ("file_diff", "", {"files": 1, "additions": 1, "deletions": 0})
    assert stored(desk, long.path).stat().st_size == long.size


def test_a_name_in_another_encoding_can_be_shown():
    """What cannot be UTF-8 becomes a question mark."""
    assert printable(os.fsdecode(b"caf\xe9")) == "caf?"
