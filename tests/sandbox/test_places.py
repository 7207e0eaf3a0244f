"""Which places are hidden and which are shown."""

import os
import sys

import pytest

from agi.sandbox.base import Confinement
from agi.sandbox.homes import real
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


def test_what_comes_or_goes_between_two_looks_is_seen_by_the_second(home, workspace, tmp_path):
    """Nothing is remembered but what follows from names alone: a key that is new is hidden, one that is gone is not."""
    path, secret = f"{home}/.cargo/bin", tmp_path / "store" / "secret"
    before = look(home, workspace, path, hidden=(secret,))
    token = home / ".cargo" / "credentials"

    secret.parent.mkdir()
    secret.write_text("key")
    token.write_text("key")
    after = look(home, workspace, path, hidden=(secret,))
    token.unlink()
    later = look(home, workspace, path, hidden=(secret,))

    assert not {str(token), str(secret)} & set(before.hidden)
    assert str(token) in after.hidden
    assert str(token) not in later.hidden
    assert after != before


def test_a_hidden_place_that_becomes_a_link_is_hidden_where_it_leads(home, workspace, elsewhere):
    """Also if it was a folder a moment ago."""
    place = workspace / "data"
    place.mkdir()
    assert look(home, workspace, hidden=(place,)).hidden[-1] == str(place)

    place.rmdir()
    place.symlink_to(workspace / "other")
    (workspace / "other").mkdir()

    assert look(home, workspace, hidden=(place,)).hidden[-1] == str(workspace / "other")


@pytest.mark.parametrize("name", ["there", "link", "broken", "not/there", "gone", "link/..", "pipe", "there/./file"])
def test_where_a_path_leads_is_told_as_python_tells_it(tmp_path, name):
    """By the kernel where something is there, and by its names where not."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("")
    (tmp_path / "link").symlink_to("there")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "gone (deleted)").write_text("")
    os.mkfifo(tmp_path / "pipe")

    for path in (f"{tmp_path}/{name}", f"{tmp_path}/gone (deleted)"):
        assert real(path) == os.path.realpath(path)


def test_a_folder_that_was_removed_is_where_it_was(tmp_path):
    """It is still open, and its name is no other than before."""
    folder = tmp_path / "folder"
    folder.mkdir()
    fd = os.open(folder, os.O_RDONLY)
    try:
        folder.rmdir()
        assert real(f"/proc/self/fd/{fd}") == os.path.realpath(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)
