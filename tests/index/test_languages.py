"""Which language a file is in, by its name alone."""

import pytest

from agi.index import languages
from agi.index.languages import GRAMMARS, language_of, load


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("A.PY", "python"),
        ("x.test.tsx", "tsx"),
        ("lib/Rakefile", "ruby"),
        ("main.h", "c"),
        ("main.hpp", "cpp"),
        (".bashrc", "bash"),
        ("py", ""),
        (".py", ""),
        ("a.py/notes", ""),
        ("", ""),
    ],
)
def test_the_name_tells_the_language(path, language):
    """The ending counts, in any case; some files are known by their whole name."""
    assert language_of(path) == language


def test_there_are_more_than_fifteen_and_all_can_be_loaded():
    """Every grammar that is named is installed with us and takes its queries."""
    assert len(GRAMMARS) >= 16
    assert languages.missing() == ()


def test_a_grammar_that_is_not_installed_is_no_error(monkeypatch):
    """The language just has no symbols."""
    load.cache_clear()

    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(languages, "import_module", refuse)
    try:
        assert load("python") is None
        assert languages.missing() == tuple(GRAMMARS)
    finally:
        load.cache_clear()
