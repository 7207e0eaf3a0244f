"""Tasks: folders `.agents/tasks/<slug>/` of a project, each with a `task.json`: what is to be done, and who did it.

The title is the file's; who worked on it is read from the log, and written into the file for people to read. Entries of
sessions that this log does not know are kept as they are: the file may have come with a repository. All files go
through the workspace handle. May import: errors, protocol, workspace, views, sessions.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable

import msgspec

from agi.errors import AgiError, Conflict, Invalid, NotFound
from agi.protocol.drafts import ListedTask, Task, Work
from agi.protocol.showing import exact
from agi.protocol.times import to_rfc3339
from agi.protocol.visible import visible
from agi.views import pool
from agi.workspace.handle import Workspace

FOLDER = ".agents/tasks"
FILE = "task.json"
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)
LARGEST = 1 << 20
MOST = 1_000
"""How many tasks of a project are listed."""
MOST_WORK = 500
LONGEST_TITLE = 500
_HINT = "Letters a to z, digits and '-', at most 64, the first a letter or digit."

WorkOf = Callable[[pool.Row], Work]
_decode = msgspec.json.Decoder(Task).decode


class Tasks:
    """The tasks of projects; `work_of` tells what came of one who worked. Without a log, the files' word counts."""

    def __init__(self, db: sqlite3.Connection | None, work_of: WorkOf | None = None) -> None:
        self._db = db
        self._work_of = work_of

    def all(self, workspace: Workspace) -> list[ListedTask]:
        """The tasks of a project, by slug; what is wrong with one is told with it."""
        try:
            entries = workspace.list_dir(FOLDER, MOST).entries
        except NotFound:
            return []
        found = sorted(one.name for one in entries if one.kind == "directory" and SLUG.fullmatch(one.name))
        return [self._listed(workspace, slug) for slug in found]

    def find(self, workspace: Workspace, slug: str) -> ListedTask:
        """One of them; raises NotFound."""
        checked_slug(slug)
        if not workspace.is_dir(f"{FOLDER}/{slug}"):
            raise NotFound(
                f"There is no task {slug!r} in {workspace.root.name}.",
                code="task_not_found",
                hint="`list_tasks` or `agi tasks` lists them; `create_task` or `agi tasks new` makes one.",
            )
        return self._listed(workspace, slug)

    def create(self, workspace: Workspace, title: str, slug: str | None = None) -> ListedTask:
        """Make a task; without a slug it gets one from its title, with a number where that is taken."""
        title = " ".join(visible(title).split())[:LONGEST_TITLE]
        if not title:
            raise Invalid("A task needs a title.", code="task_title_missing", hint="Say in a line what is to be done.")
        if slug is not None:
            checked_slug(slug)
            if workspace.exists(f"{FOLDER}/{slug}"):
                raise Conflict(
                    f"There is a task {slug!r} already.", code="task_exists", hint="Choose another slug, or use it."
                )
        else:
            slug = self._free(workspace, slug_of(title))
        task = Task(title=title, slug=slug, created_at=to_rfc3339(time.time()))
        _write(workspace, task)
        return self._listed(workspace, slug)

    def record(self, workspace: Workspace, slug: str) -> None:
        """Write down who has worked on a task so far; raises what keeps it from being written."""
        stored, _ = _read(workspace, slug)
        own = self._work(workspace, slug)
        known = {one.session_id for one in own}
        others = [one for one in stored.work if one.session_id not in known]
        work = sorted((*others, *own), key=lambda one: one.started_at)[-MOST_WORK:]
        _write(workspace, msgspec.structs.replace(stored, work=tuple(work)))

    def _listed(self, workspace: Workspace, slug: str) -> ListedTask:
        stored, problem = _read(workspace, slug)
        return ListedTask(
            task_slug=slug,
            title=stored.title,
            task_dir=task_dir(slug),
            created_at=stored.created_at,
            work=stored.work if self._db is None else self._work(workspace, slug),
            problem=problem,
        )

    def _work(self, workspace: Workspace, slug: str) -> tuple[Work, ...]:
        if self._db is None or self._work_of is None:
            return ()
        rows = pool.of_task(self._db, str(workspace.root), slug)
        return tuple(self._work_of(row) for row in rows[-MOST_WORK:])

    def _free(self, workspace: Workspace, slug: str) -> str:
        for number in range(1, MOST):
            one = slug if number == 1 else f"{slug[:58]}-{number}"
            if not workspace.exists(f"{FOLDER}/{one}"):
                return one
        raise Conflict(f"There are too many tasks called {slug!r}.", code="task_exists", hint="Choose a slug.")


def task_dir(slug: str) -> str:
    """A task's folder, as seed 001 writes it."""
    return f"{FOLDER}/{slug}/"


def checked_slug(slug: str) -> None:
    """Refuse what could lead anywhere but to a task's folder."""
    if not SLUG.fullmatch(slug):
        raise Invalid(f"{slug[:80]!r} cannot be a task's slug.", code="task_slug_invalid", hint=_HINT)


def slug_of(title: str) -> str:
    """A slug from a title: its words in plain letters."""
    words = re.findall(r"[a-z0-9]+", title.lower(), re.ASCII)
    return "-".join(words)[:50].strip("-") or "task"


def _read(workspace: Workspace, slug: str) -> tuple[Task, str]:
    """What a task's file says, and what is wrong with it; a file that cannot be read says nothing."""
    empty = Task(title=slug, slug=slug, created_at="")
    path = f"{FOLDER}/{slug}/{FILE}"
    try:
        read = workspace.read_bytes(path, LARGEST)
        task = _decode(read.data)
    except NotFound:
        return empty, ""
    except AgiError as error:
        return empty, error.message
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        return empty, f"{path} cannot be read: {exact(str(error))[:200]}."
    title = " ".join(visible(task.title).split())[:LONGEST_TITLE] or slug
    return msgspec.structs.replace(task, title=title, slug=slug, work=task.work[:MOST_WORK]), ""


def _write(workspace: Workspace, task: Task) -> None:
    data = msgspec.json.format(msgspec.json.encode(task), indent=2) + b"\n"
    workspace.write_bytes(f"{FOLDER}/{task.slug}/{FILE}", data)
