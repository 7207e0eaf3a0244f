"""Drafts, as the terminal interface uses them: who is drafted, drafting, closing, and who else is alive.

One connection to the daemon's JSON-RPC, taken up again when it breaks. A harness in this process has no drafts.
May import: errors, config, client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from agi.config.daemon import DaemonRecord
from agi.errors import AgiError, Unavailable
from agi.protocol.messages import Mode

if TYPE_CHECKING:
    from agi.client.rpc import RpcClient

PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before the daemon is called again; the last one is kept."""


class Draft(Struct, frozen=True, kw_only=True):
    """The active draft of the project, with its figures; None is unknown."""

    session_id: str
    role: str
    task: str = ""
    turns: int = 0
    cost_usd: float | None = None
    context_pct: float | None = None


class Agent(Struct, frozen=True, kw_only=True):
    """One that is alive."""

    id: str
    role: str
    kind: str
    status: str
    session_id: str
    parent_id: str = ""
    task: str = ""


class Drafts:
    """The draft of a project, and the pool."""

    def __init__(self, daemon: Callable[[], DaemonRecord | None] | None, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.active: Draft | None = None
        self.agents: tuple[Agent, ...] = ()
        self.heard = asyncio.Event()
        """Set once it is known how the draft stands."""
        self._rpc: RpcClient | None = None
        self._task = asyncio.create_task(self._follow(daemon)) if daemon is not None else None

    async def draft(self, role: str, task: str) -> Draft:
        """Draft an agent into a task; raises AgiError with what stands against it."""
        await self._call("draft", role=role, task=task)
        await self._look()
        if self.active is None:
            raise Unavailable("The draft was closed at once.", hint="/agents shows who works here.")
        return self.active

    async def undraft(self) -> dict[str, Any]:
        """Close the draft; gives its turns, cost and duration."""
        done: dict[str, Any] = await self._call("undraft")
        self.active = None
        self._changed()
        return done

    async def submit(self, content: str, mode: Mode = "queue") -> bool:
        """Say something to the draft; tells whether it waits."""
        return bool((await self._call("submit_prompt", content=content, mode=mode)).get("queued"))

    async def status(self) -> dict[str, Any]:
        """The figures of the active draft; nothing if there is none."""
        told = await self._call("get_draft_status")
        return dict(told.get("session") or {}) if told.get("active") else {}

    async def roles(self) -> list[dict[str, Any]]:
        """Who can be drafted."""
        return list((await self._call("list_roles")).get("roles", []))

    async def tasks(self) -> list[dict[str, Any]]:
        """What there is to do."""
        return list((await self._call("list_tasks")).get("tasks", []))

    async def create_task(self, title: str) -> str:
        """Make a task; gives its slug."""
        return str((await self._call("create_task", title=title))["taskSlug"])

    async def close(self) -> None:
        """Hang up; what is drafted stays so."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _call(self, method: str, **params: object) -> Any:
        if self._rpc is None:
            raise _not_offered(self._task is not None)
        return await self._rpc.call(method, **params)

    async def _follow(self, find: Callable[[], DaemonRecord | None]) -> None:
        from agi.client.rpc import connect  # late: the screen is there before it

        failures = 0
        while True:
            daemon = find()
            if daemon is not None:
                try:
                    async with connect(daemon.url, daemon.token) as rpc:
                        self._rpc, failures = rpc, 0
                        await self._look()
                        async for method, params in rpc.notifications():
                            self._hear(method, params)
                except AgiError:
                    pass
            self._rpc = None
            self.heard.set()
            await asyncio.sleep(PAUSES[min(failures, len(PAUSES) - 1)])
            failures += 1

    async def _look(self) -> None:
        told = await self._call("get_draft_status")
        self.active = _draft(told.get("session") or {}) if told.get("active") else None
        self.agents = _agents((await self._call("list_agents")).get("agents", ()))
        self.heard.set()
        self._changed()

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        if method == "draft_status":
            is_ours = self.active is None or params.get("sessionId") == self.active.session_id
            if params.get("status") == "active" and is_ours:
                self.active = _draft(params)
            elif is_ours:
                self.active = None
        elif method == "pool_status":
            self.agents = _agents(params.get("agents", ()))
        else:
            return
        self._changed()


def _draft(told: dict[str, Any]) -> Draft:
    """A draft, from its status or from what is told after a turn."""
    return Draft(
        session_id=str(told.get("sessionId", "")),
        role=str(told.get("role", "")),
        task=str(told.get("taskSlug", "")),
        turns=int(told.get("turnCount") or 0),
        cost_usd=told.get("cumulativeCostUsd", told.get("costUsd")),
        context_pct=told.get("contextPct"),
    )


def _agents(told: Any) -> tuple[Agent, ...]:
    return tuple(
        Agent(
            id=str(one.get("agentId", "")),
            role=str(one.get("role", "")),
            kind=str(one.get("kind", "")),
            status=str(one.get("status", "")),
            session_id=str(one.get("sessionId", "")),
            parent_id=str(one.get("parentId", "")),
            task=str(one.get("taskSlug", "")),
        )
        for one in told
    )


def _not_offered(has_daemon: bool) -> Unavailable:
    if has_daemon:
        return Unavailable("This daemon does not offer drafts, or cannot be reached.", hint="Is it of this version?")
    return Unavailable("Drafts need a daemon, and none runs for this folder.", hint="Start one with `agi serve`.")
