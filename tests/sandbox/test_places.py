"""Which places are hidden and which are shown."""

import os
import sys

import pytest

from agi.sandbox.base import Confinement
from agi.sandbox.places import find_places, within


@pytest.fixture
def home(elsewhere):
    for name in (".cargo/bin", ".rustup", ".pyenv/shims", ".local/bin", ".local/lib", ".local/share/keyrings", "bin"):
        (elsewhere / name).mkdir(parents=True)
    for name in (".ssh/bin", ".config/tool/bin", "tools/x/bin", "plain"):
        (elsewhere / name).mkdir(parents=True)
    (elsewhere / ".cargo/credentials.toml").write_text("key")
    return elsewhere


def look(home, workspace, path="", **reach):
    env = {"HOME": str(home), "PATH": path}
    return find_places(Confinement(workspace=workspace, **reach), env)


def shown(places, home):
    """What is shown of a home, by its names within it."""
    return {os.path.relpath(path, home) for path in places.readable if within(path, str(home))}


def test_home_is_hidden_with_what_path_does_not_name(home, workspace):
    """An empty PATH shows nothing of it."""
    places = look(home, workspace)

    assert str(home) in places.homes
    assert shown(places, home) == set()


def test_what_path_names_is_shown_with_what_belongs_to_it(home, workspace):
    """A tool's installation, not what lies beside it; a key in it is hidden again."""
    names = (".cargo/bin", ".pyenv/shims", ".local/bin", "bin", "tools/x/bin", "plain", ".ssh/bin", ".config/tool/bin")
    places = look(home, workspace, ":".join(f"{home}/{name}" for name in names) + f":{home}:relative:")

    assert shown(places, home) == {".cargo", ".rustup", ".pyenv", ".local/bin", ".local/lib", "bin", "tools/x", "plain"}
    assert f"{home}/.cargo/credentials.toml" in places.hidden


def test_a_workspace_at_home_is_not_hidden_with_it(home):
    """Only what holds it is."""
    workspace = home / "plain"

    places = look(home, workspace)

    assert str(home) in places.homes
    assert not any(within(path, str(workspace)) for path in places.hidden)


def test_a_workspace_that_holds_home_hides_only_keys(home):
    """Home itself cannot be hidden then."""
    places = look(home, home)

    assert str(home) not in places.homes
    assert {f"{home}/.ssh", f"{home}/.config"} <= set(places.hidden)


@pytest.mark.parametrize("odd", ["", "/", "/usr", "relative", "/nonexistent"])
def test_an_odd_home_hides_nothing_that_is_needed(workspace, odd):
    """The system itself is never hidden."""
    places = look(odd, workspace)

    assert not {"/", "/usr", "", "relative", "/nonexistent"} & set(places.homes)


def test_our_own_interpreter_can_be_run(workspace):
    """Wherever it is installed."""
    places = find_places(Confinement(workspace=workspace), {"HOME": os.path.expanduser("~"), "PATH": ""})
    program = os.path.realpath(sys.executable)

    hidden = any(within(program, place) for place in (*places.homes, "/tmp", "/run"))
    assert not hidden or any(within(program, place) for place in places.readable)


def test_names_that_only_begin_alike_are_different_places():
    """A folder is not inside its neighbour."""
    assert within("/a/b", "/a")
    assert within("/a", "/a")
    assert within("/a", "/")
    assert not within("/ab", "/a")
