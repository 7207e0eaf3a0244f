"""The skills of a project and its user, for clients to choose from. May import: protocol, server."""

from __future__ import annotations

import asyncio

from agi.protocol.skills import SkillList
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


async def list_skills(request: Request[None, None]) -> ASGIApp:
    """Every skill, and what is wrong with others."""
    skills = request.harness.site().skills()
    return Json(await asyncio.to_thread(skills.all))


ROUTES = (
    Route(
        method="GET",
        path="/v1/skills",
        handler=list_skills,
        name="listSkills",
        summary="The skills there are, and why others do not count.",
        answers={200: SkillList},
        errors=(422,),
    ),
)
