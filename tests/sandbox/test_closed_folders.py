"""Folders that their own user closed: what is protected there stays so, since who closed a folder may open it.

Run as another user, to whom modes mean something.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from agi.sandbox.ladder import CONFINING

from .conftest import APART, environment_of_another, python_of

USER = 23459
PLANT = "mkdir -p .agi && echo '{}' > .agi/config.json; echo '{}' > .mcp.json; chmod 755 ."
LEAD = "mkdir evil; echo ../evil > .git/commondir; chmod 755 .git; cat .git/commondir"


@pytest.fixture
def theirs():
    """A workspace of another user's."""
    folder = Path(tempfile.mkdtemp(prefix="agi-", dir="/var/tmp"))
    folder.chmod(0o755)
    made = folder / "work space"
    made.mkdir()
    os.chown(made, USER, USER)
    yield made
    shutil.rmtree(folder)


def as_them(*words, cwd):
    become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    return subprocess.run([*become, *words], cwd=cwd, env={"PATH": os.environ["PATH"], "HOME": "/"}, check=True)


def run(rung, workspace, *commands, hidden=()):
    """What came of each command: its exit code or an error's, what it said twice, and notes."""
    script = str(Path(__file__).with_name("one_by_one.py"))
    command = [*python_of(USER), script, rung, str(workspace), json.dumps(commands), *hidden]
    ran = subprocess.run(command, env=environment_of_another(), capture_output=True, text=True, timeout=110)
    if "does not work here" in ran.stderr:
        pytest.skip(ran.stderr.strip())
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.threat("T27")
@pytest.mark.parametrize("mode", ["300", "500", "600", "000"])
@pytest.mark.parametrize("rung", CONFINING)
def test_git_is_not_led_elsewhere_from_a_repository_that_was_closed(rung, mode, theirs):
    """Closed in one command, and in the next one: not led elsewhere, whoever opens it again."""
    as_them("git", "init", "-q", ".", cwd=theirs)

    run(rung, theirs, f"chmod {mode} .git", LEAD, f"echo ../evil > .git/commondir; chmod {mode} .git")

    as_them("chmod", "755", ".git", cwd=theirs)
    run(rung, theirs, "true")  # what of ours could not be removed from a closed folder is gone with the next command
    assert not (theirs / ".git/commondir").exists()
    assert (theirs / ".git/config").is_file()


@pytest.mark.threat("T27")
@pytest.mark.parametrize("mode", ["300", "500", "600", "000"])
@pytest.mark.parametrize("rung", CONFINING)
def test_no_settings_are_made_in_a_workspace_that_was_closed(rung, mode, theirs):
    """Neither ours nor those of servers, and no repository."""
    run(rung, theirs, f"chmod {mode} .", f"{PLANT}; git init -q .", f"chmod {mode} .; {PLANT}; chmod {mode} .")

    as_them("chmod", "755", str(theirs), cwd="/")
    run(rung, theirs, "true")
    assert not any((theirs / name).exists() for name in (".git", ".agi", ".mcp.json"))


@pytest.mark.threat("T27")
@pytest.mark.parametrize("rung", APART)
def test_in_a_workspace_its_user_may_not_change_nothing_runs_and_what_helps_is_said(rung, theirs):
    """A command would be the same user, and could open it."""
    theirs.chmod(0o555)

    [refused] = run(rung, theirs, f"chmod 755 .; {PLANT}")
    theirs.chmod(0o755)
    [goes_on] = run(rung, theirs, "echo fine")

    assert refused[0] == "sandbox_failed"
    assert f"chmod u+rwx '{theirs}'" in refused[2]
    assert goes_on[:2] == [0, "fine\n"]
    assert os.listdir(theirs) == []


@pytest.mark.threat("T27")
@pytest.mark.parametrize("mode", ["300", "000"])
@pytest.mark.parametrize("rung", CONFINING)
def test_a_repository_in_a_folder_that_was_closed_is_looked_at_all_the_same(rung, mode, theirs):
    """What would start a program is set aside; a folder that its user had closed before stays closed."""
    as_them("mkdir", "-m", "000", "private", cwd=theirs)
    plant = "mkdir new; git init -q new/a; printf '[core]\\n\\tfsmonitor = evil\\n' >> new/a/.git/config"

    [said] = run(rung, theirs, f"{plant}; chmod {mode} new/a new")

    assert "new/a/.git/config (core.fsmonitor)" in said[3][0]
    assert not (theirs / "new/a/.git/config").exists()
    assert (theirs / "private").stat().st_mode & 0o777 == 0


@pytest.mark.parametrize("rung", APART)
def test_in_a_repository_its_user_may_not_change_there_is_only_looking(rung, theirs):
    """Work elsewhere in the workspace goes on."""
    as_them("git", "init", "-q", ".", cwd=theirs)
    (theirs / ".git").chmod(0o555)

    said = run(rung, theirs, "git status --short && echo x > file && chmod 755 .git")

    assert said[0][0] != 0
    assert "Read-only file system" in said[0][2]
    assert (theirs / "file").read_text() == "x\n"


@pytest.mark.threat("T27")
@pytest.mark.parametrize("rung", APART)
def test_what_is_hidden_is_not_shown_by_closing_and_opening_a_folder_above_it(rung, theirs):
    """What cannot be seen for a moment is hidden all the same."""
    as_them("mkdir", "data", cwd=theirs)
    as_them("sh", "-c", "echo secret > data/token", cwd=theirs)

    look = "chmod 755 data; cat data/token"

    said = run(rung, theirs, "chmod 000 data", look, hidden=["data/token"])
    as_them("chmod", "000", "data", cwd=theirs)
    [refused] = run(rung, theirs, look, hidden=["data/token"])

    assert "secret" not in said[1][1]
    assert refused[0] == "sandbox_failed"
