"""merge_agent: take what a worker changed into the files here, all of it or nothing.

It is a change of files like any other: asked about, shown as a diff, kept for undoing, and verified with all else. May
import: errors, protocol, tools, workspace.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from agi.errors import AgiError, Conflict
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import Preview, ToolContext
from agi.tools.schema import input_schema, read_input
from agi.tools.team import Name, Team, refused
from agi.workspace.handle import Workspace

CONFLICT = "merge_conflict"


class MergeAgent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which worker."""

    agent_id: Annotated[Name, Meta(description="What draft_agent gave you; the worker must have ended.")]


class MergeAgentTool:
    """Takes a worker's changes."""

    def __init__(self, team: Team) -> None:
        self._team = team

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="merge_agent",
            description="Take what a worker that has ended changed into your files, all of it or nothing. What others "
            "changed meanwhile is kept; where that is not possible, nothing is changed and the worker is told.",
            input_schema=input_schema(MergeAgent),
            kind=ToolKind.WRITE,
        )

    def propose(self, workspace: Workspace, call: ToolCall, after: Preview | None) -> Preview:
        """The change it would make."""
        from agi.tools.changes import proposed  # late: the edit engine

        return proposed(workspace, self._team.merging(read_input(call, MergeAgent).agent_id), after)

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Make the change; a conflict goes back to the worker."""
        from agi.tools.changes import carried_out  # late, as above

        agent_id = read_input(call, MergeAgent).agent_id
        try:
            async with await self._team.ready_to_merge(agent_id):
                result = await carried_out(context, call, lambda: self._team.merging(agent_id))
                facts = result.result if isinstance(result.result, dict) else {}
                files = facts.get("files")
                await self._team.merged(agent_id, [str(one) for one in files] if isinstance(files, list) else [])
                return result
        except Conflict as error:
            if error.code != CONFLICT:
                return refused(call, error)
            told = await self._team.bounced(agent_id)
            return refused(call, Conflict(error.message, code=CONFLICT, hint=told))
        except AgiError as error:
            return replace(refused(call, error), changed=False)
