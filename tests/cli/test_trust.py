"""Trust at the command line: given by a person, to what was seen, and taken back."""

from __future__ import annotations

import json

import pytest

from agi.cli.covered import describe
from agi.testing.provider import says
from agi.trust import TrustState

QUESTION = "Enter: not now: "


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


@pytest.mark.parametrize(("answer", "asked_again"), [("n\n", False), ("\n", True), ("\x04", True)], ids=repr)
async def test_without_trust_it_goes_on_and_a_clear_no_is_remembered(cli, answer, asked_again):
    """The question is still answered, without the project's settings; Enter only puts the decision off."""
    async with cli.answered_by(says("ok"), says("two")):
        cli.configure({"providers": {"openai": {"baseUrl": "http://127.0.0.1:9/v1"}}}, own=False)
        async with cli.terminal("hi") as terminal:
            await terminal.shows(QUESTION)
            terminal.type(answer)
            assert await terminal.ends() == 0
            await terminal.shows("ok")
        assert "Not trusted" in terminal.text
        async with cli.terminal("hi") as again:
            if asked_again:
                await again.shows(QUESTION)
                again.type("n\n")
            assert await again.ends() == 0
            await again.shows("two")

    assert (QUESTION in again.text) == asked_again


async def test_after_a_no_it_is_asked_again_only_when_the_files_change(cli):
    """The answer was about what was seen; no setting of the user's is touched by it."""
    async with cli.answered_by(says("ok"), says("ok")):
        before = (cli.home / "config.json").read_bytes()
        for commands in (["make"], ["evil"]):
            cli.configure({"verify": {"commands": commands}}, own=False)
            async with cli.terminal("hi") as terminal:
                await terminal.shows(QUESTION)
                assert f'"{commands[0]}"' in terminal.text
                terminal.type("n\n")
                assert await terminal.ends() == 0

    assert (cli.home / "config.json").read_bytes() == before


@pytest.mark.parametrize("settings", [None, {"defaultAgent": "plan"}, {"budget": {"steps": 5}}], ids=str)
async def test_where_trust_would_change_nothing_nobody_is_asked(cli, settings):
    """There is nothing to decide."""
    if settings is not None:
        cli.configure(settings, own=False)
    async with cli.answered_by(says("ok")), cli.terminal("hi") as terminal:
        assert await terminal.ends() == 0
        await terminal.shows("ok")

    assert QUESTION not in terminal.text


async def test_at_a_terminal_one_sees_what_one_trusts_and_is_asked(cli):
    """Every file with its content, as far as it is not too long; nothing in it acts."""
    cli.write(".agi/config.json", '{"verify": {"commands": ["make \\u001b"]},\n"x": "\x1b[2J"}')
    cli.write(".agi/tools/run.sh", "".join(f"echo {n}\n" for n in range(100)))
    cli.write("AGENTS.md", "# Rules\n\nBe nice.\n\n## Verification\n\n```sh\nmake check\n```\n")
    async with cli.terminal("trust") as terminal:
        await terminal.shows("[y/N]: ")
        terminal.type("\n")
        refused = await terminal.ends()
    listed = await cli("trust", "--list")
    async with cli.terminal("trust") as again:
        await again.shows("[y/N]: ")
        again.type("y\n")
        agreed = await again.ends()

    assert (refused, agreed) == (1, 0)
    assert listed.out == "No workspace is trusted.\n"
    assert r'    "x": "\x1b[2J"}' in terminal.text
    assert "\x1b[2J" not in terminal.text
    assert "    echo 29\n    … 70 more lines\n" in terminal.text
    assert "    make check\n" in terminal.text
    assert "Be nice." not in terminal.text
    assert "Nothing was changed." in terminal.text


async def test_with_yes_nobody_is_asked_at_a_terminal_either(cli):
    """For those who have looked."""
    cli.configure({"verify": {"commands": ["make"]}}, own=False)
    async with cli.terminal("trust", "-y") as terminal:
        assert await terminal.ends() == 0
        await terminal.shows("Trusted: ")

    assert "[y/N]" not in terminal.text


def test_what_cannot_be_shown_is_named_for_what_it_is(tmp_path):
    """Links, folders, other bytes, long lines and what is gone."""
    tools = tmp_path / ".agi" / "tools"
    tools.mkdir(parents=True)
    (tools / "a").symlink_to("/etc/passwd")
    (tools / "b").write_bytes(b"\x7fELF\0\0")
    (tools / "c").write_text("x" * 5000)
    state = TrustState(
        trusted=False,
        reason="changed",
        fingerprint="f",
        changed=tuple(f".agi/tools{n}" for n in ("", "/a", "/b", "/c", "/d")),
    )
    shown = "\n".join(describe(tmp_path, state, contents=True))

    assert "[a folder]" in shown
    assert "[a link to /etc/passwd]" in shown
    assert "[not a text, 6 bytes or more]" in shown
    assert "x" * 999 + "…" in shown
    assert "[it is gone]" in shown
