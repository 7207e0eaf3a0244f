"""One index per workspace in a process."""

from agi.index import shared
from agi.index.shared import Indexes
from agi.workspace.handle import Workspace


def test_a_workspace_has_one_index_whoever_asks(tmp_path):
    """Also when it is opened a second time; another workspace has another."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    indexes = Indexes()
    with (
        Workspace.open(tmp_path / "a") as one,
        Workspace.open(tmp_path / "a") as same,
        Workspace.open(tmp_path / "b") as two,
    ):
        assert indexes.of(one) is indexes.of(same)
        assert indexes.of(one) is not indexes.of(two)


def test_so_many_are_kept_the_least_used_goes(tmp_path, monkeypatch):
    """Memory has an end."""
    monkeypatch.setattr(shared, "MOST_INDEXES", 2)
    indexes = Indexes()
    opened = []
    for name in "abc":
        (tmp_path / name).mkdir()
        opened.append(Workspace.open(tmp_path / name))
    first, second = indexes.of(opened[0]), indexes.of(opened[1])
    indexes.of(opened[0])
    indexes.of(opened[2])

    assert indexes.of(opened[0]) is first
    assert indexes.of(opened[1]) is not second
    for one in opened:
        one.close()


def test_without_a_data_folder_nothing_is_written(tmp_path):
    """A folder that is only looked at stays as it is."""
    (tmp_path / "a.py").write_text("def f(): ...\n")
    indexes = Indexes()
    with Workspace.open(tmp_path) as workspace:
        indexes.of(workspace).refresh(workspace)
    indexes.close()

    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]
