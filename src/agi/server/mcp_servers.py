"""`/v1/mcp`: the MCP servers of a project and its user: how they stand, try one, approve what changed.

No request can name a program: servers are configured in files. May import: protocol, server.
"""

from __future__ import annotations

from agi.protocol.mcp import ApproveMcp, McpList, McpServer, TestMcp
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


async def list_servers(request: Request[None, None]) -> ASGIApp:
    """Every configured server; starts nothing."""
    site = request.harness.site()
    return Json(await site.own_servers.listed(site))


async def test_server(request: Request[TestMcp, None]) -> ASGIApp:
    """Start a server, or see that it is there."""
    site = request.harness.site()
    return Json(await request.wait(site.own_servers.test(site, request.path["name"])))


async def approve_server(request: Request[ApproveMcp, None]) -> ASGIApp:
    """Take a server as it is now for approved."""
    site = request.harness.site()
    return Json(await site.own_servers.approve(site, request.path["name"], request.body))


ROUTES = (
    Route(
        method="GET",
        path="/v1/mcp",
        handler=list_servers,
        name="listMcpServers",
        summary="The MCP servers there are, how they stand, what they offer, what waits for approval.",
        answers={200: McpList},
        errors=(422,),
    ),
    Route(
        method="POST",
        path="/v1/mcp/{name}/test",
        handler=test_server,
        name="testMcpServer",
        summary="Start an MCP server, or see that it is there.",
        body=TestMcp,
        body_is_optional=True,
        answers={200: McpServer},
        errors=(404, 422, 503),
        example={},
    ),
    Route(
        method="POST",
        path="/v1/mcp/{name}/approve",
        handler=approve_server,
        name="approveMcpServer",
        summary="Approve an MCP server as it was last seen, or one of its tools.",
        body=ApproveMcp,
        body_is_optional=True,
        answers={200: McpServer},
        errors=(404, 422),
        example={"tool": "search"},
    ),
)
