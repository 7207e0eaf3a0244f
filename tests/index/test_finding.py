"""Which source files there are, found once and then only looked at again."""

import os

import pytest

from agi.index import finding
from agi.index.finding import Finding


@pytest.fixture
def find(place):
    """Look again and again with one finder; says which source files there are."""
    one = Finding()

    def look():
        found = one.look(place.workspace)
        # However it got there, a fresh walk must see the same.
        fresh = Finding().look(place.workspace)
        assert found.marks.keys() == fresh.marks.keys()
        assert found.others == fresh.others
        return sorted(found.marks)

    look.finder = one
    return look


def test_source_files_are_found_others_are_only_named(place, find):
    """What is ignored, what a tool made and what is no regular file is none of either."""
    place.write("a.py", "x")
    place.write("deep/er/b.go", "x")
    place.write("notes.txt", "x")
    place.write(".gitignore", "built/\n*.gen.py\n")
    place.write("built/c.py", "x")
    place.write("d.gen.py", "x")
    place.write("node_modules/e.js", "x")
    os.mkfifo(place.root / "pipe.py")
    (place.root / "link.py").symlink_to("a.py")
    (place.root / "away").symlink_to("/usr")

    assert find() == ["a.py", "deep/er/b.go"]
    assert find.finder.look(place.workspace).others == {".gitignore", "notes.txt"}


def test_a_change_is_seen_by_its_mark(place, find):
    """Written in place or replaced, larger or not."""
    place.write("a.py", "one")
    place.write("b.py", "one")
    before = dict(find.finder.look(place.workspace).marks)
    place.write("a.py", "two")

    after = find.finder.look(place.workspace).marks

    assert after["a.py"] != before["a.py"]
    assert after["b.py"] == before["b.py"]


def test_a_time_that_is_too_young_is_not_relied_on(place):
    """A second change within the same tick of the clock would look like none."""
    place.write("a.py", "one", old=False)

    assert Finding().look(place.workspace).marks["a.py"].changed_ns == 0


def test_files_that_come_go_and_move_are_noticed(place, find):
    """In folders that are known, at the top and below."""
    place.write("a.py", "x")
    place.write("in/b.py", "x")
    assert find() == ["a.py", "in/b.py"]

    place.write("in/c.py", "x")
    place.write("d.py", "x")
    assert find() == ["a.py", "d.py", "in/b.py", "in/c.py"]

    (place.root / "in" / "b.py").unlink()
    os.replace(place.root / "a.py", place.root / "in" / "z.py")
    assert find() == ["d.py", "in/c.py", "in/z.py"]


def test_folders_that_come_go_and_move_are_noticed(place, find):
    """With all that is in them."""
    place.write("in/b.py", "x")
    assert find() == ["in/b.py"]

    place.write("new/deep/c.py", "x")
    assert find() == ["in/b.py", "new/deep/c.py"]

    os.replace(place.root / "new", place.root / "in" / "moved")
    assert find() == ["in/b.py", "in/moved/deep/c.py"]

    (place.root / "in" / "b.py").unlink()
    (place.root / "in" / "b.py").mkdir()
    assert find() == ["in/moved/deep/c.py"]


def test_a_rule_that_changes_is_followed(place, find):
    """Made, written anew in place, and taken away."""
    place.write("a.py", "x")
    place.write("in/b.py", "x")
    find()

    place.write(".gitignore", "b.py\n")
    assert find() == ["a.py"]

    (place.root / ".gitignore").write_text("a.py\n")
    place.settle()
    assert find() == ["in/b.py"]

    (place.root / ".gitignore").unlink()
    assert find() == ["a.py", "in/b.py"]


def test_a_file_that_becomes_a_link_or_a_pipe_is_no_source_any_more(place, find):
    """Nothing is read through it."""
    place.write("a.py", "x")
    place.write("b.py", "x")
    find()

    for name in ("a.py", "b.py"):
        (place.root / name).unlink()
    (place.root / "a.py").symlink_to("/etc/passwd")
    os.mkfifo(place.root / "b.py")

    assert find() == []


def test_there_is_a_limit_to_files_and_to_entries(place, monkeypatch):
    """What is nearest is known, and that there is more is said."""
    for n in range(6):
        place.write(f"{'in/' * n}f{n}.py", "x", old=False)
    monkeypatch.setattr(finding, "MOST_FILES", 3)
    look = Finding().look(place.workspace)
    assert sorted(look.marks) == ["f0.py", "in/f1.py", "in/in/f2.py"]
    assert look.truncated

    monkeypatch.setattr(finding, "MOST_ENTRIES", 4)
    assert Finding().look(place.workspace).truncated


def test_a_second_look_walks_only_where_something_changed(place, find, monkeypatch):
    """That is what makes it fast."""
    for n in range(30):
        place.write(f"pkg{n}/f.py", "x", old=False)
    place.settle()
    find.finder.look(place.workspace)
    walked = []
    real = finding.walk_visible

    def watched(workspace, path=".", **how):
        walked.append(path)
        return real(workspace, path, **how)

    monkeypatch.setattr(finding, "walk_visible", watched)
    find.finder.look(place.workspace)
    place.write("pkg7/f.py", "y")
    find.finder.look(place.workspace)

    assert walked == ["pkg7"]
