"""Which settings of a repository could start a program."""

import subprocess

import pytest

from agi.sandbox.settings import dangers

CLONE = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[remote "origin"]
\turl = https://host.example/a.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
; a remark
[user]
\tname = "A B" # who
\temail = a@b
[advice] detachedHead = false
[color "diff"]
\tmeta = yellow
[submodule "x"]
\tactive = true
\turl = git@host.example:x
[commit]
\tgpgsign = false
"""


def found(text: str, is_inside=lambda place: True) -> frozenset[str]:
    return dangers(text.encode(), is_inside)


def test_what_ordinary_work_leaves_is_harmless():
    """A clone, a branch, a name, a submodule."""
    assert found(CLONE) == frozenset()


@pytest.mark.parametrize(
    "line",
    [
        *("core.fsmonitor", "core.hooksPath", "core.sshCommand", "core.pager", "core.editor", "core.askPass"),
        *("core.gitProxy", "core.alternateRefsCommand", "core.attributesFile", "filter.x.smudge", "filter.x.process"),
        *("diff.external", "diff.x.command", "diff.x.textconv", "merge.x.driver", "gpg.program", "gpg.ssh.program"),
        *("credential.helper", "credential.host.helper", "alias.st", "include.path", "includeIf.x.path"),
        *("uploadpack.packObjectsHook", "sequence.editor", "interactive.diffFilter", "pager.log", "trailer.x.cmd"),
        *("remote.x.uploadpack", "remote.x.receivepack", "remote.x.vcs", "protocol.ext.allow", "submodule.x.update"),
        *("difftool.x.cmd", "mergetool.x.cmd", "web.browser", "man.x.cmd", "sendemail.tocmd", "hook.x.command"),
        *("init.templateDir", "lfs.customtransfer.x.path", "url.x.insteadOf", "something.new"),
    ],
)
def test_what_names_programs_or_is_not_known_counts(line, tmp_path):
    """As git itself writes it."""
    subprocess.run(["git", "config", "--file", tmp_path / "config", line, "evil"], check=True)

    (one,) = dangers((tmp_path / "config").read_bytes(), lambda place: True)

    assert one.endswith(" = evil")


@pytest.mark.parametrize(
    "text",
    [
        "[core] fsmonitor = evil",
        "[CORE]\n\tFSMonitor = evil",
        "[user]\n[core]fsmonitor=evil",
        "[user] [core] fsmonitor = evil",
        "\ufeff[core]\r\n\tfsmonitor = evil\r\n",
        "[user]\n\tname = x \\\n[core]\n",
        "[user]\n\tname = a\x0b\n[core]\x0b\n fsmonitor = evil",
        '[user "]"]\n name=x\n[core]\n fsmonitor=evil',
        "[core]\n\tbare = false\n\x00[core] fsmonitor = evil",
        "fsmonitor = evil",
        "[core\n]\n fsmonitor = evil",
        '[remote "x"]\n url = ext::sh -c evil',
        '[remote "x"]\n pushurl = "ext::sh -c evil"',
        '[submodule "x"]\n url = evil::x',
    ],
)
def test_odd_spellings_count_too(text):
    """What git would read differently than we do must not slip through."""
    assert found(text)


@pytest.mark.parametrize("place", ["/home/me", "../x\\\\y", '"../quoted"', "../x # y"])
def test_a_work_tree_elsewhere_counts(place):
    """git would write files there."""
    assert found(f"[core]\n\tworktree = {place}", lambda place: place == "../sub")
    assert not found("[core]\n\tworktree = ../sub", lambda place: place == "../sub")
