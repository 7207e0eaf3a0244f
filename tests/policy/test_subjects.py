"""What a call is about: its command with the folder it runs in, or the files it names."""

from __future__ import annotations

import pytest
from msgspec import Raw

from agi.policy.ground import Ground
from agi.policy.subjects import subject_of
from agi.protocol.tools import ToolCall


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"command": "ls"}, "ls"),
        ({"command": "ls", "cwd": "."}, "ls"),
        ({"command": "ls", "cwd": "a/b"}, "cd a/b && ls"),
        ({"command": "ls", "cwd": "a/b/"}, "cd a/b && ls"),
        ({"command": "ls", "cwd": "it's; rm x"}, "cd 'it'\"'\"'s; rm x' && ls"),
        ({"command": "ls", "cwd": 5}, "ls"),
    ],
)
def test_a_command_is_what_would_run_in_its_folder(tool, call, given, text):
    """Changing there first means the same, and can be written down as one rule."""
    subject = subject_of(tool("shell"), call("shell", **given), Ground())

    assert subject.text == text
    assert subject.seen is not None


def test_files_are_told_as_spelled_and_as_they_lead(tool, call):
    """Each once."""
    ground = Ground(locate=lambda path: "real/a" if path == "link" else path)
    subject = subject_of(tool("write_file"), call("write_file", path="link", new_path="./b//c"), ground)

    assert subject.files == ("link", "b/c", "real/a")
    assert subject.unclear == ""


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"command": 1}', b'{"command": "\xff"}', b"[" * 100_000])
def test_arguments_that_cannot_be_read_are_unclear(tool, raw):
    """Nothing is guessed."""
    assert subject_of(tool("shell"), ToolCall("c", "shell", Raw(raw)), Ground()).unclear
