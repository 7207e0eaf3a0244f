"""The evaluation of the ranking, on a made-up repository: it looks at the past only, and counts right."""

import os
import subprocess

import msgspec
import pytest
from evals.fitting import figures, leave_one_out
from evals.localising import NOWHERE, Query, Repository, first_right
from evals.localising import localise as ask_all

from agi.index.ranking import Weights
from evals import localise


def run_git(folder, *args):
    command = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *args]
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, env=env, text=True).stdout.strip()


@pytest.fixture
def shop(tmp_path):
    """Two commits of a shop; the second is the question."""
    folder = tmp_path / "repos" / "ann+shop" / "repo"
    (folder / "tests").mkdir(parents=True)
    run_git(folder, "init", "-q", "-b", "main", ".")
    (folder / "cart.py").write_text("def add_item(): ...\n")
    (folder / "mail.py").write_text("def send(): ...\n")
    (folder / "tests" / "test_cart.py").write_text("def test_add_item(): add_item()\n")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "First")
    parent = run_git(folder, "rev-parse", "HEAD")
    (folder / "mail.py").write_text("def send(zebra): ...\n")
    run_git(folder, "commit", "-qam", "zebra")
    queries = [Query("1", parent, "add an item twice", ["cart.py"]), Query("2", parent, "zebra", ["mail.py"])]
    return Repository("ann/shop", [".py"], [], queries), folder / ".git"


async def test_the_tree_and_the_history_are_those_before_the_commit(shop, tmp_path):
    """What the answer added is nowhere to be seen."""
    repository, git = shop
    (tmp_path / "work").mkdir()
    found, hidden = await ask_all(repository, git, tmp_path / "work", baseline=True)
    assert found.ranks(Weights()) == (1, 1)
    assert hidden.ranks(Weights()) == hidden.baseline == (NOWHERE, NOWHERE)


def test_ranks_count_all_files_and_source_files_apart():
    """A test before the right file costs a place among all only."""
    order = [("tests/test_a.py", False), ("a.py", True), ("b.py", True)]
    assert first_right(order, frozenset({"b.py"})) == (3, 2)
    assert first_right(order, frozenset({"c.py"})) == (NOWHERE, NOWHERE)


def test_figures_are_shares_and_the_mean_of_reciprocals():
    """R@1, R@5, R@10, MRR."""
    assert figures([1, 4, 10, 20]) == [0.25, 0.5, 0.75, (1 + 0.25 + 0.1 + 0.05) / 4]


async def test_weights_for_a_repository_are_found_without_it(shop, tmp_path, capsys):
    """Leaving one out leaves its questions out."""
    repository, git = shop
    (tmp_path / "work").mkdir()
    asked = await ask_all(repository, git, tmp_path / "work", baseline=False)
    assert len(leave_one_out({"one": asked, "other": asked})) == 4
    assert "for one:" in capsys.readouterr().out


def test_the_command_prints_a_table(shop, tmp_path, capsys):
    """One row a repository, and one for all."""
    repository, git = shop
    data = tmp_path / "data"
    data.mkdir()
    (data / "shop.json").write_bytes(msgspec.json.encode(repository))
    bare = tmp_path / "bare" / "ann+shop" / "repo"
    run_git(tmp_path, "clone", "-q", "--bare", str(git), str(bare))
    assert localise.main(["--data", str(data), "--repos", str(tmp_path / "bare"), "--baseline", "--each"]) == 0
    said = capsys.readouterr().out
    assert "| shop (2) | 0.500 |" in said
    assert "| without alike |" in said
