"""What the MCP conformance suite expects to find on a server: its tools, resources and prompts, on our machinery.

    async with daemon_in_a_box(tmp_path, around=with_fixtures, outside=WithToken) as daemon:
        ...  # run the suite against daemon.url + "/mcp"

The route, its sessions, the guard, progress, questions and results are those of the product; only what is offered is
the suite's. The suite cannot send a token, so that is added before the guard sees a request. Nothing of the product
imports this. May import: everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp, Receive, Scope, Send

from agi.server.app import App
from agi.server.mcp import McpRoute
from agi.server.mcp_desk import Desk
from agi.server.mcp_server import OwnTools, Request, Result, make_server
from agi.server.routes import MCP_PATH
from agi.testing.box import TOKEN

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
PAUSE_S = 0.05
Context = ServerRequestContext[Any, Any]

_OPTIONS = ["option1", "option2", "option3"]
_TITLED = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in ((1, "First"), (2, "Second"), (3, "Third"))]
FORMS: dict[str, dict[str, Any]] = {
    "test_elicitation": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "test_elicitation_sep1034_defaults": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "test_elicitation_sep1330_enums": {
        "untitledSingle": {"type": "string", "enum": _OPTIONS},
        "titledSingle": {"type": "string", "oneOf": _TITLED},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
    },
}
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
TALKING = ("test_tool_with_logging", "test_sampling", "test_reconnection")
"""Tools that speak with the client in ways ours never do; they get at the SDK's context."""
NAMES = (
    *("test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource"),
    *("test_multiple_content_types", "test_error_handling", "test_tool_with_progress", *FORMS, *TALKING),
)


class WithToken:
    """Adds the token to each request, for a client that cannot send one; the guard judges it as any other."""

    def __init__(self, door: ASGIApp) -> None:
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on."""
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]}
        await self._door(scope, receive, send)


def with_fixtures(app: ASGIApp) -> ASGIApp:
    """The application with the suite's things at `/mcp`."""
    if not isinstance(app, App):
        raise TypeError("it goes around the application itself")
    route = McpRoute(app.shared, fixture_server)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await (route if scope["type"] == "http" and scope["path"] == MCP_PATH else app)(scope, receive, send)

    return serve


class FixtureTools:
    """The suite's tools through our port, beside our own."""

    def __init__(self, own: OwnTools) -> None:
        self._own = own

    async def listed(self) -> Sequence[types.Tool]:
        """Ours and the suite's."""
        anything = {"type": "object", "properties": {}}
        suite = [types.Tool(name=name, description=f"The suite's {name}.", input_schema=anything) for name in NAMES]
        odd = types.Tool(name="json_schema_2020_12_tool", description="Odd schema.", input_schema=SCHEMA_2020)
        return [*await self._own.listed(), *suite, odd]

    async def call(self, request: Request) -> Result:
        """One of the suite's, or else ours."""
        if request.name in FORMS:
            return self._form(request)
        if request.name == "test_tool_with_progress":
            for done in (0, 50, 100):
                await request.progress(done, "working")
                await asyncio.sleep(PAUSE_S)
            return _text("done")
        if request.name == "test_error_handling":
            text = "This tool intentionally returns an error for testing"
            return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
        content = _CONTENTS.get(request.name)
        return await self._own.call(request) if content is None else types.CallToolResult(content=list(content))

    def _form(self, request: Request) -> Result:
        said = (request.responses or {}).get("form")
        if isinstance(said, types.ElicitResult):
            return _text(f"Elicitation completed: action={said.action}, content={said.content}")
        fields = FORMS[request.name]
        schema: dict[str, Any] = {"type": "object", "properties": fields, "required": list(fields)}
        form = types.ElicitRequestFormParams(
            message=str(request.arguments.get("message", "Please fill it in")), requested_schema=schema
        )
        return types.InputRequiredResult(input_requests={"form": types.ElicitRequest(params=form)})


def _resource(uri: str, text: str, kind: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=kind, text=text))


def _text(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


_IMAGE = types.ImageContent(data=PNG, mime_type="image/png")
_CONTENTS: Mapping[str, Sequence[types.ContentBlock]] = {
    "test_simple_text": [types.TextContent(text="This is a simple text response for testing.")],
    "test_image_content": [_IMAGE],
    "test_audio_content": [types.AudioContent(data=WAV, mime_type="audio/wav")],
    "test_embedded_resource": [_resource("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        types.TextContent(text="Multiple content types test:"),
        _IMAGE,
        _resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
}


def fixture_server(desk: Desk) -> Server[Any]:
    """Our server with the suite's tools, resources and prompts."""
    server = make_server(FixtureTools(OwnTools(desk)))
    ours = server.get_request_handler("tools/call")

    async def call(ctx: Context, params: types.CallToolRequestParams) -> Any:
        if params.name in TALKING:
            return await _talk(ctx, params)
        return await ours.handler(ctx, params) if ours else None

    server.add_request_handler("tools/call", types.CallToolRequestParams, call)
    for method, kind, handler in _OTHERS:
        server.add_request_handler(method, kind, handler)
    return server


async def _talk(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == "test_sampling":
        said = types.TextContent(text=str((params.arguments or {}).get("prompt", "")))
        asked = types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=said)], max_tokens=100
        )
        from mcp.shared.message import ServerMessageMetadata

        answer = await ctx.session.send_request(
            types.CreateMessageRequest(params=asked),
            types.CreateMessageResult,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
        return _text(f"LLM response: {getattr(answer.content, 'text', '')}")
    if params.name == "test_reconnection":
        if ctx.close_sse_stream is not None:
            await ctx.close_sse_stream()
        await asyncio.sleep(2 * PAUSE_S)
        return _text("It went on after the stream was closed.")
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        told = types.LoggingMessageNotificationParams(level="info", data=line)
        await ctx.session.send_notification(types.LoggingMessageNotification(params=told), ctx.request_id)
        await asyncio.sleep(PAUSE_S)
    return _text("logged")


async def _nothing(ctx: Context, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


async def _complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    found = [one for one in ("paris", "park", "party") if one.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=found, total=len(found), has_more=False))


async def _resources(ctx: Context, params: Any) -> types.ListResourcesResult:
    kinds = {"static-text": "text/plain", "static-binary": "image/png", "watched-resource": "text/plain"}
    found = [
        types.Resource(uri=f"test://{name}", name=name, description=f"The suite's {name}.", mime_type=kind)
        for name, kind in kinds.items()
    ]
    return types.ListResourcesResult(resources=found)


async def _templates(ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
    one = types.ResourceTemplate(
        uri_template="test://template/{id}/data", name="template", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[one])


async def _read(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    found: types.TextResourceContents | types.BlobResourceContents
    if uri == "test://static-binary":
        found = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    elif uri.startswith("test://template/"):
        text = f'{{"id":"{uri.split("/")[3]}","templateTest":true}}'
        found = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
    elif uri in ("test://static-text", "test://watched-resource"):
        text = "This is the content of the static text resource."
        found = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    else:
        raise MCPError(types.INVALID_PARAMS, f"There is no resource {uri[:200]}.")
    return types.ReadResourceResult(contents=[found])


_ARGUMENTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}


async def _prompts(ctx: Context, params: Any) -> types.ListPromptsResult:
    found = [
        types.Prompt(
            name=name,
            description=f"The suite's {name}.",
            arguments=[types.PromptArgument(name=one, description=one, required=True) for one in takes],
        )
        for name, takes in _ARGUMENTS.items()
    ]
    return types.ListPromptsResult(prompts=found)


async def _prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    given = params.arguments or {}
    parts: dict[str, list[types.ContentBlock]] = {
        "test_simple_prompt": [types.TextContent(text="This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            types.TextContent(text=f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
        ],
        "test_prompt_with_embedded_resource": [
            _resource(given.get("resourceUri", "test://none"), "Embedded resource content for testing."),
            types.TextContent(text="Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [_IMAGE, types.TextContent(text="Please analyze the image above.")],
    }
    if params.name not in parts:
        raise MCPError(types.INVALID_PARAMS, f"There is no prompt {params.name[:200]}.")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in parts[params.name]])


_OTHERS: tuple[tuple[str, type[Any], Any], ...] = (
    ("logging/setLevel", types.SetLevelRequestParams, _nothing),
    ("completion/complete", types.CompleteRequestParams, _complete),
    ("resources/list", types.PaginatedRequestParams, _resources),
    ("resources/templates/list", types.PaginatedRequestParams, _templates),
    ("resources/read", types.ReadResourceRequestParams, _read),
    ("resources/subscribe", types.SubscribeRequestParams, _nothing),
    ("resources/unsubscribe", types.UnsubscribeRequestParams, _nothing),
    ("prompts/list", types.PaginatedRequestParams, _prompts),
    ("prompts/get", types.GetPromptRequestParams, _prompt),
)
