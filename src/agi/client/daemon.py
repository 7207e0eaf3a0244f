"""A running daemon, as a client: requests over HTTP, events as a stream that is taken up again where it broke off.

Nothing is sent twice: only reading is tried again. May import: errors, protocol, net, trust, client.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agi.client.answers import broken_off, refusal, resync
from agi.client.base import UNTOLD, Attached, MessagePage, ModelList, Posted, Trust
from agi.client.running import running_daemon
from agi.client.tools import ToolList
from agi.client.written import encoded, path_of, query, quoted
from agi.config.daemon import DaemonRecord
from agi.errors import AgiError, Invalid, NotFound, Unavailable
from agi.net.http import HttpClient, NetError, Response, Timeouts
from agi.net.sse import SseEvent, sse_events
from agi.protocol.checkpoints import Reverted, SessionDiff
from agi.protocol.commands import (
    Approve,
    Cancel,
    CollectGarbage,
    Compact,
    CreateSession,
    EditMessage,
    ForkSession,
    MoveToBackground,
    PostMessage,
    ResolvePreflight,
    Revert,
    SetTrust,
    UpdateSession,
    UploadAttachment,
)
from agi.protocol.compaction import Compacted
from agi.protocol.context import ContextReport
from agi.protocol.drafts import PooledAgent
from agi.protocol.events import Event, parse_envelope
from agi.protocol.grants import Grant
from agi.protocol.jobs import Job, JobOutput
from agi.protocol.mcp import ApproveMcp, McpList, McpServer
from agi.protocol.messages import Message
from agi.protocol.search import Found, Search
from agi.protocol.sessions import QueuedMessage, Session
from agi.protocol.skills import SkillList
from agi.protocol.storage import Collected

PROBE = Timeouts(connect=1.0, first_byte=2.0, idle=2.0)
FOLLOW = Timeouts(connect=5.0, first_byte=30.0, idle=60.0)
"""A daemon says something every few seconds, if only that it is still there."""
PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 2.0, 2.0, 2.0)
"""Seconds between attempts to take up a broken stream; then it is given up."""
PAGE = 500
OLDER = "The daemon is of an older version and does not say. Started anew it does."
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
T = TypeVar("T")


class _Sessions(Struct):
    sessions: list[Session]


class _Jobs(Struct):
    jobs: list[Job]


class _Queue(Struct):
    queue: list[QueuedMessage]


class _Pool(Struct, frozen=True):
    agents: list[PooledAgent]


class _Grants(Struct):
    grants: list[Grant]


class _SignInCode(Struct, frozen=True):
    path: str
    public_url: str | None = None


class DaemonClient:
    """Speaks to a daemon under `/v1`."""

    def __init__(self, project: Path, daemon: DaemonRecord, *, notice: str = "") -> None:
        self._project = project
        self._notice = notice
        self._daemon = daemon
        self._http = HttpClient()
        self._tell_connection: Callable[[bool], None] = _nobody

    @property
    def where(self) -> str:
        """The daemon's URL."""
        return self._daemon.url

    @property
    def notice(self) -> str:
        """What whoever found it had to say; the daemon itself says such things in its own log."""
        return self._notice

    async def is_well(self) -> bool:
        """Tell whether it answers, quickly."""
        try:
            async with await self._send("GET", "/healthz", timeouts=PROBE) as response:
                await response.read()
                return response.status == 200
        except AgiError:
            return False

    async def sign_in_url(self) -> str:
        """Where a browser goes to be signed in, once."""
        code = await self._ask("POST", "/v1/sign-in/codes", _SignInCode)
        return f"{code.public_url or self.where}{code.path}"

    async def create_session(self, command: CreateSession) -> Session:
        """Begin a session."""
        return await self._ask("POST", "/v1/sessions", Session, command)

    async def fork_session(self, session_id: str, command: ForkSession) -> Session:
        """Begin another session with what was said in this one."""
        return await self._ask("POST", f"{path_of(session_id)}/fork", Session, command)

    async def export(self, session_id: str, format: str) -> bytes:
        """A session as one file."""
        async with await self._send("GET", f"{path_of(session_id)}/export?format={format}") as response:
            if response.status >= 300:
                return await self._checked(response)
            return await response.read(MOST_EXPORTED)

    async def update_session(self, session_id: str, command: UpdateSession) -> Session:
        """Change a session's settings."""
        return await self._ask("PATCH", path_of(session_id), Session, command)

    async def post_message(self, session_id: str, command: PostMessage) -> Posted:
        """Say something; the daemon answers at once."""
        return await self._ask("POST", f"{path_of(session_id)}/messages", Posted, command)

    async def queue(self, session_id: str) -> list[QueuedMessage]:
        """The messages that wait."""
        return (await self._ask("GET", f"{path_of(session_id)}/queue", _Queue)).queue

    async def edit_queued(self, session_id: str, message_id: str, command: EditMessage) -> QueuedMessage:
        """Have a message that waits say something else."""
        return await self._ask("PATCH", f"{path_of(session_id)}/queue/{quoted(message_id)}", QueuedMessage, command)

    async def drop_queued(self, session_id: str, message_id: str) -> None:
        """Take a message out that waits."""
        async with await self._send("DELETE", f"{path_of(session_id)}/queue/{quoted(message_id)}") as response:
            await self._checked(response)

    async def steer_queued(self, session_id: str, message_id: str) -> QueuedMessage:
        """Have the running turn take up a message that waits."""
        return await self._ask("POST", f"{path_of(session_id)}/queue/{quoted(message_id)}/steer", QueuedMessage)

    async def attach(self, session_id: str, filename: str, data: bytes) -> Attached:
        """Store a file with a session."""
        from base64 import b64encode  # late: hardly ever

        command = UploadAttachment(filename=filename, mime_type=UNTOLD, data=b64encode(data).decode())
        return await self._ask("POST", f"{path_of(session_id)}/attachments", Attached, command)

    async def follow(self, session_id: str, after: str = "") -> AsyncGenerator[Event, None]:
        """Events after a position; a stream that breaks is taken up behind the last event it told."""
        cursor, begun, failures = after, False, 0
        while failures < len(PAUSES):
            try:
                async with aclosing(self._stream(session_id, cursor)) as stream:
                    async for told in stream:
                        begun, failures = True, 0
                        cursor = told.id or cursor
                        if told.event == "resync":
                            raise resync()
                        if told.event == "error":
                            raise broken_off(told.data)
                        if told.event != "heartbeat":
                            yield parse_envelope(told.data)
            except NetError:
                pass
            except NotFound:
                if not begun:
                    raise
                return
            # Broken off, or ended in good order: then the daemon stops, or the session is gone, as we are about to see.
            self._tell_connection(False)
            await asyncio.sleep(PAUSES[failures])
            failures += 1
            self._daemon = running_daemon(self._project) or self._daemon
        raise Unavailable(f"The daemon at {self.where} is gone.", hint="Start it again; the turn goes on then.")

    def watch_connection(self, told: Callable[[bool], None]) -> None:
        """Have `told` called where a stream breaks off and where it goes on."""
        self._tell_connection = told

    async def approve(self, session_id: str, command: Approve) -> None:
        """Answer a pending approval."""
        await self._ask("POST", f"{path_of(session_id)}/approve", object, command)

    async def resolve_preflight(self, session_id: str, turn_id: str, command: ResolvePreflight) -> None:
        """Answer the plan of a turn."""
        await self._ask("POST", f"{path_of(session_id)}/preflight/{quoted(turn_id)}", object, command)

    async def cancel(self, session_id: str, command: Cancel) -> None:
        """Stop a turn."""
        await self._ask("POST", f"{path_of(session_id)}/cancel", object, command)

    async def session(self, session_id: str) -> Session:
        """One session."""
        return await self._ask("GET", path_of(session_id), Session)

    async def sessions(self, *, limit: int = 100) -> list[Session]:
        """Sessions, most recently touched first."""
        return (await self._ask("GET", f"/v1/sessions?limit={limit}", _Sessions)).sessions

    async def messages(self, session_id: str) -> list[Message]:
        """Everything that was said in a session, in order."""
        page = await self.message_page(session_id, limit=PAGE)
        found = page.messages
        while page.has_more:
            page = await self.message_page(session_id, before=found[0].id, limit=PAGE)
            found = [*page.messages, *found]
        return found

    async def message_page(self, session_id: str, *, before: str = "", limit: int = 100) -> MessagePage:
        """The latest messages, or those before the one that is named."""
        asked = query(limit=str(limit), before=before)
        return await self._ask("GET", f"{path_of(session_id)}/messages{asked}", MessagePage)

    async def search(self, asked: Search) -> Found:
        """What was said and done in sessions, by its words."""
        given = ((name, getattr(asked, name)) for name in asked.__struct_fields__)
        words = "&".join(f"{name}={quoted(str(value))}" for name, value in given if value is not None)
        return await self._ask("GET", f"/v1/search?{words}", Found)

    async def delete_session(self, session_id: str) -> None:
        """Remove a session for good."""
        async with await self._send("DELETE", path_of(session_id)) as response:
            await self._checked(response)

    async def collect_garbage(self, command: CollectGarbage) -> Collected:
        """Make room, or say what would go."""
        return await self._ask("POST", "/v1/gc", Collected, command)

    async def pool(self) -> list[PooledAgent]:
        """The drafted agents and workers that are alive."""
        return (await self._ask("GET", "/v1/pool", _Pool)).agents

    async def jobs(self, session_id: str) -> list[Job]:
        """What runs in the background, then what ended there last."""
        return (await self._ask("GET", f"{path_of(session_id)}/jobs", _Jobs)).jobs

    async def job_output(self, session_id: str, job_id: str, since: int | None = None) -> JobOutput:
        """What a job said since an offset, or its last words."""
        asked = "" if since is None else f"?since={since}"
        return await self._ask("GET", f"{path_of(session_id)}/jobs/{quoted(job_id)}/output{asked}", JobOutput)

    async def stop_job(self, session_id: str, job_id: str) -> Job:
        """End a job."""
        return await self._ask("POST", f"{path_of(session_id)}/jobs/{quoted(job_id)}/stop", Job)

    async def move_to_background(self, session_id: str, command: MoveToBackground) -> Job:
        """Let the command of a running call go on as a job."""
        return await self._ask("POST", f"{path_of(session_id)}/jobs", Job, command)

    async def diff(self, session_id: str, *, turn: str = "", start: str = "", end: str = "") -> SessionDiff:
        """What a session changed in its files."""
        asked = query(**{"turn": turn, "from": start, "to": end})
        return await self._ask("GET", f"{path_of(session_id)}/diff{asked}", SessionDiff)

    async def revert(self, session_id: str, command: Revert) -> Reverted:
        """Take back what a session did since a point, or say what that would mean."""
        return await self._ask("POST", f"{path_of(session_id)}/revert", Reverted, command)

    async def compact(self, session_id: str, command: Compact) -> Compacted:
        """Make a conversation shorter for the model, or undo that."""
        return await self._ask("POST", f"{path_of(session_id)}/compact", Compacted, command)

    async def context(self, session_id: str, *, text: bool = False) -> ContextReport:
        """What a session's model is shown."""
        return await self._ask("GET", f"{path_of(session_id)}/context" + ("?text=true" if text else ""), ContextReport)

    async def models(self, *, agent: str = "", provider: str = "", model: str = "") -> ModelList:
        """The models that can be asked for; one of an older version takes no names, and says nothing of the default."""
        named = query(agent=agent, provider=provider, model=model)
        try:
            return await self._ask("GET", f"/v1/models{named}", ModelList)
        except Invalid:
            if not named:
                raise
            listed = await self._ask("GET", "/v1/models", ModelList)
            if listed.agent:
                raise
        return replace(listed, default=None, problem=OLDER)

    async def tools(self) -> ToolList:
        """The tools agents can be given."""
        return await self._ask("GET", "/v1/tools", ToolList)

    async def skills(self) -> SkillList:
        """The skills of the project and the user."""
        return await self._ask("GET", "/v1/skills", SkillList)

    async def mcp_servers(self) -> McpList:
        """The MCP servers there are."""
        return await self._ask("GET", "/v1/mcp", McpList)

    async def test_mcp_server(self, name: str) -> McpServer:
        """Start an MCP server, or see that it is there."""
        return await self._ask("POST", f"/v1/mcp/{quoted(name)}/test", McpServer)

    async def approve_mcp_server(self, name: str, command: ApproveMcp) -> McpServer:
        """Approve an MCP server as it was last seen."""
        return await self._ask("POST", f"/v1/mcp/{quoted(name)}/approve", McpServer, command)

    async def trust(self, path: Path) -> Trust:
        """How a workspace stands."""
        return await self._ask("GET", f"/v1/trust?path={quoted(str(path))}", Trust)

    async def set_trust(self, command: SetTrust) -> Trust:
        """Trust a workspace as it is now, or no longer."""
        return await self._ask("PUT", "/v1/trust", Trust, command)

    async def grants(self) -> list[Grant]:
        """What was allowed for longer than one call."""
        return (await self._ask("GET", "/v1/grants", _Grants)).grants

    async def revoke_grant(self, grant_id: str) -> None:
        """Ask again about what was allowed."""
        async with await self._send("DELETE", f"/v1/grants/{quoted(grant_id)}") as response:
            await self._checked(response)

    async def close(self) -> None:
        """Close the connections; what runs in the daemon goes on."""
        await self._http.close()

    async def _stream(self, session_id: str, cursor: str) -> AsyncGenerator[SseEvent, None]:
        headers = {"accept": "text/event-stream"}
        path = f"{path_of(session_id)}/events" + (f"?after={quoted(cursor)}" if cursor else "")
        async with await self._send("GET", path, headers=headers, timeouts=FOLLOW) as response:
            if response.status != 200:
                await self._checked(response)
            self._tell_connection(True)
            async with aclosing(response.chunks()) as chunks, aclosing(sse_events(chunks)) as events:
                async for told in events:
                    yield told

    async def _ask(self, method: str, path: str, kind: type[T], command: Struct | None = None) -> T:
        body = b"" if command is None else encoded(command)
        headers = {"content-type": "application/json"} if body else {}
        async with await self._send(method, path, headers=headers, body=body) as response:
            answer = await self._checked(response)
        try:
            return msgspec.json.decode(answer, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            message = f"{self.where} answered {method} {path} in a way that is not understood."
            raise Unavailable(message, hint="Is it a daemon of this version?") from error

    async def _checked(self, response: Response) -> bytes:
        body = await response.read()
        if response.status >= 300:
            raise refusal(response.status, body, self.where)
        return body

    async def _send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        body: bytes = b"",
        timeouts: Timeouts | None = None,
    ) -> Response:
        own = {"authorization": f"Bearer {self._daemon.token}"} if self._daemon.token else {}
        url = self._daemon.url.rstrip("/") + path
        return await self._http.request(method, url, headers={**headers, **own}, body=body, timeouts=timeouts)


MOST_EXPORTED = 256 * 1024 * 1024


def _nobody(_connected: bool) -> None:
    """Where nobody wants to know."""
