"""Sources: what is ready is told, what is not is said to be, and goes on being read for the next turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from agi.context.base import Ask
from agi.context.prefix import notes_piece, skills_piece
from agi.context.sources import NOT_READY, TOO_FEW, RepoMap, SelectedFiles
from agi.workspace.handle import Workspace

ASK = Ask(text="where is the cache cleared?", paths=("src/a.py",), tokens=500)


class Progress(Struct):
    files: int
    waiting: int = 0


class Drawn(Struct):
    text: str


class Index:
    """An index of so many files, that is read once the gate is open."""

    def __init__(self, files: int = 100, waiting: int = 0) -> None:
        self.state = Progress(files, waiting)
        self.gate = threading.Event()
        self.gate.set()
        self.refreshed = 0
        self.asked: list[int] = []

    def refresh(self, workspace: Workspace, *, stop: threading.Event) -> Progress:
        while not self.gate.wait(0.001):
            if stop.is_set():
                break
        self.refreshed += 1
        return self.state

    def map(self, budget_tokens: int) -> Drawn:
        self.asked.append(budget_tokens)
        return Drawn("src/a.py\n  class A\u200b")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(tmp_path) as opened:
        yield opened


async def test_a_map_is_drawn_once_all_is_read_and_ranked(workspace):
    """Within its budget, without hidden characters."""
    index = Index()
    piece = await RepoMap(workspace, index).gather(ASK)

    assert piece.text == "src/a.py\n  class A"
    assert 0 < index.asked[-1] <= ASK.tokens


@pytest.mark.parametrize(("index", "why"), [(Index(5), TOO_FEW), (Index(100, 7), NOT_READY)])
async def test_a_small_workspace_or_half_an_index_gives_no_map(workspace, index, why):
    """And says so."""
    assert (await RepoMap(workspace, index).gather(ASK)).refused == why


async def test_reading_goes_on_when_nobody_waits_any_more(workspace):
    """The next turn finds it read; there is one reading at a time, and closing ends it."""
    index = Index()
    index.gate.clear()
    source = RepoMap(workspace, index)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(source.gather(ASK), 0.01)
    index.gate.set()

    assert (await source.gather(ASK)).text
    assert index.refreshed == 1


async def test_a_whole_index_is_drawn_at_once_while_the_next_reading_begins(workspace):
    """Looking for changes takes longer than a turn should wait; closing ends it."""
    index = Index()
    source = RepoMap(workspace, index)
    await source.gather(ASK)
    index.gate.clear()

    assert (await source.gather(ASK)).text
    assert len(index.asked) == 3  # the first one to rank
    source.close()


class Lines(Struct):
    first: int
    last: int


class File(Struct):
    path: str
    lines: tuple[Lines, ...] = ()
    why: tuple[str, ...] = ()


class Choice(Struct):
    files: tuple[File, ...]
    of: int = 100
    complete: bool = True


class Chooser:
    """Gives the choices it was made with, one after the other."""

    def __init__(self, *choices: Choice) -> None:
        self.choices = list(choices)
        self.refreshed = self.linked = 0
        self.gate = asyncio.Event()

    async def refresh(self) -> object:
        self.refreshed += 1
        return None

    async def link(self) -> object:
        await self.gate.wait()
        self.linked += 1
        return None

    async def select(self, text: str, limit: int = 20) -> Choice:
        return self.choices.pop(0) if len(self.choices) > 1 else self.choices[0]


async def test_chosen_files_are_named_with_lines_and_reasons():
    """A name that could say something of its own is not."""
    files = (File("src/cache.py", (Lines(1, 40), Lines(81, 120)), ("named", "cleared")), File("b.py"), File("c\nd"))
    piece = await SelectedFiles(Chooser(Choice(files))).gather(ASK)

    assert piece.text == "src/cache.py:1-40, 81-120  (named; cleared)\nb.py"


async def test_an_index_that_is_not_whole_is_waited_for():
    """As long as the turn waits; then it is asked again."""
    chooser = Chooser(Choice((), of=0, complete=False), Choice((File("a.py"),)))

    assert (await SelectedFiles(chooser).gather(ASK)).text == "a.py"
    assert chooser.refreshed == 1


async def test_a_choice_does_not_wait_for_who_uses_whom_which_is_read_meanwhile():
    """One reading at a time; closing ends it."""
    chooser = Chooser(Choice((File("a.py"),)))
    source = SelectedFiles(chooser)
    assert [(await source.gather(ASK)).text for _ in range(2)] == ["a.py", "a.py"]
    assert chooser.linked == 0
    chooser.gate.set()
    await asyncio.wait_for(source._linking, 5)
    assert chooser.linked == 1
    chooser.gate.clear()
    await source.gather(ASK)
    source.close()
    with pytest.raises(asyncio.CancelledError):
        await source._linking
    assert chooser.linked == 1


@pytest.mark.parametrize(("choice", "why"), [(Choice((), of=3), TOO_FEW), (Choice(()), "no file fits the question")])
async def test_where_nothing_is_worth_naming_nothing_is_named(choice, why):
    """And says so."""
    assert (await SelectedFiles(Chooser(choice)).gather(ASK)).refused == why


def test_notes_and_skills_are_told_as_they_are_kept():
    """A note is one line of a list; skills that are not listed are counted."""
    assert notes_piece(["one\n\ntwo", "three\u200b"]).text == "- one two\n- three"
    assert skills_piece("the list", 3).longer == "3 skills are not listed"
