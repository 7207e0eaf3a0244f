"""search: lines of files, with ripgrep and without."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from agi.tools.matches import MOST_MATCHES
from agi.tools.output import ArtifactFile
from agi.tools.patterns import has_engine
from agi.workspace.processes import find_program

RIPGREP = find_program("rg", os.environ["PATH"])
needs_ripgrep = pytest.mark.skipif(RIPGREP is None, reason="ripgrep (rg) is not on PATH")

needs_re2 = pytest.mark.skipif(not has_engine(), reason="google-re2 is not installed")


@pytest.fixture(params=[pytest.param("ripgrep", marks=needs_ripgrep), "plain"])
def engine(request, monkeypatch, tmp_path):
    """Both ways of searching: the plain one is what is left when PATH holds no rg."""
    if request.param == "plain":
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    return request.param


@pytest.fixture(params=[pytest.param("ripgrep", marks=needs_ripgrep), pytest.param("plain", marks=needs_re2)])
def regex_engine(request, monkeypatch, tmp_path):
    """Both ways of searching for a regular expression."""
    if request.param == "plain":
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    return request.param


async def found(desk, **given):
    """The matches of the answer, in a fixed order: the engines differ in which file comes first. Notes are left out."""
    text = await desk.text("search", **given)
    return sorted(line for line in text.split("\n") if not line.startswith("["))


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


async def test_matches_are_counted(desk, engine):
    """Who asks how many need not count."""
    desk.write("a", "hit\nhit hit\n")
    desk.write("b", "hit\n")

    assert (await desk.text("search", query="hit")).endswith("\n[3 matching lines in 2 files: a, b]")
    assert (await desk.text("search", query="hit", path="b")).endswith("\n[1 matching line in 1 file]")


async def test_where_nothing_matches_lines_with_some_of_the_words_are_shown_as_such(desk, engine):
    """They are said to be no match, and do not count as one."""
    desk.write("net/retry.py", "MAX_RETRIES = 4\nname = 1\n")
    desk.write("notes", "nothing of the kind\n")

    result = await desk.use("search", query="max retries of the client")

    assert result.parts[0].text.split("\n") == [
        "[no line has this text; lines with some of its words, best first:]",
        "net/retry.py:1: MAX_RETRIES = 4",
        "[files with such a name: net/retry.py]",
    ]
    assert result.result == {"matches": 0, "truncated": False, "near": 1}


async def test_lines_with_the_words_of_a_question_are_shown_as_well(desk, engine):
    """What is wanted may be spelled otherwise, or stand in a line without the text that was looked for."""
    desk.write("limits.py", "MAX_ATTEMPTS = 8\n")
    desk.write("queue.py", "attempts = 0\n")
    desk.write("README", "Maintained by Ann.\n" + "The mailer sends mail.\n" * 9)

    tried = await desk.text("search", query="attempts", about="How many attempts are made?")
    kept = await desk.text("search", query="mailer", about="Who maintains the mailer?")

    assert tried.split("\n") == [
        "queue.py:1: attempts = 0",
        "[1 matching line in 1 file]",
        "[other lines with such words, best first:]",
        "limits.py:1: MAX_ATTEMPTS = 8",
    ]
    assert "README:1: Maintained by Ann." in kept


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("# 2\n- Old.\n\n## 1.9\n\n- Faster.\n\n# 1\n", "1.9", ["f:4: ## 1.9", "  6- - Faster."]),
        ("a = 1\nclass Box:\n    size = 4\n    b = 2\n", "size", ["  2- class Box:", "f:3:     size = 4"]),
        ("test: all\n\tpytest\n\nlint:\n\truff\n", "test:", ["f:1: test: all", "  2- \tpytest"]),
        ("a = 1\nsize = 4\nb = 2\n", "size", ["f:2: size = 4"]),
    ],
)
async def test_with_the_best_line_for_a_question_comes_what_belongs_to_it(desk, engine, text, query, shown):
    """What is asked for often stands beside what can be searched for. Such lines are set in, and no matches."""
    desk.write("f", text)

    assert (await desk.text("search", query=query, about="?")).split("\n") == [*shown, "[1 matching line in 1 file]"]


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


async def test_regular_expressions_are_searched_for(desk, regex_engine):
    """By both engines; one that is none is refused with the reason."""
    desk.write("a", "foo12\nbar\n")

    assert await desk.text("search", query=r"^[a-z]+\d", regex=True) == "a:1: foo12\n[1 matching line in 1 file]"
    assert "regex parse error" in (await desk.use("search", query="(", regex=True)).error


HOSTILE = [
    r"(a+)+$", r"(a|a)*$", r"(a|aa)+$", r"(.*a){20}$", r"(a*)*$", r"(a*)+$", r"([a-z]+)*$",
    r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(x+x+)+y", r"(.*)*b", r"(.+)+b", r"((a+)+)+b", r"(a+a+)+b", r"(a?){30}a{30}b",
    r"a?a?a?a?a?a?a?a?a?aaaaaaaaab", r"(\w+\s*)+:", r"(\w*)*$", r"^(\w+\s?)*$", r"(\s*\w+)*!", r"(\d+)*x",
    r"(ab|a|b)*c", r"(a|b|ab)*c", r"(a{1,100}){1,10}b", r"^(a+)*b", r"(a+){10}b", r"(a+?)+b", r"(?:a+)+b",
    r"(?:a|a?)+b", r"(aa*)*b", r"(a*a*)*b", r"((a*)*)*b", r"(a|[^b])*b", r".*.*.*.*.*b", r".*a.*a.*a.*a.*b",
    r"[\s\S]*[\s\S]*b", r"(.|\s)*b", r"(a.*)*b", r"(.a)*b", r"(..a)*b", r"(a.)*b", r"(a+)*(a+)*(a+)*b", r"(a*b?)*c",
    r"(a?b*)*c", r"\ba+(a+)+b", r"(?i)(A+)+b", r"^.*?(a+)+?b", r"(.{1,50}){1,10}b", r"(a{2,}){2,}b",
    r"(a{0,5}){0,5}b", r"(a|b|c|d|e)*(f|g)*h", r"([^b]*)*b", r"(a+b?)+c", r"(([a])+)+b",
]  # fmt: skip


@pytest.mark.threat("T41")
@pytest.mark.parametrize("patterns", [HOSTILE[:27], HOSTILE[27:]])
async def test_no_pattern_takes_long(desk, regex_engine, patterns):
    """Each of those that are known to hang others is answered in two seconds, over a megabyte of what they like."""
    desk.write("a", ("a" * 1023 + "\n") * 512 + "a" * 524_288)
    for pattern in patterns:
        began = time.monotonic()
        result = await desk.use("search", query=pattern, regex=True, limit=1)

        assert result.ok, result.error
        assert time.monotonic() - began < 2, pattern


def children() -> set[str]:
    """The processes that this one has started and that are there."""
    threads = Path("/proc/self/task").iterdir()
    return {pid for thread in threads for pid in (thread / "children").read_text().split()}


@pytest.mark.threat("T41")
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
async def test_a_search_that_is_canceled_leaves_no_process(desk, regex_engine):
    """Whatever the pattern is: it is in the middle of it, and then it is gone."""
    desk.write("a", "a" * 40_000_000)
    before = children()
    task = asyncio.create_task(desk.use("search", query="(a?){200}(a+){200}b" * 4, regex=True))
    async with asyncio.timeout(20):
        while not children() - before:
            assert not task.done()
            await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(20):
        while children() - before:  # noqa: ASYNC110 - the same
            await asyncio.sleep(0.01)


async def test_lines_around_a_match_are_shown(desk, engine):
    """Told apart by their dashes; where others lie between, a line says so."""
    desk.write("a", "1\n2\nhit 3\n4\n5\n6\n7\nhit 8\n")
    desk.write("b", "hit 1\n2\n")

    assert (await desk.text("search", query="hit", context=1)).split("\n") == [
        "a-2- 2",
        "a:3: hit 3",
        "a-4- 4",
        "--",
        "a-7- 7",
        "a:8: hit 8",
        "--",
        "b:1: hit 1",
        "b-2- 2",
        "[3 matching lines in 2 files: a, b]",
    ]


async def test_case_can_be_passed_over(desk, engine):
    """In every script."""
    desk.write("a", "Größe\nGRÖSSE\ngröße\nÄrger\näRGER\nMask\nmaſK\n")

    assert await found(desk, query="größe", ignore_case=True) == ["a:1: Größe", "a:3: größe"]
    assert await found(desk, query="ÄRGER", ignore_case=True) == ["a:4: Ärger", "a:5: äRGER"]
    assert await found(desk, query="mask", ignore_case=True) == ["a:6: Mask", "a:7: maſK"]


async def test_files_alone_can_be_named(desk, engine):
    """Each once, in order."""
    for path in ("b/c", "a", "d"):
        desk.write(path, "hit\nhit\n" if path != "d" else "no\n")

    assert await desk.text("search", query="hit", files_only=True) == "a\nb/c\n[2 files]"
    assert await desk.text("search", query="none", files_only=True) == "No matches."


async def test_a_limit_takes_the_first_by_place(desk, engine):
    """The same ones every time, and it is said that there are more."""
    for path in ("z", "a/b", "a.b", "m"):
        desk.write(path, "hit\n" * 3)

    text = await desk.text("search", query="hit", limit=4)

    assert text.split("\n")[:4] == ["a/b:1: hit", "a/b:2: hit", "a/b:3: hit", "a.b:1: hit"]
    assert text.endswith("[only the first 4 matches are shown; narrow the search]")


async def test_very_many_matches_come_in_a_fixed_order(desk, engine):
    """Also where one engine says more than is taken."""
    for number in range(60):
        desk.write(f"f{number:03}", f"hit {'x' * 290}\n" * 400)

    text = await desk.text("search", query="hit", limit=300)

    assert text.startswith("f000:1: hit x")
    assert "f001" not in text.split("left out")[0]


async def test_ignored_files_are_left_out_unless_told(desk, engine):
    """As git would, with rules of folders above and below, and whether or not there is a repository."""
    desk.write(".gitignore", "*.log\n/build\n/pkg/*/out\n")
    desk.write("pkg/.gitignore", "tmp/\n!keep.log\n")
    for path in ("x.log", "build/a", "pkg/keep.log", "pkg/a/out/b", "pkg/tmp/c", "pkg/a/d", "src/build/e"):
        desk.write(path, "hit\n")

    def paths(lines):
        return [line.partition(":")[0] for line in lines]

    assert paths(await found(desk, query="hit")) == ["pkg/a/d", "pkg/keep.log", "src/build/e"]
    assert paths(await found(desk, query="hit", path="pkg/a")) == ["pkg/a/d"]
    assert paths(await found(desk, query="hit", path="build")) == ["build/a"]
    assert paths(await found(desk, query="hit", path="x.log")) == ["x.log"]
    assert len(await found(desk, query="hit", ignored=True)) == 7


async def test_an_artifact_is_searched_by_its_ref(desk, engine):
    """A long output need not be read to find something in it."""
    file = ArtifactFile(desk.context, "stdout.log")
    file.write(b"one\nhit\n")
    file.close()

    assert (await desk.text("search", query="hit", path=file.ref)).startswith(f"{file.ref}:2: hit\n")


async def test_other_encodings_are_searched_as_text(desk, engine):
    """UTF-16 by its mark; the mark of UTF-8 does not count."""
    desk.write("a", "\ufeffhit in UTF-16 ü\n".encode("utf-16-le"))
    desk.write("b", b"\xef\xbb\xbfhit\n")

    assert await found(desk, query="hit") == ["a:1: hit in UTF-16 ü", "b:1: hit"]


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
