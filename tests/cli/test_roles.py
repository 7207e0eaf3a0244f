"""`agi roles`: who can be drafted in a folder, without a daemon and without making a data folder."""

from __future__ import annotations

import json


def test_roles_are_listed_and_what_is_wrong_is_said(here, cli):
    """Names, sources and permissions on stdout, problems on stderr; nothing of a file acts on the terminal."""
    cli.write(".agents/roles/dev.md", "---\ndescription: Builds \x1b[2J things.\n---\nYou build.\n")
    cli.write(".agents/roles/broken.md", "nothing")
    cli.write(".agents/roles/lead.md", "---\npermissions: [agent-draft]\n---\n")

    listed, as_json = here("roles"), json.loads(here("roles", "--json").out)

    assert "dev      project  Builds \\x1b[2J things." in listed.out
    assert "build    builtin" in listed.out
    assert ".agents/roles/broken.md: It has no front matter." in listed.err
    assert "do not count: the project is not trusted" in listed.err
    assert {one["name"] for one in as_json["roles"]} == {"build", "general", "plan", "dev", "lead"}
    assert not (here.project / ".agi").exists()


def test_a_wrong_line_is_refused(here):
    """It takes no words."""
    assert here("roles", "more").code == 2
