"""Where a path leads, by its spelling."""

from __future__ import annotations

import pytest

from agi.policy.bash.values import UNKNOWN
from agi.policy.places import is_device, is_inside, is_protected, leads_out


@pytest.mark.parametrize(
    "path", ["a", "a/b.txt", "./a", "a..b", "/dev/null", "/dev/fd/3", "/tmp/x", ".github/x", "a/.gitx"]
)
def test_a_path_that_stays(path):
    """In the workspace, a device, or scratch."""
    assert not leads_out(path)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/etc/x",
            "~",
            "~/x",
            "~me/x",
            "..",
            "../x",
            "a/../../b",
            "$X/a",
            "a`b`",
            f"a{UNKNOWN}",
            "/dev/sda",
            "/tmp/../etc/x",
        ),
        *(
            ".git",
            ".git/config",
            "sub/.git/hooks/x",
            ".GIT/config",
            ".agi/config.json",
            ".mcp.json",
            "/dev/null/../../etc",
        ),
    ],
)
def test_a_path_that_may_lead_out_or_decides_what_runs(path):
    """In doubt it does."""
    assert leads_out(path)
    assert not is_inside(path)


def test_what_is_inside_for_sure_is_a_plain_relative_path():
    """No device, no scratch, no pattern."""
    assert [is_inside(path) for path in ("a/b", "a b", "/tmp/x", "/dev/null", "a*", "", "a{b,c}")] == [
        *(True, True),
        *(False, False, False, False, False),
    ]
    assert is_device("/dev/stderr")
    assert is_protected("a/.Git/b")
    assert not is_protected("a/git/b")
