"""Search with ripgrep, in a process that can be killed: fast, and its patterns cannot blow up.

It searches side by side, so what it says comes in no order, and is put in order here; only where it says too much is it
asked again to go file by file, so that the same question has the same answer. What folders above say about ignored
files is given to it as rules of its own. May import: errors, tools.inputs, tools.matches, workspace.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agi.errors import Invalid, Unavailable
from agi.tools.inputs import given
from agi.tools.matches import LONGEST_LINE, Found, Match, Query, chosen, globs_of, shown_line
from agi.workspace.handle import SKIPPED, Workspace
from agi.workspace.processes import Captured, capture, child_environment, find_program
from agi.workspace.walking import rules_above

TIMEOUT_S = 30.0
OUTPUT_LIMIT = 4 << 20

_OPTIONS = (
    "--no-config",
    "--no-messages",
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--null",
    "--color=never",
    "--hidden",
    f"--max-columns={LONGEST_LINE * 4}",
    "--max-columns-preview",
)
_ONLY_GITIGNORE = (
    "--no-ignore-parent",
    "--no-ignore-global",
    "--no-ignore-exclude",
    "--no-ignore-dot",
    "--no-require-git",
)
_TOO_OLD = (b"which wasn't expected", b"unrecognized flag")


def find_ripgrep(workspace: Workspace) -> str | None:
    """Find the program, outside the workspace."""
    env = child_environment(os.environ, os.getpid())
    return find_program("rg", env["PATH"], str(workspace.root))


async def search(workspace: Workspace, program: str, query: Query) -> Found:
    """Look through a folder, or one file; raises Unavailable if the program is too old."""
    # Values are joined to their options, so that none can be taken for an option itself.
    options = [f"--regexp={query.text}", f"--max-count={query.most_hits}"]
    options += ["--fixed-strings"] * (not query.regex) + ["--ignore-case"] * query.ignore_case
    if query.files_only:
        options.append("--files-with-matches")
    elif query.context:
        options.append(f"--context={query.context}")
    answer = await _ask(workspace, program, query, options)
    if answer.exit_code == 2 and not answer.stdout:
        _refuse(answer)
    found = _matches(answer.stdout, query)
    partial = "the search took too long" if answer.timed_out else ""
    return chosen(found, query, partial=partial, truncated=answer.truncated)


async def files_about(workspace: Workspace, program: str, query: Query, words: Sequence[str]) -> tuple[str, ...]:
    """The files of a folder that have one of the words, in a line or in their name, whatever its case."""
    each = [f"--regexp={word}" for word in words]
    having, listed = await asyncio.gather(
        _ask(workspace, program, query, ["--fixed-strings", "--ignore-case", "--files-with-matches", *each]),
        _ask(workspace, program, query, ["--files"]),
    )
    paths = {_path(path, query) for path in having.stdout.split(b"\0") if path}
    lower = [word.lower() for word in words]
    for path in listed.stdout.split(b"\0"):
        name = os.fsdecode(path).lower()
        if any(word in name for word in lower):
            paths.add(_path(path, query))
    return tuple(sorted(paths))


async def _ask(workspace: Workspace, program: str, query: Query, options: list[str]) -> Captured:
    """Run it; if it says more than is taken, run it again in a fixed order, and take the first of that."""
    argv = [program, *_OPTIONS, *options]
    if not query.is_folder:
        with workspace.open_file(query.path) as file:
            return await _run([*argv, "-"], workspace.root, file.fileno())
    argv += _globs(query.glob)
    with workspace.pinned(query.path) as folder, _rules(workspace, query) as (rules, stdin):
        answer = await _run([*argv, *rules, "./"], folder, stdin)
        if answer.truncated:
            answer = await _run([*argv, *rules, "--sort=path", "./"], folder, stdin)
        return answer


def _globs(glob: str) -> list[str]:
    """The globs asked for, then what is never entered: the last that matches counts."""
    return [*(f"--glob={one}" for one in globs_of(glob)), *(f"--iglob=!{name}/" for name in sorted(SKIPPED))]


@contextmanager
def _rules(workspace: Workspace, query: Query) -> Iterator[tuple[list[str], int]]:
    """Options that say what is left out, and the input through which rules of the folders above are told."""
    if query.ignored:
        yield ["--no-ignore"], subprocess.DEVNULL
        return
    above = rules_above(workspace, query.path)
    if not above:
        yield [*_ONLY_GITIGNORE], subprocess.DEVNULL
        return
    with given("".join(f"{rule}\n" for rule in above).encode(errors="surrogateescape")) as rules:
        yield [*_ONLY_GITIGNORE, "--ignore-file=/dev/stdin"], rules


async def _run(argv: list[str], cwd: Path, stdin: int) -> Captured:
    env = child_environment(os.environ, os.getpid())
    return await capture(argv, cwd=cwd, env=env, timeout_s=TIMEOUT_S, limit=OUTPUT_LIMIT, stdin=stdin)


def _refuse(answer: Captured) -> None:
    why = answer.stderr.decode(errors="replace").strip()[:2000]
    if any(sign in answer.stderr for sign in _TOO_OLD):
        raise Unavailable(f"ripgrep is too old: {why}", hint="Install version 12 or later.")
    hint = "Check the pattern and the glob; a plain text is searched for without regex."
    raise Invalid(f"The search failed: {why}", hint=hint, code="search_invalid")


def _matches(output: bytes, query: Query) -> list[Match]:
    if query.files_only:
        return [Match(_path(path, query)) for path in output.split(b"\0")[:-1]]
    return [match for line in output.split(b"\n") if (match := _match(line, query))]


def _match(line: bytes, query: Query) -> Match | None:
    """Read `path NUL number:text`, or with a dash for a line beside; other lines are remarks, as about binary files."""
    path, nul, rest = line.partition(b"\0")
    digits = len(rest) - len(rest.lstrip(b"0123456789"))
    mark = rest[digits : digits + 1]
    if not nul or not digits or mark not in (b":", b"-"):
        return None
    return Match(_path(path, query), int(rest[:digits]), shown_line(rest[digits + 1 :]), beside=mark == b"-")


def _path(found: bytes, query: Query) -> str:
    if not query.is_folder:
        return query.path
    name = os.fsdecode(found.removeprefix(b"./"))
    return name if query.path == "." else f"{query.path}/{name}"
