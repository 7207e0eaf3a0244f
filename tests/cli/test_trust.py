"""Trust at the command line: given by a person, to what was seen, and taken back."""

from __future__ import annotations

import json

from agi.testing.provider import says

QUESTION = "[n]o, not now: "


def test_a_folder_is_trusted_listed_and_revoked(here):
    """The files that trust lets count are named first."""
    here.configure({"verify": {"commands": ["make"]}}, own=False)
    trusted = here("trust")
    listed = here("trust", "--list")
    as_json = json.loads((here("trust", "--list", "--json")).out)
    revoked = here("trust", str(here.project), "--revoke")

    assert (trusted.code, trusted.out) == (0, f"Trusted: {here.project}\n")
    assert ".agi/config.json" in trusted.err
    assert str(here.project) in listed.out
    assert [one["path"] for one in as_json] == [str(here.project)]
    assert revoked.out == f"No longer trusted: {here.project}\n"
    assert (here("trust", "--list")).out == "No workspace is trusted.\n"


def test_a_folder_that_changed_is_listed_as_such(here):
    """Trust is in what was seen."""
    here.configure({"verify": {"commands": ["make"]}}, own=False)
    here("trust")
    here.configure({"verify": {"commands": ["evil"]}}, own=False)
    listed = here("trust", "--list")
    again = here("trust")

    assert "has changed since" in listed.out
    assert "has changed since you trusted it" in again.err


def test_a_folder_that_is_gone_can_still_be_revoked(here):
    """The list does not fill up with the dead."""
    gone = here.project / "gone"
    gone.mkdir()
    here("trust", str(gone))
    gone.rmdir()
    revoked = here("trust", "--revoke", str(gone))
    never = here("trust", "--revoke", str(gone))

    assert revoked.out.startswith("No longer trusted")
    assert never.out.startswith("Was not trusted")


async def test_the_first_use_at_a_terminal_asks_and_a_yes_lasts(cli):
    """A project with settings of its own is asked about; once trusted, it is not asked again."""
    async with cli.answered_by(says("one"), says("two")):
        cli.write("AGENTS.md", "# Rules\n\n## Verification\n\n```sh\nmake check\n```\n")
        async with cli.terminal("hi") as terminal:
            await terminal.shows(QUESTION)
            assert "AGENTS.md" in terminal.text
            terminal.type("y\n")
            assert await terminal.ends() == 0
        async with cli.terminal("hi") as terminal:
            assert await terminal.ends() == 0
            await terminal.shows("two")

    assert QUESTION not in terminal.text


async def test_a_no_goes_on_without_trust(cli):
    """The question is still answered; the project's settings are not used."""
    async with cli.answered_by(says("ok")):
        cli.configure({"providers": {"openai": {"baseUrl": "http://127.0.0.1:9/v1"}}}, own=False)
        async with cli.terminal("hi") as terminal:
            await terminal.shows(QUESTION)
            terminal.type("\n")
            assert await terminal.ends() == 0
            await terminal.shows("ok")

    assert "Not trusted" in terminal.text


async def test_a_project_without_settings_is_not_asked_about(cli):
    """There is nothing to decide."""
    async with cli.answered_by(says("ok")), cli.terminal("hi") as terminal:
        assert await terminal.ends() == 0
        await terminal.shows("ok")

    assert QUESTION not in terminal.text
