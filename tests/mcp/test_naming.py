"""Names every provider takes, and no two tools share."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from agi.mcp.naming import slug, tool_name

_FIT = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


def test_a_plain_name_stays_as_it_is():
    """Server and tool can be read in it."""
    assert tool_name("github", "search-code") == "mcp__github__search-code"


def test_what_had_to_be_altered_ends_in_a_hash():
    """So that `a.b` and `a_b` stay two."""
    names = {tool_name("x", name) for name in ("a.b", "a_b", "a b", "y" * 80, "y" * 81)}

    assert len(names) == 5
    assert slug("@scope/server") == "scope_server"
    assert slug("…") == "server"


@given(st.text(min_size=1, max_size=64), st.text(min_size=1, max_size=128))
def test_every_name_is_one_a_provider_takes(server, tool):
    """Whatever a server and its tools are called."""
    assert _FIT.match(tool_name(server, tool))
