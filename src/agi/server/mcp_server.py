"""The MCP server, over whatever has the tools: an SDK server whose handlers translate, whatever the transport.

Two revisions of the protocol ask a person in two ways: the newer ones by a result that says what is to be asked, the
older ones by a request in the middle of the call. Tools know only the first. Imported with the SDK, see `mcp_sdk`.
May import: errors, server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct

from agi import __version__
from agi.errors import AgiError
from agi.server import mcp_words as words
from agi.server.mcp_desk import Answer, Ask, Call, Desk, McpTool, Progress

INSTRUCTIONS = (
    "Agents that work in a folder of this machine. prompt_session asks one and waits for its answer; draft_agent has "
    "one work in the background, await_agent waits for its result. Calls of an agent that need a person's approval are "
    "listed in `pending`, and wait until one answers."
)
QUESTION = "question"
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Answer", "enum": ["no", "yes"]}},
    "required": ["answer"],
}
Result = types.CallToolResult | types.InputRequiredResult


class Request(Struct, frozen=True, kw_only=True):
    """One call as it came."""

    name: str
    arguments: dict[str, Any]
    progress: Progress
    can_ask: bool
    """Whether the client can put a question to its user."""
    responses: dict[str, Any] | None = None
    state: str | None = None


class Tools(Protocol):
    """Whoever has the tools."""

    async def listed(self) -> Sequence[types.Tool]:
        """What there is."""

    async def call(self, request: Request) -> Result:
        """Call one; its own failures are results."""


class OwnTools:
    """The tools of a harness in this process."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def listed(self) -> Sequence[types.Tool]:
        """What is offered."""
        return [_definition(one) for one in self._desk.tools()]

    async def call(self, request: Request) -> Result:
        """Call one."""
        call = Call(name=request.name, arguments=request.arguments, progress=request.progress, answer=_answer(request))
        try:
            found = words.told(await self._desk.call(call))
        except Ask as ask:
            return _question(ask) if request.can_ask else refused(ask)
        except AgiError as error:
            if error.code == "tool_not_found":
                raise MCPError(types.INVALID_PARAMS, f"{error.message} {error.hint}".strip()) from None
            return refused(error)
        except Exception as error:  # a mistake of ours: the client is told, and goes on
            context = {"message": f"The tool {request.name} failed.", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
            return refused(AgiError("Something went wrong here.", code="internal_error", hint="The log says more."))
        text = msgspec.json.encode(found).decode()
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=found)


def refused(error: AgiError) -> types.CallToolResult:
    """An error as a result, which the client's model can read and act upon."""
    text = f"{error.message} {error.hint}".strip() + f" ({error.code})"
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def make_server(tools: Tools, *, asks: bool = True) -> Server[Any]:
    """A server that offers them; without `asks` the client's user is never asked, nor is an answer taken from there."""

    async def on_list(
        ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(await tools.listed()))

    async def on_call(ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> Result:
        return await _call(tools, ctx, params, asks)

    return Server(
        "agi",
        version=__version__,
        title="agi: agents of this machine",
        instructions=INSTRUCTIONS,
        on_list_tools=on_list,
        on_call_tool=on_call,
    )


async def _call(
    tools: Tools, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams, asks: bool
) -> Result:
    async def progress(done: float, message: str) -> None:
        await ctx.session.report_progress(done, None, message)

    request = Request(
        name=params.name,
        arguments=params.arguments or {},
        progress=progress,
        can_ask=asks and _can_ask(ctx),
        responses=dict(params.input_responses) if asks and params.input_responses else None,
        state=params.request_state,
    )
    result = await tools.call(request)
    if isinstance(result, types.CallToolResult) or ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return result
    asked = {name: await _asked(ctx, one) for name, one in (result.input_requests or {}).items()}
    again = msgspec.structs.replace(request, responses=asked, state=result.request_state, can_ask=False)
    return await tools.call(again)


async def _asked(ctx: ServerRequestContext[Any, Any], request: types.InputRequest) -> Any:
    """Put a question to the user in the middle of a call, as older revisions want it."""
    params = request.params
    if not isinstance(params, types.ElicitRequestFormParams):
        raise MCPError(types.INTERNAL_ERROR, "Only questions can be asked.")
    return await ctx.session.elicit_form(params.message, params.requested_schema, ctx.request_id)


def _can_ask(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client says that it can show a form; one that says nothing of modes can."""
    can = ctx.session.client_capabilities
    if can is None or can.elicitation is None:
        return False
    return can.elicitation.form is not None or can.elicitation.url is None


def _definition(tool: McpTool) -> types.Tool:
    hints = types.ToolAnnotations(
        title=tool.title,
        read_only_hint=tool.reads,
        destructive_hint=tool.destroys,
        idempotent_hint=tool.repeatable or tool.reads,
        open_world_hint=False,
    )
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=words.input_schema_of(tool.takes),
        output_schema=words.schema_of(tool.gives),
        annotations=hints,
    )


def _question(ask: Ask) -> types.InputRequiredResult:
    form = types.ElicitRequestFormParams(message=ask.question, requested_schema=_SCHEMA)
    return types.InputRequiredResult(
        input_requests={QUESTION: types.ElicitRequest(params=form)}, request_state=ask.about
    )


def _answer(request: Request) -> Answer | None:
    """What the user said; anything but a clear yes is no."""
    said = (request.responses or {}).get(QUESTION)
    if not isinstance(said, types.ElicitResult):
        return None
    yes = said.action == "accept" and (said.content or {}).get("answer") == "yes"
    return Answer(yes=yes, about=request.state or "")
