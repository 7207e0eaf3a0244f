"""Paths that lead out, by the thousand and through every door; and who else may read what the daemon keeps."""

from __future__ import annotations

import base64
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec import Raw

from agi.errors import AgiError
from agi.testing.box import daemon_in_a_box, eventually
from agi.tools.base import Registry, ToolCall, ToolContext
from agi.tools.builtin import builtin_tools
from agi.workspace.handle import Workspace

from .conftest import FREE

SECRET = b"the neighbour's secret"
ENTRIES = int(os.environ.get("AGI_ENTRIES", "50000"))


@pytest.fixture
def walled(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace with a neighbour whose name begins alike, and links that lead out."""
    root = tmp_path / "w" / "proj"
    (root / "dir").mkdir(parents=True)
    (root / "dir" / "a").write_bytes(b"inside")
    for outside in (tmp_path / "w" / "proj-evil", tmp_path / "w"):
        outside.mkdir(exist_ok=True)
        (outside / "a").write_bytes(SECRET)
    for name, target in {"up": "..", "abs": str(tmp_path), "evil": "../proj-evil", "in": "dir", "root": "/"}.items():
        (root / name).symlink_to(target)
    (root / "proc").symlink_to("/proc/self/root")
    workspace = Workspace.open(root)
    yield workspace
    workspace.close()


PIECES = [
    *("..", ".", "", "a", "dir", "in", "up", "abs", "evil", "root", "proc", "proj", "proj-evil", "proj-evil/a", "~"),
    *("%2e%2e", "..%2f", "..\\", "\\..\\", "a\0", "...", "dir.", "dir ", "．．", "․․", "‥", "dir/../..", "/", "-rf"),
    *("..\u200b", "\u202e..", "ａ", "A", "DIR", "file:", "//", "self", "fd", "0", "w", "a/.", "*", "$HOME", "{a,..}"),
]


@pytest.mark.threat("T14")
def test_of_ten_thousand_spellings_none_reads_or_writes_outside(walled: Workspace, tmp_path: Path) -> None:
    """Siblings, dots, links, escapes and other alphabets in any order: what is read was inside, and no file comes.

    The system itself is the judge: where it says that a path leads, all links followed.
    """
    chance, seen = random.Random(14), Counter[str]()
    starts = ["", "", "", "/", f"{walled.root}/", f"{walled.root}", f"{walled.root.parent}/", f"{tmp_path}/"]
    for number in range(10_000):
        path = chance.choice(starts) + "/".join(chance.choices(PIECES, k=chance.randint(1, 6)))
        try:
            assert walled.read_bytes(path).data == b"inside", path
            assert walled.root in Path(os.path.realpath(walled.root / path)).parents, path
            seen["read"] += 1
        except AgiError as error:
            seen[error.code] += 1
        if number % 20 == 0:
            with_name = f"{path}/new-{number}"
            try:
                walled.write_bytes(with_name, b"inside")
                seen["written"] += 1
            except AgiError as error:
                seen[error.code] += 1

    assert min(seen["read"], seen["written"], seen["path_refused"], seen["file_not_found"]) > 0, seen
    outside = [path for path in tmp_path.rglob("*") if walled.root not in (path, *path.parents)]
    assert sorted(path.name for path in outside) == ["a", "a", "proj-evil", "w"]
    assert (tmp_path / "w" / "a").read_bytes() == (tmp_path / "w" / "proj-evil" / "a").read_bytes() == SECRET


SWAP = """
import os, sys
os.chdir(sys.argv[1])
os.symlink("../proj-evil", "link")
print("ready", flush=True)
while True:
    for name in ("dir", "link"):
        try:
            os.rename(name, "door")
            os.rename("door", name)
        except OSError:  # a write has made a folder of that name
            os.rename("door", "made-" + os.urandom(4).hex())
"""


@contextmanager
def swapping(folder: Path) -> Iterator[None]:
    """Another process lets `door` be now a folder of the workspace, now a link that leads out."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", SWAP, folder], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
            assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.threat("T16")
def test_fifty_thousand_tries_at_a_swapped_folder_reach_nothing_outside(walled: Workspace) -> None:
    """There is no moment between the check and the use that could be hit, by reading or by writing."""
    seen: Counter[bytes | str] = Counter()
    with swapping(walled.root):
        while seen.total() < 50_000 or not (seen[b"inside"] and seen["path_refused"] and seen["written"]):
            try:
                if seen.total() % 250:
                    seen[walled.read_bytes("door/a").data] += 1
                else:
                    walled.write_bytes("door/new", b"written")
                    seen["written"] += 1
            except AgiError as error:
                seen[error.code] += 1

    refusals = {"path_refused", "file_not_found", "file_changed", "not_a_directory"}
    assert set(seen) <= {b"inside", "written", *refusals}, seen
    outside = walled.root.parent / "proj-evil"
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"a": SECRET}


MIRRORS = ("events.ndjson", "session.json")


@pytest.mark.threat("T17")
async def test_all_that_is_kept_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Whatever the umask says: each folder 0700 and each file 0600, in the project and at home, while all is open."""
    before = os.umask(0)
    try:
        async with daemon_in_a_box(tmp_path, trusted=True, config=FREE) as daemon:
            daemon.model.calls("write_file", path="a.txt", content="x").then_calls("shell", command="seq 100000")
            daemon.model.then_says("done")
            session_id = await daemon.begin()
            data = base64.b64encode(b"notes").decode()
            body = {"filename": "a.txt", "mime_type": "text/plain", "data": data}
            assert (await daemon.post(f"/v1/sessions/{session_id}/attachments", body)).status == 201
            await (await daemon.ask("go", session_id=session_id)).answer()
            assert (await daemon.post("/v1/notes", {"text": "remember"})).status == 201
            kept_files = [tmp_path / "project" / ".agi" / "sessions" / session_id / name for name in MIRRORS]
            await eventually(lambda: all(path.exists() for path in kept_files))
            kept = sorted((tmp_path / "project" / ".agi").rglob("*"))
            loose = {str(path): oct(path.stat().st_mode) for path in kept if path.stat().st_mode & 0o077}
    finally:
        os.umask(before)

    names = {path.name for path in kept}
    assert {"agi.sqlite", "events.ndjson", "session.json", "attachments", "artifacts", "origin"} <= names
    assert loose == {}
    mine = [path for path in (tmp_path / "home").iterdir() if path.name != "config.json"]
    assert mine
    assert not [path for path in mine if path.stat().st_mode & 0o077]


OUT = ["../neighbour.txt", "/etc/passwd", "up/neighbour.txt", "a/../../neighbour.txt", "~/x", "bad\0name"]
PATCH = "*** Begin Patch\n*** {verb}: {path}\n{rest}*** End Patch"
WRITERS = {
    "write_file": lambda path: {"path": path, "content": "x"},
    "edit": lambda path: {"path": path, "old_text": "theirs", "new_text": "ours"},
    "apply_patch add": lambda path: {"patch": PATCH.format(verb="Add File", path=path, rest="+x\n")},
    "apply_patch delete": lambda path: {"patch": PATCH.format(verb="Delete File", path=path, rest="")},
    "apply_patch update": lambda path: {
        "patch": PATCH.format(verb="Update File", path=path, rest="@@\n-theirs\n+ours\n")
    },
    "apply_patch move": lambda path: {
        "patch": PATCH.format(verb="Update File", path="mine.txt", rest=f"*** Move to: {path}\n@@\n-mine\n+moved\n")
    },
    "shell": lambda path: {"command": "true", "cwd": path},
}


@pytest.mark.threat("T13", "T18")
@pytest.mark.parametrize("path", OUT, ids=lambda path: path.replace("\0", "NUL"))
async def test_every_tool_that_changes_something_refuses_the_same_path(tmp_path: Path, path: str) -> None:
    """Old names and new ones, by each dialect; nothing beside the workspace changes, and nothing inside it either."""
    root = tmp_path / "proj"
    root.mkdir()
    (root / "mine.txt").write_text("mine\n")
    (root / "up").symlink_to("..")
    (tmp_path / "neighbour.txt").write_text("theirs\n")
    tools = Registry(builtin_tools())
    with Workspace.open(root) as workspace:
        context = ToolContext(
            workspace=workspace, artifacts=tmp_path / "art", artifact_ref="artifacts/x", output=lambda *_: None
        )
        for name, given in WRITERS.items():
            call = ToolCall("call_1", name.split()[0], Raw(json.dumps(given(path)).encode()))
            assert not (await tools.invoke(context, call)).ok, name

    assert sorted(os.listdir(tmp_path)) == ["neighbour.txt", "proj"]
    assert (tmp_path / "neighbour.txt").read_text() == "theirs\n"
    assert (sorted(os.listdir(root)), (root / "mine.txt").read_text()) == (["mine.txt", "up"], "mine\n")


@pytest.mark.threat("T18")
async def test_the_same_path_is_refused_by_every_door_of_the_daemon(tmp_path: Path) -> None:
    """As a file of a session, in a message, however it is escaped: nothing of another folder is told."""
    (tmp_path / "project").mkdir()
    (tmp_path / "secret.txt").write_bytes(SECRET)
    async with daemon_in_a_box(tmp_path) as daemon:
        session_id = await daemon.begin()
        base, turn = f"/v1/sessions/{session_id}", "turn_" + "0" * 32
        for path in ("../../../../secret.txt", str(tmp_path / "secret.txt"), "..\\secret.txt", ".", "..", "x\0"):
            replies = []
            for spelled in (quote(path, safe=""), quote(quote(path, safe=""), safe=""), quote(path)):
                replies.append(await daemon.get(f"{base}/attachments/{spelled}"))
                replies.append(await daemon.get(f"{base}/artifacts/{turn}/{spelled}"))
            for ref in (path, f"attachments/{path}", f"artifacts/{turn}/{path}"):
                part = {"type": "file", "ref": ref, "mime_type": "text/plain", "name": "x"}
                replies.append(await daemon.post(f"{base}/messages", {"parts": [part]}))
            assert [reply.status for reply in replies if reply.status not in (400, 404, 422)] == [], path
            assert not any(SECRET in reply.body for reply in replies)


@pytest.fixture
def crowded() -> Iterator[Path]:
    """A workspace with a folder that has very many entries; in memory, where there is such a disk."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as made:
        many = Path(made) / "proj" / "many"
        many.mkdir(parents=True)
        folder = os.open(many, os.O_RDONLY)
        for number in range(ENTRIES):
            os.mknod(f"{number:07}", 0o600, dir_fd=folder)
        os.close(folder)
        yield many.parent


@pytest.mark.threat("T18b")
@pytest.mark.timeout(600)
async def test_a_folder_of_very_many_files_is_answered_within_a_second(crowded: Path, tmp_path: Path) -> None:
    """What is listed is bounded, whatever there is; what is no file is refused. AGI_ENTRIES says how many (50,000)."""
    root, tools = crowded, Registry(builtin_tools())
    with Workspace.open(root) as workspace:
        context = ToolContext(
            workspace=workspace, artifacts=tmp_path / "art", artifact_ref="artifacts/x", output=lambda *_: None
        )
        for name, given in (("repo_tree", {"path": "many"}), ("read_file", {"path": "many"}), ("repo_tree", {})):
            began = time.monotonic()
            result = await tools.invoke(context, ToolCall("call_1", name, Raw(json.dumps(given).encode())))
            assert time.monotonic() - began < 1, name
            assert len(str(result)) < 200_000
            assert result.ok or "not a regular file" in result.error


@pytest.mark.threat("T42")
async def test_a_session_takes_a_thousand_files_and_no_more(tmp_path: Path) -> None:
    """Nobody fills a disk by uploading for ever; the refusal says what to do."""
    body = {"filename": "a.txt", "mime_type": "text/plain", "data": base64.b64encode(b"x").decode()}
    async with daemon_in_a_box(tmp_path) as daemon:
        session_id = await daemon.begin()
        place = tmp_path / "project" / ".agi" / "sessions" / session_id / "attachments"
        place.mkdir()
        for number in range(999):
            (place / f"{number}.txt").touch()
        last = await daemon.post(f"/v1/sessions/{session_id}/attachments", body)
        refused = await daemon.post(f"/v1/sessions/{session_id}/attachments", body)

    assert (last.status, refused.status) == (201, 413)
    assert "another session" in refused.json()["error"]["hint"]
