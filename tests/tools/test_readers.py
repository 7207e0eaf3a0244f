"""One door: whichever tool reads, the same path gets the same refusal, and nothing odd makes it wait."""

import os
import socket
import subprocess
import time

import pytest

from agi.protocol import ids

SECRET = "the secret"

READERS = [
    ("read_file", {}),
    ("search", {"query": "secret"}),
    ("search", {"query": "s.cret", "regex": True}),
    ("search", {"query": "secret", "files_only": True, "ignored": True}),
    ("repo_tree", {}),
    ("git_diff", {}),
    ("git_log", {}),
    ("git_show", {"revision": "HEAD"}),
    ("git_blame", {}),
    ("git_blame", {"revision": "HEAD"}),
]


@pytest.fixture
def guarded(desk, monkeypatch):
    """A repository with a neighbour, links that lead out, and our own state in it."""
    monkeypatch.setenv("HOME", str(desk.root.parent))
    outside = desk.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (desk.root.parent / "proj-evil").mkdir()
    (desk.root.parent / "proj-evil" / "secret.txt").write_text(SECRET)
    desk.write("inside.txt", "fine\n")
    desk.write(".agi/sessions/s/events.ndjson", SECRET)
    desk.write(".agi/daemon.json", SECRET)
    desk.write(".agi/agi.sqlite", SECRET)
    for name, target in {
        "file_link": outside / "secret.txt",
        "folder_link": outside,
        "relative_link": "../outside",
        "chain": "folder_link",
        "proc_link": "/proc/self/root",
        "loop": "loop",
        "state_link": ".agi/sessions",
    }.items():
        (desk.root / name).symlink_to(target)
    for command in (
        ["init", "-q", "."],
        ["add", "inside.txt"],
        ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=desk.root, check=True, capture_output=True)
    return desk


OUTSIDE = [
    "../outside/secret.txt",
    "../proj-evil/secret.txt",
    "/etc/passwd",
    "a/../../outside/secret.txt",
    "~/secret.txt",
    "/proc/self/root/etc/passwd",
    "/proc/self/fd/0",
    "bad\0name",
    "x" * 300,
    "a/" * 3000,
]
LINKS = ["folder_link/secret.txt", "relative_link/secret.txt", "chain/secret.txt", "proc_link/etc/passwd", "loop/x"]
STATE = [
    ".agi/daemon.json",
    ".agi/agi.sqlite",
    ".agi/sessions/s/events.ndjson",
    "state_link/s/events.ndjson",
    ".AGI/daemon.json",
]


@pytest.mark.threat("T15", "T18")
@pytest.mark.parametrize("path", [*OUTSIDE, *LINKS], ids=lambda path: path[:30].replace("\0", "NUL"))
async def test_a_path_that_leads_out_gets_the_same_refusal_from_every_reader(guarded, path):
    """By its spelling or through links: word for word."""
    answers = {}
    for name, given in READERS:
        result = await guarded.use(name, path=path, **given)
        assert not result.ok, name
        assert SECRET not in str(result), name
        answers[name, str(given)] = result.error

    if len(path) <= 4096:  # a longer one does not even fit the tools' schemas
        assert len(set(answers.values())) == 1, answers


@pytest.mark.threat("T18")
@pytest.mark.parametrize("path", STATE)
async def test_our_own_state_is_shown_by_no_reader(guarded, path):
    """Neither the log, nor its mirror, nor the daemon's token, under any name."""
    for name, given in READERS:
        result = await guarded.use(name, path=path, **given)
        assert not result.ok, name
        assert SECRET not in str(result), name


async def test_what_a_folder_shows_is_not_outside(guarded):
    """Whatever stands in it: links are named at most, never followed."""
    for name, given in READERS:
        if name in ("search", "repo_tree", "git_diff", "git_log"):
            result = await guarded.use(name, **given)
            assert SECRET not in str(result), name


@pytest.mark.threat("T18")
@pytest.mark.parametrize(
    "ref",
    [
        "artifacts/../../outside/secret.txt",
        "artifacts/{turn}/../../../outside/secret.txt",
        "artifacts/{turn}/..",
        "artifacts/{turn}/link",
        "artifacts/{turn}/gone",
        "artifacts/{other}/x",
        "artifacts/turn_1/x",
    ],
)
async def test_a_ref_leads_to_this_sessions_files_only(guarded, ref):
    """The same door again, with another room behind it."""
    guarded.context.artifacts.mkdir(parents=True)
    (guarded.context.artifacts / "link").symlink_to(guarded.root.parent / "outside" / "secret.txt")
    path = ref.format(turn=guarded.context.artifacts.name, other=ids.new_id(ids.TURN))

    for name, given in (("read_file", {}), ("search", {"query": "secret"})):
        result = await guarded.use(name, path=path, **given)
        assert not result.ok, name
        assert SECRET not in str(result), name


@pytest.fixture
def odd(guarded):
    """What is no file: a pipe nobody writes to, a socket, a device; and a file that is almost all holes."""
    os.mkfifo(guarded.root / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    before = os.getcwd()
    os.chdir(guarded.root)
    listening.bind("socket")
    os.chdir(before)
    (guarded.root / "device").symlink_to("/dev/zero")
    with (guarded.root / "sparse").open("wb") as file:
        file.truncate(10 << 30)
    yield guarded
    listening.close()


@pytest.mark.threat("T18b")
@pytest.mark.parametrize("name", ["pipe", "socket", "device"])
async def test_what_is_no_file_is_refused_at_once(odd, name):
    """Nobody waits for what will never come."""
    for reader, given in READERS:
        if reader in ("read_file", "search") or (reader == "git_blame" and not given):
            began = time.monotonic()
            result = await odd.use(reader, path=name, **given)
            assert not result.ok, reader
            assert time.monotonic() - began < 1, reader


@pytest.mark.threat("T18b")
async def test_a_file_of_ten_gigabytes_is_answered_within_a_second(odd):
    """With its size, and without reading it."""
    began = time.monotonic()
    whole = await odd.text("read_file", path="sparse")
    far = await odd.use("read_file", path="sparse", start_line=10**9)

    assert "10,737,418,240 bytes" in whole
    assert far.ok
    assert time.monotonic() - began < 1


async def test_a_walk_passes_over_what_is_no_file(odd):
    """All that is in the folder is named, nothing is opened."""
    assert await odd.text("repo_tree", depth=1)
    assert (await odd.text("search", query="fine")).startswith("inside.txt:1: fine")
