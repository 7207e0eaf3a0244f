"""What measures the model and the house is run seldom; it must at least be there when it is."""

from __future__ import annotations

import importlib
import pkgutil

import bench.peers
import pytest

import bench
import evals

MODULES = sorted(
    one.name
    for room in (evals, bench, bench.peers)
    for one in pkgutil.iter_modules(room.__path__, f"{room.__name__}.")
    if not one.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_what_is_run_seldom_can_be_loaded(name: str) -> None:
    """A name that moved in the house is missed here, and not by whoever wants to measure something."""
    assert importlib.import_module(name).__doc__
