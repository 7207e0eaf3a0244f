"""Skills are found where they may be; what is wrong with one is told, and the others are still there."""

from __future__ import annotations

import os

import pytest

from agi.skills import finding
from agi.skills.finding import MOST_ENTRIES


def test_skills_come_from_the_project_and_the_user(desk):
    """Four folders, one list, sorted by name; each says whose it is and where it lies."""
    desk.add("delta", at="~/skills")
    desk.add("alpha", at=".claude/skills")
    desk.add("beta", at=".agents/skills")
    desk.add("gamma")

    found = desk.all()

    assert [(one.name, one.source, one.path) for one in found.skills] == [
        ("alpha", "project", ".claude/skills/alpha/SKILL.md"),
        ("beta", "project", ".agents/skills/beta/SKILL.md"),
        ("delta", "user", str(desk.home / "skills/delta/SKILL.md")),
        ("gamma", "project", ".agi/skills/gamma/SKILL.md"),
    ]
    assert found.problems == ()


def test_where_there_are_none_nothing_is_wrong(desk):
    """No folder is made either."""
    assert (desk.names(), desk.wrong()) == ([], [])
    assert list(desk.root.iterdir()) == []


def test_of_two_with_one_name_the_nearer_counts_and_the_other_is_told(desk):
    """`.agi`, then `.agents`, then `.claude`, then the user's."""
    for at in (".agi/skills", ".agents/skills", ".claude/skills", "~/skills"):
        desk.add("same", f"From {at}.", at=at)

    found = desk.all()

    assert [one.description for one in found.skills] == ["From .agi/skills."]
    assert [(one.code, one.path.split("/skills")[0]) for one in found.problems] == [
        ("shadowed", ".agents"),
        ("shadowed", ".claude"),
        ("shadowed", str(desk.home)),
    ]
    assert ".agi/skills/same/SKILL.md" in found.problems[0].message


def test_one_skill_under_two_names_is_one_skill(desk):
    """A folder that links to another one, or a skill that does, is nothing to complain about."""
    desk.add("one", at=".agents/skills")
    (desk.root / ".claude").mkdir()
    (desk.root / ".claude/skills").symlink_to("../.agents/skills")
    (desk.root / ".agi/skills").mkdir(parents=True)
    (desk.root / ".agi/skills/one").symlink_to("../../.agents/skills/one")

    assert (desk.names(), desk.wrong()) == (["one"], [])


def test_what_is_broken_is_told_and_skipped(desk):
    """No front matter, binary, ten megabytes, no file, a pipe: the good one is still there."""
    desk.add("good")
    desk.write(".agi/skills/plain/SKILL.md", "# Just text\n")
    desk.write(".agi/skills/binary/SKILL.md", b"\x7fELF\0\0\0")
    os.truncate(desk.write(".agi/skills/huge/SKILL.md", "---\nname: huge\ndescription: x\n---\n"), 10 << 20)
    desk.write(".agi/skills/empty/README.md", "x")
    (desk.root / ".agi/skills/pipe").mkdir()
    os.mkfifo(desk.root / ".agi/skills/pipe/SKILL.md")

    assert desk.names() == ["good"]
    assert [(name, code) for name, code, _ in desk.wrong()] == [
        ("binary", "not_text"),
        ("empty", "invalid"),
        ("huge", "too_large"),
        ("pipe", "unreadable"),
        ("plain", "invalid"),
    ]


def test_files_and_hidden_folders_beside_skills_mean_nothing(desk):
    """A README, a cache, what a tool keeps there."""
    desk.write(".agi/skills/README.md", "x")
    desk.write(".agi/skills/.system/SKILL.md", "x")
    desk.write(".agi/skills/__pycache__/x", "x")
    (desk.root / ".agi/skills/link").symlink_to("README.md")

    assert (desk.names(), desk.wrong()) == ([], [])


def test_no_link_of_a_project_leads_out_of_it(desk, tmp_path):
    """Neither a folder of skills, nor a skill, nor its file; a secret outside stays outside."""
    outside = tmp_path / "outside"
    for name in ("stolen", "file"):
        (outside / name).mkdir(parents=True)
        (outside / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: secret\n---\n")
    (desk.root / ".agents").mkdir()
    (desk.root / ".agents/skills").symlink_to(outside)
    (desk.root / ".agi/skills/file").mkdir(parents=True)
    (desk.root / ".agi/skills/file/SKILL.md").symlink_to(outside / "file/SKILL.md")
    (desk.root / ".agi/skills/stolen").symlink_to(outside / "stolen")

    assert desk.names() == []
    assert [(name, code) for name, code, _ in desk.wrong()] == [
        ("file", "unreadable"),
        ("stolen", "unreadable"),
        (".agents/skills", "unreadable"),
    ]
    assert "secret" not in str(desk.all())


def test_a_skill_of_a_project_cannot_be_our_own_state(desk):
    """A link to the sessions of the project is refused like the sessions themselves."""
    desk.write(".agi/sessions/stolen/SKILL.md", "---\nname: stolen\ndescription: what was said\n---\n")
    (desk.root / ".agi/skills").mkdir()
    (desk.root / ".agi/skills/stolen").symlink_to("../sessions/stolen")

    assert desk.names() == []


def test_a_users_skill_may_be_a_link_but_not_to_the_users_settings(desk, tmp_path):
    """Dotfiles live elsewhere; keys live beside."""
    kept = tmp_path / "dotfiles/mine"
    kept.mkdir(parents=True)
    (kept / "SKILL.md").write_text("---\nname: mine\ndescription: From my dotfiles.\n---\n")
    desk.write("~/SKILL.md", "---\nname: evil\ndescription: x\n---\n")
    (desk.home / "skills").mkdir()
    (desk.home / "skills/mine").symlink_to(kept)
    (desk.home / "skills/evil").symlink_to("..")

    assert desk.names() == ["mine"]
    assert [(name, code) for name, code, _ in desk.wrong()] == [("evil", "unreadable")]


def test_a_name_that_is_no_text_is_told_as_text(desk):
    """Whatever a disk holds can be sent to a client."""
    folder = os.fsencode(desk.root) + b"/.agi/skills/caf\xe9\nx"
    os.makedirs(folder)
    with open(folder + b"/SKILL.md", "w") as file:
        file.write("x")

    ((name, code, _),) = desk.wrong()

    assert (name.encode(), code) == (b"caf x", "invalid")


def test_a_file_where_the_folder_should_be_is_told(desk):
    """It is somebody's mistake, and nobody would notice."""
    desk.write(".claude/skills", "x")

    assert [(name, code) for name, code, _ in desk.wrong()] == [(".claude/skills", "unreadable")]


def test_a_folder_with_too_many_entries_says_so(desk, monkeypatch):
    """What is looked at is bounded."""
    assert MOST_ENTRIES >= 2_000
    monkeypatch.setattr(finding, "MOST_ENTRIES", 3)
    for number in range(5):
        desk.add(f"s{number}")

    assert len(desk.names()) == 3
    assert [(name, code) for name, code, _ in desk.wrong()] == [(".agi/skills", "too_many")]


@pytest.fixture
def settled(monkeypatch):
    """Files of this moment count as old: nobody changes them twice within one tick here."""
    monkeypatch.setattr(finding, "SETTLED_NS", -1)


def test_two_thousand_skills_are_read_once(desk, settled):
    """A second look asks for stamps and opens no SKILL.md."""
    for number in range(2_000):
        desk.add(f"skill-{number:04}", f"Does thing {number}.")

    first = desk.all()
    read = [path for path in desk.opened if path.endswith("SKILL.md")]
    desk.opened.clear()
    second = desk.all()

    assert len(first.skills) == len(read) == 2_000
    assert second == first
    assert len(desk.opened) < 10


def test_what_changed_is_read_again_and_what_vanished_is_gone(desk, settled):
    """The list is as the disk is."""
    for name in ("changed", "gone", "same"):
        desk.add(name)
    desk.all()
    desk.opened.clear()
    desk.add("changed", "Does another thing.")
    (desk.root / ".agi/skills/gone/SKILL.md").unlink()

    found = desk.all()

    assert [(one.name, one.description) for one in found.skills] == [
        ("changed", "Does another thing."),
        ("same", "Does a thing."),
    ]
    assert [one.name for one in found.problems] == ["gone"]
    assert ".agi/skills/same/SKILL.md" not in desk.opened


def test_a_file_that_was_just_written_is_not_remembered(desk):
    """It may change again within the same tick of the clock, and nothing would show it."""
    file = desk.add("x", "One.")
    stamp = file.stat()
    desk.all()
    desk.add("x", "Two.")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    assert desk.all().skills[0].description == "Two."
