"""More places that commands may change: none that would undo what is protected."""

import os

import pytest

from agi.errors import Invalid, Unavailable

from .conftest import ENV


@pytest.fixture
def home(elsewhere):
    (elsewhere / "home/.ssh").mkdir(parents=True)
    (elsewhere / "home/cache").mkdir()
    return elsewhere / "home"


async def test_what_holds_the_workspace_or_the_system_is_refused(confined, workspace):
    """However it is spelled."""
    (workspace / "link").symlink_to("/")
    wide = (workspace, workspace.parent, workspace / ".", workspace / "link", "/", "/usr", "/etc")
    for place in wide:
        with pytest.raises(Invalid) as refused:
            await confined("touch ran", writable=(place,))
        assert (refused.value.code, bool(refused.value.hint)) == ("writable_too_wide", True)

    assert not (workspace / "ran").exists()


async def test_what_meets_a_hidden_place_is_refused(confined, home, elsewhere):
    """The daemon's data, the user's settings, keys, and home as a whole."""
    (elsewhere / "data/inner").mkdir(parents=True)
    reach = {"hidden": (elsewhere / "data",), "env": {"HOME": str(home)}}
    for place in (elsewhere, elsewhere / "data", elsewhere / "data/inner", home, home / ".ssh"):
        with pytest.raises(Invalid):
            await confined("true", writable=(place,), **reach)


async def test_a_single_folder_can_be_opened_also_at_home(confined, home):
    """Such as a cache."""
    result = await confined(f"echo x > {home}/cache/new", writable=(home / "cache",), env={"HOME": str(home)})

    assert (result.exit_code, (home / "cache/new").read_text()) == (0, "x\n")


async def test_what_is_opened_inside_the_workspace_lies_under_what_is_protected(apart, workspace):
    """Protection is built over it."""
    os.makedirs(workspace / ".git/hooks")
    (workspace / ".git/config").write_text("")

    result = await apart("echo evil > .git/hooks/pre-commit", writable=(workspace / ".git",))

    assert result.exit_code != 0
    assert os.listdir(workspace / ".git/hooks") == []


async def test_what_is_not_there_is_said(confined, workspace):
    """It is a mistake in the settings, and nothing runs."""
    with pytest.raises(Unavailable) as refused:
        await confined("touch ran", writable=(workspace.parent / "missing",))

    assert "missing" in refused.value.message
    assert not (workspace / "ran").exists()


async def test_without_a_sandbox_it_means_nothing(workspace):
    """Commands run as their user there."""
    from .conftest import runner

    assert (await runner("none", workspace)("true", writable=(workspace,), env=ENV)).exit_code == 0
