"""repo_tree: what files there are."""

import os

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
        ]
    )
    assert result.result == {"path": ".", "entries": 8, "truncated": False}


async def test_depth_and_path_choose_a_part(desk):
    """One level of one folder."""
    desk.write("a/b/c/d", "")

    assert await desk.text("repo_tree", path="a/b", depth=1) == "a/b/\n  c/"
    assert await desk.text("repo_tree", path="a/b/c/") == "a/b/c/\n  d"


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
