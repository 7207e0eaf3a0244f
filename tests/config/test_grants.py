"""What is allowed in a workspace is kept in the user's own file, and what makes no sense there allows nothing."""

from __future__ import annotations

import json
import os
import stat

import pytest

from agi.config import grants as module
from agi.config.grants import WorkspaceGrants, add_grants, read_grants, remove_grant
from agi.errors import ConfigError, NotFound
from agi.protocol.grants import Grant
from agi.protocol.policies import Rule


def grant(name: str, **rule: str) -> Grant:
    made = Rule(verdict="allow", **({"tool": "shell", "command": name} | rule))
    return Grant(
        id=f"grant_{name}",
        scope="workspace",
        rule=made,
        text=name,
        granted_at="2026-01-01T00:00:00.000Z",
        session_id="s",
    )


def test_what_is_added_is_read_again(tmp_path):
    """By the workspace's real path; other keys stay, and only the owner can read the file."""
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    (tmp_path / "link").symlink_to(work)
    home.mkdir()
    (home / "config.json").write_text('{"auth": "token"}')
    add_grants(home, tmp_path / "link", (grant("ls"), grant("cat")))

    found = read_grants(home, work)
    assert [(one.id, one.rule.command, one.workspace_path) for one in found] == [
        ("grant_ls", "ls", str(work)),
        ("grant_cat", "cat", str(work)),
    ]
    assert read_grants(home) == read_grants(home, tmp_path / "link") == found
    assert read_grants(home, tmp_path) == ()
    assert json.loads((home / "config.json").read_text())["auth"] == "token"
    assert stat.S_IMODE((home / "config.json").stat().st_mode) == 0o600


def test_a_rule_is_kept_once(tmp_path):
    """Whoever answers twice has said one thing."""
    add_grants(tmp_path, tmp_path, (grant("ls"),))
    add_grants(tmp_path, tmp_path, (grant("ls"), grant("wc")))

    assert [one.rule.command for one in read_grants(tmp_path)] == ["ls", "wc"]


def test_what_is_removed_is_gone(tmp_path):
    """And only that; what was not there is said not to be."""
    add_grants(tmp_path, tmp_path, (grant("ls"), grant("wc")))
    remove_grant(tmp_path, "grant_ls")

    assert [one.id for one in read_grants(tmp_path)] == ["grant_wc"]
    with pytest.raises(NotFound):
        remove_grant(tmp_path, "grant_ls")
    remove_grant(tmp_path, "grant_wc")
    assert json.loads((tmp_path / "config.json").read_text()) == {"workspaceGrants": {}}


@pytest.mark.parametrize(
    "entries",
    [
        *(7, [], {"/x": 7}, {"/x": [7, None, {}, []]}, {"/x": [{"id": 1}]}),
        {"/x": [{"id": "g", "rule": {"tool": "shell", "verdict": "deny"}, "text": "", "grantedAt": ""}]},
        {
            "/x": [
                {"id": "g", "rule": {"tool": "shell", "verdict": "allow", "comand": "a"}, "text": "", "grantedAt": ""}
            ]
        },
    ],
)
def test_what_makes_no_sense_allows_nothing(tmp_path, entries):
    """Also a rule with a slip in it: without its condition it would allow everything."""
    (tmp_path / "config.json").write_text(json.dumps({"workspaceGrants": entries}))

    assert read_grants(tmp_path) == ()
    add_grants(tmp_path, tmp_path, (grant("ls"),))
    assert len(read_grants(tmp_path)) == 1


def test_there_is_an_end_to_it(tmp_path, monkeypatch):
    """Nobody can look through thousands of rules."""
    monkeypatch.setattr(module, "MOST", 2)
    add_grants(tmp_path, tmp_path, (grant("a"), grant("b")))

    with pytest.raises(ConfigError, match="More than 2"):
        add_grants(tmp_path, tmp_path, (grant("c"),))
    assert len(read_grants(tmp_path)) == 2


def test_who_asks_again_gets_what_is_there_now(tmp_path):
    """Without reading the file each time, and nothing while it cannot be read."""
    now = WorkspaceGrants(tmp_path, tmp_path)
    assert now() == ()
    add_grants(tmp_path, tmp_path, (grant("ls"),))
    assert len(now()) == 1
    assert now() is now()
    remove_grant(tmp_path, "grant_ls")
    assert now() == ()
    (tmp_path / "config.json").write_text("{")
    os.utime(tmp_path / "config.json", (1, 1))
    assert now() == ()
