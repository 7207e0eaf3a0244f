"""Before a turn: whether its steps are to be approved first, and what of the workspace a person should know then.

May import: errors, agents, policy, protocol, tools, views, sessions.
"""

from __future__ import annotations

from collections.abc import Iterable

from agi.agents.base import Agent
from agi.errors import Unavailable
from agi.policy.approval import is_listed
from agi.protocol.policies import ApprovalPolicy
from agi.protocol.sessions import TurnOptions
from agi.protocol.tools import ToolDefinition
from agi.sessions.ground import ground_of
from agi.sessions.sites import Site, Sites
from agi.sessions.toolbox import Toolbox
from agi.tools.base import Registry
from agi.views.state import SessionState


def wants_preflight(site: Site, agent: Agent, asked: TurnOptions, tools: Iterable[ToolDefinition]) -> bool:
    """Whether a turn begins with a preflight: as its message asks, else as its agent does, else as configured."""
    if asked.preflight is not None:
        return asked.preflight
    mode = agent.preflight or site.config.preflight
    return mode == "always" or (mode == "risky" and is_risky(agent, site.config.approval, tuple(tools)))


def is_risky(agent: Agent, policy: ApprovalPolicy, tools: tuple[ToolDefinition, ...]) -> bool:
    """Whether an agent has a tool that is asked about; one of the project's that is not known here counts as such."""
    named = {name for tool in tools for name in (tool.name, *tool.aliases)}
    if agent.source == "project" and agent.tools is not None and not named.issuperset(agent.tools):
        return True
    return any(_asks(policy, tool) for tool in tools if is_listed(tool, agent.tools))


def _asks(policy: ApprovalPolicy, tool: ToolDefinition) -> bool:
    listed = tool.kind in policy.require_for_kinds or is_listed(tool, policy.require_for_tools)
    return tool.requires_approval or listed


def surroundings(site: Site) -> list[str]:
    """What a person should know of a workspace before anything runs in it."""
    found = []
    if not site.trusted:
        found.append("This workspace is not trusted: its settings do not count, and its verification is asked about.")
    refused = site.no_commands()
    if refused:
        found.append(refused[0].upper() + refused[1:])
        return found
    try:
        rung = site.cells.rung(site)
    except Unavailable as error:
        return [*found, f"{error.message} Until that is mended no command runs."]
    if not rung.confines:
        why = "; ".join(rung.why)
        found.append(f"Commands run without a sandbox here{f' ({why})' if why else ''}.")
    return found


async def judging_toolbox(sites: Sites, site: Site, registry: Registry, state: SessionState) -> Toolbox:
    """The tools of the session's turn, to judge calls by the policy in force; nothing is run with it."""
    agent = site.agents.find(state.turn.agent if state.turn is not None else state.agent)
    lasting = sites.grants(site)
    return Toolbox(
        registry=(await site.own_tools.joined(site, registry)).registry,
        agent=agent,
        policy=site.config.approval,
        grants=lambda: (*state.grants, *lasting()),
        workspace=site.workspace,
        session_folder=site.workspace.root,
        turn_id="",
        verify_commands=site.config.verify.commands,
        no_commands=site.no_commands(),
        note=lambda data: None,
        ground=ground_of(site),
        cell=site.cell,
    )
