"""Which language a file is written in, and the grammar and the query that find its symbols.

A grammar is a wheel of its own, loaded when a file first needs it; nothing is fetched. A language whose wheel is not
installed has no symbols, and that is no error. May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Language, Query

_QUERIES = Path(__file__).parent / "queries"
_DIVIDER = "; references\n"


class Grammar(Struct, frozen=True):
    """Where a language's parser comes from, and how files in it are called."""

    package: str
    endings: tuple[str, ...]
    names: tuple[str, ...] = ()
    """Whole file names, for files without an ending."""
    function: str = "language"


GRAMMARS: Mapping[str, Grammar] = MappingProxyType(
    {
        "bash": Grammar("tree_sitter_bash", ("sh", "bash", "zsh"), (".bashrc", ".bash_profile", ".profile")),
        "c": Grammar("tree_sitter_c", ("c", "h")),
        "cpp": Grammar("tree_sitter_cpp", ("cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "cu", "cuh")),
        "csharp": Grammar("tree_sitter_c_sharp", ("cs",)),
        "elixir": Grammar("tree_sitter_elixir", ("ex", "exs")),
        "go": Grammar("tree_sitter_go", ("go",)),
        "hcl": Grammar("tree_sitter_hcl", ("hcl", "tf", "tfvars")),
        "java": Grammar("tree_sitter_java", ("java",)),
        "javascript": Grammar("tree_sitter_javascript", ("js", "jsx", "mjs", "cjs")),
        "kotlin": Grammar("tree_sitter_kotlin", ("kt", "kts")),
        "lua": Grammar("tree_sitter_lua", ("lua",)),
        "php": Grammar("tree_sitter_php", ("php", "phtml"), function="language_php"),
        "python": Grammar("tree_sitter_python", ("py", "pyi", "pyw"), ("SConstruct", "SConscript", "wscript")),
        "ruby": Grammar("tree_sitter_ruby", ("rb", "rake", "gemspec"), ("Rakefile", "Gemfile", "Vagrantfile")),
        "rust": Grammar("tree_sitter_rust", ("rs",)),
        "scala": Grammar("tree_sitter_scala", ("scala", "sc", "sbt")),
        "swift": Grammar("tree_sitter_swift", ("swift",)),
        "tsx": Grammar("tree_sitter_typescript", ("tsx",), function="language_tsx"),
        "typescript": Grammar("tree_sitter_typescript", ("ts", "mts", "cts"), function="language_typescript"),
        "zig": Grammar("tree_sitter_zig", ("zig",)),
    }
)
"""Every language whose symbols are known, by the name of its query in `queries/`."""

_BY_ENDING = {ending: name for name, grammar in GRAMMARS.items() for ending in grammar.endings}
_BY_NAME = {whole: name for name, grammar in GRAMMARS.items() for whole in grammar.names}


_FAMILIES = {"tsx": "javascript", "typescript": "javascript", "cpp": "c", "kotlin": "java", "scala": "java"}
"""Languages whose files use each other's names."""


def family_of(path: str) -> str:
    """The languages a file's names can mean something in; empty if it is none of ours."""
    language = language_of(path)
    return _FAMILIES.get(language, language)


def language_of(path: str) -> str:
    """The language a file is written in, going by its name; empty if it is none of ours."""
    name = path.rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    return _BY_NAME.get(name) or (_BY_ENDING.get(ending.lower(), "") if stem else "")


class Loaded(Struct, frozen=True):
    """A grammar that is ready, with the query for what a file defines and the one for what it uses."""

    language: Language
    definitions: Query
    references: Query


@cache
def load(name: str) -> Loaded | None:
    """Load a language's grammar; None if its wheel is not installed, or does not fit the parser that is."""
    # Late: the parser and each grammar cost more to load than most commands take.
    try:
        from tree_sitter import Language, Query

        grammar = GRAMMARS[name]
        language = Language(getattr(import_module(grammar.package), grammar.function)())
        definitions, _, references = (_QUERIES / f"{name}.scm").read_text().partition(_DIVIDER)
        return Loaded(language, Query(language, definitions), Query(language, references))
    except (ImportError, AttributeError, ValueError):
        return None


def queries_text() -> str:
    """All queries, by which it is told whether symbols found earlier are what would be found now."""
    return "\0".join((_QUERIES / f"{name}.scm").read_text() for name in sorted(GRAMMARS))


def missing() -> tuple[str, ...]:
    """The languages whose grammar is not installed."""
    return tuple(name for name in GRAMMARS if load(name) is None)
