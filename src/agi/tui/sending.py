"""Saying something: files that are mentioned go along, and what could not be said comes back to the box.

May import: errors, client, tui.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agi.client.base import Brought
from agi.client.mentions import MOST, attach_all, bring_mentioned, mentioned
from agi.errors import AgiError, Invalid
from agi.protocol.messages import Mode

if TYPE_CHECKING:
    from agi.tui.app import AgiApp

STEERS = "the agent is told at its next step"
ELSEWHERE = "only files of the folder can be mentioned."


async def send(app: AgiApp, text: str, typed: str, mode: Mode = "queue") -> None:
    """Say it, with the files that what was typed mentions; raises AgiError, with the text back in the box."""
    try:
        files = _files(app, typed) if "@" in typed else {}
        session_id = await app.desk.ensure_session()
        attached = await attach_all(app.desk.client, session_id, files.values(), app.tell) if files else []
        if await app.desk.say(text, attached, mode):
            app.hint("queued" if mode == "queue" else STEERS)
    except AgiError:
        if app.box.is_empty:
            app.box.put(text)
        raise
    app.forget_files()


def _files(app: AgiApp, typed: str) -> dict[str, Brought]:
    found = {}
    for path in dict.fromkeys(mentioned(typed)):
        if brought := bring_mentioned(path, app.project, app.tell, otherwise=ELSEWHERE):
            found[path] = brought
    if len(found) > MOST:
        raise Invalid(f"{len(found)} files are mentioned; at most {MOST} go along.", code="too_many_files")
    return found
