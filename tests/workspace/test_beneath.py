"""Opening beneath a folder: both ways give the same answers, and none leads out."""

import errno
import os
from collections import Counter

import pytest

from agi.workspace.beneath import LOOK, LOOK_FOLDER, best_opener, open_by_kernel, open_by_walking

READ = os.O_RDONLY | os.O_NONBLOCK
needs_kernel = pytest.mark.skipif(best_opener() is not open_by_kernel, reason="this kernel has no openat2")


@pytest.fixture(params=[pytest.param(open_by_kernel, marks=needs_kernel), open_by_walking], ids=["kernel", "walking"])
def opener(request):
    return request.param


@pytest.fixture
def root(tmp_path):
    """A folder with links of every kind, and a secret beside it."""
    (tmp_path / "secret").write_text("secret")
    inside = tmp_path / "root"
    (inside / "a/b").mkdir(parents=True)
    (inside / "a/b/file").write_text("inside")
    for name, target in {
        "to_file": "a/b/file",
        "to_folder": "a/b",
        "up_and_down": "a/b/../../to_file",
        "dots": "a/b/..",
        "chain": "to_folder/file",
        "out": "../secret",
        "absolute": str(tmp_path / "secret"),
        "absolute_inside": str(inside / "a/b/file"),
        "proc": "/proc/self/root",
        "loop": "loop",
        "dangling": "nowhere",
    }.items():
        (inside / name).symlink_to(target)
    fd = os.open(inside, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def read(place):
    with os.fdopen(place.fd, "rb") as file:
        return file.read()


@pytest.mark.parametrize("path", ["a/b/file", "to_file", "to_folder/file", "up_and_down", "chain", "a/b/../b/./file"])
def test_links_that_stay_inside_are_followed_and_the_real_place_is_told(opener, root, path):
    """Whatever the way, the place is known by its real name."""
    place = opener(root, path, READ)

    assert place.location == "a/b/file"
    assert read(place) == b"inside"


@pytest.mark.parametrize(
    ("path", "location"), [(".", ""), ("a/..", ""), ("to_folder", "a/b"), ("dots", "a"), ("a/", "a")]
)
def test_folders_are_opened_too(opener, root, path, location):
    """A path may end in dots or in a link to a folder."""
    place = opener(root, path, LOOK_FOLDER)
    os.close(place.fd)

    assert place.location == location


@pytest.mark.threat("T15")
@pytest.mark.parametrize("path", ["out", "absolute", "absolute_inside", "proc", "loop", "../secret", "a/../../secret"])
def test_what_leads_out_is_refused(opener, root, path):
    """Escaping links, absolute links, links into /proc and loops are refused, also for a mere look."""
    for flags in (READ, LOOK):
        with pytest.raises(OSError) as caught:
            opener(root, path, flags)

        assert caught.value.errno in (errno.EXDEV, errno.ELOOP)


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("missing", errno.ENOENT),
        ("dangling", errno.ENOENT),
        ("a/b/file/x", errno.ENOTDIR),
        ("x" * 300, errno.ENAMETOOLONG),
    ],
)
def test_what_is_not_there_says_so(opener, root, path, number):
    """The system's own answer comes through."""
    with pytest.raises(OSError) as caught:
        opener(root, path, READ)

    assert caught.value.errno == number


def test_a_link_is_not_followed_when_told_so(opener, root):
    """O_NOFOLLOW keeps its meaning."""
    with pytest.raises(OSError) as caught:
        opener(root, "to_folder", LOOK_FOLDER | os.O_NOFOLLOW)

    assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)


def test_no_descriptor_is_left_open(opener, root):
    """Neither success nor refusal leaks."""
    before = len(os.listdir("/proc/self/fd"))

    for path in ("chain", "out", "missing", "dots", "loop"):
        try:
            os.close(opener(root, path, LOOK).fd)
        except OSError:
            pass

    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.threat("T16")
def test_swapping_a_folder_for_a_link_never_shows_what_is_outside(opener, swapping, tmp_path):
    """A race between the check and the use is not there to be won."""
    outside, inside = tmp_path / "outside", tmp_path / "root"
    for folder, text in ((outside, "outside"), (inside / "real", "inside")):
        folder.mkdir(parents=True)
        (folder / "file").write_text(text)
    (inside / "link").symlink_to("../outside")
    root = os.open(inside, os.O_RDONLY | os.O_DIRECTORY)
    seen = Counter()
    with swapping(inside):
        # On a busy machine the other process may sleep for long: go on until both sides of the door were seen.
        while seen.total() < 2_000 or not (seen[b"inside"] and seen[errno.EXDEV]):
            try:
                seen[read(opener(root, "door/file", READ))] += 1
            except OSError as error:
                seen[error.errno] += 1
    os.close(root)

    assert seen[b"inside"]
    assert not set(seen) - {b"inside", errno.EXDEV, errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.EAGAIN}
