"""A workspace is trusted by its user, for what was in it then, and never by its own files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agi.errors import ConfigError, Conflict, NotFound
from agi.sandbox.holding import hold
from agi.trust import TrustedWorkspace, TrustState, list_trusted, set_trust, trust_state


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".config" / "agi"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work" / ".agi").mkdir(parents=True)
    (tmp_path / "work" / ".agi" / "config.json").write_text('{"verify": {"commands": ["make x"]}}')
    return tmp_path / "work"


def test_a_fresh_clone_is_not_trusted(work, home):
    """Whatever it brings along."""
    state = trust_state(work, home)

    assert (state.trusted, state.reason, state.changed, state.problem) == (False, "never_trusted", (), "")
    assert not home.exists()


def test_trust_lasts_until_something_changes(work, home):
    """The same content is trusted again; a change must be trusted anew, and is named."""
    set_trust(work, home, True)
    assert trust_state(work, home).trusted

    (work / ".agi" / "config.json").write_text('{"verify": {"commands": ["make y"]}}')
    (work / ".mcp.json").write_text("{}")
    state = trust_state(work, home)
    assert (state.trusted, state.reason) == (False, "changed")
    assert state.changed == (".agi/config.json", ".mcp.json")

    (work / ".mcp.json").unlink()
    (work / ".agi" / "config.json").write_text('{"verify": {"commands": ["make x"]}}')
    assert trust_state(work, home).reason == "trusted"


def test_a_command_that_runs_in_the_sandbox_changes_no_trust(work, home):
    """What holds a free name meanwhile is no file of the workspace's; anything else that stands there is."""
    set_trust(work, home, True)
    held = hold(str(work / ".mcp.json"))
    assert held is not None
    assert (work / ".mcp.json").is_dir()
    assert trust_state(work, home).trusted
    (work / ".mcp.json" / "x").touch()
    assert not trust_state(work, home).trusted
    (work / ".mcp.json" / "x").unlink()
    held.release()


def test_setting_trust_tells_how_it_stands(work, home):
    """The answer is the new state."""
    trusted = set_trust(work, home, True)

    assert trusted == TrustState(trusted=True, reason="trusted", fingerprint=trust_state(work, home).fingerprint)
    assert set_trust(work, home, False).reason == "never_trusted"


def test_a_workspace_without_settings_can_be_trusted(tmp_path, home):
    """Trust also lets verification run; settings that appear later are a change."""
    (tmp_path / "plain").mkdir()
    set_trust(tmp_path / "plain", home, True)
    assert trust_state(tmp_path / "plain", home).trusted

    (tmp_path / "plain" / ".mcp.json").write_text("{}")
    assert trust_state(tmp_path / "plain", home).changed == (".mcp.json",)


def test_trust_is_for_one_folder(work, home, tmp_path):
    """A copy elsewhere is another workspace; the same folder by a link is the same."""
    set_trust(work, home, True)
    (tmp_path / "work-copy" / ".agi").mkdir(parents=True)
    (tmp_path / "work-copy" / ".agi" / "config.json").write_text((work / ".agi" / "config.json").read_text())
    (tmp_path / "link").symlink_to(work)

    assert not trust_state(tmp_path / "work-copy", home).trusted
    assert not trust_state(work / ".agi", home).trusted
    assert trust_state(tmp_path / "link", home).trusted


def test_trusted_workspaces_are_listed_with_their_time(work, home, tmp_path):
    """By path, as they were trusted."""
    (tmp_path / "another").mkdir()
    set_trust(work, home, True, clock=lambda: 0.0)
    set_trust(tmp_path / "another", home, True, clock=lambda: 1.5)

    listed = list_trusted(home)
    assert [(entry.path, entry.trusted_at) for entry in listed] == [
        (str(tmp_path / "another"), "1970-01-01T00:00:01.500Z"),
        (str(work), "1970-01-01T00:00:00.000Z"),
    ]
    fingerprint = trust_state(work, home).fingerprint
    assert listed[1] == TrustedWorkspace(path=str(work), fingerprint=fingerprint, trusted_at=listed[1].trusted_at)


def test_revoking_forgets_the_workspace(work, home):
    """Also one whose folder is gone by then."""
    set_trust(work, home, True)
    (work / ".agi" / "config.json").unlink()
    (work / ".agi").rmdir()
    work.rmdir()
    set_trust(work, home, False)

    assert list_trusted(home) == ()


def test_the_record_stands_in_the_users_config_beside_everything_else(work, home):
    """Other keys are kept; the file is for its owner alone."""
    home.mkdir(parents=True)
    (home / "config.json").write_text('{"defaultAgent": "plan", "providers": {"openai": {"apiKey": "sk-1"}}}')
    set_trust(work, home, True)

    stored = json.loads((home / "config.json").read_text())
    assert stored["defaultAgent"] == "plan"
    assert stored["providers"] == {"openai": {"apiKey": "sk-1"}}
    assert list(stored["trustedWorkspaces"]) == [str(work)]
    assert set(stored["trustedWorkspaces"][str(work)]) == {"fingerprint", "trustedAt", "files"}
    assert (home / "config.json").stat().st_mode & 0o777 == 0o600


def test_what_changed_between_looking_and_trusting_is_not_trusted(work, home):
    """A person trusts what was shown, not what took its place."""
    seen = trust_state(work, home).fingerprint
    (work / ".mcp.json").write_text("{}")
    with pytest.raises(Conflict) as raised:
        set_trust(work, home, True, seen=seen)

    assert raised.value.code == "workspace_changed"
    assert list_trusted(home) == ()
    assert set_trust(work, home, True, seen=trust_state(work, home).fingerprint).trusted


def _inside(work: Path) -> Path:
    return work / ".config" / "agi"


def _same(work: Path) -> Path:
    return work


def _linked_folder(work: Path) -> Path:
    (work / "settings").mkdir()
    (work.parent / "linked").symlink_to(work / "settings")
    return work.parent / "linked"


def _linked_file(work: Path) -> Path:
    home = work.parent / "home"
    home.mkdir()
    (work / "mine.json").write_text("{}")
    (home / "config.json").symlink_to(work / "mine.json")
    return home


@pytest.mark.threat("T27")
@pytest.mark.parametrize("place", [_inside, _same, _linked_folder, _linked_file])
def test_a_workspace_that_holds_the_record_cannot_be_trusted(work, place):
    """What the agent can write must not decide what the agent may do."""
    home = place(work)
    with pytest.raises(ConfigError, match="holds your own settings"):
        set_trust(work, home, True)

    assert not trust_state(work, home).trusted
    assert "holds your own settings" in trust_state(work, home).problem


def test_a_record_planted_in_such_a_workspace_does_not_count(work):
    """A repository that brings its own `.config/agi` gains nothing, even where XDG_CONFIG_HOME leads there."""
    outside = work.parent / "real"
    set_trust(work, outside, True)
    _inside(work).mkdir(parents=True)
    (_inside(work) / "config.json").write_text((outside / "config.json").read_text())

    assert not trust_state(work, _inside(work)).trusted


def test_what_cannot_be_covered_is_untrusted_and_says_why(work, home):
    """A hostile repository does not stop a session, it only stays untrusted."""
    set_trust(work, home, True)
    (work / ".agi" / "tools").symlink_to(work)
    assert trust_state(work, home).changed == (".agi/tools",)
    (work / ".agi" / "tools").unlink()
    (work / ".agi" / "tools").mkdir()
    with open(work / ".agi" / "tools" / "huge", "wb") as file:
        file.truncate(11 << 20)

    state = trust_state(work, home)
    assert (state.trusted, state.reason, state.fingerprint) == (False, "changed", "")
    assert "larger than" in state.problem
    with pytest.raises(ConfigError, match="larger than"):
        set_trust(work, home, True)


def test_a_folder_that_is_not_there_cannot_be_trusted(tmp_path, home):
    """Trust is given to something seen."""
    with pytest.raises(NotFound):
        set_trust(tmp_path / "gone", home, True)


def test_a_path_json_cannot_hold_cannot_be_trusted(tmp_path, home):
    """It says so instead of failing later."""
    odd = Path(str(tmp_path) + "/\udcff")
    odd.mkdir()
    with pytest.raises(ConfigError, match="not valid UTF-8"):
        set_trust(odd, home, True)

    assert not trust_state(odd, home).trusted


@pytest.mark.parametrize(
    "content", ['{"trustedWorkspaces": []}', '{"trustedWorkspaces": {"/x": {"fingerprint": 1}}}', "{"]
)
def test_a_damaged_record_is_an_error_that_names_the_file(work, home, content):
    """Nobody is trusted by accident."""
    home.mkdir(parents=True)
    (home / "config.json").write_text(content)
    for ask in (lambda: trust_state(work, home), lambda: list_trusted(home), lambda: set_trust(work, home, True)):
        with pytest.raises(ConfigError, match=r"config\.json"):
            ask()
    assert (home / "config.json").read_text() == content
