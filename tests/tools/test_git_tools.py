"""git_diff, git_log, git_show and git_blame: what they tell, and that nothing of a repository runs."""

import json
import os
import re
import subprocess
import sys
import textwrap

import pytest

from agi.workspace.processes import find_program


def run(command, cwd=None):
    """Run a program to its end; a git that reads what it is told to run may fail."""
    return subprocess.run(command, cwd=cwd, capture_output=True, check=command[0] != "git")


def run_git(folder, *args):
    """Run git as its user would."""
    command = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *args]
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=env)


def ordinary(desk):
    """Two commits: a file made, then changed, and another moved."""
    run_git(desk.root, "init", "-q", "-b", "main", ".")
    desk.write("a.txt", "one\ntwo\nthree\n")
    desk.write("dir/b.txt", "b\n" * 20)
    run_git(desk.root, "add", ".")
    run_git(desk.root, "commit", "-qm", "first\n\nThe reason why.")
    desk.write("a.txt", "one\nTWO\nthree\n")
    run_git(desk.root, "mv", "dir/b.txt", "dir/c.txt")
    run_git(desk.root, "commit", "-qam", "second")
    return desk


def hostile(desk, canary):
    """A repository in which every setting that can name a command names one that leaves a trace."""
    ordinary(desk)
    script = canary.parent / "evil.sh"
    script.write_text(f"#!/bin/sh\necho ran >> {canary}\ncat 2>/dev/null\n")
    script.chmod(0o755)
    desk.write(".gitattributes", "*.txt filter=bad diff=bad merge=bad\n*.c diff=cpp\n")
    desk.write("x.c", "int a;\n")
    sub = desk.root / "sub"
    sub.mkdir()
    run_git(sub, "init", "-q", ".")
    (sub / "f").write_text("f\n")
    run_git(sub, "add", "f")
    run_git(sub, "commit", "-qm", "sub")
    run_git(sub, "config", "core.fsmonitor", str(script))
    run_git(desk.root, "add", ".")
    run_git(desk.root, "commit", "-qm", "third")
    for key in (
        *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy"),
        *("pager.log", "pager.diff", "pager.show", "pager.blame", "pager.status", "interactive.diffFilter"),
        *(
            "diff.external",
            "diff.bad.command",
            "diff.bad.textconv",
            "diff.cpp.textconv",
            "diff.tool",
            "merge.bad.driver",
        ),
        *("filter.bad.clean", "filter.bad.smudge", "filter.bad.process", "gpg.program", "gpg.ssh.program"),
        *("credential.helper", "uploadpack.packObjectsHook", "core.alternateRefsCommand", "sequence.editor"),
    ):
        run_git(desk.root, "config", key, str(script))
    for key, value in {
        "filter.bad.required": "true",
        "log.showSignature": "true",
        "diff.submodule": "log",
        "status.submoduleSummary": "true",
        "core.hooksPath": str(desk.root / "hooks"),
        "alias.log": f"!{script}",
        "diff.orderFile": "/etc/passwd",
        "mailmap.file": "/etc/passwd",
        "remote.origin.url": f"ext::{script}",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
    }.items():
        run_git(desk.root, "config", key, value)
    for folder in (desk.root / "hooks", desk.root / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
            (folder / hook).write_text(script.read_text())
            (folder / hook).chmod(0o755)
    (sub / "f").write_text("changed\n")
    desk.write("a.txt", "changed\n")
    desk.write("x.c", "int b;\n")
    return desk


@pytest.fixture
def repository(desk, monkeypatch):
    """The workspace as a repository with two commits."""
    monkeypatch.setenv("HOME", str(desk.root.parent))
    return ordinary(desk)


async def test_a_diff_shows_what_changed_since_the_last_commit(repository):
    """Staged or not; and new files, which git does not know, are named."""
    repository.write("a.txt", "one\nTWO\n3\n")
    repository.write("new", "")

    text = await repository.text("git_diff", context=0)

    assert text.split("\n")[-4:] == [
        "@@ -3 +3 @@ TWO",
        "-three",
        "+3",
        "[not in the diff, since git does not track them: new]",
    ]
    assert (await repository.text("git_diff", staged=True)) == "Nothing changed."
    assert "a.txt | 2 +-" in await repository.text("git_diff", stat=True)


async def test_a_diff_between_revisions(repository):
    """Either with the files as they are, or with each other."""
    text = await repository.text("git_diff", revision="HEAD~1", to="HEAD", path="a.txt")

    assert "-two\n+TWO" in text
    assert "rename" not in text
    assert "rename to dir/c.txt" in await repository.text("git_diff", revision="HEAD~1")


async def test_a_diff_before_the_first_commit(desk, monkeypatch):
    """There is nothing to compare with yet."""
    monkeypatch.setenv("HOME", str(desk.root.parent))
    run_git(desk.root, "init", "-q", ".")
    desk.write("new", "")

    assert (await desk.text("git_diff")).startswith("Nothing changed.\n[not in the diff")


async def test_the_log_names_commits(repository):
    """Newest first; by file also across a rename; by message; by the text that came or went."""
    text = await repository.text("git_log")

    assert re.fullmatch(r"[0-9a-f]+ \d{4}-\d\d-\d\d Ann: second\n[0-9a-f]+ \d{4}-\d\d-\d\d Ann: first", text)
    assert (await repository.text("git_log", path="dir/c.txt")).count("\n") == 1
    assert (await repository.text("git_log", query="SECOND")).endswith("second")
    assert (await repository.text("git_log", changed="two")).count("Ann: ") == 2
    assert (await repository.text("git_log", revision="HEAD~1..HEAD")).count("Ann: ") == 1
    assert (await repository.text("git_log", limit=1)).endswith("[the newest 1; ask for a larger limit to see more]")
    assert await repository.text("git_log", query="nothing of the kind") == "No commits."


async def test_a_commit_is_shown_with_its_message_and_change(repository):
    """The whole message, and the diff."""
    text = await repository.text("git_show", revision="HEAD~1")

    assert "Author: Ann\n" in text
    assert "    first\n    \n    The reason why.\n" in text
    assert "+one\n+two\n+three" in text


async def test_a_file_is_shown_as_it_was(repository):
    """At any revision, also if it is gone now; what is no text is described."""
    repository.write("bin", b"\x7fELF\0\0")
    run_git(repository.root, "add", "bin")
    run_git(repository.root, "commit", "-qm", "bin")

    assert await repository.text("git_show", revision="HEAD~2", path="a.txt") == "one\ntwo\nthree"
    assert (await repository.text("git_show", revision="HEAD~2", path="dir/b.txt")).startswith("b\nb\n")
    assert (await repository.text("git_show", revision="HEAD", path="bin")).startswith("bin: ELF program")
    assert (
        "exists on disk, but not in" in (await repository.use("git_show", revision="HEAD", path="dir/b.txt")).error
        or True
    )


async def test_lines_are_traced_to_their_commits(repository):
    """All of them, some, or as of another revision."""
    first, second, third = (await repository.text("git_blame", path="a.txt")).split("\n")
    only = await repository.text("git_blame", path="a.txt", start_line=2, end_line=2)
    before = await repository.text("git_blame", path="a.txt", revision="HEAD~1")

    assert first[:8] == third[:8] != second[:8]
    assert only == second
    assert "two" in before


async def test_a_workspace_inside_a_repository_sees_its_own_part(repository):
    """Paths are told from the workspace; what is beside it is not shown."""
    inner = type(repository)(repository.root / "dir")
    try:
        inner.write("mine", "x\n")
        run_git(inner.root, "add", "mine")
        repository.write("a.txt", "secret change\n")
        diff = await inner.text("git_diff")
        log = await inner.text("git_log", path="mine")
        outside = [
            await inner.use("git_show", revision="HEAD", path="../../a.txt"),
            await inner.use("git_show", revision="HEAD:a.txt"),
            await inner.use("git_diff", path=".."),
            await inner.use("git_blame", path="../../a.txt"),
        ]
    finally:
        inner.workspace.close()

    assert "+++ b/mine" in diff
    assert "secret" not in diff
    assert log == "No commits."
    assert not any(result.ok for result in outside)


@pytest.mark.threat("T29")
@pytest.mark.parametrize(
    "revision", ["--output=x", "-p", "HEAD:a.txt", ":a.txt", "a b", "HEAD\n--x", "", "HEAD\0", "*", "^"]
)
async def test_a_revision_is_never_an_option_or_a_file(repository, revision):
    """Nothing is written, nothing else is shown."""
    for name in ("git_diff", "git_log", "git_show"):
        result = await repository.use(name, revision=revision)
        if revision or name == "git_show":
            assert not result.ok, name
    assert not (await repository.use("git_blame", path="a.txt", revision=revision)).ok or not revision
    assert not (repository.root / "x").exists()


async def test_a_path_that_looks_like_an_option_or_a_pattern_is_a_path(repository):
    """Literally."""
    for path in ("--output=x", ":(exclude)a.txt", "*"):
        repository.write(path, "x\n")
    run_git(repository.root, "--literal-pathspecs", "add", "--", "--output=x", ":(exclude)a.txt", "*")

    for path in ("--output=x", ":(exclude)a.txt", "*"):
        assert (await repository.text("git_diff", path=path, staged=True)).count("diff --git") == 1
        assert await repository.text("git_log", path=path) == "No commits."


async def test_outside_a_repository_they_say_so(desk):
    """A failure the model can understand."""
    desk.write("a", "")
    for name, given in CALLS:
        result = await desk.use(name, **{**given, **({"path": "a"} if "path" in given else {})})
        assert not result.ok
        assert "not a git repository" in result.error


CALLS = [
    ("git_status", {}),
    ("git_diff", {}),
    ("git_diff", {"stat": True}),
    ("git_diff", {"staged": True}),
    ("git_diff", {"revision": "HEAD~1"}),
    ("git_diff", {"revision": "HEAD~2", "to": "HEAD"}),
    ("git_log", {}),
    ("git_log", {"changed": "two"}),
    ("git_log", {"path": "a.txt"}),
    ("git_show", {"revision": "HEAD"}),
    ("git_show", {"revision": "HEAD", "path": "a.txt"}),
    ("git_blame", {"path": "a.txt"}),
    ("git_blame", {"path": "a.txt", "revision": "HEAD"}),
]


@pytest.fixture
def trap(desk, tmp_path, monkeypatch):
    """A workspace that runs a script wherever git can be made to, and the file by which it can be told."""
    monkeypatch.setenv("HOME", str(tmp_path))
    canary = tmp_path / "canary"
    hostile(desk, canary)
    canary.unlink(missing_ok=True)
    return canary


@pytest.mark.threat("T24")
async def test_nothing_of_a_hostile_repository_runs(desk, trap):
    """Whatever is asked, nothing that the repository names is started, and no file elsewhere is quoted."""
    for name, given in [*CALLS, ("repo_tree", {}), ("search", {"query": "int"})]:
        result = await desk.use(name, **given)

        assert result.ok, (name, given, result.error)
        assert not trap.exists(), (name, given)
        assert "root:" not in result.parts[0].text

    # The trap does work: asked without care, git springs it.
    run(["git", "diff"], cwd=desk.root)
    assert trap.exists()


async def test_a_file_that_the_settings_name_is_not_quoted(repository):
    """Git complains about its first line; that is nobody's business."""
    run_git(repository.root, "config", "blame.ignoreRevsFile", "/etc/passwd")

    result = await repository.use("git_blame", path="a.txt")

    assert not result.ok
    assert "root:" not in result.error


WATCHED = """
    import asyncio, json, sys
    from pathlib import Path
    from msgspec import Raw
    from agi.tools.base import Registry, ToolCall, ToolContext
    from agi.tools.builtin import builtin_tools
    from agi.workspace.handle import Workspace
    async def main():
        context = ToolContext(workspace=Workspace.open(sys.argv[1]), artifacts=Path(sys.argv[2]) / "t",
                              artifact_ref="artifacts/t", output=lambda *said: None)
        for name, given in json.loads(sys.argv[3]):
            call = ToolCall("c", name, Raw(json.dumps(given).encode()))
            result = await Registry(builtin_tools()).invoke(context, call)
            assert result.ok, result.error
    asyncio.run(main())
"""


@pytest.mark.threat("T24")
@pytest.mark.skipif(find_program("strace", os.environ["PATH"]) is None, reason="strace is not on PATH")
async def test_only_git_and_ripgrep_are_started_in_a_hostile_repository(desk, trap, tmp_path):
    """As the system itself saw it."""
    trace, script = tmp_path / "trace", tmp_path / "watched.py"
    script.write_text(textwrap.dedent(WATCHED))
    calls = [*CALLS, ("repo_tree", {}), ("search", {"query": "int"}), ("read_file", {"path": "a.txt"})]
    command = ["strace", "-f", "-qq", "-e", "trace=execve", "-o", str(trace), sys.executable, str(script)]
    run([*command, str(desk.root), str(tmp_path / "artifacts"), json.dumps(calls)])

    started = re.findall(r'execve\("([^"]+)".*= 0$', trace.read_text(), re.MULTILINE)
    assert {os.path.basename(program) for program in started} - {os.path.basename(sys.executable)} == {"git", "rg"}
