"""Published attacks by paths, links and files that decide what runs, each in its own shape, in a real session.

The agent is steered: a script says what a talked-over model would. Its user is asked about nothing, so that only what
must hold without questions is left.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import FREE, Served, needs_a_sandbox

SECRET = "the neighbour's secret"


class Session:
    """A session of a user, whose agent does what it is told."""

    def __init__(self, place: Any) -> None:
        self.place = place
        self.project: Path = place.project
        self.outside: Path = place.project.parent

    async def settle(self, **settings: object) -> None:
        """Have the user's own settings count."""
        self.place.home.mkdir(exist_ok=True)
        (self.place.home / "config.json").write_text(json.dumps(settings))
        await self.place.reopen()

    async def does(self, tool: str, **arguments: object) -> str:
        """Have the agent call a tool; gives what it is shown, in words."""
        self.place.model.calls(tool, **arguments).then_says("done")
        await self.place.ask("go", on_ask="deny")
        return self.place.events("tool_call_completed")[-1].raw.decode()


@pytest.fixture
async def session(place: Any) -> Session:
    """A session in which nothing is asked about."""
    made = Session(place)
    await made.settle(**FREE)
    return made


def refused(said: str) -> bool:
    """Whether a call came to nothing."""
    return '"ok":false' in said.replace(" ", "")


@pytest.mark.advisory("CVE-2025-54794")
async def test_cve_2025_54794_a_sibling_whose_name_begins_alike_is_outside(session: Session) -> None:
    """The folder was compared as a text that another one may begin with."""
    sibling = session.project.with_name(session.project.name + "-evil")
    sibling.mkdir()
    (sibling / "secret.txt").write_text(SECRET)
    for path in (f"{sibling}/secret.txt", f"../{sibling.name}/secret.txt"):
        said = await session.does("read_file", path=path)
        assert (refused(said), SECRET in said) == (True, False)
        assert refused(await session.does("write_file", path=f"{path}.new", content="x"))

    assert os.listdir(sibling) == ["secret.txt"]


@pytest.mark.advisory("CVE-2026-25724", "CVE-2025-59829")
@pytest.mark.parametrize("link", ["file", "folder", "chain"])
async def test_cve_2026_25724_a_rule_that_denies_a_file_holds_by_every_name_of_it(session: Session, link: str) -> None:
    """The rule was compared with the path as it was spelled, and a link spells it otherwise."""
    denied = {"tool": "read_file", "path": "private/**", "verdict": "deny"}
    await session.settle(approval={"requireForKinds": [], "rules": [denied]}, verify={"autoVerify": False})
    (session.project / "private").mkdir()
    (session.project / "private" / "key").write_text(SECRET)
    (session.project / "file").symlink_to("private/key")
    (session.project / "folder").symlink_to("private")
    (session.project / "chain").symlink_to("file")
    path = {"file": "file", "folder": "folder/key", "chain": "chain"}[link]

    session.place.model.calls("read_file", path=path).then_says("done")
    await session.place.ask("go", on_ask="deny")

    assert session.place.events("tool_call_started") == []
    assert SECRET not in "".join(event.raw.decode() for event in session.place.events())


@pytest.mark.advisory("CVE-2026-39861")
@needs_a_sandbox
async def test_cve_2026_39861_a_link_that_a_command_planted_is_not_followed_by_the_daemon(session: Session) -> None:
    """What runs inside cannot write outside, but it may leave a link for whoever writes from outside."""
    victim = session.outside / "victim"
    victim.mkdir()
    (victim / "rc").write_text("theirs")
    planted = (
        f"ln -s {victim} folder; ln -s {victim}/rc file; ln -s {victim}/new absent; mkdir -p d && ln -s {victim} d/e"
    )
    await session.does("shell", command=planted)
    assert (session.project / "folder").is_symlink()
    for path in ("folder/rc", "file", "absent", "d/e/rc", "folder/new"):
        assert refused(await session.does("write_file", path=path, content="planted")), path
        patch = f"*** Begin Patch\n*** Add File: {path}\n+planted\n*** End Patch"
        assert refused(await session.does("apply_patch", patch=patch)), path

    assert {path.name: path.read_text() for path in victim.iterdir()} == {"rc": "theirs"}


@pytest.mark.advisory("CVE-2026-46406")
@needs_a_sandbox
async def test_cve_2026_46406_nothing_is_kept_under_a_name_that_others_know(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of a fixed name stood in the temporary folder that all users share, for everybody to read."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setenv("TMPDIR", str(shared))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = os.umask(0)
    try:
        await session.does("shell", command="seq 200000; ls -la")
        await session.does("search", query="x", regex=True)
    finally:
        os.umask(before)

    assert [path.name for path in shared.iterdir() if path.stat().st_mode & 0o077] == []


@pytest.mark.advisory("claude-code#61148")
async def test_claude_code_61148_a_mention_goes_through_the_same_door(served: Served, tmp_path: Path) -> None:
    """What was attached by `@` was read by other code than the tools', which knew no rules."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (served.project / "link.txt").symlink_to(tmp_path / "secret.txt")

    for mention in ("@../secret.txt", f"@{tmp_path}/secret.txt", "@link.txt"):
        code, _, said = await served.run(f"look at {mention}")
        assert (code, mention in said) == (0, True)

    log = b"".join(path.read_bytes() for path in (served.project / ".agi").rglob("*") if path.is_file())
    assert SECRET.encode() not in log


@pytest.mark.advisory("CVE-2025-59532")
@needs_a_sandbox
async def test_cve_2025_59532_the_folder_a_model_names_is_not_what_may_be_changed(session: Session) -> None:
    """The working directory that the model chose became the root it could write to."""
    (session.outside / "elsewhere").mkdir()
    (session.project / "link").symlink_to(session.outside / "elsewhere")
    for cwd in ("..", "/", str(session.outside / "elsewhere"), "link", "/tmp", "~"):
        assert refused(await session.does("shell", command="touch planted", cwd=cwd)), cwd
    await session.does("shell", command=f"cd .. && touch planted; touch {session.outside}/elsewhere/planted")

    assert not list(session.outside.glob("**/planted"))


def make_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", "--template=", "."], cwd=folder, check=True)


def is_there(path: Path) -> bool:
    """Whether anything stands there, if only a link to nowhere."""
    return os.path.lexists(path)


STEERING = [".agi/config.json", ".agi/mcp.json", ".agi/tools/evil/tool.py", ".mcp.json", ".git/hooks/pre-commit"]


@pytest.mark.advisory("CVE-2026-25725", "CVE-2025-54135", "CVE-2025-53773", "CVE-2026-30615")
@needs_a_sandbox
@pytest.mark.parametrize("path", STEERING)
@pytest.mark.parametrize("way", ["a tool", "a patch", "a command", "a link"])
async def test_cve_2026_25725_no_file_that_decides_what_runs_is_made_by_an_agent(
    session: Session, path: str, way: str
) -> None:
    """Settings, servers, tools and hooks that are not there yet: nobody had protected what did not exist."""
    make_repository(session.project)
    patch = f"*** Begin Patch\n*** Add File: {path}\n+{{}}\n*** End Patch"
    if way == "a tool":
        assert refused(await session.does("write_file", path=path, content="{}"))
    elif way == "a patch":
        assert refused(await session.does("apply_patch", patch=patch))
    elif way == "a command":
        await session.does("shell", command=f"mkdir -p $(dirname {path}); echo '{{}}' > {path}; cp {path} /dev/null")
    else:
        await session.does("shell", command=f"echo '{{}}' > x; mkdir -p $(dirname {path}); ln -sf $PWD/x {path}")

    assert not is_there(session.project / path)
    assert sorted(os.listdir(session.project)) in ([".agi", ".git"], [".agi", ".git", "x"])


@pytest.mark.advisory("CVE-2025-53773")
async def test_cve_2025_53773_an_agent_cannot_talk_itself_out_of_being_asked(session: Session) -> None:
    """Text in a file made the agent switch off the questions in its own settings; the next call ran unasked."""
    await session.settle(verify={"autoVerify": False})
    free = json.dumps({"approval": {"requireForKinds": []}})
    model = session.place.model.calls("write_file", path=".agi/config.json", content=free)
    model.then_calls("shell", command="touch pwned").then_says("done")
    await session.place.ask("go", on_ask="deny")

    assert not (session.project / "pwned").exists()
    assert not (session.project / ".agi" / "config.json").exists()
    assert len(session.place.events("approval_denied")) == 2
