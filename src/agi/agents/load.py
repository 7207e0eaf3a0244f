"""How a project adds to the agents and changes them: `.agi/agents.json`, and `.agi/agents/<agent>/agent.txt`.

    {"reviewer": {"tools": ["search", "fs.read"], "prompt": "prompts/reviewer.txt", "maxSteps": 20}}

All of it is text that a model reads; what an agent may do is still gated by approvals, so it counts without trust. Only
a step limit above the default needs it, and asking less often for a preflight than the user does.
May import: errors, config, protocol, agents.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from agi.agents.base import Agent, Agents
from agi.agents.builtin import BUILTIN, MANNERS, READ_TOOLS
from agi.config import Config, read_inside
from agi.config.parse import convert, parse_json
from agi.config.settings import Name, Steps
from agi.errors import ConfigError
from agi.protocol.policies import step_limit
from agi.protocol.preflight import PREFLIGHT_MODES, PreflightMode
from agi.protocol.visible import visible

AGENTS_FILE = ".agi/agents.json"
AGENTS_LIMIT = 1 << 20
PROMPT_LIMIT = 256 << 10
MOST_AGENTS = 200
ROLE_FOLDERS = (".agi/roles", ".agents/roles")
"""Where a project keeps roles; of two with one name, that of the first folder counts."""
USER_ROLES = "roles"
"""Where the user does, in the folder of the user's settings; these come last."""

_HINT = "Correct it there, or remove it."


class AgentEntry(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One agent in `agents.json`; what it leaves out stays as built in."""

    description: Annotated[str, Meta(max_length=1000)] | None = None
    """What it is for."""
    prompt: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    """The file of its prompt, from the project's root."""
    tools: tuple[Name, ...] | None = None
    """Its tools; an agent the project adds has the ones that only look, unless it names others."""
    provider: Name | None = None
    """The provider it prefers."""
    model: Name | None = None
    """The model it prefers."""
    max_steps: Steps | None = None
    """Model calls one turn may make."""
    preflight: PreflightMode | None = None
    """Whether its steps are approved first: `off`, `risky` or `always`."""


def load_agents(*, project: Path, config: Config, home_config: Path | None = None) -> Agents:
    """Give the built-in agents, the project's, and roles; raises ConfigError naming the file and key that are wrong.

    A role whose file is wrong is left out instead, and told of in `problems`.
    """
    entries = _entries(project)
    agents = {agent.name: agent for agent in BUILTIN}
    for name in entries:
        agents.setdefault(name, _added(name))
    named = {name: entry.tools for name, entry in entries.items() if entry.tools is not None}
    loaded = [_loaded(project, config, agent, entries.get(agent.name)) for agent in agents.values()]
    folders = role_folders(project, home_config)
    if not folders:
        return Agents(loaded, named)
    from agi.agents.roles import load_roles  # late: most projects have none

    roles, problems = load_roles(folders, config=config, taken=frozenset(agents))
    return Agents((*loaded, *roles), named, problems)


def role_folders(project: Path, home_config: Path | None) -> tuple[tuple[Path, str], ...]:
    """The folders that hold roles, those that count first: the root each is read from, and its name from there."""
    places = [(project, name) for name in ROLE_FOLDERS]
    if home_config is not None:
        places.append((home_config, USER_ROLES))
    return tuple((root, name) for root, name in places if os.path.lexists(root / name))


def _entries(project: Path) -> dict[str, AgentEntry]:
    file = str(project / AGENTS_FILE)
    content = read_inside(project, AGENTS_FILE, limit=AGENTS_LIMIT)
    document = parse_json(content, file) if content is not None else {}
    if len(document) > MOST_AGENTS:
        raise ConfigError(f"{file} names more than {MOST_AGENTS} agents.", hint=_HINT)
    for name in document:
        if not is_name(name):
            raise ConfigError(
                f"{file}: {name!r} cannot be an agent's name.", hint="Use letters, digits, `-`, `_`, `.`."
            )
    return {name: convert(entry, AgentEntry, name, file) for name, entry in document.items()}


def is_name(name: str) -> bool:
    """A name becomes part of a path, so it must not be able to lead anywhere."""
    plain = name.replace("-", "a").replace("_", "a").replace(".", "a")
    return len(name) <= 64 and plain.isascii() and plain.isalnum() and name[0] not in ".-"


def _added(name: str) -> Agent:
    description = "An agent of this project."
    return Agent(
        name=name,
        description=description,
        prompt=MANNERS,
        tools=READ_TOOLS,
        max_steps=step_limit(name),
        source="project",
    )


def _loaded(project: Path, config: Config, agent: Agent, entry: AgentEntry | None) -> Agent:
    prompt = _prompt(project, agent.name, entry)
    if entry is None and prompt is None:
        return replace(agent, max_steps=config.max_steps(agent.name) or agent.max_steps)
    entry = entry or AgentEntry()
    return replace(
        agent,
        description=entry.description or agent.description,
        prompt=agent.prompt if prompt is None else prompt,
        tools=agent.tools if entry.tools is None else entry.tools,
        provider=entry.provider or agent.provider,
        model=entry.model or agent.model,
        max_steps=config.max_steps(agent.name) or _steps(config, agent, entry),
        preflight=_preflight(config, entry),
        source="project",
    )


def _steps(config: Config, agent: Agent, entry: AgentEntry) -> int:
    wanted = entry.max_steps or agent.max_steps
    return wanted if config.trusted else min(wanted, agent.max_steps)


def _preflight(config: Config, entry: AgentEntry) -> PreflightMode | None:
    """A project that is not trusted may only ask for more of it than its user does."""
    wanted = entry.preflight
    if wanted is None or config.trusted:
        return wanted
    return wanted if PREFLIGHT_MODES.index(wanted) >= PREFLIGHT_MODES.index(config.preflight) else None


def _prompt(project: Path, name: str, entry: AgentEntry | None) -> str | None:
    """Read the prompt a project gives an agent: the file its entry names, else `.agi/agents/<agent>/agent.txt`."""
    if entry is None or entry.prompt is None:
        return _text(project, f".agi/agents/{name}/agent.txt")
    try:
        text = _text(project, entry.prompt)
    except ConfigError as error:
        raise ConfigError(f"{project / AGENTS_FILE}: `{name}.prompt`: {error.message}", hint=error.hint) from error
    if text is None:
        raise ConfigError(f"{project / AGENTS_FILE}: `{name}.prompt`: no file {entry.prompt!r} is there.", hint=_HINT)
    return text


def _text(project: Path, name: str) -> str | None:
    content = read_inside(project, name, limit=PROMPT_LIMIT, links=True)
    try:
        return None if content is None else visible(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{project / name} is not UTF-8.", hint="Save it as UTF-8.") from error
