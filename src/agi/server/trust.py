"""`/v1/trust`: whether the user trusts a workspace, and changing that. May import: errors, protocol, trust, server."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agi.errors import Invalid
from agi.protocol.commands import Path as PathText
from agi.protocol.commands import SetTrust
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route
from agi.trust import TrustReason, TrustState, set_trust, trust_state


class TrustQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which workspace."""

    path: Annotated[PathText, Meta(description="An absolute path; the project unless given.")] | UnsetType = UNSET


class Trust(Struct, frozen=True, kw_only=True):
    """How a workspace stands with its user; `changed` are the files that differ from what was trusted."""

    path: str
    trusted: bool
    reason: TrustReason
    changed: tuple[str, ...]
    problem: str
    """Why it cannot be trusted at all; empty if it can."""


async def get(request: Request[None, TrustQuery]) -> ASGIApp:
    """Whether a workspace is trusted as it is now."""
    asked = request.query.path
    path = request.harness.project if asked is UNSET else _folder(asked)
    return _told(path, await asyncio.to_thread(trust_state, path, request.harness.settings.home_config))


async def put(request: Request[SetTrust, None]) -> ASGIApp:
    """Trust a workspace as it is now, or no longer."""
    path = _folder(request.body.path)
    home = request.harness.settings.home_config
    return _told(path, await asyncio.to_thread(set_trust, path, home, request.body.trusted))


def _folder(text: str) -> Path:
    if "\0" in text or not os.path.isabs(text):
        raise Invalid(f"{text[:80]!r} is not an absolute path.", code="path_invalid", hint="Begin it with /.")
    return Path(text)


def _told(path: Path, state: TrustState) -> Json:
    return Json(
        Trust(
            path=str(path),
            trusted=state.trusted,
            reason=state.reason,
            changed=state.changed,
            problem=state.problem,
        )
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/trust",
        handler=get,
        name="getTrust",
        summary="Whether the user trusts a workspace as it is now.",
        query=TrustQuery,
        answers={200: Trust},
        errors=(422,),
    ),
    Route(
        method="PUT",
        path="/v1/trust",
        handler=put,
        name="setTrust",
        summary="Trust a workspace as it is now, or stop trusting it.",
        body=SetTrust,
        answers={200: Trust},
        errors=(404, 409, 422),
        example={"path": "/home/me/project", "trusted": True},
    ),
)
