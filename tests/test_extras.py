"""Extras: what adds one works for whoever reads it, however they installed agi."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from importlib import metadata, util
from pathlib import Path

import pytest

from agi import extras
from agi.extras import EXTRAS, how_to_add, how_to_install, is_missing

ROOT = Path(__file__).parent.parent
SOURCES = sorted(
    path for folder in ("src", "docs") for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md")
)


def project() -> dict[str, list[str]]:
    """The extras as pyproject.toml lists them."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def test_the_table_is_that_of_the_project() -> None:
    """What the commands name is what the extras consist of."""
    assert {name: list(wanted) for name, wanted in EXTRAS.items()} == project()


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_command_names_this_python_and_the_packages(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a shell reads it: another `pip` of the path is not meant, and `>=` is no redirection."""
    monkeypatch.setattr(util, "find_spec", lambda name: name)

    assert shlex.split(how_to_add(extra)) == [sys.executable, "-m", "pip", "install", *EXTRAS[extra]]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_command_does_not_name_agi_itself(extra: str) -> None:
    """So an editable install stays one, and no other project of that name can come instead."""
    wanted = shlex.split(how_to_add(extra))[4:]

    assert not [one for one in wanted if re.match(r"\.|agi\b", one)]


def test_where_python_has_no_pip_uv_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments that uv makes have none."""
    monkeypatch.setattr(util, "find_spec", lambda name: None)

    assert shlex.split(how_to_add("tui")) == ["uv", "pip", "install", "--python", sys.executable, *EXTRAS["tui"]]


def test_a_path_with_blanks_stays_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line can be pasted as it is."""
    monkeypatch.setattr(sys, "executable", "/opt/my tools/python")

    assert shlex.split(how_to_install("groq"))[0] == "/opt/my tools/python"


def test_shells_of_other_systems_get_their_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Double ones, around what needs them."""
    monkeypatch.setattr(sys, "executable", r"C:\py\python.exe")
    monkeypatch.setattr(extras.os, "name", "nt")

    assert how_to_install("textual>=8.2") == r'C:\py\python.exe -m pip install "textual>=8.2"'


def test_a_damaged_extra_is_installed_anew() -> None:
    """Without the word, an installer sees that it is there and does nothing."""
    assert " install --force-reinstall " in how_to_add("providers", anew=True)


def test_an_extra_is_missing_if_one_of_its_packages_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half an extra is none."""
    known = {"opentelemetry-sdk", "textual"}

    def found(name: str) -> None:
        if name not in known:
            raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", found)

    assert [extra for extra in EXTRAS if not is_missing(extra)] == ["tui"]


def test_no_other_place_says_how_an_extra_is_installed() -> None:
    """A command typed by hand is right for one way of installing only."""
    typed = re.compile(r"pip3? install [^`\n]*(?:\.|agi)\[")

    assert [path for path in SOURCES if typed.search(path.read_text(encoding="utf-8"))] == []


def test_the_example_of_the_page_is_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the folder."""
    monkeypatch.setattr(sys, "executable", "python")
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")

    assert f"bin/{how_to_add('tui')}\n" in page
    assert [f"| `{extra}` |" for extra in EXTRAS if f"| `{extra}` |" not in page] == []
