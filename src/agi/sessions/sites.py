"""Sites: a workspace with all that belongs to it — its handle, settings, agents, models and trust.

Loaded when first needed and again when a file behind it has changed. May import: errors, config, trust, workspace,
agents, models.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agi.agents.load import load_agents
from agi.config import Config, Flags, load_config
from agi.config.load import rules_commands
from agi.errors import ConfigError
from agi.redaction import Redactor
from agi.sessions.cells import Cells
from agi.sessions.origin import own_cache
from agi.sessions.own_servers import OwnServers
from agi.sessions.own_skills import OwnSkills
from agi.sessions.own_sources import OwnSources
from agi.sessions.own_tools import OwnTools
from agi.trust import trust_state
from agi.workspace.opening import Opened, open_root

if TYPE_CHECKING:
    from agi.agents.base import Agent, Agents
    from agi.context.base import Context, Piece, Source
    from agi.models.base import Model
    from agi.models.breaker import Breaker
    from agi.models.facts import Facts
    from agi.models.resolve import Models
    from agi.net.route import Proxies
    from agi.protocol.grants import Grant
    from agi.protocol.tools import ToolDefinition
    from agi.sandbox.cell import Cell
    from agi.skills.loading import Skills
    from agi.workspace.handle import Workspace

# What a site needs only for a turn is imported by the first: a daemon that nobody has asked anything does without.
_FILES = (
    ".agi/config.json",
    ".agi/agents.json",
    ".agi/mcp.json",
    ".mcp.json",
    "AGENTS.md",
    ".agi/tools",
    ".agi/agents",
)


class Site(Struct, frozen=True, kw_only=True, dict=True):
    """One workspace, ready to be worked in."""

    opened: Opened
    """Its folder."""
    config: Config
    agents: Agents
    make_models: Callable[[], Models]
    make_facts: Callable[[], Facts]
    cells: Cells
    """Where commands run."""
    own_tools: OwnTools
    """The tools that workspaces have of their own."""
    own_sources: OwnSources
    """What can tell more about workspaces at the start of a turn."""
    own_skills: OwnSkills
    """The skills that workspaces and the user have."""
    own_servers: OwnServers
    """The MCP servers that workspaces and the user have."""
    signature: tuple[object, ...]
    home_config: Path
    """Where the user's own settings and rules are."""
    home: str
    """The user's home folder; nothing above it is looked at."""
    lender: Path | None = None
    """The project whose settings, agents and trust hold here, where the workspace is a worker's copy of it."""

    @cached_property
    def workspace(self) -> Workspace:
        """The handle that tools use it by."""
        from agi.workspace.handle import Workspace

        return Workspace(self.opened)

    @cached_property
    def models(self) -> Models:
        """The models that can be asked here; on the event loop's thread."""
        return self.make_models()

    @cached_property
    def facts(self) -> Facts:
        """What is known about them."""
        return self.make_facts()

    @property
    def project(self) -> Path:
        """The folder that the settings are from."""
        return self.lender or self.opened.root

    @property
    def trusted(self) -> bool:
        """Whether its user trusts it."""
        return self.config.trusted

    def context(
        self,
        agent: Agent,
        provider: str,
        model: str,
        session_prompt: str | None,
        tools: Sequence[ToolDefinition],
        question: str = "",
    ) -> Context:
        """What a model of this provider is told before anything else, as it is now; a small one is told little.

        `question` is what the session began with: of more skills than fit, those are listed that are about it.
        """
        from agi.context.assembling import assemble
        from agi.context.base import SKILLS
        from agi.context.prefix import full_pieces
        from agi.context.rules import find_rules

        if self.models.is_small(provider):
            from agi.context.small import small_pieces  # late: few use such a model

            return assemble(small_pieces(agent, self.workspace, session_prompt=session_prompt, tools=tools), {})
        root, names = self.workspace.root, self.config.context.rules_files
        rules = find_rules(root, names=names, own=self.home_config, home=self.home)
        budgets = self.budgets(provider, model)
        skills = self._skills_told(tools, budgets[SKILLS], question)
        more = [*self._constitutions(), *rules, *skills, *self._notes_told()]
        pieces = full_pieces(agent, root, session_prompt=session_prompt, tools=tools, more=more)
        return assemble(pieces, budgets)

    def _constitutions(self) -> list[Piece]:
        """The documents of rules that the user bound to the repository here."""
        from agi.config.resources import bound_to

        bound = bound_to(self.home_config, self.project)
        if not bound:
            return []
        from agi.context.constitutions import constitution_piece  # late: few repositories are bound to one

        return [constitution_piece(one) for one in bound]

    def _notes_told(self) -> list[Piece]:
        """What the user pinned for the workspace."""
        from agi.config.notes import read_notes
        from agi.context.base import NOTES, Piece
        from agi.context.prefix import notes_piece

        try:
            notes = read_notes(self.home_config, self.project)
        except ConfigError as error:
            return [
                Piece(name=NOTES, source="user", refused=error.message)
            ]  # it costs no turn; `agi notes` says it too
        return [notes_piece([note.text for note in notes])] if notes else []

    def _skills_told(self, tools: Sequence[ToolDefinition], tokens: int, question: str) -> list[Piece]:
        """The list of skills, for an agent that can load them."""
        can_load = any(tool.name == "skill" for tool in tools)
        if not tokens or not can_load or not self.own_skills.may_be_at(self.workspace):
            return []
        from agi.context.prefix import skills_piece
        from agi.skills.catalogue import catalogue  # late: most workspaces have none

        found = self.skills().all().skills
        made = catalogue(found, tokens, question)
        return [skills_piece(made.text, made.left_out)] if found else []

    def nested(self, provider: str, model: str, paths: Sequence[str]) -> Context:
        """The rules of folders below the root that calls were about."""
        from agi.context.assembling import assemble
        from agi.context.base import Context

        if not paths or self.models.is_small(provider):
            return Context()
        from agi.context.nested import folders_of, nested_rules  # late: a first turn has been nowhere yet

        folders = folders_of(self.workspace, paths)
        found = nested_rules(self.workspace, folders, self.config.context.rules_files) if folders else []
        return assemble(found, self.budgets(provider, model))

    def budgets(self, provider: str, model: str) -> Mapping[str, int]:
        """What each section may cost for a model."""
        from agi.context.budgets import budgets_for

        skills = self.config.skills.max_tokens if self.config.skills.enabled else 0
        return budgets_for(self.config.context, skills, self.facts.window(provider, model))

    def sources(self, provider: str, agent: Agent) -> Sequence[Source]:
        """What can tell an agent more about the workspace at the start of a turn."""
        may_read = agent.tools is None or "read_file" in agent.tools
        return self.own_sources.at(self) if may_read and not self.models.is_small(provider) else ()

    def skills(self) -> Skills:
        """The skills that can be used in it."""
        return self.own_skills.at(self.workspace, enabled=self.config.skills.enabled)

    def cell(self) -> Cell:
        """Where its commands run."""
        return self.cells.cell(self)

    @property
    def verify_asks(self) -> bool:
        """Whether a person is asked before the project's own commands verify a change."""
        return not self.trusted or bool(self.no_commands())

    def no_commands(self) -> str:
        """Why no command may run here; empty if commands may."""
        return self.cells.no_commands(self)

    async def close(self) -> None:
        """Let go of its folder and of connections to models."""
        if "models" in vars(self):
            await self.models.close()
        self.opened.close()


class Sites:
    """The workspaces in use, by path."""

    def __init__(
        self,
        *,
        home_config: Path,
        env: Mapping[str, str],
        flags: Flags,
        redactor: Redactor,
        trust_once: frozenset[Path] = frozenset(),
        stand_in: Model | None = None,
        probe_ports: Mapping[str, int] | None = None,
        hidden: Sequence[Path] = (),
        lender: Callable[[str], str | None] = lambda path: None,
    ) -> None:
        self.cells = Cells(env, (home_config, *hidden))
        self._own_tools = OwnTools(self._is_trusted)
        self._own_skills = OwnSkills(home_config)
        self._own_sources = OwnSources()
        self.own_servers = OwnServers(home_config, env, redactor, self._is_trusted)
        self._home_config = home_config
        self._env = env
        self._flags = flags
        self._redactor = redactor
        self._trust_once = trust_once
        self._stand_in = stand_in
        self._probe_ports = probe_ports
        self._lender = lender
        """Of which project a folder is a worker's copy; None for any other folder."""
        self._sites: dict[str, Site] = {}
        self._cached: set[Path] = set()
        """Whose cache is known to be ours."""
        self._agreed: dict[Path, tuple[str, ...]] = {}
        """What AGENTS.md had run when a workspace was trusted for this run: an agent may write that file."""
        self._retired: list[Site] = []
        self._breakers: dict[tuple[object, ...], Breaker] = {}
        self.proxies = _proxies(env)

    def breaker(self, site: Site, provider: str) -> Breaker:
        """How a provider has fared lately, in every workspace that asks it at the same address with the same key."""
        from agi.models.breaker import Breaker

        settings = site.config.provider(provider)
        key = (provider, settings.base_url, settings.api_key)
        found = self._breakers.get(key)
        if found is None:
            found = self._breakers[key] = Breaker(provider)
        return found

    def grants(self, site: Site) -> Callable[[], tuple[Grant, ...]]:
        """What the user allows in a workspace until it is revoked, as it is whenever asked; nothing without trust."""
        from agi.config.grants import WorkspaceGrants

        return WorkspaceGrants(self._home_config, site.project) if site.trusted else tuple

    def get(self, path: str | Path) -> Site:
        """The workspace at `path`; raises Invalid if it is missing or no folder, ConfigError if its files are wrong."""
        key = str(path)
        lender = self._lender(key)
        signature = (_place(key), *self._signature(lender or key))
        site = self._sites.get(key)
        if site is None or site.signature != signature:
            fresh = self._load(key, signature, lender)
            if site is not None:
                self._retired.append(site)  # a running turn may still use it
            site = self._sites[key] = fresh
        return site

    def own_cache(self, site: Site) -> None:
        """Before anything is read from a workspace's cache: throw it away if it came with the repository."""
        root = site.opened.root
        if root not in self._cached:
            own_cache(root / ".agi", self._home_config)
            self._cached.add(root)

    async def forget(self, path: str | Path) -> None:
        """Let go of a workspace that is gone and that nothing runs in."""
        site = self._sites.pop(str(path), None)
        if site is not None:
            await site.close()

    async def close(self) -> None:
        """Close every handle and connection, and end every server."""
        await self.own_servers.close()
        for site in (*self._retired, *self._sites.values()):
            await site.close()
        self.cells.close()
        self._own_sources.close()

    def _load(self, path: str, signature: tuple[object, ...], lender: str | None) -> Site:
        opened = open_root(path)
        project = opened.root if lender is None else Path(lender)
        try:
            config = load_config(
                project=project,
                home_config=self._home_config,
                env=self._env,
                flags=self._flags,
                trusted=self._is_trusted(project),
                rules=self._agreed_rules(project),
            )
            keys = [settings.api_key for settings in config.providers.values() if settings.api_key]
            self._redactor.learn(*(key.reveal() for key in keys))
            agents = load_agents(project=project, config=config, home_config=self._home_config)
        except BaseException:
            opened.close()
            raise
        return Site(
            opened=opened,
            config=config,
            agents=agents,
            make_models=partial(self._models, config),
            make_facts=partial(self._facts, config),
            cells=self.cells,
            own_tools=self._own_tools,
            own_skills=self._own_skills,
            own_sources=self._own_sources,
            own_servers=self.own_servers,
            signature=signature,
            home_config=self._home_config,
            home=self._env.get("HOME") or os.path.expanduser("~"),
            lender=None if lender is None else project,
        )

    def _models(self, config: Config) -> Models:
        from agi.models.resolve import Models

        return Models(
            config, env=self._env, proxies=self.proxies, stand_in=self._stand_in, probe_ports=self._probe_ports
        )

    def _facts(self, config: Config) -> Facts:
        from agi.models.facts import Facts

        return Facts(config, ports=self._probe_ports)

    def _is_trusted(self, root: Path) -> bool:
        """Whether a workspace is trusted as it is at this moment."""
        return root in self._trust_once or trust_state(root, self._home_config).trusted

    def _agreed_rules(self, root: Path) -> tuple[str, ...] | None:
        if root not in self._trust_once or trust_state(root, self._home_config).trusted:
            return None
        return self._agreed.setdefault(root, rules_commands(root))

    def _signature(self, root: str) -> tuple[object, ...]:
        """What the files behind a site look like; taken at every turn, so it only asks for their stamps."""
        own = (f"{root}/{name}" for name in _FILES)
        roles = (f"{root}/.agi/roles", f"{root}/.agents/roles", f"{self._home_config}/roles")
        parts = (*own, *_prompts(root), *(path for folder in roles for path in _files(folder)))
        stamps = (_stamp(path) for path in (f"{self._home_config}/config.json", *parts))
        return (_place(root), *stamps)


def _prompts(root: str) -> list[str]:
    try:
        return sorted(f"{root}/.agi/agents/{name}/agent.txt" for name in os.listdir(f"{root}/.agi/agents"))
    except OSError:
        return []


def _files(folder: str) -> list[str]:
    """A folder and what is in it, if it is there."""
    try:
        return [folder, *sorted(f"{folder}/{name}" for name in os.listdir(folder))]
    except OSError:
        return []


def _place(root: str) -> tuple[int, int] | None:
    """Which folder it is: another one may be put in its place under the same name."""
    try:
        found = os.stat(root)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _proxies(env: Mapping[str, str]) -> Proxies | None:
    if not any(name.lower() in ("http_proxy", "https_proxy") for name in env):
        return None
    from agi.net.route import Proxies  # late: most people have none

    return Proxies.from_env(env)
