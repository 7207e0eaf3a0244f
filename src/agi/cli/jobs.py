"""`agi jobs`: what runs in the background: list it, watch it, stop it, move something there.

May import: errors, protocol, client, cli.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from agi.cli import exits
from agi.cli.abbreviations import LOOKED_AT, SHORTEST, find_session
from agi.cli.display import Screen, line
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import STDOUT, is_terminal, put, say
from agi.cli.place import has_sessions, place
from agi.cli.times import local_time
from agi.client.base import Client
from agi.client.find import open_client
from agi.errors import Invalid, NotFound
from agi.protocol.commands import MoveToBackground
from agi.protocol.jobs import Job

Action = Callable[[Client, Arguments, str], Awaitable[int]]
PAUSE_S = 0.3
"""How long a job is left alone that has nothing new to say."""
_PREFIX = "job_"


def jobs(arguments: Arguments) -> int:
    """Do what the first word says; without one, list."""
    words = arguments.only(0, 1, 2)
    name = words[0] if words else "list"
    if name not in ACTIONS:
        error = usage("jobs", f"There is no `agi jobs {name[:40]}`.")
        error.hint = nearest(name, ACTIONS) + error.hint
        raise error
    if (len(words) == 2) != (name in ("tail", "stop")):
        what = "needs the id of a job" if name in ("tail", "stop") else "takes no job"
        raise usage("jobs", f"`agi jobs {name}` {what}.")
    return asyncio.run(_run(arguments, name, words[1] if len(words) == 2 else ""))


async def _run(arguments: Arguments, name: str, job_id: str) -> int:
    settings = place(arguments)
    if not has_sessions(settings):
        if name != "list":
            raise NotFound(f"There are no sessions in {settings.project}.", hint="Name the folder with --project.")
        put("[]\n" if arguments.has("--json") else "Nothing runs in the background.\n")
        return exits.OK
    client = await open_client(settings)
    try:
        return await ACTIONS[name](client, arguments, job_id)
    finally:
        await client.close()


async def _list(client: Client, arguments: Arguments, _none: str) -> int:
    found = await _found(client, arguments)
    if arguments.has("--json"):
        told = [{"session_id": session_id, **msgspec.to_builtins(job)} for session_id, job in found]
        put(msgspec.json.encode(told).decode() + "\n")
        return exits.OK
    for session_id, job in found:
        put(f"{job.id}  {session_id}  {local_time(job.started_at)}  {_standing(job):24}  {line(job.command, 60)}\n")
    if not found:
        put("Nothing runs in the background.\n")
    return exits.OK


async def _tail(client: Client, arguments: Arguments, job_id: str) -> int:
    """Show its last words, then what it says, until it is over or the person has seen enough."""
    session_id, job = await _find(client, arguments, job_id)
    show = Screen().show if is_terminal(STDOUT) else str
    at: int | None = None
    while True:
        job = next(one for one in await client.jobs(session_id) if one.id == job.id)
        said = await client.job_output(session_id, job.id, at)
        put(show(said.text))
        is_new, at = said.next != at and bool(said.text), said.next
        if not is_new and job.status == "ended":
            say(f"{job.id}: {_standing(job)}")
            return exits.OK
        if not is_new:
            await asyncio.sleep(PAUSE_S)


async def _stop(client: Client, arguments: Arguments, job_id: str) -> int:
    session_id, job = await _find(client, arguments, job_id)
    ended = await client.stop_job(session_id, job.id)
    put(f"{ended.id}: {_standing(ended)}\n")
    return exits.OK


async def _background(client: Client, arguments: Arguments, _none: str) -> int:
    """Move what a session waits for; of several sessions that work, it must be said which."""
    wanted = arguments.get("--session")
    if wanted is not None:
        session_id = (await find_session(client, wanted)).id
    else:
        running = [one.id for one in await client.sessions(limit=LOOKED_AT) if one.activity in ("running", "verifying")]
        if len(running) != 1:
            raise usage("jobs", f"{len(running)} sessions are at work; name one with --session.")
        session_id = running[0]
    job = await client.move_to_background(session_id, MoveToBackground())
    put(f"{job.id}: {_standing(job)}\n")
    return exits.OK


async def _found(client: Client, arguments: Arguments) -> list[tuple[str, Job]]:
    """The jobs of a session, those that ended too; or what runs in any of them."""
    wanted = arguments.get("--session")
    if wanted is not None:
        session = await find_session(client, wanted)
        return [(session.id, job) for job in await client.jobs(session.id)]
    sessions = [one for one in await client.sessions(limit=LOOKED_AT) if one.jobs]
    # Asked for again, one by one: what is listed with a session may have ended with its process.
    return [(one.id, job) for one in sessions for job in await client.jobs(one.id) if job.status == "running"]


async def _find(client: Client, arguments: Arguments, text: str) -> tuple[str, Job]:
    """Give the job of this id, or the only one whose id begins or ends so."""
    if len(text.removeprefix(_PREFIX)) < SHORTEST:
        raise usage("jobs", f"{text!r} is too short: say at least {SHORTEST} characters of the id.")
    found = [one for one in await _found(client, arguments) if _fits(one[1].id, text)]
    if len(found) > 1:
        names = ", ".join(job.id for _, job in found[:5])
        raise Invalid(f"{len(found)} jobs fit {text[:80]!r}.", code="job_ambiguous", hint=f"Say more of it: {names}")
    if not found:
        hint = "`agi jobs` lists what runs; what has ended is found with --session ID."
        raise NotFound(f"There is no job {text[:80]!r}.", code="job_not_found", hint=hint)
    return found[0]


def _fits(job_id: str, text: str) -> bool:
    return job_id.startswith((text, _PREFIX + text)) or job_id.endswith(text)


def _standing(job: Job) -> str:
    if job.status == "running":
        return "running"
    if job.reason:
        return f"ended: {line(job.reason)}"
    return f"ended by {job.signal}" if job.signal else f"exit code {job.exit_code}"


ACTIONS: dict[str, Action] = {"list": _list, "tail": _tail, "stop": _stop, "background": _background}
"""What can be done with jobs, by its word."""
