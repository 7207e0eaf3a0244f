"""The document: valid, complete, true. Everything served is in it and everything in it is served as it says."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from openapi_spec_validator import validate
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agi.models.base import ModelRequest
from agi.models.scripted import Say, ScriptedModel, Step
from agi.protocol.events import DATA_TYPES
from agi.server.app import described, routes
from agi.server.openapi import document
from agi.testing.box import TOKEN, Daemon, daemon_in_a_box

CHECKED_LATER = {
    # An agent or a model that nobody has is a well-formed wish: the schema cannot say which names there are.
    "positive_data_acceptance",
    # It tries a wrong token at every route, faster than the door takes wrong tokens: then it is told 429. That each
    # route needs the token is tested in test_routes_guarded.py.
    "ignored_auth",
}
REFUSALS = [400, 401, 403, 404, 405, 409, 413, 414, 415, 422, 431]


@pytest.fixture(scope="module")
def told() -> Any:
    return msgspec.json.decode(described())


def test_the_document_is_valid_openapi_3_1(told: Any) -> None:
    """The validator of the specification accepts it."""
    assert told["openapi"] == "3.1.0"
    validate(told)


def test_every_route_is_in_the_document_and_nothing_else(told: Any) -> None:
    """Both are made from the one table."""
    described_ones = {(method.upper(), path) for path, item in told["paths"].items() for method in item}
    assert described_ones == {(route.method, route.path) for route in routes()}


def test_the_document_is_always_the_same() -> None:
    """Made again, it has the same bytes."""
    assert document(routes()) == document(routes()) == described()


def test_names_are_unique(told: Any) -> None:
    """Generated clients call each operation by a name of its own."""
    names = [operation["operationId"] for item in told["paths"].values() for operation in item.values()]
    assert len(names) == len(set(names)) == len(routes())


def test_every_reference_leads_somewhere(told: Any) -> None:
    """No schema and no response is mentioned that is not there, and none is there for nothing."""
    mentioned: set[str] = set()

    def look(value: Any) -> None:
        if isinstance(value, dict):
            mentioned.update(text for key, text in value.items() if key == "$ref")
            for one in value.values():
                look(one)
        elif isinstance(value, list):
            for one in value:
                look(one)

    look(told)
    components = told["components"]
    there = {f"#/components/{kind}/{name}" for kind in ("schemas", "responses") for name in components[kind]}
    assert mentioned <= there
    assert there - mentioned <= {"#/components/schemas/Part"}


@pytest.mark.parametrize(
    ("union", "field", "some"),
    [
        ("Part", "type", {"text", "reasoning", "image", "audio", "file", "tool_call", "tool_result", "error"}),
        ("SessionEvent", "type", set(DATA_TYPES)),
        ("EventItem", "event", {*DATA_TYPES, "resync", "heartbeat"}),
        ("StreamItem", "event", {"session.created", "message.part.delta", "tool.call", "turn.failed", "error"}),
    ],
)
def test_unions_are_told_apart_by_a_field(told: Any, union: str, field: str, some: set[str]) -> None:
    """`oneOf` with a discriminator and its mapping."""
    schema = told["components"]["schemas"][union]
    mapping = schema["discriminator"]["mapping"]
    assert schema["discriminator"]["propertyName"] == field
    assert some <= set(mapping)
    assert {one["$ref"] for one in schema["oneOf"]} == set(mapping.values())


def test_every_error_has_the_one_shape(told: Any) -> None:
    """Whatever the status, the body is the same."""
    for response in told["components"]["responses"].values():
        assert response["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorReply"}


@pytest.mark.parametrize("route", [route for route in routes() if route.body is not None], ids=lambda one: one.name)
def test_every_body_has_an_example_that_is_acceptable(route: Any) -> None:
    """What the document shows can be sent."""
    assert route.example is not None
    msgspec.json.decode(msgspec.json.encode(route.example), type=route.body)


def hanging_up_soon(app: ASGIApp) -> ASGIApp:
    """To the application, each reader of an endless stream is gone after a moment."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def leave() -> Message:
            await asyncio.sleep(0.02)
            return {"type": "http.disconnect"}

        endless = scope["method"] == "GET" and scope["path"].endswith(("/events", "/stream", "/v1/watch"))
        await app(scope, leave if endless else receive, send)

    return serve


def answer_anything(request: ModelRequest) -> list[Step]:
    return [Say("Yes.")]


@pytest.mark.threat("T56")
@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_the_daemon_does_what_the_document_says(tmp_path: Path) -> None:
    """Requests made from the document, right and wrong ones, get no answer that it does not describe."""
    model = ScriptedModel.from_function(answer_anything)
    async with daemon_in_a_box(tmp_path, model=model, auth="token", around=hanging_up_soon) as daemon:
        code, output = await _schemathesis(daemon, tmp_path)
    assert code == 0, output


async def _schemathesis(daemon: Daemon, cwd: Path) -> tuple[int, str]:
    (cwd / "schemathesis.toml").write_text(f"[checks.negative_data_rejection]\nexpected-statuses = {REFUSALS}\n")
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{daemon.url}/openapi.json"),
        *("--header", f"Authorization: Bearer {TOKEN}", "--seed", "1", "--max-examples", "4"),
        *("--phases", "examples,coverage,fuzzing", "--exclude-checks", ",".join(CHECKED_LATER)),
        *("--request-timeout", "20", "--no-shrink", "--warnings", "off"),
    ]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=cwd, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()
