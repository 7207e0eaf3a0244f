"""A server's list of tools, page by page, nothing of it checked yet: what is wrong with one must not cost the others.

May import: mcp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agi.mcp.defining import RawTool

if TYPE_CHECKING:
    from mcp.client.session import ClientSession
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

MOST_PAGES = 100


async def list_tools(session: ClientSession, dispatcher: JSONRPCDispatcher[Any] | None) -> list[RawTool]:
    """All tools; a page that the SDK will not take, for one that is wrong, is read again with more patience."""
    import mcp_types as types  # late: see sdk.py
    from pydantic import ValidationError

    found: list[RawTool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        try:
            page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor) if cursor else None)
            tools, after = [_raw(tool) for tool in page.tools], page.next_cursor
        except ValidationError:
            if dispatcher is None:
                raise
            told = await dispatcher.send_raw_request("tools/list", {"cursor": cursor} if cursor else None)
            tools, after = _patiently(told), told.get("nextCursor")
        found += tools
        if not isinstance(after, str) or not after or after == cursor:
            break
        cursor = after
    return found


def _raw(tool: Any) -> RawTool:
    hints = tool.annotations
    return RawTool(
        name=tool.name,
        description=tool.description or tool.title or "",
        schema=tool.input_schema,
        read_only=hints.read_only_hint if hints else None,
        destructive=hints.destructive_hint if hints else None,
        open_world=hints.open_world_hint if hints else None,
    )


def _patiently(page: dict[str, Any]) -> list[RawTool]:
    """The tools of a list in which something is not as it should be; what is wrong with each is told later."""
    tools = page.get("tools")
    found = []
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and isinstance(tool.get("name"), str):
            given = tool.get("annotations")
            hints = given if isinstance(given, dict) else {}
            flags = {key: value for key, value in hints.items() if isinstance(value, bool)}
            found.append(
                RawTool(
                    name=tool["name"],
                    description=str(tool.get("description") or ""),
                    schema=tool.get("inputSchema"),
                    read_only=flags.get("readOnlyHint"),
                    destructive=flags.get("destructiveHint"),
                    open_world=flags.get("openWorldHint"),
                )
            )
    return found
