"""What the user registered: kept by kind and name, whatever else the file holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agi.config import resources
from agi.config.resources import put_resource, read_resources, remove_resource
from agi.errors import ConfigError, NotFound
from agi.protocol.resources import Resource

ATLAS = Resource(kind="knowledge", name="atlas", path="/atlas")


def test_what_was_put_is_read_by_kind(tmp_path: Path) -> None:
    """One name may stand in two kinds."""
    law = Resource(kind="constitutions", name="atlas", path="/law", repositories=("a",))

    assert put_resource(tmp_path, ATLAS)
    assert put_resource(tmp_path, law)
    assert not put_resource(tmp_path, law)

    assert read_resources(tmp_path, "knowledge") == (ATLAS,)
    assert set(read_resources(tmp_path)) == {ATLAS, law}


def test_removing_leaves_the_rest(tmp_path: Path) -> None:
    """Other keys of the file too."""
    (tmp_path / "config.json").write_text('{"defaultModel": "m"}')
    put_resource(tmp_path, ATLAS)

    remove_resource(tmp_path, "knowledge", "atlas")

    assert json.loads((tmp_path / "config.json").read_text()) == {"defaultModel": "m", "resources": []}
    with pytest.raises(NotFound):
        remove_resource(tmp_path, "knowledge", "atlas")


@pytest.mark.parametrize("nonsense", ["7", "{}", '[1, {"kind": "pets", "name": "x", "path": "/"}, {"name": "y"}]'])
def test_nonsense_is_left_out(tmp_path: Path, nonsense: str) -> None:
    """An entry edited by hand harms nothing else."""
    (tmp_path / "config.json").write_text(f'{{"resources": {nonsense}}}')

    assert read_resources(tmp_path) == ()


def test_there_is_an_end_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that registers for ever is stopped."""
    monkeypatch.setattr(resources, "MOST", 1)
    put_resource(tmp_path, ATLAS)

    with pytest.raises(ConfigError):
        put_resource(tmp_path, Resource(kind="knowledge", name="other", path="/o"))

    assert read_resources(tmp_path) == (ATLAS,)
