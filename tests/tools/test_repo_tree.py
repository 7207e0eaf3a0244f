"""repo_tree: what files there are."""

import os
import subprocess
import time

import pytest

from agi.tools.repo_tree import MOST_ENTRIES


async def test_files_are_drawn_as_a_tree(desk):
    """Folders end in a slash, links in an at sign; what tools made is left out."""
    for path in ("src/agi/errors.py", "src/b.py", "README.md", "node_modules/x/y.js", ".git/HEAD", "src-old/c"):
        desk.write(path, "")
    (desk.root / "link").symlink_to("src")

    result = await desk.use("repo_tree")

    assert result.parts[0].text == "\n".join(
        [
            "./",
            "  README.md",
            "  link@",
            "  src/",
            "    agi/",
            "      errors.py",
            "    b.py",
            "  src-old/",
            "    c",
            "Total: 4 files (2 .py, 1 .md, 1 other), 3 folders",
        ]
    )
    assert result.result == {"path": ".", "entries": 8, "truncated": False}


async def test_depth_and_path_choose_a_part(desk):
    """One level of one folder."""
    desk.write("a/b/c/d", "")

    shallow = "a/b/\n  c/\nTotal: 0 files, 1 folder, not counting what lies deeper"
    assert await desk.text("repo_tree", path="a/b", depth=1) == shallow
    assert await desk.text("repo_tree", path="a/b/c/") == "a/b/c/\n  d\nTotal: 1 file (1 other), 0 folders"


async def test_too_many_entries_are_cut_and_said(desk):
    """The nearest ones are shown."""
    for number in range(MOST_ENTRIES + 5):
        desk.write(f"f{number:05}", "")

    text = await desk.text("repo_tree")

    assert text.endswith(f"[only {MOST_ENTRIES} entries are shown; ask for a folder further down]")


async def test_odd_names_and_odd_requests(desk):
    """A name in another encoding is shown as well as can be; a file is no folder; nothing is said to be nothing."""
    (desk.root / "empty").mkdir()
    desk.write(os.fsdecode(b"caf\xe9"), "")

    assert "  caf?" in await desk.text("repo_tree")
    assert await desk.text("repo_tree", path="empty") == "empty/\n[nothing here]"
    assert not (await desk.use("repo_tree", path="gone")).ok
    assert not (await desk.use("repo_tree", depth=0)).ok


async def test_what_is_ignored_is_left_out(desk):
    """By the rules of the folder, of those above and of those below."""
    desk.write(".gitignore", "*.log\n/out\n")
    desk.write("pkg/.gitignore", "tmp/\n!keep.log\n")
    for path in ("a.log", "out/x", "pkg/keep.log", "pkg/tmp/y", "pkg/out/z"):
        desk.write(path, "")

    text = await desk.text("repo_tree")

    assert text.split("\n")[:-1] == [
        "./",
        "  .gitignore",
        "  pkg/",
        "    .gitignore",
        "    keep.log",
        "    out/",
        "      z",
    ]
    assert await desk.text("repo_tree", path="out") == "out/\n  x\nTotal: 1 file (1 other), 0 folders"


@pytest.fixture
def repository(desk, monkeypatch):
    """The workspace as a repository."""
    monkeypatch.setenv("HOME", str(desk.root.parent))

    def run(*args):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *args], cwd=desk.root, check=True)

    desk.git = run
    run("init", "-q", ".")
    return desk


async def test_a_tracked_file_is_shown_although_a_rule_ignores_it(repository):
    """As git does; and what is new and not ignored, too."""
    repository.write(".gitignore", "*.lock\nvendor/\n")
    for path in ("a.lock", "b.lock", "vendor/x/keep", "vendor/x/other", "new"):
        repository.write(path, "")
    repository.git("add", "-f", "a.lock", "vendor/x/keep")

    text = await repository.text("repo_tree")

    shown = [".gitignore", "a.lock", "new", "vendor/", "  x/", "    keep", "    other"]
    assert text.split("\n")[1:-1] == [f"  {name}" for name in shown]


async def test_of_a_large_repository_the_number_of_files_is_told(repository):
    """Without listing them."""
    for number in range(MOST_ENTRIES + 5):
        repository.write(f"a/b/c/d/f{number}", "")
    repository.write("top", "")
    repository.git("add", ".")

    shallow = await repository.use("repo_tree", depth=2)
    deep = await repository.text("repo_tree", depth=9)

    told = f"not counting what lies deeper (git tracks {MOST_ENTRIES + 6} files in all)"
    assert shallow.parts[0].text.endswith(told)
    assert shallow.result["tracked_files"] == MOST_ENTRIES + 6
    assert f"entries are shown; git tracks {MOST_ENTRIES + 6} files here" in deep


async def test_a_folder_with_very_many_entries_is_listed_at_once(desk):
    """A hundred thousand names take less than a second, since no more are looked at than are shown."""
    (desk.root / "many").mkdir()
    folder = os.open(desk.root / "many", os.O_RDONLY)
    for number in range(100_000):
        os.close(os.open(f"f{number}", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    began = time.monotonic()

    text = await desk.text("repo_tree")

    assert time.monotonic() - began < 1
    assert f"[only {MOST_ENTRIES} entries are shown" in text
