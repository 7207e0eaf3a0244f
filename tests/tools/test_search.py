"""search: lines of files, with ripgrep and without."""

import os

import pytest

from agi.tools.matches import MOST_MATCHES
from agi.workspace.processes import find_program

RIPGREP = find_program("rg", os.environ["PATH"])
needs_ripgrep = pytest.mark.skipif(RIPGREP is None, reason="ripgrep (rg) is not on PATH")


@pytest.fixture(params=[pytest.param("ripgrep", marks=needs_ripgrep), "plain"])
def engine(request, monkeypatch, tmp_path):
    """Both ways of searching: the plain one is what is left when PATH holds no rg."""
    if request.param == "plain":
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    return request.param


async def found(desk, **given):
    """The lines of the answer, in a fixed order: the engines differ in which file comes first."""
    text = await desk.text("search", **given)
    return sorted(text.split("\n"))


async def test_lines_are_found_with_their_place(desk, engine):
    """Each match is one line: path, number, text. Dependencies and version control are left out."""
    desk.write("src/a.py", "x = 1\ny = needle(x)\r\n")
    desk.write("b.txt", "needle at first\nno\nneedle\n")
    desk.write(".github/ci.yml", "- needle\n")
    for path in ("node_modules/m.js", ".git/x", ".agi/config.json", "sub/.agi/daemon.json"):
        desk.write(path, "needle\n")

    assert await found(desk, query="needle") == [
        ".github/ci.yml:1: - needle",
        "b.txt:1: needle at first",
        "b.txt:3: needle",
        "src/a.py:2: y = needle(x)",
    ]


async def test_a_query_is_plain_text_unless_told(desk, engine):
    """Special characters stand for themselves, and case matters."""
    desk.write("a", "f(x)+[1]\nF(X)+[1]\n-e --pre=x\n")

    assert await found(desk, query="f(x)+[1]") == ["a:1: f(x)+[1]"]
    assert await found(desk, query="-e --pre=x") == ["a:3: -e --pre=x"]
    assert await found(desk, query="nothing") == ["No matches."]


async def test_a_path_narrows_the_search(desk, engine):
    """To a folder, or to one file; paths are told from the root."""
    for path in ("a/one", "a/b/two", "c"):
        desk.write(path, "hit\n")

    assert await found(desk, query="hit", path="a") == ["a/b/two:1: hit", "a/one:1: hit"]
    assert await found(desk, query="hit", path="a/one") == ["a/one:1: hit"]
    assert "does not exist" in (await desk.use("search", query="hit", path="gone")).error


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("!*.py", ["src/d.txt"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**", ["src/b.py", "src/d.txt", "src/deep/c.py"]),
        ("**/deep/*", ["src/deep/c.py"]),
        ("!deep", ["a.py", "src/b.py", "src/d.txt"]),
    ],
)
async def test_a_glob_narrows_the_search(desk, engine, glob, paths):
    """As in .gitignore: a name at any depth, or a path."""
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/d.txt"):
        desk.write(path, "hit\n")

    assert [line.partition(":")[0] for line in await found(desk, query="hit", glob=glob)] == paths


async def test_answers_are_bounded(desk, engine):
    """Many matches and long lines are cut, and it is said."""
    desk.write("many", "hit\n" * 1000)
    desk.write("wide", "wide " + "x" * 100_000 + "\n")

    result = await desk.use("search", query="hit")
    wide = await desk.text("search", query="wide")

    assert result.parts[0].text.count("many:") == MOST_MATCHES
    assert result.result == {"matches": MOST_MATCHES, "truncated": True}
    assert "narrow the search" in result.parts[0].text
    assert len(wide) < 400


async def test_links_binaries_and_special_files_are_passed_over(desk, engine, tmp_path):
    """Nothing outside is read, nothing hangs, noise is not shown."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("hit outside\n")
    (desk.root / "folder").symlink_to(tmp_path / "outside")
    (desk.root / "file").symlink_to(tmp_path / "outside/secret")
    os.mkfifo(desk.root / "pipe")
    desk.write("binary", b"\0hit\n")
    desk.write("good", "hit\n")

    assert await found(desk, query="hit") == ["good:1: hit"]


async def test_our_state_is_not_searched(desk, engine):
    """Neither as a whole nor by name."""
    desk.write(".agi/sessions/s/events.ndjson", "hit\n")
    desk.write(".agi/agents/a/agent.txt", "hit\n")
    (desk.root / "door").symlink_to(".agi")

    for path in (".agi", "door", ".agi/sessions", ".agi/sessions/s/events.ndjson"):
        assert not (await desk.use("search", query="hit", path=path)).ok
    assert await found(desk, query="hit", path=".agi/agents") == [".agi/agents/a/agent.txt:1: hit"]


@pytest.mark.parametrize("given", [{"query": "a\nb"}, {"query": "a\0"}, {"query": ""}, {"query": "a", "glob": "\0"}])
async def test_a_query_that_cannot_match_is_refused(desk, engine, given):
    """A query is one line of text."""
    assert not (await desk.use("search", **given)).ok


async def test_regular_expressions_need_ripgrep(desk, engine):
    """With it they work, and cannot blow up; without it they are refused clearly."""
    desk.write("a", "foo12\nbar\n" + "a" * 50_000 + "\n")

    result = await desk.use("search", query=r"[a-z]+\d", regex=True)

    if engine == "plain":
        assert "need ripgrep" in result.error
        return
    assert result.parts[0].text == "a:1: foo12"
    assert (await desk.use("search", query="(a+)+$", regex=True)).ok
    assert "search failed" in (await desk.use("search", query="(", regex=True)).error


@needs_ripgrep
async def test_a_repositorys_own_ripgrep_settings_and_programs_do_not_count(desk, monkeypatch, tmp_path):
    """Neither a configuration file nor a program inside the workspace is used."""
    config = tmp_path / "rc"
    config.write_text("--pre=touch\n--files\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    evil = desk.write("bin/rg", f"#!/bin/sh\ntouch {tmp_path}/canary\n")
    os.chmod(evil, 0o755)
    monkeypatch.setenv("PATH", f"{desk.root}/bin:{os.environ['PATH']}")
    desk.write("a", "hit\n")

    assert await found(desk, query="hit") == ["a:1: hit"]
    assert not (tmp_path / "canary").exists()


async def test_braces_in_a_glob_need_ripgrep(desk, engine):
    """A choice is not silently taken for a name."""
    desk.write("a.py", "hit\n")

    result = await desk.use("search", query="hit", glob="*.{py,js}")

    assert result.ok is (engine == "ripgrep")
