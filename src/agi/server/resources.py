"""`/api/{kind}`: repositories, knowledge and constitutions: list, look at, register and forget them.

Seed 002's base URL. Talking to their agents is `resource_agents.py`. May import: protocol, sessions, server.
"""

from __future__ import annotations

from msgspec import Struct

from agi.protocol.resources import KINDS, ONE, PutResource, Resource, ResourceKind
from agi.server.answers import Json, NoContent
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route
from agi.sessions.resources import Resources


class ResourceList(Struct, frozen=True):
    """Those of one kind, by name."""

    resources: list[Resource]


def kind_of(request: Request[object, object]) -> ResourceKind:
    """The kind in the path; the routes are made for these and no others."""
    path = request.scope["path"]
    return next(kind for kind in KINDS if path.startswith(f"/api/{kind}"))


async def list_all(request: Request[None, None]) -> ASGIApp:
    """Those of one kind."""
    return Json(ResourceList(Resources(request.harness).all(kind_of(request))))


async def get(request: Request[None, None]) -> ASGIApp:
    """One of them."""
    return Json(Resources(request.harness).find(kind_of(request), request.path["name"]))


async def put(request: Request[PutResource, None]) -> ASGIApp:
    """Register one, or change it."""
    resource, is_new = Resources(request.harness).put(kind_of(request), request.path["name"], request.body)
    return Json(resource, 201 if is_new else 200)


async def delete(request: Request[None, None]) -> ASGIApp:
    """Forget one; its sessions and files stay."""
    Resources(request.harness).remove(kind_of(request), request.path["name"])
    return NoContent()


def _routes(kind: ResourceKind) -> tuple[Route, ...]:
    one, name = ONE[kind], "".join(word.capitalize() for word in ONE[kind].split())
    path = f"/api/{kind}/{{name}}"
    return (
        Route(
            method="GET",
            path=f"/api/{kind}",
            handler=list_all,
            name=f"list{kind.capitalize()}",
            summary=f"List the {kind}.",
            answers={200: ResourceList},
        ),
        Route(
            method="GET",
            path=path,
            handler=get,
            name=f"get{name}",
            summary=f"One {one}.",
            answers={200: Resource},
            errors=(404,),
        ),
        Route(
            method="PUT",
            path=path,
            handler=put,
            name=f"put{name}",
            summary=f"Register a {one}, or change it.",
            body=PutResource,
            answers={200: Resource, 201: Resource},
            errors=(404, 422),
            example={"path": "/srv/notes", "title": "Notes"},
        ),
        Route(
            method="DELETE",
            path=path,
            handler=delete,
            name=f"delete{name}",
            summary=f"Forget a {one}; its sessions and files stay.",
            answers={204: None},
            errors=(404, 409),
        ),
    )


ROUTES = tuple(route for kind in KINDS for route in _routes(kind))
