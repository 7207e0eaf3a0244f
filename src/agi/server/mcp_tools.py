"""Our MCP tools: which there are and what each does: a translation of the verbs of sessions.

Most are the methods of `/v1/rpc`, with the same arguments in snake_case. May import: errors, protocol, views, sessions,
server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agi.errors import Conflict, NotAllowed
from agi.protocol import rpc
from agi.protocol.commands import Approve, Cancel
from agi.protocol.drafts import Roles
from agi.protocol.sessions import PendingApproval
from agi.protocol.showing import exact, exact_lines
from agi.server import mcp_words as words
from agi.server.mcp_desk import Answer, Ask, Call, Desk, McpTool
from agi.server.mcp_sessions import answering, list_sessions, outcome, pending_of, post, read_session, watch
from agi.views import queries

LONGEST_QUESTION = 8_000
"""Characters a person can be expected to read in a client's dialogue."""


def _rpc(kind: type[rpc.Params]) -> Callable[[Desk, Call, words.Takes], Awaitable[object]]:
    """A tool that is a method: the same arguments, only those that were given."""

    async def run(desk: Desk, call: Call, asked: words.Takes) -> object:
        given = ((name, getattr(asked, name)) for name in asked.__struct_fields__)
        return await desk.rpc(kind(**{name: value for name, value in given if value is not None}))

    return run


async def _draft_agent(desk: Desk, call: Call, asked: words.DraftAgent) -> words.Drafted:
    dispatching = desk.harness.crew.dispatching
    if asked.agent_id is not None:
        agent_id = await dispatching.go_on(asked.agent_id, asked.prompt)
    else:
        agent_id = await dispatching.dispatch(
            project=desk.place(asked.project), role=asked.role, content=asked.prompt, task_slug=asked.task_slug
        )
    return words.Drafted(agent_id=agent_id, session_id=agent_id)


async def _await_agent(desk: Desk, call: Call, asked: words.AwaitAgent) -> words.AgentOutcome:
    dispatching = desk.harness.crew.dispatching
    dispatching.results.worker(asked.agent_id)
    await watch(desk.harness, asked.agent_id, None, asked.timeout_s, call.progress)
    return words.AgentOutcome.of(await dispatching.result(asked.agent_id), pending_of(desk.harness, asked.agent_id))


async def _create_project(desk: Desk, call: Call, asked: words.CreateProject) -> object:
    about = f"{asked.name}\n{asked.path}"
    if call.answer is None:
        folder, name = exact(asked.path), exact(asked.name)
        question = f"Register the folder {folder} as the project {name}? Agents can then read and work there."
        hint = f"The user can register it: PUT /api/repositories/{asked.name} with its path."
        raise Ask(question, about=about, hint=hint)
    _refuse_unless(call.answer, about)
    return await desk.rpc(rpc.CreateProject(name=asked.name, path=asked.path))


async def _approve(desk: Desk, call: Call, asked: words.ApproveCall) -> rpc.Done:
    """A refusal counts as it is; that something may run is for a person to say, who is shown what."""
    session_id = queries.session_of_call(desk.harness.log.db, asked.tool_call_id)
    turn = desk.harness.state(session_id).turn
    waiting = next((one for one in turn.pending if one.tool_call_id == asked.tool_call_id), None) if turn else None
    if waiting is None:
        raise Conflict("The question was answered already.", code="approval_answered", hint="read_session says how.")
    digest = waiting.digest
    if asked.action == "approve":
        if call.answer is None:
            hint = f"The user can answer in `agi tui`, or by POST /v1/sessions/{session_id}/approve."
            raise Ask(_in_full(waiting, hint), about=f"{asked.tool_call_id} {digest}", hint=hint)
        _refuse_unless(call.answer, f"{asked.tool_call_id} {digest}")
    command = Approve(
        tool_call_id=asked.tool_call_id,
        action=asked.action,
        cause="user" if asked.action == "approve" else "policy",
        turn_id=asked.turn_id,
        reason=asked.reason,
        digest=digest or None,
        client="mcp",
    )
    await desk.harness.approve(session_id, command)
    return rpc.Done()


def _in_full(waiting: PendingApproval, hint: str) -> str:
    """The question with all it is about, every character visible; what is too long for that is not asked."""
    given = "\n".join(exact_lines(bytes(waiting.input).decode(errors="replace")))
    preview = "\n".join(exact_lines(waiting.preview))
    text = f"An agent wants to run {exact(waiting.name)} ({waiting.risk} risk: {exact(waiting.reason)}).\n{given}"
    text += f"\n\n{preview}" if preview else ""
    if len(text) > LONGEST_QUESTION:
        raise Conflict("The call is too long to be shown in a question.", code="too_long_to_show", hint=hint)
    return f"{text}\n\nMay it?"


def _refuse_unless(answer: Answer, about: str) -> None:
    if answer.about != about:
        raise Conflict("The answer is about something else.", code="stale_answer", hint="Ask once more.")
    if not answer.yes:
        raise NotAllowed("The user said no.", code="user_said_no", hint="Ask the user what to do instead.")


async def _prompt_session(desk: Desk, call: Call, asked: words.PromptSession) -> words.Answered:
    session_id, turn_id = await post(desk.harness, asked, desk.place(asked.project).path)
    try:
        await watch(desk.harness, session_id, turn_id, asked.timeout_s, call.progress)
    except asyncio.CancelledError:
        if not desk.stopping():  # the client called it off, so the work stops; one that stops leaves it to the next
            turn_id = answering(desk.harness, session_id, turn_id).id
            await asyncio.shield(desk.harness.cancel(session_id, Cancel(turn_id=turn_id, reason="the client left")))
        raise
    return outcome(desk.harness, session_id, turn_id)


async def _read_session(desk: Desk, call: Call, asked: words.ReadSession) -> words.SessionRead:
    return read_session(desk.harness, asked)


async def _list_sessions(desk: Desk, call: Call, asked: words.ListSessions) -> words.SessionList:
    return list_sessions(desk.harness, asked.limit)


TOOLS: tuple[McpTool, ...] = (
    McpTool(
        name="draft_agent",
        title="Have an agent do something",
        about="Start an agent of a role that works by itself, in the background; gives its agent_id at once. "
        "await_agent waits for its result. With the agent_id of a worker that has ended, that one works on.",
        takes=words.DraftAgent,
        gives=words.Drafted,
        run=_draft_agent,
        permission="agent-draft",
    ),
    McpTool(
        name="await_agent",
        title="Wait for an agent",
        about="Wait until a worker has ended, or waits for a person; gives its status, summary, changes, artifacts, "
        "verification and usage. While the status is `running`, call it again.",
        takes=words.AwaitAgent,
        gives=words.AgentOutcome,
        run=_await_agent,
        permission="agent-draft",
        reads=True,
    ),
    McpTool(
        name="kill_agent",
        title="Stop an agent",
        about="Stop a worker, and the workers below it. What it has done so far stays.",
        takes=words.KillAgent,
        gives=rpc.Killed,
        run=_rpc(rpc.KillAgent),
        permission="agent-draft",
        destroys=True,
        repeatable=True,
    ),
    McpTool(
        name="list_agents",
        title="Who is alive",
        about="The drafted agents and workers that are alive, and what each is doing.",
        takes=words.Nothing,
        gives=rpc.AgentList,
        run=_rpc(rpc.ListAgents),
        reads=True,
    ),
    McpTool(
        name="list_roles",
        title="Who can be drafted",
        about="The roles there are: what each is for and what it may do.",
        takes=words.InProject,
        gives=Roles,
        run=_rpc(rpc.ListRoles),
        reads=True,
    ),
    McpTool(
        name="projects_list",
        also="list_projects",
        title="Projects",
        about="The projects that can be worked in: their names and folders.",
        takes=words.Nothing,
        gives=rpc.ProjectList,
        run=_rpc(rpc.ListProjects),
        permission="projects-list",
        reads=True,
    ),
    McpTool(
        name="projects_create",
        also="create_project",
        title="Register a project",
        about="Register a folder as a project, under a name. The user is asked.",
        takes=words.CreateProject,
        gives=rpc.Project,
        run=_create_project,
        permission="projects-create",
    ),
    McpTool(
        name="list_tasks",
        title="Tasks",
        about="A project's tasks, and who has worked on each with what result.",
        takes=words.InProject,
        gives=rpc.TaskList,
        run=_rpc(rpc.ListTasks),
        reads=True,
    ),
    McpTool(
        name="create_task",
        title="Make a task",
        about="Make a task that agents can be drafted for.",
        takes=words.CreateTask,
        gives=rpc.TaskCreated,
        run=_rpc(rpc.CreateTask),
        permission="agent-draft",
    ),
    McpTool(
        name="draft",
        title="Draft an agent to talk to",
        about="Draft an agent by role for a task, to talk with by submit_prompt until undraft. One a project.",
        takes=words.Draft,
        gives=rpc.Drafted,
        run=_rpc(rpc.DraftParams),
        permission="agent-draft",
    ),
    McpTool(
        name="undraft",
        title="Close the draft",
        about="Close the active draft; gives what it amounts to. What was said stays.",
        takes=words.InProject,
        gives=rpc.Undrafted,
        run=_rpc(rpc.Undraft),
        permission="agent-draft",
        destroys=True,
    ),
    McpTool(
        name="get_draft_status",
        title="How the draft stands",
        about="Whether a draft is active, its metrics, and what it waits for.",
        takes=words.InProject,
        gives=rpc.DraftStatusResult,
        run=_rpc(rpc.GetDraftStatus),
        permission="agent-draft",
        reads=True,
    ),
    McpTool(
        name="submit_prompt",
        title="Say something to the draft",
        about="Say something to the active draft; read_session tells its answer. Without a draft, a worker does it: "
        "await its agent_id.",
        takes=words.SubmitPrompt,
        gives=rpc.Submitted,
        run=_rpc(rpc.SubmitPrompt),
        permission="agent-draft",
    ),
    McpTool(
        name="prompt_session",
        title="Ask in a session",
        about="Ask an agent something in a session, a new one or one to go on with, and wait for the answer. While the "
        "status is `running` or `queued`, read_session tells how it goes; what `pending` lists waits for a person.",
        takes=words.PromptSession,
        gives=words.Answered,
        run=_prompt_session,
        permission="sessions",
    ),
    McpTool(
        name="read_session",
        title="Read a session",
        about="How a session stands, its latest messages, and the calls that wait for a person.",
        takes=words.ReadSession,
        gives=words.SessionRead,
        run=_read_session,
        permission="sessions",
        reads=True,
    ),
    McpTool(
        name="list_sessions",
        title="Sessions",
        about="The sessions there are, most recently touched first.",
        takes=words.ListSessions,
        gives=words.SessionList,
        run=_list_sessions,
        permission="sessions",
        reads=True,
    ),
    McpTool(
        name="cancel",
        title="Stop a session",
        about="Stop what a session does, or the active draft: its turn, its queue, and by `scope` its workers.",
        takes=words.CancelSession,
        gives=rpc.Canceled,
        run=_rpc(rpc.CancelParams),
        permission="sessions",
        destroys=True,
    ),
    McpTool(
        name="compact",
        title="Make a conversation shorter",
        about="Make a conversation shorter for its model; nothing is deleted.",
        takes=words.CompactSession,
        gives=rpc.CompactedResult,
        run=_rpc(rpc.CompactParams),
        permission="sessions",
    ),
    McpTool(
        name="approve",
        title="Answer a question",
        about="Answer a call that waits for a person, as `pending` lists it. `deny` counts at once; to `approve`, the "
        "user of your client is shown the call and asked.",
        takes=words.ApproveCall,
        gives=rpc.Done,
        run=_approve,
        permission="approve",
        destroys=True,
    ),
)
"""Every tool there is."""
