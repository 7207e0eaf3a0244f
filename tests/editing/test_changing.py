"""Changes carried out: together, undisturbed, and as approved."""

import subprocess
import sys
import threading

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agi.editing.changing import change_files
from agi.editing.reading import read_patch
from agi.editing.sections import take_patch
from agi.editing.seen import Seen, Shown
from agi.editing.texts import edit_text, write_text
from agi.errors import AgiError, Conflict
from agi.workspace.digests import digest
from agi.workspace.handle import Workspace


def envelope(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_one_stale_file_leaves_all_the_others_as_they_were(folder):
    """Wherever it stands among them."""
    for name in "abc":
        folder.write(name, f"{name}\n")
    before = folder.tree()
    sections = [["*** Update File: a", "-a", "+A"], ["*** Update File: b", "-stale", "+B"], ["*** Add File: d", "+d"]]

    for order in (sections, sections[::-1], [sections[1], sections[0], sections[2]]):
        with pytest.raises(Conflict):
            folder.apply(envelope(*(line for section in order for line in section)))
        assert folder.tree() == before


def test_only_the_change_that_was_approved_is_made(folder):
    """If a file changed since, it is refused, also where the patch would still fit."""
    folder.write("a", "1\n2\n")
    patch = envelope("*** Update File: a", "-1", "+one")
    approved = folder.draft(patch).digest()
    folder.write("a", "1\n3\n")

    with pytest.raises(Conflict) as caught:
        folder.apply(patch, approved=approved)

    assert caught.value.code == "changed_since_approval"
    assert folder.tree() == {"a": b"1\n3\n"}
    folder.apply(patch, approved=folder.draft(patch).digest())
    assert folder.tree() == {"a": b"one\n3\n"}


def test_the_session_knows_what_it_wrote(folder):
    """What it made or knew before it may replace; of what it saw only parts of, it knows no more than before."""
    seen = Seen()
    folder.write("b", "x\n")
    folder.apply(envelope("*** Add File: a", "+1", "*** Update File: b", "-x", "+y"), seen=seen)
    assert (seen.digest("a"), seen.digest("b")) == (digest(b"1\n"), None)

    folder.apply(envelope("*** Update File: a", "-1", "+2"), seen=seen)
    assert seen.digest("a") == digest(b"2\n")

    folder.write("a", "2\nsomeone's line\n")
    folder.apply(envelope("*** Update File: a", "-2", "+3"), seen=seen)
    assert seen.digest("a") == digest(b"2\n")

    folder.apply(envelope("*** Update File: b", "*** Move to: c"), seen=seen)
    folder.apply(envelope("*** Delete File: c"), seen=seen)
    assert seen.digest("c") is None


def test_what_was_seen_in_part_or_not_at_all_stays_so_when_it_is_changed_or_moved(folder):
    """Moving a file is not reading it."""
    seen = Seen()
    for name in "abc":
        folder.write(name, "1\n2\n")
    seen.note("a", digest(b"1\n2\n"), shown=Shown([range(1)], 2))
    seen.note("b", digest(b"1\n2\n"))

    folder.apply(envelope("*** Update File: a", "-1", "+one"), seen=seen)
    assert (seen.digest("a"), seen.unshown("a")) == (digest(b"one\n2\n"), range(0))

    moves = [line for name in "abc" for line in (f"*** Update File: {name}", f"*** Move to: new/{name}")]
    folder.apply(envelope(*moves), seen=seen)

    assert seen.unshown("new/a") is not None
    assert (seen.digest("new/b"), seen.unshown("new/b")) == (digest(b"1\n2\n"), None)
    assert seen.digest("new/c") is None


def test_someone_who_writes_between_reading_and_replacing_is_not_overwritten(folder):
    """What they wrote is shown instead."""
    folder.write("a", "1\n")
    folder.write("b", "1\n")

    def work(draft):
        for name in "ab":
            edit_text(draft, name, "1", "2", everywhere=False)
        folder.write("b", "theirs\n")

    with pytest.raises(Conflict) as caught:
        change_files(folder.workspace, ["a", "b"], work)

    assert caught.value.code == "file_changed"
    assert "1| theirs" in caught.value.message
    assert folder.tree() == {"a": b"1\n", "b": b"theirs\n"}


def test_a_file_that_appears_meanwhile_is_not_overwritten(folder):
    """Nor is anything done if one that was to be deleted has gone."""
    folder.write("old", "x\n")

    def work(draft):
        write_text(draft, "new", "ours\n")
        folder.write("new", "theirs\n")

    with pytest.raises(Conflict):
        change_files(folder.workspace, ["new"], work)
    assert folder.tree() == {"old": b"x\n", "new": b"theirs\n"}


def test_ten_workers_on_one_file_lose_nothing(folder):
    """Each holds the file while it reads, decides and writes."""
    folder.write("f", "start\n")
    failures = []

    def work(number):
        for step in range(5):
            try:
                change_files(
                    folder.workspace,
                    ["f"],
                    lambda draft, step=step: edit_text(
                        draft, "f", "start\n", f"start\n{number}.{step}\n", everywhere=False
                    ),
                )
            except AgiError as error:
                failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    lines = folder.tree()["f"].decode().splitlines()
    assert sorted(lines[1:]) == sorted(f"{number}.{step}" for number in range(10) for step in range(5))


WORKER = """
import sys
from agi.editing.changing import change_files
from agi.editing.texts import edit_text
from agi.errors import Conflict
from agi.workspace.handle import Workspace

root, name = sys.argv[1:]
done = 0
with Workspace.open(root) as workspace:
    for step in range(40):
        line = f"{name}.{step}"
        while True:
            try:
                new = f"start\\n{line}\\n"
                change_files(workspace, ["f"], lambda draft: edit_text(draft, "f", "start\\n", new, everywhere=False))
                break
            except Conflict as error:
                if error.code not in ("file_changed", "edit_stale"):
                    raise
"""


def test_several_processes_on_one_file_lose_nothing(folder):
    """A write that came too late is refused, and made again from what is there."""
    folder.write("f", "start\n")
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, folder.root, name]) for name in "abc"]

    assert [worker.wait(timeout=100) for worker in workers] == [0, 0, 0]
    lines = folder.tree()["f"].decode().splitlines()
    assert sorted(lines[1:]) == sorted(f"{name}.{step}" for name in "abc" for step in range(40))
    assert list(folder.tree()) == ["f"]


ENDINGS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.tuples(st.binary(max_size=6), ENDINGS), min_size=1, max_size=8),
    st.integers(0, 7),
    st.booleans(),
    st.data(),
)
def test_whatever_a_file_holds_an_edit_of_one_line_leaves_the_others(
    tmp_path_factory, mark, lines, number, ended, data
):
    """Byte for byte, or it is refused and nothing is changed at all."""
    number = min(number, len(lines) - 1)
    whole = [line + ending for line, ending in lines]
    whole[number] = b"the line " + lines[number][1]
    if not ended:
        whole[-1] = whole[-1].rstrip(b"\r\n")
    before, after = mark + b"".join(whole[:number]), b"".join(whole[number + 1 :])
    assume(not (whole[number].endswith(b"\r") and after.startswith(b"\n")))  # those two would be one ending
    root = tmp_path_factory.mktemp("any")
    (root / "f").write_bytes(before + whole[number] + after)
    patch = data.draw(st.sampled_from(["@@\n-the line \n+new", "@@\n-the line\n+new\n+two", "@@\n-the line "]))
    with Workspace.open(root) as workspace:
        sections = read_patch(f"*** Begin Patch\n*** Update File: f\n{patch}\n*** End Patch", workspace.exists)
        try:
            change_files(workspace, ["f"], lambda draft: take_patch(draft, sections))
        except AgiError:
            assert (root / "f").read_bytes() == before + whole[number] + after
            return
    result = (root / "f").read_bytes()
    assert result.startswith(before)
    assert result.endswith(after)
    assert b"the line" not in result[len(before) : len(result) - len(after)]
