"""The tools a workspace has of its own, as they are now: found, read, and described if the workspace is trusted.

Nothing of an untrusted workspace is run; its tools are told to be there and not loaded. Nothing is ever imported into
this process. May import: errors, sandbox, workspace, usertools.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from agi.errors import AgiError
from agi.usertools.base import FOLDER, Found, ToolProblem, UserTools
from agi.usertools.finding import read_tool, tool_names

if TYPE_CHECKING:
    from agi.sandbox.cell import Cell
    from agi.tools.base import Tool
    from agi.usertools.describing import Described, Descriptions

LONGEST_S = 20.0
"""How long all tools of a workspace are waited for together; what is not described by then is told."""
NOTHING = UserTools()

_NOT_TRUSTED = ("Not loaded: the workspace is not trusted.", "`agi trust` shows what it brings, and trusts it.")


class UserToolLoader:
    """Loads the tools of workspaces; one for a process, since it remembers what it was told."""

    def __init__(self) -> None:
        self._descriptions: Descriptions | None = None

    async def load(
        self,
        root: Path,
        *,
        cell: Callable[[], Cell | None],
        is_trusted: Callable[[], bool],
        taken: Collection[str],
        no_commands: Callable[[], str] = str,
    ) -> UserTools:
        """The tools of the workspace at `root`; whatever is wrong with one becomes a problem, never an error.

        `taken` are the names and aliases of all other tools, `no_commands` says why no command may run, if none may.
        `is_trusted` says whether the workspace is trusted as it is at the moment; it is asked after the files were
        read, and again at each call.
        """
        if not is_there(root):
            return NOTHING  # most workspaces, and every turn asks: not worth a thread
        names, problems = await asyncio.to_thread(tool_names, root, taken)
        if not names:
            return UserTools(problems=tuple(problems)) if problems else NOTHING
        read = await asyncio.to_thread(lambda: [read_tool(root, name) for name in names])
        if (why := await asyncio.to_thread(_why_not, is_trusted, no_commands)) is not None:
            problems += [ToolProblem(name=name, message=why[0], hint=why[1]) for name in names]
            return UserTools(problems=_sorted(problems))
        found = [one for one in read if isinstance(one, Found)]
        problems += [one for one in read if isinstance(one, ToolProblem)]
        tools = await self._describe_all(found, root, cell, is_trusted, problems)
        return UserTools(tools=tuple(tools), problems=_sorted(problems))

    async def _describe_all(
        self,
        found: list[Found],
        root: Path,
        cell: Callable[[], Cell | None],
        is_trusted: Callable[[], bool],
        problems: list[ToolProblem],
    ) -> list[Tool]:
        from agi.usertools.describing import Described, Descriptions  # late: most workspaces have no tools
        from agi.usertools.tool import UserTool

        if self._descriptions is None:
            self._descriptions = Descriptions()
        place = cell() if found else None
        tasks = [asyncio.create_task(self._descriptions.of(one, root=root, cell=place)) for one in found]
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=LONGEST_S)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        tools: list[Tool] = []
        for one, task in zip(found, tasks, strict=True):
            described = _outcome(one.name, task)
            if isinstance(described, Described):
                tools.append(UserTool(one, described, root, is_trusted))
            else:
                problems.append(described)
        return tools


def is_there(root: Path) -> bool:
    """Whether a workspace has a folder for tools of its own."""
    return os.path.lexists(root / FOLDER)


def _outcome(name: str, task: asyncio.Task[Described | ToolProblem]) -> Described | ToolProblem:
    if task.cancelled():
        message = f"Not loaded: the tools before it took more than {LONGEST_S:g} s."
        return ToolProblem(name=name, message=message, hint="Mend or remove those; it is looked at again then.")
    if (error := task.exception()) is not None:
        return ToolProblem(name=name, message=f"Not loaded: {type(error).__name__}: {error}"[:2_000])
    return task.result()


def _why_not(is_trusted: Callable[[], bool], no_commands: Callable[[], str]) -> tuple[str, str] | None:
    """Why nothing may be run here; None if it may."""
    try:
        if not is_trusted():
            return _NOT_TRUSTED
    except AgiError as error:
        return f"Not loaded: {error.message}", error.hint
    why = no_commands()
    return (f"Not loaded: {why}", "`agi doctor` tells which sandbox works here.") if why else None


def _sorted(problems: list[ToolProblem]) -> tuple[ToolProblem, ...]:
    return tuple(sorted(problems, key=lambda one: one.name))
