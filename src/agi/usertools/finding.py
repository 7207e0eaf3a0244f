"""Look for tools in a project's `.agi/tools`: their names, and their files as text. Runs nothing, follows no link.

What is found is hostile: sizes and numbers are bounded, and whatever is no plain file is told. Whether the workspace is
trusted is asked elsewhere, after the files were read. May import: errors, config, usertools.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

import msgspec

from agi.config.files import read_inside
from agi.errors import ConfigError
from agi.usertools.base import CODE_NAME, FOLDER, PROMPT_NAME, Found, ToolProblem

MOST_TOOLS = 64
MOST_ENTRIES = 1_000
"""How many entries of a folder are looked at."""
MOST_SOURCES = 200
LARGEST_SOURCES = 2 << 20
DEEPEST = 6
LONGEST_PROMPT = 16 * 1024
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MEND = "Mend it, or remove the folder."


class _Broken(Exception):
    """Why one tool cannot be read; the others can."""

    def __init__(self, message: str, hint: str = _MEND) -> None:
        super().__init__(message)
        self.hint = hint


def tool_names(root: Path, taken: Collection[str]) -> tuple[list[str], list[ToolProblem]]:
    """The tools there are, by their folders, and what is wrong with names; `taken` are those of built-in tools."""
    names: list[str] = []
    problems: list[ToolProblem] = []
    folded = {_folded(name): name for name in taken}
    entries, problem = _entries(root)
    if problem is not None:
        return [], [problem]
    for name, mode in entries:
        if said := _wrong_name(name, mode, folded):
            problems.append(ToolProblem(name=_shown(name), message=said[0], hint=said[1]))
        elif stat.S_ISDIR(mode) and _NAME.fullmatch(name):
            folded[_folded(name)] = name
            names.append(name)
    if len(names) > MOST_TOOLS:
        message = f"{FOLDER} holds {len(names)} tools; only the first {MOST_TOOLS} by name are looked at."
        problems.append(ToolProblem(name=FOLDER, message=message, hint="Remove some."))
    return names[:MOST_TOOLS], problems


def read_tool(root: Path, name: str) -> Found | ToolProblem:
    """Read a tool's files, or say what is wrong with them."""
    try:
        sources = _sources(root, name)
        prompt = _prompt(root, name)
    except _Broken as broken:
        return ToolProblem(name=name, message=str(broken), hint=broken.hint)
    except ConfigError as error:
        return ToolProblem(name=name, message=error.message, hint=error.hint)
    except OSError as error:
        return ToolProblem(name=name, message=f"It cannot be read: {error.strerror}.", hint=_MEND)
    digest = sha256(msgspec.json.encode([name, sources, prompt], order="sorted")).hexdigest()
    return Found(name=name, sources=sources, prompt=prompt, digest=digest)


def _entries(root: Path) -> tuple[list[tuple[str, int]], ToolProblem | None]:
    """What is in the folder, sorted; a folder that is a link, or reached through one, is not looked into."""
    folder = root / FOLDER
    for place in (folder.parent, folder):
        if place.is_symlink():
            message = f"{place.relative_to(root)} is a symlink, so no tools are taken from it."
            return [], ToolProblem(name=FOLDER, message=message, hint="Put a real folder in its place.")
    try:
        found = list(_listed(folder))
    except (FileNotFoundError, NotADirectoryError):
        return [], None
    except OSError as error:
        message = f"{FOLDER} cannot be read: {error.strerror}."
        return [], ToolProblem(name=FOLDER, message=message, hint="Check its permissions.")
    if len(found) > MOST_ENTRIES:
        message = f"{FOLDER} holds more than {MOST_ENTRIES} entries, so no tools are taken from it."
        return [], ToolProblem(name=FOLDER, message=message, hint="Remove some.")
    return found, None


def _listed(folder: Path | str) -> Iterator[tuple[str, int]]:
    """The entries of a folder by name, with what they are; one more than may be, if there are too many."""
    with os.scandir(folder) as entries:
        found = sorted(
            (entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in islice(entries, MOST_ENTRIES + 1)
        )
    yield from found


def _wrong_name(name: str, mode: int, folded: dict[str, str]) -> tuple[str, str] | None:
    if stat.S_ISREG(mode) or name.startswith((".", "__")):
        return None  # a README, a .gitignore, a cache
    if stat.S_ISLNK(mode):
        return "It is a symlink.", "Put a real folder in its place."
    if not stat.S_ISDIR(mode):
        return "It is neither a folder nor a plain file.", "Remove it."
    if not _NAME.fullmatch(name):
        rule = "A tool's name begins with a letter and has ASCII letters, digits, `_` and `-`, 64 at most."
        return "Its name is none a tool can have.", rule
    if (other := folded.get(_folded(name))) is not None:
        said = f"a tool called {other} is there already"
        return f"Its name is taken: {said}.", "Rename its folder. Upper and lower case, `-` and `_` count as equal."
    return None


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_").replace(".", "_")


def _shown(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()[:80]


def _sources(root: Path, name: str) -> dict[str, str]:
    """Every Python file of a tool, as text."""
    found: dict[str, str] = {}
    left = LARGEST_SOURCES
    for path in _python_files(root, f"{FOLDER}/{name}", ""):
        content = read_inside(root, f"{FOLDER}/{name}/{path}", limit=max(left, 0)) or b""
        left -= len(content)
        found[path] = _text(content, path)
        if len(found) > MOST_SOURCES:
            raise _Broken(f"It has more than {MOST_SOURCES} Python files.")
    if CODE_NAME not in found:
        raise _Broken(f"It has no {CODE_NAME}.", f"Write one, or remove the folder; see `agi tools new {name}`.")
    return found


def _python_files(root: Path, folder: str, within: str, depth: int = 0) -> Iterator[str]:
    entries = list(_listed(root / folder))
    if len(entries) > MOST_ENTRIES or depth > DEEPEST:
        raise _Broken("It holds too many files, or too deep folders.")
    for name, mode in entries:
        path = f"{within}{name}"
        if stat.S_ISDIR(mode) and name.isidentifier() and name != "__pycache__":
            yield from _python_files(root, f"{folder}/{name}", f"{path}/", depth + 1)
        elif name.endswith(".py") and name.removesuffix(".py").isidentifier():
            # A link or a pipe is refused by who reads it.
            yield path


def _prompt(root: Path, name: str) -> str:
    path = f"{FOLDER}/{name}/{PROMPT_NAME}"
    content = read_inside(root, path, limit=LONGEST_PROMPT)
    if content is None:
        return ""
    prompt = _text(content, PROMPT_NAME).strip()
    if not prompt:
        raise _Broken(f"Its {PROMPT_NAME} is empty.", "Say in it what the tool does; models choose by it.")
    if _CONTROL.search(prompt):
        raise _Broken(f"Its {PROMPT_NAME} holds control characters.", "Write it as plain text.")
    return prompt


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _Broken(f"{name} is not UTF-8 (byte {error.start}).", "Save it as UTF-8.") from None
