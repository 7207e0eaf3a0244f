"""The workspace handle: everything inside, nothing outside."""

import os
import socket
import stat
import time
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agi.errors import AgiError, Invalid, NotFound
from agi.workspace.beneath import open_by_walking
from agi.workspace.handle import Change, Workspace


@pytest.fixture(params=[None, open_by_walking], ids=["best", "walking"])
def workspace(request, tmp_path):
    """An open workspace with a secret beside it."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "proj").mkdir()
    with Workspace.open(tmp_path / "proj", opener=request.param) as opened:
        yield opened


def code_of(call, *args, **kwargs):
    with pytest.raises(AgiError) as caught:
        call(*args, **kwargs)
    return caught.value.code


def test_a_missing_folder_is_no_workspace(tmp_path):
    """The error says which path, and what to do."""
    with pytest.raises(Invalid) as caught:
        Workspace.open(tmp_path / "nowhere")

    assert caught.value.code == "workspace_missing"
    assert "nowhere" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("path", ["", "\0", "x" * 5000])
def test_a_path_that_cannot_be_is_no_workspace(tmp_path, path, monkeypatch):
    """An unusable path is refused; an empty one is the current folder."""
    monkeypatch.chdir(tmp_path)
    if path:
        assert code_of(Workspace.open, path) == "workspace_missing"
    else:
        with Workspace.open(path) as opened:
            assert opened.root == tmp_path.resolve()


def test_a_file_is_no_workspace(tmp_path):
    """Only a folder can be worked in."""
    (tmp_path / "f").write_text("")

    assert code_of(Workspace.open, tmp_path / "f") == "workspace_not_a_directory"


def test_a_closed_workspace_opens_nothing(tmp_path):
    """Closing twice is harmless, using it afterwards is an error."""
    opened = Workspace.open(tmp_path)
    opened.close()
    opened.close()

    assert code_of(opened.read_bytes, "a") == "workspace_closed"


def test_the_root_is_resolved_and_both_its_names_are_understood(tmp_path):
    """A workspace reached through a link knows its real path, and takes absolute paths in either spelling."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a").write_text("x")
    (tmp_path / "link").symlink_to("real")
    with Workspace.open(tmp_path / "link") as opened:
        assert opened.root == (tmp_path / "real").resolve()
        assert opened.relative(str(tmp_path / "link/a")) == opened.relative(str(opened.root / "a")) == "a"


def test_a_file_is_read_with_its_size_and_mode(workspace):
    """What is over the limit is left out, and said to be."""
    (workspace.root / "a").write_bytes(b"0123456789")
    os.chmod(workspace.root / "a", 0o640)

    whole, part = workspace.read_bytes("a"), workspace.read_bytes("a", 4)

    assert (whole.data, whole.size, whole.truncated, whole.mode) == (b"0123456789", 10, False, 0o640)
    assert (part.data, part.size, part.truncated) == (b"0123", 10, True)


def test_a_sparse_file_of_ten_gigabytes_is_read_in_part_at_once(workspace):
    """Reading is bounded by the limit, not by the file."""
    with open(workspace.root / "big", "wb") as file:
        file.truncate(10 << 30)

    read = workspace.read_bytes("big", 1000)

    assert (len(read.data), read.size, read.truncated) == (1000, 10 << 30, True)


@pytest.mark.threat("T18b")
def test_a_pipe_a_socket_a_device_and_a_folder_are_no_files_and_do_not_hang(workspace):
    """Each is a typed error, for reading and for writing, and is left as it was."""
    root = workspace.root
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
        for name in ("pipe", "socket", "folder"):
            assert code_of(workspace.read_bytes, name) == "not_a_regular_file"
            assert code_of(workspace.write_bytes, name, b"x") == "not_a_regular_file"
            assert code_of(workspace.delete, name) == "not_a_regular_file"
        assert {entry.name: entry.kind for entry in workspace.list_dir().entries} == {
            "folder": "directory",
            "pipe": "other",
            "socket": "other",
        }


def test_a_device_is_no_file(workspace):
    """A device node inside the workspace is refused."""
    try:
        os.mknod(workspace.root / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("device nodes may not be made here")

    assert code_of(workspace.read_bytes, "null") == "not_a_regular_file"


def test_writing_makes_folders_and_leaves_nothing_else(workspace):
    """A new file appears with its parents, and no temporary file beside it."""
    workspace.write_bytes("a/b/c.txt", b"new")

    assert (workspace.root / "a/b/c.txt").read_bytes() == b"new"
    assert os.listdir(workspace.root / "a/b") == ["c.txt"]


@pytest.mark.threat("T15")
def test_replacing_keeps_the_mode_and_breaks_a_hard_link(workspace, tmp_path):
    """The other name of a hard-linked file keeps the old content."""
    file = workspace.root / "run.sh"
    file.write_text("old")
    os.chmod(file, 0o754)
    os.link(file, tmp_path / "other_name")

    workspace.write_bytes("run.sh", b"new")

    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o754
    assert (tmp_path / "other_name").read_text() == "old"


def test_a_mode_can_be_given(workspace):
    """A moved script stays executable."""
    workspace.write_bytes("tool", b"#!/bin/sh\n", mode=0o755)

    assert stat.S_IMODE((workspace.root / "tool").stat().st_mode) == 0o755


def test_a_link_to_a_file_inside_stays_and_its_target_is_replaced(workspace):
    """Writing goes where the link points, if that is inside."""
    (workspace.root / "real").mkdir()
    (workspace.root / "real/f").write_text("old")
    (workspace.root / "link").symlink_to("real/f")

    workspace.write_bytes("link", b"new")

    assert (workspace.root / "link").is_symlink()
    assert (workspace.root / "real/f").read_text() == "new"
    assert workspace.locate("link") == "real/f"
    assert workspace.locate("link", follow=False) == "link"


def test_deleting_a_link_leaves_its_target(workspace):
    """A link is deleted itself."""
    (workspace.root / "f").write_text("kept")
    (workspace.root / "link").symlink_to("f")

    workspace.delete("link")

    assert sorted(os.listdir(workspace.root)) == ["f"]


def test_a_dangling_link_is_not_written_through(workspace):
    """Its target is neither created nor is the link replaced."""
    (workspace.root / "link").symlink_to("nowhere")

    assert code_of(workspace.write_bytes, "link", b"x") == "path_refused"
    assert os.listdir(workspace.root) == ["link"]


@pytest.mark.threat("T15")
def test_links_that_lead_out_are_refused_for_everything(workspace, tmp_path):
    """A file link, a folder link, a chain, an absolute link and /proc all end in the same refusal."""
    root = workspace.root
    (root / "file").symlink_to("../secret.txt")
    (root / "folder").symlink_to("..")
    (root / "chain").symlink_to("file")
    (root / "absolute").symlink_to(tmp_path)
    (root / "proc").symlink_to("/proc/self/root")
    secret = f"proc{tmp_path}/secret.txt"
    for path in ("file", "folder/secret.txt", "chain", "absolute/secret.txt", secret):
        for call in (workspace.read_bytes, workspace.exists, workspace.locate):
            assert code_of(call, path) == "path_refused"
        assert code_of(workspace.write_bytes, path, b"x") == "path_refused"
    for path in ("folder", "absolute", "proc"):
        assert code_of(workspace.list_dir, path) == "path_refused"
        assert code_of(workspace.write_bytes, f"{path}/new", b"x") == "path_refused"
        assert code_of(workspace.delete, f"{path}/secret.txt") == "path_refused"

    assert (tmp_path / "secret.txt").read_text() == "secret"
    assert sorted(os.listdir(tmp_path)) == ["proj", "secret.txt"]


@pytest.mark.threat("T27")
def test_our_state_is_off_limits_also_through_a_link(workspace):
    """Rules are asked about the real place, so another name for it is no way around."""
    (workspace.root / ".agi/sessions/s").mkdir(parents=True)
    (workspace.root / ".agi/sessions/s/events.ndjson").write_text("{}")
    (workspace.root / ".agi/daemon.json").write_text("{}")
    (workspace.root / ".agi/config.json").write_text("{}")
    (workspace.root / "a").symlink_to(".agi/sessions/s")
    (workspace.root / "b").symlink_to(".agi")

    for path in (".agi/daemon.json", "b/daemon.json", "a/events.ndjson", "b/sessions/s/events.ndjson"):
        assert code_of(workspace.read_bytes, path) == "path_refused"
    for path in (".agi/sessions", "a"):
        assert code_of(workspace.list_dir, path) == "path_refused"
    for path in ("b/config.json", "b/new", ".agi/tools/x/tool.py"):
        assert code_of(workspace.write_bytes, path, b"x") == "path_refused"
    assert workspace.read_bytes("b/config.json").data == b"{}"
    assert sorted(os.listdir(workspace.root / ".agi")) == ["config.json", "daemon.json", "sessions"]


@pytest.mark.threat("T27")
def test_git_folders_are_off_limits_whether_they_exist_or_not(workspace):
    """Nothing is created on the way to a refusal."""
    for path in (".git/hooks/pre-commit", ".git/config", ".Git/config", "new/.git/config", ".git"):
        assert code_of(workspace.write_bytes, path, b"x") == "path_refused"

    assert os.listdir(workspace.root) == []


def test_a_read_only_file_is_left_alone(workspace):
    """Renaming over it would be possible; it was marked for a reason."""
    (workspace.root / "f").write_text("keep")
    os.chmod(workspace.root / "f", 0o444)

    assert code_of(workspace.write_bytes, "f", b"x") == "read_only"
    assert code_of(workspace.delete, "f") == "read_only"
    assert (workspace.root / "f").read_text() == "keep"


def test_deleting_what_is_not_there_says_so(workspace):
    """A missing file is not found, not deleted."""
    with pytest.raises(NotFound):
        workspace.delete("nothing")


def test_exists_and_is_dir_tell_what_is_there(workspace):
    """A path through a file does not exist."""
    (workspace.root / "d").mkdir()
    (workspace.root / "f").write_text("")

    assert [workspace.exists(path) for path in (".", "d", "f", "x", "f/x")] == [True, True, True, False, False]
    assert [workspace.is_dir(path) for path in (".", "d", "f", "x")] == [True, True, False, False]


def test_a_place_that_is_not_there_yet_can_be_located(workspace):
    """Also below folders that do not exist."""
    (workspace.root / "real").mkdir()
    (workspace.root / "link").symlink_to("real")

    assert workspace.locate("link/new/deep.txt") == "real/new/deep.txt"


def test_a_folder_is_listed_by_name_up_to_a_limit(workspace):
    """Entries are sorted; more than the limit is said, not hidden."""
    for name in ("b", "a", "c"):
        (workspace.root / name).write_text(name)

    listing = workspace.list_dir()
    cut = workspace.list_dir(limit=2)

    assert [(entry.name, entry.kind, entry.size) for entry in listing.entries] == [
        ("a", "file", 1),
        ("b", "file", 1),
        ("c", "file", 1),
    ]
    assert (listing.truncated, cut.truncated, len(cut.entries)) == (False, True, 2)
    assert code_of(workspace.list_dir, "a") == "not_a_directory"
    assert code_of(workspace.list_dir, "nowhere") == "file_not_found"


def test_a_walk_goes_nearest_first_and_never_through_links(workspace):
    """Dependencies, caches and version control are left out; a loop of links is not entered."""
    for path in ("src/deep/x", "node_modules/m/y", ".git/config", "__pycache__/z", "top"):
        (workspace.root / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace.root / path).write_text("")
    (workspace.root / "src/again").symlink_to("..")

    walked = workspace.walk()
    names = [entry.name for entry in walked.entries]

    assert names == ["src", "top", "src/again", "src/deep", "src/deep/x"]
    assert [entry.name for entry in workspace.walk(depth=1).entries] == ["src", "top"]
    assert [entry.name for entry in workspace.walk("src", depth=1).entries] == ["src/again", "src/deep"]
    assert (workspace.walk(limit=5).truncated, workspace.walk(limit=4).truncated) == (False, True)


def later_than(before: int, act: Callable[[], object], found: Callable[[], int]) -> bool:
    """Act until it shows; the clock of a file system may stand still for some milliseconds."""
    for _ in range(1000):
        act()
        if found() > before:
            return True
    return False


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "src/a.txt").write_text("other"),
        lambda root: (root / "src/new.txt").write_text("new"),
        lambda root: (root / "top").symlink_to("src") or (root / "top").unlink(),
        lambda root: (root / "src/b.txt").write_text("") and (root / "src/b.txt").unlink(),
        lambda root: (root / "src/a.txt").chmod(0o600),
        lambda root: (root / "src/a.txt").rename(root / "src/b.txt").rename(root / "src/a.txt"),
        lambda root: os.utime(root / "src/a.txt", ns=(1, 1)),
    ],
    ids=["written", "made", "made at the top", "deleted", "given other rights", "moved", "given another time"],
)
def test_a_workspace_knows_when_it_was_changed_last(workspace, change):
    """Whatever is done to a file, at whatever depth, is later than what was before it; a look changes nothing."""
    (workspace.root / "src").mkdir()
    (workspace.root / "src/a.txt").write_text("a")
    before = time.time_ns()

    assert later_than(before, lambda: change(workspace.root), workspace.changed_at)
    assert workspace.changed_at() == workspace.changed_at()


def test_what_tools_and_the_harness_keep_for_themselves_is_no_change(workspace):
    """Folders a walk does not enter do not count, and an empty workspace has a time too."""
    for name in (".agi", "__pycache__"):
        (workspace.root / name).mkdir()
    before = workspace.changed_at()
    assert 0 < before <= time.time_ns()

    for _ in range(100):
        (workspace.root / ".agi/agi.sqlite").write_text(str(time.time_ns()))
        (workspace.root / "__pycache__/a.pyc").write_text(str(time.time_ns()))

    assert workspace.changed_at() == before


def test_a_pinned_folder_stays_the_same_folder_when_its_name_is_swapped(workspace):
    """A command's folder is the one that was checked."""
    (workspace.root / "d").mkdir()
    with workspace.pinned("d") as path:
        os.rename(workspace.root / "d", workspace.root / "moved")
        (workspace.root / "d").symlink_to("/etc")

        assert os.path.samefile(path, workspace.root / "moved")


@pytest.mark.threat("T13")
def test_a_pinned_folder_must_be_inside_and_a_folder(workspace):
    """Out, missing, a file and our own state are refused."""
    (workspace.root / "f").write_text("")
    (workspace.root / ".agi/sessions").mkdir(parents=True)
    codes = []
    for path in ("..", "nowhere", "f", ".agi/sessions"):
        with pytest.raises(AgiError) as caught, workspace.pinned(path):
            pass
        codes.append(caught.value.code)

    assert codes == ["path_refused", "file_not_found", "not_a_directory", "path_refused"]


def test_changes_are_made_together(workspace):
    """Several files are written and deleted as one."""
    (workspace.root / "old").write_text("old")

    workspace.replace_all([Change("a/new", b"1"), Change("old", None)])

    assert [entry.name for entry in workspace.walk().entries] == ["a", "a/new"]


def test_one_refused_change_means_no_change_at_all(workspace):
    """Everything is checked before anything is made, even folders."""
    (workspace.root / "f").write_text("old")

    assert code_of(workspace.replace_all, [Change("new/x", b""), Change("f", b"2"), Change(".git/config", b"")]) == (
        "path_refused"
    )
    assert [entry.name for entry in workspace.walk().entries] == ["f"]
    assert (workspace.root / "f").read_text() == "old"


def test_absurd_paths_are_refused_without_harm(workspace):
    """Very long and very deep paths end in a typed error."""
    for path in ("x" * 300, "d/" * 3000 + "f", "/".join(["n"] * 1500) + "/" + "y" * 300):
        assert code_of(workspace.write_bytes, path, b"") == "path_refused"
        assert code_of(workspace.read_bytes, path) == "path_refused"

    assert os.listdir(workspace.root) == []


NAMES = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a",
        "dir",
        "link_out",
        "link_in",
        "abs",
        "~",
        "%2e%2e",
        "..\\",
        "secret.txt",
        "a\0",
        "ａ",
        "...",
        "dir.",
    ]
)


@pytest.mark.threat("T14")
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(NAMES, min_size=1, max_size=7), absolute=st.booleans(), through_root=st.booleans())
def test_no_spelling_of_a_path_reaches_outside(workspace, parts, absolute, through_root):
    """Whatever is read is beneath the root by the file system's own account, and nothing outside ever changes."""
    root = workspace.root
    if not (root / "dir").exists():
        (root / "dir").mkdir()
        (root / "dir/a").write_text("inside")
        (root / "link_out").symlink_to("..")
        (root / "abs").symlink_to(root.parent)
        (root / "link_in").symlink_to("dir")
    path = "/".join(parts)
    if absolute:
        path = f"{root if through_root else root.parent}/{path}"
    try:
        data = workspace.read_bytes(path).data
    except (AgiError, OSError):
        data = b"inside"
    try:
        workspace.write_bytes(path, b"inside")
        real = os.path.realpath(root / workspace.relative(path))
        assert real.startswith(f"{root}/")
        workspace.delete(workspace.locate(path))
        (root / "dir/a").write_text("inside")
    except AgiError:
        pass

    assert data == b"inside"
    assert sorted(os.listdir(root.parent)) == ["proj", "secret.txt"]
    assert (root.parent / "secret.txt").read_text() == "secret"


@pytest.mark.threat("T16")
def test_a_race_of_links_never_writes_outside(workspace, swapping, tmp_path):
    """While a folder is swapped for a link that leads out, every write lands inside or is refused."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace.root / "real").mkdir()
    (workspace.root / "link").symlink_to("../outside")
    seen = Counter()
    with swapping(workspace.root):
        while seen.total() < 500 or not (seen["written"] and seen["path_refused"]):
            try:
                workspace.write_bytes("door/f", b"x")
                seen["written"] += 1
            except AgiError as error:
                seen[error.code] += 1

    assert seen["written"]
    assert os.listdir(outside) == []
