"""The index of a workspace: refreshed, drawn, asked for scores."""

import os
import subprocess
import sys
import threading

import pytest

from agi.index.parsing import Parsing
from agi.index.repo import Refreshed, RepoIndex

FILES = {
    "shop/cart.py": "from shop.prices import lookup_price\n\nclass Cart:\n    def add(self, item):\n"
    "        return lookup_price(item)\n",
    "shop/prices.py": "from shop.money import MoneyAmount\n\ndef lookup_price(item):\n    return MoneyAmount(item)\n",
    "shop/money.py": "class MoneyAmount:\n    pass\n",
    "web/view.js": "function drawView() { return renderRow(1); }\n",
    "web/row.js": "function renderRow(n) { return n; }\n",
    "README.md": "# Shop\n",
}


@pytest.fixture
def shop(place):
    """A small project."""
    for path, text in FILES.items():
        place.write(path, text, old=False)
    place.settle()
    return place


def test_after_a_refresh_the_map_shows_what_there_is(shop, index):
    """Files, definitions and lines; what others use comes first."""
    assert index.refresh(shop.workspace) == Refreshed(5)

    drawn = index.map(1_000)

    assert drawn.text.startswith("shop/money.py\n  1: class MoneyAmount:\n")
    assert "shop/cart.py\n  3: class Cart:\n  4:   def add(self, item):\n" in drawn.text
    assert drawn.text.endswith("[5 of 5 source files, 6 of 6 symbols]")


def test_a_library_that_was_copied_in_does_not_lead_the_map(shop, index):
    """However much it is used; who asks for it by its path gets it."""
    shop.write("web/vendor/lib.js", "function renderRow(n) { return n; }\n" * 3, old=False)
    shop.write("web/row.js", "function drawRow(n) { return renderRow(n); }\n", old=False)
    shop.settle()
    index.refresh(shop.workspace)

    def order(*focus):
        return [line for line in index.map(1_000, focus).text.splitlines() if line.endswith(".js")]

    assert order()[-1] == "web/vendor/lib.js"
    assert order("web/vendor/lib.js")[0] == "web/vendor/lib.js"


def test_before_a_refresh_there_is_nothing(index):
    """And that is no error."""
    assert index.map(1_000).text == ""
    assert index.scores() == {}
    assert index.neighbours(["a.py"]) == ()


def test_what_was_touched_pulls_up_what_it_uses(shop, index):
    """The focus decides, by paths as by words."""
    index.refresh(shop.workspace)

    by_path = index.scores(["web/view.js"])
    by_word = index.scores((), ["drawView"])

    assert max(by_path, key=by_path.__getitem__) == "web/view.js"
    assert by_path["web/row.js"] > by_path["shop/money.py"]
    assert by_word["web/row.js"] > by_word["shop/money.py"]
    assert sum(by_path.values()) == pytest.approx(1)
    assert index.map(1_000, ["web/view.js"]).text.startswith("web/view.js\n")


def test_what_the_reader_has_is_not_drawn(shop, index):
    """It still pulls its neighbours up."""
    index.refresh(shop.workspace)

    drawn = index.map(1_000, ["web/view.js"], (), ["web/view.js"])

    assert drawn.text.startswith("web/row.js\n")
    assert "web/view.js" not in drawn.text


def test_neighbours_are_those_used_and_those_who_use(shop, index):
    """The closest first; not the files themselves."""
    index.refresh(shop.workspace)

    assert index.neighbours(["shop/prices.py"]) == ("shop/cart.py", "shop/money.py")


def test_an_edit_a_new_file_and_a_deletion_are_taken_in(shop, index, parsing):
    """The index that was changed step by step is the one a new process would make."""
    index.refresh(shop.workspace)
    shop.write("shop/money.py", "class MoneyAmount:\n    def round(self): ...\n\ndef convert_money(): ...\n")
    shop.write("shop/tax.py", "from shop.money import convert_money\n\ndef addTax(): convert_money()\n")
    (shop.root / "web" / "row.js").unlink()

    index.refresh(shop.workspace)

    fresh = RepoIndex(parsing=parsing)
    fresh.refresh(shop.workspace)
    for focus in ((), ("shop/tax.py",)):
        assert index.map(1_000, focus).text == fresh.map(1_000, focus).text
        assert index.scores(focus) == fresh.scores(focus)
    assert "convert_money" in index.map(1_000).text
    assert "row.js" not in index.map(1_000).text


def test_a_second_edit_in_the_same_moment_is_not_missed(shop, index):
    """A time that is young is not relied on, so the content is looked at again."""
    for n in range(5):
        shop.write("shop/money.py", f"class Money{n}: ...\n", old=False)
        index.refresh(shop.workspace)

        assert f"class Money{n}" in index.map(1_000).text


def test_another_index_finds_what_this_one_kept(shop, index):
    """The second process parses nothing: the process that would do it cannot even be started."""
    index.refresh(shop.workspace)
    cache = shop.root / ".agi" / "cache"

    again = RepoIndex(cache, parsing=Parsing([sys.executable, "-c", "raise SystemExit(1)"]))
    again.refresh(shop.workspace)

    assert again.map(1_000) == index.map(1_000)


def test_what_a_cache_says_of_another_content_is_not_used(shop, index, parsing):
    """A file that changed while nobody looked is parsed."""
    index.refresh(shop.workspace)
    shop.write("shop/money.py", "class Other: ...\n")

    again = RepoIndex(shop.root / ".agi" / "cache", parsing=parsing)
    again.refresh(shop.workspace)

    assert "class Other" in again.map(1_000).text
    assert "MoneyAmount" not in again.map(1_000).text


def test_a_cache_deleted_under_it_does_no_harm(shop, index):
    """It may go at any time."""
    index.refresh(shop.workspace)
    for path in (shop.root / ".agi" / "cache").iterdir():
        path.unlink()
    shop.write("shop/money.py", "class Other: ...\n")

    index.refresh(shop.workspace)

    assert "class Other" in index.map(1_000).text


def test_out_of_time_it_says_how_much_is_missing_and_goes_on_next_time(shop, index):
    """A first build of a large repository answers with what is there."""
    assert index.refresh(shop.workspace, seconds=0) == Refreshed(5, waiting=5)
    assert index.map(1_000).text == ""

    assert index.refresh(shop.workspace) == Refreshed(5)


def test_told_to_stop_it_stops(shop, index):
    """Nobody waits for what nobody wants any more."""
    stop = threading.Event()
    stop.set()

    index.refresh(shop.workspace, stop=stop)
    assert index.map(1_000).text == ""

    assert index.refresh(shop.workspace) == Refreshed(5)


def test_hostile_files_are_listed_without_symbols(place, index):
    """Binary, huge, minified, unreadable, vanishing: each is a file, none an error."""
    place.write("binary.py", b"\x7fELF\0\0\0")
    place.write("huge.py", b"def f(): ...\n" * 60_000)
    place.write("small.min.js", b"var a=function(){};" * 4_000)
    place.write("good.py", "def good(): ...\n")
    place.write("closed.py", "def hidden(): ...\n")
    (place.root / "closed.py").chmod(0)

    assert index.refresh(place.workspace).files == 5

    drawn = index.map(1_000)
    assert drawn.files_shown == 5
    assert "def good" in drawn.text
    assert drawn.symbols_shown == (1 if os.geteuid() else 2)


def test_two_threads_may_use_it_at_once(shop, index):
    """One refreshes, others draw; all of them get an answer."""
    failures = []

    def work():
        try:
            for _ in range(5):
                index.refresh(shop.workspace)
                index.map(500, ["web/view.js"])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert failures == []


def test_two_processes_may_share_the_cache(shop):
    """Whoever is first, both have the whole map, and so has the next."""
    script = (
        "import sys; from pathlib import Path; from agi.index.repo import RepoIndex\n"
        "from agi.workspace.handle import Workspace\n"
        "root = Path(sys.argv[1]); index = RepoIndex(root / '.agi' / 'cache')\n"
        "index.refresh(Workspace.open(root)); print(index.map(1000).text); index.close()\n"
    )
    command = [sys.executable, "-c", script, str(shop.root)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [one.communicate(timeout=60)[0] for one in both]

    assert said[0] == said[1]
    assert said[0].strip().endswith("[5 of 5 source files, 6 of 6 symbols]")


def test_the_same_state_gives_the_same_bytes(shop):
    """Whatever order the disk names files in, and however words hash in this process."""
    script = (
        "import sys; from pathlib import Path; from agi.index.repo import RepoIndex\n"
        "from agi.workspace.handle import Workspace\n"
        "index = RepoIndex(); index.refresh(Workspace.open(Path(sys.argv[1])))\n"
        "print(index.map(1000, ['shop/cart.py'], ['price', 'view']).text); index.close()\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", script, str(shop.root)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(told) == 1


def test_a_language_without_its_grammar_is_named(place, index):
    """So that the reader knows what to install."""
    place.write("a.py", "def f(): ...\n")
    script = "from agi.index import symbols, worker\nsymbols.load = lambda name: None\nworker.main()\n"
    poor = RepoIndex(parsing=Parsing([sys.executable, "-c", script]))
    try:
        poor.refresh(place.workspace)
        assert poor.lacking() == ("python",)
        assert poor.map(500).text.startswith("a.py\n")
    finally:
        poor.close()
    index.refresh(place.workspace)
    assert index.lacking() == ()
