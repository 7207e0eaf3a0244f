"""Paths as text: what stays beneath a root, and which places are off limits."""

import errno

import pytest

from agi.errors import AgiError, NotFound, WorkspaceError
from agi.workspace.paths import explained, refuse_reading, refuse_writing, relative_parts

ROOTS = ("/w/proj",)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a/b.txt", ("a", "b.txt")),
        ("./a//b/", ("a", "b")),
        ("a/../b", ("b",)),
        (".", ()),
        ("/w/proj/a", ("a",)),
        ("/w/proj", ()),
        ("/w/../w/proj/a", ("a",)),
        ("-rf", ("-rf",)),
        ("%2e%2e/x", ("%2e%2e", "x")),
        ("..\\x", ("..\\x",)),
        ("na\nme", ("na\nme",)),
    ],
)
def test_a_path_that_stays_inside_becomes_names(path, parts):
    """Spelling is normalised; odd characters are only characters."""
    assert relative_parts(path, ROOTS) == parts


@pytest.mark.threat("T14")
@pytest.mark.parametrize(
    "path",
    ["", "..", "a/../../b", "/etc/passwd", "/w/proj-evil/x", "/w/proj/../x", "/w", "a\0b", "~/x", "~root/x", "\ud800"],
)
def test_a_path_that_leads_out_is_refused_with_a_hint(path):
    """Sibling prefixes, parents, tildes, NUL and text that is none are all refused alike."""
    with pytest.raises(WorkspaceError) as caught:
        relative_parts(path, ROOTS)

    assert caught.value.code == "path_refused"
    assert caught.value.hint


@pytest.mark.parametrize(
    "location",
    [".agi/agi.sqlite", ".agi/agi.sqlite-wal", ".agi/daemon.json", ".agi/sessions", ".agi/sessions/s/events.ndjson"],
)
def test_our_own_state_may_not_be_read(location):
    """The log, its mirrors and the daemon's token are no tool's business, in whatever case they are spelled."""
    for spelled in (location, location.upper(), f"sub/{location}", location.replace("agi", "a\u200bgi", 1)):
        with pytest.raises(WorkspaceError):
            refuse_reading(spelled)


@pytest.mark.parametrize("location", ["", "a", ".agi", ".agi/config.json", ".agi/agents/a/agent.txt", "sessions/a"])
def test_other_places_may_be_read(location):
    """What a project's owner wrote into .agi is readable like any file."""
    refuse_reading(location)


@pytest.mark.threat("T27")
@pytest.mark.parametrize(
    "location",
    [
        ".agi/config.json",
        ".agi",
        ".git/config",
        ".git/hooks/pre-commit",
        ".git",
        "sub/.git/hooks/x",
        ".GIT/Config",
        ".mcp.json",
        "a/.MCP.json",
    ],
)
def test_our_folder_and_gits_may_not_be_written(location):
    """A file written there could become a command that runs later."""
    with pytest.raises(WorkspaceError):
        refuse_writing(location)


@pytest.mark.parametrize("location", [".gitignore", ".github/workflows/ci.yml", "agi/x", "src/.agile", "naïve/é"])
def test_names_that_only_look_alike_may_be_written(location):
    """Only the folders themselves are off limits."""
    refuse_writing(location)


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (errno.ENOENT, NotFound, "file_not_found"),
        (errno.EXDEV, WorkspaceError, "path_refused"),
        (errno.ELOOP, WorkspaceError, "path_refused"),
        (errno.ENAMETOOLONG, WorkspaceError, "path_refused"),
        (errno.ENXIO, WorkspaceError, "not_a_regular_file"),
        (errno.ENOTDIR, WorkspaceError, "not_a_directory"),
        (errno.EACCES, WorkspaceError, "permission_denied"),
    ],
)
def test_what_the_system_says_about_a_path_becomes_an_error_of_ours(number, kind, code):
    """Each has a code for programs and names the path."""
    with pytest.raises(AgiError) as caught, explained("a/b"):
        raise OSError(number, "x")

    assert (type(caught.value), caught.value.code) == (kind, code)
    assert "a/b" in caught.value.message


def test_a_fault_of_the_disk_stays_what_it_is():
    """A full disk says nothing about the path."""
    with pytest.raises(OSError) as caught, explained("a"):
        raise OSError(errno.ENOSPC, "full")

    assert caught.value.errno == errno.ENOSPC
