"""The user's own file is changed by one writer at a time, all or nothing, and keeps what was not meant."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Raw

from agi.config.store import (
    Document,
    read_document,
    read_project_document,
    update_document,
    update_project_document,
)
from agi.errors import ConfigError


def put(document: Document) -> None:
    document["added"] = Raw(b"1")


@pytest.mark.threat("T17")
def test_a_new_file_is_for_its_owner_alone(tmp_path):
    """0600 in a 0700 folder, whatever the umask says."""
    home = tmp_path / "a" / "agi"
    old = os.umask(0)
    try:
        update_document(home, put)
    finally:
        os.umask(old)

    assert json.loads((home / "config.json").read_text()) == {"added": 1}
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()} == {0o600}
    assert sorted(path.name for path in home.iterdir()) == ["config.json", "config.json.lock"]


def test_other_keys_keep_their_values_and_order(tmp_path):
    """Also numbers no float can hold, and keys we do not know."""
    (tmp_path / "config.json").write_text(
        '{"z": {"deep": [1, 2.50, null]}, "big": 123456789012345678901234567890, "é": "ü"}'
    )
    update_document(tmp_path, put)
    text = (tmp_path / "config.json").read_text()

    assert list(json.loads(text)) == ["z", "big", "é", "added"]
    assert "123456789012345678901234567890" in text
    assert "2.50" in text
    assert text.endswith("}\n")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": NaN}'])
def test_a_broken_file_is_left_as_it_is(tmp_path, content):
    """Writing over it would lose what its user meant."""
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(ConfigError):
        update_document(tmp_path, put)

    assert (tmp_path / "config.json").read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "config.json.lock"]


def test_a_change_that_fails_changes_nothing(tmp_path):
    """And leaves no file beside it."""
    update_document(tmp_path, put)
    before = (tmp_path / "config.json").read_bytes()

    def grow(document: Document) -> None:
        document["huge"] = Raw(b'"' + b"x" * (1 << 20) + b'"')

    with pytest.raises(ConfigError, match="larger"):
        update_document(tmp_path, grow)
    with pytest.raises(ZeroDivisionError):
        update_document(tmp_path, lambda document: print(1 // 0))

    assert (tmp_path / "config.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "config.json.lock"]


def test_a_linked_file_stays_a_link(tmp_path):
    """People keep their settings in a folder of their own; what the link leads to is changed."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "agi.json").write_text("{}")
    home = tmp_path / "agi"
    home.mkdir()
    (home / "config.json").symlink_to(tmp_path / "dotfiles" / "agi.json")
    update_document(home, put)

    assert (home / "config.json").is_symlink()
    assert json.loads((tmp_path / "dotfiles" / "agi.json").read_text()) == {"added": 1}


def test_a_planted_lock_link_is_refused(tmp_path):
    """A link where the lock belongs is not followed."""
    (tmp_path / "agi").mkdir()
    (tmp_path / "agi" / "config.json.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(ConfigError, match="cannot be written"):
        update_document(tmp_path / "agi", put)

    assert not (tmp_path / "victim").exists()


def test_a_folder_that_cannot_be_made_is_an_error_with_its_name(tmp_path):
    """Such as below a file."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"config\.json cannot be written"):
        update_document(tmp_path / "file" / "agi", put)


def test_many_writers_lose_nothing(tmp_path):
    """Each of several processes adds its keys; all of them are there in the end."""
    code = """
import sys
from pathlib import Path
from msgspec import Raw
from agi.config.store import update_document
for number in range(20):
    update_document(Path(sys.argv[1]), lambda document: document.__setitem__(f"{sys.argv[2]}-{number}", Raw(b"1")))
"""
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]

    assert set(read_document(tmp_path)) == {f"{name}-{number}" for name in "abc" for number in range(20)}


def test_a_missing_file_is_empty(tmp_path: Path):
    """Nothing was said yet."""
    assert read_document(tmp_path) == {}


def test_a_projects_file_is_written_in_its_folder(tmp_path):
    """Which is made if there is none; other keys stay, and no other file is left."""
    update_project_document(tmp_path, put)
    (tmp_path / ".agi" / "config.json").write_text('{"z": 2.50}')
    update_project_document(tmp_path, put)

    assert (tmp_path / ".agi" / "config.json").read_text() == '{\n  "z": 2.50,\n  "added": 1\n}\n'
    assert os.listdir(tmp_path / ".agi") == ["config.json"]
    assert stat.S_IMODE((tmp_path / ".agi").stat().st_mode) == 0o700
    assert list(read_project_document(tmp_path)) == ["z", "added"]


@pytest.mark.threat("T17")
@pytest.mark.parametrize("linked", [".agi", ".agi/config.json"])
def test_a_projects_links_are_not_written_through(tmp_path, linked):
    """A repository must not choose what is overwritten."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "config.json").write_text("{}")
    project = tmp_path / "project"
    (project / linked).parent.mkdir(parents=True)
    (project / linked).symlink_to(victim if linked == ".agi" else victim / "config.json")
    with pytest.raises(ConfigError):
        update_project_document(project, put)

    assert (victim / "config.json").read_text() == "{}"


@pytest.mark.parametrize("content", [b"", b"{", b"[]"])
def test_a_projects_broken_file_is_left_as_it_is(tmp_path, content):
    """Writing over it would lose what somebody meant."""
    (tmp_path / ".agi").mkdir()
    (tmp_path / ".agi" / "config.json").write_bytes(content)
    with pytest.raises(ConfigError):
        update_project_document(tmp_path, put)

    assert (tmp_path / ".agi" / "config.json").read_bytes() == content
    assert os.listdir(tmp_path / ".agi") == ["config.json"]
