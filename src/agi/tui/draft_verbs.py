"""`/draft` and `/undraft`. May import: errors, tui."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agi.errors import Conflict, Invalid
from agi.tui.pages import Row, row_page
from agi.tui.times import lasting

if TYPE_CHECKING:
    from agi.tui.app import AgiApp
    from agi.tui.desk import Desk


class DraftVerbs:
    """What a person does with drafts."""

    def __init__(self, app: AgiApp, desk: Desk) -> None:
        self._app = app
        self._desk = desk

    async def draft(self, argument: str) -> None:
        """Draft an agent; from then on what is said goes to it."""
        role, _, task = argument.partition(" ")
        if (active := self._desk.drafts.active) is not None:
            raise Conflict(f"{active.role} is drafted already.", hint="/undraft ends that first.", code="draft_active")
        if not (role := await self._role(role)):
            return
        if not (slug := await self._task(task.strip())):
            return
        made = await self._desk.drafts.draft(role, slug)
        await self._desk.open(made.session_id)
        self._app.tell(f"{role} is drafted into {slug}. What you say goes there; /undraft ends it.")

    async def undraft(self, _: str) -> None:
        """Close the draft and say what it amounts to."""
        done = await self._desk.drafts.undraft()
        turns, cost, seconds = done.get("turns", 0), done.get("cost"), float(done.get("durationS") or 0)
        money = "$?" if cost is None and turns else f"${cost or 0:.2f}"
        told = f"Undrafted after {turns} {'turn' if turns == 1 else 'turns'}, {money}, {lasting(seconds)}."
        self._app.tell(f"{told} Task: {done.get('taskSlug', '')}")

    async def _role(self, wanted: str) -> str:
        """The role that is meant, chosen from a list if none was named; checked before a task is made for it."""
        rows = [Row(one["name"], one["name"], one.get("description", "")) for one in await self._desk.drafts.roles()]
        names = [row.id for row in rows]
        if wanted and wanted not in names:
            raise Invalid(f"There is no role {wanted[:60]!r}.", hint=f"There are {', '.join(names)}.")
        if wanted or not rows:
            return wanted
        return await self._app.push_screen_wait(row_page("Roles", rows, self._app.palette))

    async def _task(self, wanted: str) -> str:
        """The task that is meant; one that is not there yet is made."""
        tasks = await self._desk.drafts.tasks()
        slugs = [str(one["taskSlug"]) for one in tasks]
        if wanted:
            known = next((str(one["taskSlug"]) for one in tasks if wanted in (one["taskSlug"], one.get("title"))), "")
            return known or await self._desk.drafts.create_task(wanted)
        if not tasks:
            raise Invalid(
                "A draft needs a task, and this project has none.", hint="/draft <role> <title of a new task>"
            )
        if len(tasks) == 1:
            return slugs[0]
        rows = [Row(str(one["taskSlug"]), str(one["taskSlug"]), str(one.get("title", ""))) for one in tasks]
        return await self._app.push_screen_wait(row_page("Tasks", rows, self._app.palette))
