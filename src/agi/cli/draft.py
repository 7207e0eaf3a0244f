"""`agi draft`, `agi undraft`: an agent drafted into a task of a project, by the daemon that runs there.

Talking to it is the business of `agi --session` and of every other client; it is said which command does it.
May import: errors, client, cli.
"""

from __future__ import annotations

import asyncio
import shlex
from typing import Any

import msgspec

from agi.cli import exits
from agi.cli.display import exact, line
from agi.cli.options import Arguments, usage
from agi.cli.output import put, say
from agi.cli.place import place
from agi.client.rpc import connect_to


def draft(arguments: Arguments) -> int:
    """Draft the named role into a task; without a role, say how the draft stands."""
    words = arguments.only(0, 1)
    if words and not arguments.get("--task"):
        raise usage("draft", "Which task? Name it with --task.")
    if not words and arguments.get("--task"):
        raise usage("draft", "Which role? `agi roles` lists them.")
    return asyncio.run(_draft(arguments, words[0]) if words else _status(arguments))


def undraft(arguments: Arguments) -> int:
    """Close the draft and say what it amounts to."""
    arguments.only(0)
    return asyncio.run(_undraft(arguments))


async def _draft(arguments: Arguments, role: str) -> int:
    async with connect_to(place(arguments).project) as rpc:
        made = await rpc.call("draft", role=role, task=arguments.get("--task"))
    _put(arguments, made, f"Drafted: {exact(role)} for {exact(made['taskSlug'])} ({exact(made['sessionId'])}).")
    _say_how_to_go_on(arguments, made["sessionId"])
    return exits.OK


async def _status(arguments: Arguments) -> int:
    async with connect_to(place(arguments).project) as rpc:
        found = await rpc.call("get_draft_status")
    _put(arguments, found, told(found))
    if found["active"]:
        _say_how_to_go_on(arguments, found["session"]["sessionId"])
    return exits.OK


async def _undraft(arguments: Arguments) -> int:
    async with connect_to(place(arguments).project) as rpc:
        closed = await rpc.call("undraft")
    turns = f"{closed['turns']} {'turn' if closed['turns'] == 1 else 'turns'}"
    _put(arguments, closed, f"Undrafted from {exact(closed['taskSlug'])}: {turns}, {money(closed['cost'])}.")
    return exits.OK


def told(status: dict[str, Any]) -> str:
    """How a draft stands, in a line."""
    if not status["active"]:
        why = status.get("closed", {}).get("closedReason", "")
        return f"No draft. The last one was closed: {line(why, 200)}" if why else "No draft."
    draft = status["session"]
    percent = draft["contextPct"]
    context = "unknown" if percent is None else f"{percent:.0f}%"
    questions = len(status.get("pending", ()))
    waiting = f" | Questions: {questions}" if questions else ""
    return (
        f"Draft: {exact(draft['role'])} | Task: {exact(draft['taskSlug'])} | Context: {context}"
        f" | Turns: {draft['turnCount']} | {money(draft['cumulativeCostUsd'])} | {draft['activity']}{waiting}"
    )


def money(usd: float | None) -> str:
    """What it cost; a price that is not known is not nothing."""
    return "cost unknown" if usd is None else f"${usd:.2f}"


def _say_how_to_go_on(arguments: Arguments, session_id: str) -> None:
    """Which commands talk to the draft and end it, as they are typed from here; programs know."""
    if arguments.has("--json"):
        return
    project = arguments.get("--project")
    there = "" if project is None else f" --project {shlex.quote(project)}"
    say("To talk to it:")
    say(f'  agi --session {exact(session_id)}{exact(there)} "…"')
    say(f"  agi tui{exact(there)}")
    say("To end it; its session stays:")
    say(f"  agi undraft{exact(there)}")


def _put(arguments: Arguments, found: object, text: str) -> None:
    put(msgspec.json.encode(found).decode() + "\n" if arguments.has("--json") else f"{text}\n")
