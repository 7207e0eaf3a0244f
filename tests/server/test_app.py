"""The table of paths: who answers what, known before any of them is imported."""

from __future__ import annotations

from importlib import import_module

import pytest

from agi.server.app import PATHS, routes


@pytest.mark.parametrize("subject", [name for name in PATHS if name != "openapi"])
def test_the_table_names_the_very_paths_a_file_answers(subject: str) -> None:
    """A path that only one of them names would never be answered."""
    its_routes = import_module(f"agi.server.{subject}").ROUTES
    assert set(PATHS[subject]) == {route.path for route in its_routes}


def test_no_path_is_answered_by_two_files() -> None:
    """The first would hide what the second can do."""
    named = [path for paths in PATHS.values() for path in paths]
    assert len(named) == len(set(named))
    assert set(named) == {route.path for route in routes()}
