"""What an author writes: a decorator that marks a function and leaves it as it is."""

import pytest

from agi.usertools import author


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(author, "decorated", [])


def test_a_function_is_marked_and_stays_callable():
    """With or without settings."""

    @author.tool
    def one(a: int) -> int:
        return a

    @author.tool(kind="read", timeout_seconds=5)
    def two() -> None: ...

    assert one(3) == 3
    assert author.decorated == [(one, "exec", author.USUAL_S), (two, "read", 5.0)]


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "admin"},
        {"timeout_seconds": 0},
        {"timeout_seconds": 1e9},
        {"timeout_seconds": True},
        {"timeout_seconds": float("nan")},
    ],
)
def test_wrong_settings_are_refused(settings):
    """When the file is loaded, so that it is told at once."""
    with pytest.raises(ValueError, match="must be"):
        author.tool(**settings)


def test_only_functions_are_marked():
    """A class is none."""
    with pytest.raises(TypeError):
        author.tool(dict)
