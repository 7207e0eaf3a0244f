"""Both engines of the search give the same answers."""

import os
import random
import threading

import pytest

from agi.errors import Invalid
from agi.tools import engines, plain_search, ripgrep
from agi.tools.matches import Query
from agi.tools.patterns import has_engine
from agi.workspace.processes import find_program

pytestmark = pytest.mark.skipif(
    find_program("rg", os.environ["PATH"]) is None or not has_engine(), reason="needs ripgrep (rg) and google-re2"
)

NAMES = ["a", "b.py", "c.log", "src", "build", "Ab", ".hidden", "d e", "é.txt", "node_modules", "x-y", "tmp"]
RULES = [
    "*.log",
    "build/",
    "/tmp",
    "!b.py",
    "src/**/a",
    "**/x-y",
    "*.py",
    "/src/*",
    "!c.log",
    ".hidden",
    "d\\ e",
    "[ab]*",
]
WORDS = [
    "needle",
    "Needle",
    "hay",
    "straße",
    "STRASSE",
    "x1",
    "",
    "foo(bar)",
    "  indented",
    "é",
    "tab\there",
    "nee",
    "12",
]
LITERALS = ["needle", "hay", "e", "foo(", "straße", "12", " ", "zzz", "é"]
PATTERNS = [
    r"n.e+dle", r"^\s*\w+$", r"\d+", r"^$", r"[^a-z\s]", r"(needle|hay)$", r"\bnee\b", r"x*", r"\S\s\S", r"(?i)NEEDLE",
    r"[[:digit:]]{2}", r"é|ß", r"[\s\S]e", r"\w\W\w", r".", r"^hay.*12", r"\x41", r"[\d\s]+$", r"\pL+\PL",
]  # fmt: skip
GLOBS = ["", "", "*.py", "!*.log", "src/**", "*.{py,txt}", "[a-c]*", "**/a", "!src", "*.py,!b*", "build/"]


def grow(chance, folder, depth=0):
    """A folder with random files, rules and folders in it."""
    for name in chance.sample(NAMES, chance.randint(2, 6)):
        if depth < 3 and chance.random() < 0.4:
            (folder / name).mkdir()
            grow(chance, folder / name, depth + 1)
        else:
            lines = [" ".join(chance.choices(WORDS, k=chance.randint(0, 4))) for _ in range(chance.randint(0, 12))]
            end = chance.choice(["\n", "\r\n"])
            data = (end.join(lines) + chance.choice(["", end])).encode(
                chance.choice(["utf-8"] * 5 + ["utf-16", "utf-8-sig"])
            )
            binary = chance.choice([b""] * 8 + [b"\0needle\n"])
            (folder / name).write_bytes(binary + data + chance.choice([b""] * 8 + [b"\xff needle\n"]))
    if chance.random() < 0.4:
        (folder / ".gitignore").write_text("\n".join(chance.sample(RULES, chance.randint(1, 4))) + "\n")


def ask(chance, folders):
    """A random question."""
    regex = chance.random() < 0.5
    return Query(
        text=chance.choice(PATTERNS if regex else LITERALS),
        path=chance.choice([".", *folders]),
        is_folder=True,
        glob=chance.choice(GLOBS),
        regex=regex,
        ignore_case=chance.random() < 0.3,
        context=chance.choice([0, 0, 0, 1, 3]),
        files_only=chance.random() < 0.2,
        limit=chance.choice([1, 5, 200]),
        ignored=chance.random() < 0.2,
    )


@pytest.mark.parametrize("seed", range(12))
async def test_generated_questions_have_the_same_answer_from_both(desk, seed):
    """Whatever the files hold, wherever the rules are, and however it is asked."""
    chance = random.Random(seed)
    grow(chance, desk.root)
    if chance.random() < 0.5:
        (desk.root / ".git" / "info").mkdir(parents=True)
        (desk.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (desk.root / ".git" / "info" / "exclude").write_text("hay\n/src/a\n")
    folders = [str(path.relative_to(desk.root)) for path in desk.root.rglob("*") if path.is_dir()]
    program = ripgrep.find_ripgrep(desk.workspace)
    for _ in range(25):
        query = ask(chance, [folder for folder in folders if ".git" not in folder])

        theirs = await ripgrep.search(desk.workspace, program, query)
        ours = plain_search.search(desk.workspace, query, threading.Event())

        assert ours == theirs, query


async def test_what_one_engine_refuses_the_other_refuses(desk):
    """A pattern or a glob that is none."""
    desk.write("a", "x\n")
    program = ripgrep.find_ripgrep(desk.workspace)
    for query in (
        Query(text="(", path=".", is_folder=True, regex=True),
        Query(text=r"(?<=a)b", path=".", is_folder=True, regex=True),
        Query(text=r"(a)\1", path=".", is_folder=True, regex=True),
        Query(text="x", path=".", is_folder=True, glob="["),
    ):
        with pytest.raises(Invalid):
            await ripgrep.search(desk.workspace, program, query)
        with pytest.raises(Invalid):
            plain_search.search(desk.workspace, query, threading.Event())


async def test_too_old_a_ripgrep_is_done_without(desk, tmp_path, monkeypatch):
    """One that does not know our options is not the user's problem."""
    desk.write("a", "hit\n")
    old = tmp_path / "bin" / "rg"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho \"error: Found argument '--x' which wasn't expected\" >&2\nexit 2\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")

    found = await engines.find(desk.workspace, Query(text="hit", path=".", is_folder=True))

    assert [str(match) for match in found.matches] == ["a:1: hit"]
