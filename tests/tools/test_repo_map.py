"""repo_map: what matters of a project, for what the session is about."""

import asyncio
import threading

import pytest

from agi.editing.seen import Seen, Shown
from agi.extras import how_to_install
from agi.index import repo
from agi.index.shared import Indexes
from agi.tools.base import Registry
from agi.tools.repo_map import RepoMapTool


@pytest.fixture
def shop(desk):
    """A small project, and a tool with indexes of its own."""
    indexes = Indexes()
    desk.registry = Registry([RepoMapTool(indexes)])
    for path, text in {
        "cart.py": "import prices\n\nclass Cart:\n    def add(self, item):\n        lookup_price(item)\n",
        "prices.py": "def lookup_price(item):\n    return item\n",
        "view.js": "function drawView() { return renderRow(1); }\n",
        "row.js": "function renderRow(n) { return n; }\n",
    }.items():
        (desk.root / path).write_text(text)
    yield desk
    indexes.close()


def text(result):
    return result.parts[0].text


@pytest.mark.parametrize(
    "given",
    [
        {"max_tokens": 99},
        {"max_tokens": 10_001},
        {"max_tokens": "many"},
        {"query": 5},
        {"query": "x" * 2_001},
        {"path": "."},
    ],
)
async def test_input_that_does_not_fit_is_refused(shop, given):
    """With what is wrong about it."""
    result = await shop.use("repo_map", **given)

    assert not result.ok
    assert "does not fit its schema" in result.error


async def test_the_map_shows_files_and_what_they_define(shop):
    """With the line of each, and what it all adds up to."""
    result = await shop.use("repo_map")

    assert "cart.py\n  3: class Cart:\n  4:   def add(self, item):\n" in text(result)
    assert text(result).endswith("[4 of 4 source files, 5 of 5 symbols]")
    assert result.result == {
        "files": 4,
        "files_left_out": 0,
        "symbols": 5,
        "symbols_left_out": 0,
        "tokens": result.result["tokens"],
        "truncated": False,
    }


async def test_a_query_brings_what_has_to_do_with_it_to_the_top(shop):
    """The file that is named, then what it uses."""
    told = text(await shop.use("repo_map", query="where is drawView?"))

    assert told.startswith("view.js\n")
    assert told.index("row.js") < told.index("cart.py")


async def test_what_was_read_is_not_repeated_but_counts(shop):
    """A file the session knows whole is left out; one it knows in part is shown."""
    shop.seen = Seen()
    shop.seen.note("view.js", "digest")
    assert text(await shop.use("repo_map")).startswith("row.js\n")
    assert "view.js" not in text(await shop.use("repo_map"))

    shop.seen = Seen()
    shop.seen.note("view.js", "digest", shown=Shown([range(1)], 2))
    assert text(await shop.use("repo_map")).startswith("view.js\n")


async def test_the_budget_is_kept(shop):
    """However much there is."""
    for n in range(200):
        (shop.root / f"module_{n}.py").write_text("".join(f"def function_{n}_{k}(): ...\n" for k in range(20)))

    small = await shop.use("repo_map", max_tokens=200)
    large = await shop.use("repo_map", max_tokens=3_000)

    assert small.result["tokens"] <= 200 < large.result["tokens"] <= 3_000
    assert small.result["files_left_out"] > large.result["files_left_out"] > 0


async def test_without_source_files_it_says_so(desk):
    """And what to do instead."""
    (desk.root / "notes.txt").write_text("nothing\n")

    result = await desk.use("repo_map")

    assert result.ok
    assert "no source files" in text(result)
    assert "repo_tree" in text(result)


async def test_when_all_was_read_it_says_so(shop):
    """An empty answer would look like a failure."""
    shop.seen = Seen()
    for path in ("cart.py", "prices.py", "view.js", "row.js"):
        shop.seen.note(path, "digest")

    assert text(await shop.use("repo_map")) == "[nothing but what you have read already]"


async def test_a_map_that_is_not_complete_says_so(shop, monkeypatch):
    """With how much is missing."""
    monkeypatch.setattr(repo, "_BATCH_FILES", 1)
    monkeypatch.setattr(repo.RepoIndex.refresh, "__kwdefaults__", {"seconds": 0.0, "stop": None})

    result = await shop.use("repo_map")

    assert "[4 of 4 files are not read yet; ask again for a complete map]" in text(result)
    assert result.result["truncated"] is True


async def test_a_grammar_that_is_missing_is_named_with_the_command_that_adds_it(shop, monkeypatch):
    """To the Python agi runs in, which is seldom the project's."""
    monkeypatch.setattr(repo.RepoIndex, "lacking", lambda self: ("python",))

    assert f"`{how_to_install('tree-sitter-python')}` adds it]" in text(await shop.use("repo_map"))


async def test_the_event_loop_goes_on_meanwhile(shop):
    """A first build blocks nobody else."""
    for n in range(150):
        (shop.root / f"module_{n}.py").write_text("".join(f"def function_{n}_{k}(): ...\n" for k in range(50)))
    beats = 0

    async def beat():
        nonlocal beats
        while True:
            await asyncio.sleep(0.005)
            beats += 1

    beating = asyncio.ensure_future(beat())
    await shop.use("repo_map")
    beating.cancel()

    assert beats >= 5


async def test_canceling_stops_the_work(shop):
    """No thread is left that uses a workspace which may be closed then."""
    call = asyncio.ensure_future(shop.use("repo_map"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call

    assert (await shop.use("repo_map")).ok
    assert threading.active_count() < 20
