"""What one file defines and uses, in every language we know; and what a hostile one may not do."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from agi.index import symbols
from agi.index.languages import GRAMMARS, language_of
from agi.index.symbols import NONE, Definition, Symbols, read_symbols

# Test files are loaded by their place, so the one beside this is, too.
_spec = importlib.util.spec_from_file_location("index_samples", Path(__file__).with_name("samples.py"))
assert _spec is not None
assert _spec.loader is not None
_samples = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_samples)
SAMPLES = _samples.SAMPLES


def _line(one: Definition) -> str:
    return f"{one.kind} {one.name} {one.line} {one.end_line} {one.parent}".strip()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.path)
def test_a_file_has_exactly_these_definitions_and_uses(sample):
    """Every definition with its kind, lines and what it stands in; every use with its count; nothing else."""
    found = read_symbols(sample.path, sample.source.encode())

    assert "\n".join(map(_line, found.definitions)) == sample.defines
    assert " ".join(f"{name}*{n}" if n > 1 else name for name, n in found.references.items()) == sample.uses
    assert found.language == language_of(sample.path)
    assert not found.partial


def test_every_language_has_a_sample():
    """A language that is said to be known is proved."""
    assert {language_of(sample.path) for sample in SAMPLES} == set(GRAMMARS)


def test_a_definition_shows_the_line_its_name_stands_on():
    """Decorators and attributes stand above it and are left out; what is long is cut."""
    source = "class A:\n    @property\n    def size(self) -> int: ...\n\ndef f(" + "x, " * 100 + "): ...\n"

    found = read_symbols("a.py", source.encode()).definitions

    assert [one.signature for one in found[:2]] == ["class A:", "def size(self) -> int: ..."]
    assert len(found[2].signature) == symbols.LONGEST_SIGNATURE
    assert found[2].signature.endswith("…")


@pytest.mark.parametrize(
    ("path", "line", "shown"),
    [
        ("a.go", "type Cart struct {", "type Cart struct {"),
        ("a.ts", "export default class Cart {", "export default class Cart {"),
        ("a.js", "  export const draw = () => 1;", "export const draw = () => 1;"),
        ("a.ts", "interface Cart { add(): void }", "add(): void }"),
    ],
)
def test_words_before_a_definition_belong_to_its_line(path, line, shown):
    """What stands before it otherwise does not."""
    found = read_symbols(path, f"{line}\n}}\n".encode()).definitions

    assert found[-1].signature == shown


@pytest.mark.parametrize("path", ["notes.txt", "README", "a.unknown", ".py", "Makefile", "x/"])
def test_a_file_in_no_language_of_ours_has_no_symbols(path):
    """It is listed without any; that is no error."""
    assert read_symbols(path, b"def f(): ...\n") is NONE


def test_without_its_grammar_a_language_has_no_symbols(monkeypatch):
    """A wheel that is not installed is no error either."""
    monkeypatch.setattr(symbols, "load", lambda name: None)

    assert read_symbols("a.py", b"def f(): ...\n") is NONE


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\0\0" + b"x" * 100,
        b"def f(): ...\n" * (symbols.LARGEST_FILE // 10),
        b"var a=1;" * 10_000,
    ],
    ids=["binary", "huge", "minified"],
)
def test_what_nobody_wrote_by_hand_is_not_parsed(data):
    """Its language is told and that it was left out."""
    assert read_symbols("a.js", data) == Symbols(language="javascript", partial=True)


def test_an_empty_file_is_complete():
    """Nothing in it is nothing left out."""
    assert read_symbols("a.py", b"") == Symbols(language="python")


def test_broken_text_is_read_as_far_as_it_goes():
    """Bytes that are no UTF-8 and a syntax that is wrong hide only themselves."""
    found = read_symbols("a.py", b"def ok(): ...\ndef b\xff\xfed(): ((\nclass Fine: ...\n")

    assert "ok" in [one.name for one in found.definitions]
    assert all(one.name.isprintable() for one in found.definitions)


@pytest.mark.parametrize("path", sorted({sample.path for sample in SAMPLES}))
def test_source_nested_as_deep_as_it_gets_does_not_break_it(path):
    """Nothing of ours recurses; the parser has a stack of its own. In a process, as a crash would end this one."""
    script = (
        "import sys; from agi.index.symbols import read_symbols\n"
        "deep = b'(' * 3000 + b'[' * 3000 + b'{' * 3000 + b'\\n' + b'f(' * 3000 + b'if x:\\n' * 500\n"
        "read_symbols(sys.argv[1], deep)\n"
        "read_symbols(sys.argv[1], b''.join(b' ' * n + b'def f():\\n' for n in range(400)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], timeout=60, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr[-500:]


def test_so_many_definitions_and_names_are_kept_and_the_rest_is_said():
    """A generated file takes no more memory than a large one."""
    many = "".join(f"def f{n}(): g{n}()\n" for n in range(symbols.MOST_NAMES + 10))

    found = read_symbols("a.py", many.encode())

    assert len(found.definitions) == symbols.MOST_DEFINITIONS
    assert len(found.references) == symbols.MOST_NAMES
    assert found.partial


def test_the_parser_is_loaded_only_when_a_file_is_read():
    """A command that looks at no source does not pay for it."""
    script = "import sys, agi.cli.main, agi.index.symbols; print('tree_sitter' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
