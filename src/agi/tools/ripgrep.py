"""Search with ripgrep, in a process that can be killed: fast, and its patterns cannot blow up.

May import: errors, tools.matches, workspace.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from agi.errors import Invalid
from agi.tools.matches import LONGEST_LINE, MOST_MATCHES, Found, Match, Query, shown_line
from agi.workspace.handle import SKIPPED, Workspace
from agi.workspace.processes import Captured, capture, child_environment, find_program

TIMEOUT_S = 30.0
OUTPUT_LIMIT = 1 << 20

_OPTIONS = (
    "--no-config",
    "--no-messages",
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--null",
    "--color=never",
    "--hidden",
    "--sort=path",
    f"--max-count={MOST_MATCHES + 1}",
    f"--max-columns={LONGEST_LINE * 4}",
    "--max-columns-preview",
)


def find_ripgrep(workspace: Workspace) -> str | None:
    """Find the program, outside the workspace."""
    env = child_environment(os.environ, os.getpid())
    return find_program("rg", env["PATH"], str(workspace.root))


async def search(workspace: Workspace, program: str, query: Query) -> Found:
    """Look through a folder, or one file."""
    # Values are joined to their options, so that none can be taken for an option itself.
    options = [*_OPTIONS, f"--regexp={query.text}"]
    if not query.regex:
        options.append("--fixed-strings")
    if query.is_folder:
        with workspace.pinned(query.path) as folder:
            answer = await _run([program, *options, *_globs(query.glob), "./"], folder)
    else:
        with workspace.open_file(query.path) as file:
            answer = await _run([program, *options, "-"], workspace.root, stdin=file.fileno())
    return _found(answer, query)


def _globs(glob: str) -> list[str]:
    """The glob asked for, then what is never entered: the last that matches counts."""
    return [*([f"--glob={glob}"] if glob else []), *(f"--iglob=!{name}" for name in sorted(SKIPPED))]


async def _run(argv: list[str], cwd: Path, *, stdin: int = subprocess.DEVNULL) -> Captured:
    env = child_environment(os.environ, os.getpid())
    return await capture(argv, cwd=cwd, env=env, timeout_s=TIMEOUT_S, limit=OUTPUT_LIMIT, stdin=stdin)


def _found(answer: Captured, query: Query) -> Found:
    stopped = answer.truncated or answer.timed_out
    if answer.exit_code == 2 and not answer.stdout:
        why = answer.stderr.decode(errors="replace").strip()[:2000]
        raise Invalid(f"The search failed: {why}", hint="Check the pattern and the glob.", code="search_invalid")
    matches = [match for line in answer.stdout.split(b"\n") if (match := _match(line, query))]
    return Found(
        matches=tuple(matches[:MOST_MATCHES]),
        truncated=len(matches) > MOST_MATCHES or answer.truncated,
        partial="the search took too long" if stopped and not answer.truncated else "",
    )


def _match(line: bytes, query: Query) -> Match | None:
    """Read `path NUL number:text`; other lines are remarks, as about binary files."""
    path, nul, rest = line.partition(b"\0")
    number, colon, text = rest.partition(b":")
    if not nul or not colon or not number.isdigit():
        return None
    return Match(_path(path, query), int(number), shown_line(text))


def _path(found: bytes, query: Query) -> str:
    if not query.is_folder:
        return query.path
    name = os.fsdecode(found.removeprefix(b"./"))
    return name if query.path == "." else f"{query.path}/{name}"
