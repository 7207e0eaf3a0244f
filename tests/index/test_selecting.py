"""Selections: what the rest of the program asks for."""

import asyncio
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from agi.errors import Invalid
from agi.index import selecting
from agi.index.postings import FILE
from agi.index.repo import RepoIndex
from agi.index.selecting import Lines, Selector
from agi.workspace.handle import Workspace


class Site:
    """A project, and a selector on it."""

    def __init__(self, folder):
        self.root = folder / "project"
        self.root.mkdir()
        self.cache = folder / "cache"
        self.workspace = Workspace.open(self.root)
        self.selector = Selector(self.workspace, self.cache)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def git(self, *args):
        command = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *args]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.root.parent), "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(command, cwd=self.root, check=True, capture_output=True, env=env)

    async def paths(self, text):
        await self.selector.refresh()
        return [one.path for one in (await self.selector.select(text)).files]


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    made.selector.close()
    made.workspace.close()


async def test_a_selection_names_files_lines_and_reasons(site):
    """The best lines of the best file first."""
    site.write("cart.py", "import os\n" * 100 + "def empty_basket(): ...\n")
    site.write("mail.py", "def send(): ...\n")
    await site.selector.refresh()
    selection = await site.selector.select("empty the basket")
    (best,) = selection.files
    assert (best.path, best.lines[0]) == ("cart.py", Lines(61, 120))
    assert best.why == ("its text fits (100% of the best)",)
    assert (selection.of, selection.complete) == (2, True)


async def test_an_edit_is_found_after_a_refresh_and_so_is_another_processs(site, tmp_path):
    """One cache, several readers."""
    site.write("a.py", "alpha")
    assert await site.paths("beta") == []
    other = Selector(site.workspace, site.cache)
    assert (await other.select("alpha")).files[0].path == "a.py"
    site.write("a.py", "beta")
    assert await site.paths("beta") == ["a.py"]
    assert (await other.select("beta")).files[0].path == "a.py"
    other.close()


async def test_before_the_first_refresh_there_is_nothing_and_that_is_said(site):
    """A selection from nothing is empty, not wrong."""
    selection = await site.selector.select("alpha")
    assert (selection.files, selection.complete) == ((), False)


async def test_a_damaged_cache_is_made_anew(site):
    """At whatever moment it was damaged."""
    site.write("a.py", "alpha")
    await site.selector.refresh()
    site.selector.close()
    for path in site.cache.iterdir():
        path.unlink()
    (site.cache / FILE).write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert (await site.selector.select("alpha")).files == ()
    assert await site.paths("alpha") == ["a.py"]


@pytest.mark.parametrize("change", ["lengths = x'00'", "lengths = 5", "first = 'one'", "first = -1", "first = 1 << 60"])
async def test_a_cache_with_rows_that_make_no_sense_is_made_anew(site, change):
    """A file can be a whole database, and still not be what we wrote."""
    site.write("a.py", "alpha")
    await site.selector.refresh()
    site.selector.close()
    with closing(sqlite3.connect(site.cache / FILE)) as db, db:
        db.execute(f"UPDATE files SET {change}")
    assert (await site.selector.select("alpha")).files == ()
    assert await site.paths("alpha") == ["a.py"]


async def test_a_cache_behind_a_link_is_not_used(site, tmp_path):
    """A repository that ships one would have us write elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    site.cache.symlink_to(tmp_path / "elsewhere")
    site.write("a.py", "alpha")
    assert await site.paths("alpha") == []
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_cache_cut_short_in_the_middle_is_made_anew(site):
    """A copy that broke off has a good beginning."""
    for n in range(200):
        site.write(f"f{n}.py", "alpha " + " ".join(f"name{n}x{m}" for m in range(200)))
    await site.selector.refresh()
    site.selector.close()
    data = (site.cache / FILE).read_bytes()
    (site.cache / FILE).write_bytes(data[: len(data) // 3])
    await site.selector.select("alpha")
    await site.selector.refresh()
    assert len(await site.paths("alpha")) == 20


async def test_a_cache_that_cannot_be_written_is_no_error_of_the_question(site):
    """Somebody put a file where the folder goes."""
    site.cache.write_text("in the way")
    site.write("a.py", "alpha")
    built = await site.selector.refresh()
    assert not built.complete
    assert (await site.selector.select("alpha")).files == ()


async def test_commits_are_read_and_read_again_when_there_are_new_ones(site):
    """A word of a message finds the file that was changed."""
    site.write("cart.py", "x = 1\n")
    site.git("init", "-q", "-b", "main", ".")
    site.git("add", ".")
    site.git("commit", "-qm", "Vouchers cannot be used twice")
    assert await site.paths("voucher") == ["cart.py"]
    site.write("mail.py", "y = 1\n")
    site.git("add", ".")
    site.git("commit", "-qm", "Newsletter")
    assert await site.paths("newsletter") == ["mail.py"]
    assert await site.paths("voucher") == ["cart.py"]


async def test_opening_a_hostile_repository_runs_nothing_of_it(site, tmp_path):
    """Neither hooks nor what its settings name."""
    site.write("a.py", "alpha")
    site.git("init", "-q", ".")
    site.git("add", ".")
    site.git("commit", "-qm", "alpha")
    trap = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    for setting in ("core.fsmonitor", "core.pager", "gpg.program", "diff.external", "core.sshCommand"):
        site.git("config", setting, str(script))
    site.git("config", "log.showSignature", "true")
    assert await site.paths("alpha") == ["a.py"]
    assert not trap.exists()


async def test_the_loop_goes_on_while_the_index_is_built(site):
    """A build is the thread's business."""
    for n in range(300):
        site.write(f"f{n}.py", "\n".join(f"def name_{n}_{m}(): return value_{m}" for m in range(100)))
    building = asyncio.ensure_future(site.selector.refresh())
    turns = 0
    while not building.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert (await building).indexed == 300
    assert turns > 20


async def test_a_canceled_refresh_stops_and_the_next_one_goes_on(site, monkeypatch):
    """Nothing goes on in a thread after a cancel."""
    for n in range(50):
        site.write(f"f{n}.py", "alpha")
    seen = asyncio.Event()
    loop = asyncio.get_running_loop()
    real = selecting.bring_up_to_date

    def told(workspace, kept, stop):
        loop.call_soon_threadsafe(seen.set)
        stop.wait(10)
        return real(workspace, kept, stop)

    monkeypatch.setattr(selecting, "bring_up_to_date", told)
    refreshing = asyncio.ensure_future(site.selector.refresh())
    await seen.wait()
    refreshing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await refreshing
    monkeypatch.setattr(selecting, "bring_up_to_date", real)
    assert (await site.selector.refresh()).indexed == 50


@pytest.mark.parametrize("limit", [0, -1, 100_000])
async def test_a_limit_that_makes_no_sense_is_refused(site, limit):
    """With a word on what does."""
    with pytest.raises(Invalid) as caught:
        await site.selector.select("alpha", limit)
    assert "500" in caught.value.hint


class Meaning:
    """Turns texts into vectors by a rule a test gives."""

    def __init__(self, rule):
        self.rule = rule

    async def embed(self, texts):
        return [self.rule(text) for text in texts]


async def test_an_embedder_moves_what_means_the_same_up(site):
    """Only among what was found; and without it nothing changes."""
    site.write("a.py", "alpha beta gamma delta")
    site.write("b.py", "alpha beta gamma delta epsilon")
    before = await site.paths("alpha")
    meaning = Meaning(lambda text: (0.0, 1.0) if "a.py" in text else (1.0, 0.0))
    near = Selector(site.workspace, site.cache, embedder=meaning)
    assert [before[0], (await near.select("alpha")).files[0].path] == ["a.py", "b.py"]
    near.close()


async def test_an_embedder_that_fails_changes_nothing(site):
    """A help, not a need."""

    def fails(text):
        raise Invalid("no such model")

    site.write("a.py", "alpha beta gamma delta")
    site.write("b.py", "alpha beta gamma delta epsilon")
    before = await site.paths("alpha")
    broken = Selector(Workspace.open(site.root), Path(site.cache), embedder=Meaning(fails))
    assert [one.path for one in (await broken.select("alpha")).files] == before
    broken.close()


async def test_until_who_uses_whom_is_read_files_are_ranked_without_it(site, parsing):
    """A choice never waits for the graph: neither for the first reading, nor for one that goes on."""
    site.write("cart.py", "def empty_basket(): return tidy_shelf()\n")
    site.write("shelf.py", "def tidy_shelf(): ...\n")
    index = RepoIndex(None, parsing=parsing)
    linked = Selector(site.workspace, site.cache, index=index)
    await linked.refresh()
    with index._lock, index._refreshing:  # as while files are read, or a map is drawn
        assert [one.path for one in (await linked.select("empty the basket")).files] == ["cart.py"]
    await linked.link()
    with index._lock, index._refreshing:
        assert [one.path for one in (await linked.select("empty the basket")).files] == ["cart.py", "shelf.py"]
    linked.close()


async def test_half_a_graph_is_not_used(site, parsing):
    """What was not read in time could be what leads to the right file."""
    site.write("cart.py", "def empty_basket(): return tidy_shelf()\n")
    index = RepoIndex(None, parsing=parsing)
    assert index.refresh(site.workspace, seconds=0).waiting == 1
    index.link()
    assert index.links is None


async def test_a_selector_without_an_index_of_symbols_links_nothing(site):
    """And says nothing against it."""
    site.write("a.py", "alpha")
    await site.selector.link()
    assert await site.paths("alpha") == ["a.py"]
