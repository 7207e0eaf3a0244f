"""What stands in a `config.json`: the keys in their camelCase, one struct per section, each key optional.

What a file does not say is UNSET, so that files can be laid over each other key by key. How a file is read is `parse`'s
business, which file may say what is `narrowing`'s. May import: protocol.
"""

# Each section is read by itself, and only if a file has it: what the others hold is no start's business.
from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from agi.config.values import Api, AuthMode, LogFormat, Profile, SandboxMode, Secret
from agi.protocol.mcp import McpPermission
from agi.protocol.policies import ReviewMode, Rule, TitleMode
from agi.protocol.preflight import PreflightMode
from agi.protocol.tools import ToolKind
from agi.protocol.workers import Isolation

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Url = Annotated[str, Meta(pattern=r"^https?://[^\s@]+$", max_length=2000)]
CommandLine = Annotated[str, Meta(min_length=1, max_length=10_000)]
Count = Annotated[int, Meta(ge=0, le=10**12)]
Steps = Annotated[int, Meta(ge=1, le=1_000_000)]
Amount = Annotated[float, Meta(ge=0, le=1e12)]
Patience = Annotated[float, Meta(gt=0, le=86_400)]
ModelRef = Annotated[str, Meta(pattern=r"^[^/\s]+/\S+$", max_length=300)]
Tokens = Annotated[int, Meta(ge=0, le=200_000)]
Address = Annotated[str, Meta(pattern=r"^https://[a-z0-9.-]+(:[0-9]{1,5})?$", max_length=260)]
# What follows is a pattern, not a type: a type of text would compile it at every start, whichever sections there are.
_HOST = r"^\.?[^\s/@*:\[\]]+(:[0-9]{1,5})?$"
_RULES = r"^(?!/)(?!(.*/)?\.\.?(/|$))[^\\*\x00]*[^\\/\x00]+$"
S = TypeVar("S", bound=Struct)


class Section(Struct, frozen=True, kw_only=True, rename="camel"):
    """The shape all sections share."""


class TimeoutsSection(Section, frozen=True, kw_only=True):
    """`providers.<name>.timeouts`."""

    connect_seconds: Patience | UnsetType = UNSET
    """Until the connection stands."""
    first_byte_seconds: Patience | UnsetType = UNSET
    """Until the answer begins."""
    idle_seconds: Patience | UnsetType = UNSET
    """Silence in the middle of an answer."""
    thinking_seconds: Patience | UnsetType = UNSET
    """Silence while the model thinks."""
    total_seconds: Patience | UnsetType = UNSET
    """The whole answer."""


class ModelSection(Section, frozen=True, kw_only=True):
    """`providers.<name>.models.<model>`; prices are USD for a million tokens."""

    context_window: Annotated[int, Meta(ge=1, le=10**9)] | UnsetType = UNSET
    """Tokens in and out together."""
    max_output_tokens: Annotated[int, Meta(ge=1, le=10**9)] | UnsetType = UNSET
    """Tokens out at most."""
    input_usd: Amount | UnsetType = UNSET
    """Price of what is sent."""
    output_usd: Amount | UnsetType = UNSET
    """Price of what it says."""
    cache_read_usd: Amount | UnsetType = UNSET
    """Price of what was in the cache."""
    cache_write_usd: Amount | UnsetType = UNSET
    """Price of what is put into the cache."""


class LocalSection(Section, frozen=True, kw_only=True):
    """`local`."""

    weights: Annotated[str, Meta(min_length=1, max_length=4000)] | UnsetType = UNSET
    """A GGUF file or a URL."""
    threads: Annotated[int, Meta(ge=1, le=1024)] | UnsetType = UNSET
    """Processors for the embedded model."""
    probe: bool | UnsetType = UNSET
    """Whether to look for model servers on this machine."""


class ProviderSection(Section, frozen=True, kw_only=True):
    """`providers.<name>`."""

    enabled: bool | UnsetType = UNSET
    """Whether it may be used."""
    base_url: Url | UnsetType = UNSET
    """Where its API is."""
    api_key: Secret | UnsetType = UNSET
    """What it knows the user by."""
    api: Api | UnsetType = UNSET
    """How it is spoken to: `chat`, `responses`, `messages` or `gemini`."""
    profile: Profile | UnsetType = UNSET
    """`small` or `full`."""
    timeouts: TimeoutsSection | UnsetType = UNSET
    """When it is given up."""
    models: dict[Name, ModelSection] | UnsetType = UNSET
    """Facts about its models."""


class ApprovalSection(Section, frozen=True, kw_only=True):
    """`approval`."""

    require_for_kinds: tuple[ToolKind, ...] | UnsetType = UNSET
    """Kinds of tools that ask first: `read`, `write`, `exec`, `network`."""
    require_for_tools: tuple[Name, ...] | UnsetType = UNSET
    """Tools that ask first whatever their kind."""
    timeout_seconds: Amount | UnsetType | None = UNSET
    """How long a question waits; null is for ever."""
    rules: Annotated[tuple[Rule, ...], Meta(max_length=500)] | UnsetType = UNSET
    """What is allowed, asked about or denied in particular: `{tool, verdict, command | exactly | path}`."""
    allow_in_sandbox: bool | UnsetType = UNSET
    """Whether commands that destroy nothing run unasked in a sandbox without network."""


class VerifySection(Section, frozen=True, kw_only=True):
    """`verify`."""

    auto_verify: bool | UnsetType = UNSET
    """Check changes by themselves."""
    commands: tuple[CommandLine, ...] | UnsetType = UNSET
    """What to run."""
    require_clean: bool | UnsetType = UNSET
    """Whether verification must leave the files alone."""
    max_attempts: Annotated[int, Meta(ge=0, le=100)] | UnsetType = UNSET
    """How often a failure sends the agent back."""
    baseline: bool | UnsetType = UNSET
    """Check before the first change too, to know what failed already."""
    baseline_seconds: Patience | UnsetType = UNSET
    """How long that may take."""


class PatchReviewSection(Section, frozen=True, kw_only=True):
    """`patchReview`."""

    mode: ReviewMode | UnsetType = UNSET
    """`off`, `auto` or `request`."""
    model: ModelRef | UnsetType | None = UNSET
    """Who reviews in `auto`: `provider/model`; null is the turn's own model."""


class LimitsSection(Section, frozen=True, kw_only=True):
    """`budget.perTurn` and `budget.perSession`; null is no limit."""

    usd: Amount | UnsetType | None = UNSET
    """Money."""
    tokens: Count | UnsetType | None = UNSET
    """Tokens in and out."""
    steps: Count | UnsetType | None = UNSET
    """Model calls."""
    seconds: Amount | UnsetType | None = UNSET
    """Time at work."""


class BudgetSection(LimitsSection, frozen=True, kw_only=True):
    """`budget`; limits that stand in it directly are per turn."""

    per_turn: LimitsSection | UnsetType = UNSET
    """Limits of one turn; they beat those that stand beside it."""
    per_session: LimitsSection | UnsetType = UNSET
    """Limits of all turns of a session together."""


class SandboxSection(Section, frozen=True, kw_only=True):
    """`sandbox`."""

    mode: SandboxMode | UnsetType = UNSET
    """`off`, `auto` or `require`."""
    network: bool | UnsetType = UNSET
    """Whether commands may reach the network."""
    hosts: (
        Annotated[tuple[Annotated[str, Meta(pattern=_HOST, max_length=260)], ...], Meta(max_length=500)] | UnsetType
    ) = UNSET
    """Where they may reach all the same."""
    denied_hosts: (
        Annotated[tuple[Annotated[str, Meta(pattern=_HOST, max_length=260)], ...], Meta(max_length=500)] | UnsetType
    ) = UNSET
    """Where they never reach."""
    writable: (
        Annotated[tuple[Annotated[str, Meta(pattern="^/", max_length=4000)], ...], Meta(max_length=100)] | UnsetType
    ) = UNSET
    """Folders beside the workspace that they may change."""
    memory_mb: Annotated[int, Meta(ge=16, le=1 << 24)] | UnsetType = UNSET
    """Memory of one command."""
    processes: Annotated[int, Meta(ge=8, le=1 << 20)] | UnsetType = UNSET
    """Processes of one command."""


class CheckpointsSection(Section, frozen=True, kw_only=True):
    """`checkpoints`."""

    enabled: bool | UnsetType = UNSET
    """Whether changes can be taken back."""
    max_file_bytes: Annotated[int, Meta(ge=0, le=1 << 40)] | UnsetType = UNSET
    """A larger file is not covered."""
    max_total_bytes: Annotated[int, Meta(ge=0, le=1 << 50)] | UnsetType = UNSET
    """How large the store may get."""


class SkillsSection(Section, frozen=True, kw_only=True):
    """`skills`."""

    enabled: bool | UnsetType = UNSET
    """Whether they are used."""
    max_tokens: Annotated[int, Meta(ge=0, le=100_000)] | UnsetType = UNSET
    """How much context their list may take."""


class TitlesSection(Section, frozen=True, kw_only=True):
    """`titles`."""

    mode: TitleMode | UnsetType = UNSET
    """`first-message` or `model`."""
    model: ModelRef | UnsetType | None = UNSET
    """Who makes them: `provider/model`; null is the turn's own model."""


class RetentionSection(Section, frozen=True, kw_only=True):
    """`retention`; null is no limit."""

    max_age_days: Annotated[float, Meta(gt=0, le=100_000)] | UnsetType | None = UNSET
    """Sessions in which nothing happened for longer are removed."""
    max_bytes: Annotated[int, Meta(ge=0, le=1 << 53)] | UnsetType | None = UNSET
    """If all takes more, those that were quiet longest are."""
    keep_sessions: Annotated[int, Meta(ge=0, le=10**9)] | UnsetType = UNSET
    """So many of the latest stay in any case."""


class CompactionSection(Section, frozen=True, kw_only=True):
    """`compaction`."""

    enabled: bool | UnsetType = UNSET
    """Whether long conversations are made shorter by themselves."""
    threshold: Annotated[float, Meta(ge=0.1, le=1)] | UnsetType = UNSET
    """The share of the model's window at which that happens."""
    reserve_tokens: Annotated[int, Meta(ge=0, le=10**9)] | UnsetType | None = UNSET
    """What stays free for the answer; null is what the model can say, and at most a quarter of its window."""
    keep_recent_tokens: Annotated[int, Meta(ge=0, le=10**9)] | UnsetType = UNSET
    """How much of the end stays as it is."""
    model: ModelRef | UnsetType | None = UNSET
    """Who writes summaries: `provider/model`; null is the session's own model."""


class ContextSettingsSection(Section, frozen=True, kw_only=True):
    """`context`; tokens are estimated, 0 leaves a section out."""

    rules_files: (
        Annotated[tuple[Annotated[str, Meta(pattern=_RULES, min_length=1, max_length=200)], ...], Meta(max_length=30)]
        | UnsetType
    ) = UNSET
    """Files of rules, by their name in each folder; the last part may have a `*`."""
    rules_tokens: Tokens | UnsetType = UNSET
    """What all rules together may cost."""
    notes_tokens: Tokens | UnsetType = UNSET
    """What notes may cost."""
    repo_map_tokens: Tokens | UnsetType = UNSET
    """What a map of the repository may cost."""
    selected_files_tokens: Tokens | UnsetType = UNSET
    """What files chosen for a question may cost."""


class McpSection(Section, frozen=True, kw_only=True):
    """`mcp`; the servers themselves stand in `mcp.json`."""

    enabled: bool | UnsetType = UNSET
    """Whether MCP servers are used."""
    max_tools: Annotated[int, Meta(ge=0, le=10_000)] | UnsetType = UNSET
    """How many of their tools a model is offered."""
    max_tokens: Annotated[int, Meta(ge=0, le=1_000_000)] | UnsetType = UNSET
    """How much context those may take."""


class McpServerSection(Section, frozen=True, kw_only=True):
    """`mcpServer`."""

    enabled: bool | UnsetType = UNSET
    """Whether MCP clients can use the harness."""
    permissions: tuple[McpPermission, ...] | UnsetType = UNSET
    """What they may do."""


class WorkersSection(Section, frozen=True, kw_only=True):
    """`workers`."""

    max_depth: Annotated[int, Meta(ge=0, le=10)] | UnsetType = UNSET
    """How deep workers may have workers of their own; 0 is no workers."""
    max_live: Annotated[int, Meta(ge=1, le=1000)] | UnsetType = UNSET
    """How many work for one session at the same time."""
    max_total: Annotated[int, Meta(ge=1, le=100_000)] | UnsetType = UNSET
    """How many may be started for one turn of it."""
    isolate: Isolation | UnsetType = UNSET
    """Where those that can change files work: `auto`, `worktree`, `folder` or `off`."""


class TelemetrySection(Section, frozen=True, kw_only=True):
    """`telemetry`."""

    endpoint: Url | UnsetType | None = UNSET
    """Where an OpenTelemetry collector listens; null is nowhere."""
    logs: LogFormat | UnsetType = UNSET
    """How the daemon's own log is written: `text` or `json`."""


class AgentSection(Section, frozen=True, kw_only=True):
    """`agents.<name>`."""

    max_steps: Steps | UnsetType = UNSET
    """Model calls a turn may make."""


class Single(Section, frozen=True, kw_only=True):
    """What stands in a `config.json` by itself, in no section."""

    default_agent: Name | UnsetType = UNSET
    """The agent of a new session."""
    default_provider: Name | UnsetType = UNSET
    """The provider of a new session."""
    default_model: Name | UnsetType = UNSET
    """The model of a new session."""
    fallback_models: Annotated[tuple[ModelRef, ...], Meta(max_length=20)] | UnsetType = UNSET
    """Who is asked when a model cannot answer, in order: `provider/model`."""
    preflight: PreflightMode | UnsetType = UNSET
    """Whether an agent's steps are approved before it begins: `off`, `risky` or `always`."""
    auth: AuthMode | UnsetType = UNSET
    """`auto` or `token`."""
    public_url: Address | UnsetType | None = UNSET
    """Where a proxy that speaks https has the daemon answer, such as `https://agi.example`."""
    trusted_workspaces: dict[str, object] | UnsetType = UNSET
    """Kept by `agi trust` in the user's own file; means nothing in a project's."""
    workspace_grants: dict[str, object] | UnsetType = UNSET
    """Kept by answers to questions, see `agi grants`, in the user's own file; means nothing in a project's."""
    resources: list[object] | UnsetType = UNSET
    """What the user registered under a name; see config/resources.py."""


class Settings(Single, frozen=True, kw_only=True):
    """One `config.json`."""

    local: LocalSection | UnsetType = UNSET
    """Models on this machine."""
    providers: dict[str, ProviderSection] | UnsetType = UNSET
    """Providers by name."""
    approval: ApprovalSection | UnsetType = UNSET
    """What needs asking."""
    verify: VerifySection | UnsetType = UNSET
    """How changes are checked."""
    patch_review: PatchReviewSection | UnsetType = UNSET
    """Whether patches are shown first."""
    budget: BudgetSection | UnsetType = UNSET
    """What may be used up."""
    sandbox: SandboxSection | UnsetType = UNSET
    """How commands are kept in."""
    checkpoints: CheckpointsSection | UnsetType = UNSET
    """What is kept to take changes back."""
    skills: SkillsSection | UnsetType = UNSET
    """How skills are used."""
    titles: TitlesSection | UnsetType = UNSET
    """How sessions get their titles."""
    retention: RetentionSection | UnsetType = UNSET
    """How long sessions are kept."""
    compaction: CompactionSection | UnsetType = UNSET
    """How long conversations are made shorter."""
    context: ContextSettingsSection | UnsetType = UNSET
    """What the model is shown."""
    mcp: McpSection | UnsetType = UNSET
    """How MCP servers are used."""
    mcp_server: McpServerSection | UnsetType = UNSET
    """What MCP clients may do here."""
    workers: WorkersSection | UnsetType = UNSET
    """How far agents may have others work for them."""
    telemetry: TelemetrySection | UnsetType = UNSET
    """What a daemon tells about its work."""
    agents: dict[str, AgentSection] | UnsetType = UNSET
    """Limits by agent."""


SECTIONS: dict[type[Struct], dict[str, type[Struct]]] = {
    Settings: {
        "approval": ApprovalSection,
        "verify": VerifySection,
        "patchReview": PatchReviewSection,
        "budget": BudgetSection,
        "sandbox": SandboxSection,
        "checkpoints": CheckpointsSection,
        "skills": SkillsSection,
        "titles": TitlesSection,
        "retention": RetentionSection,
        "compaction": CompactionSection,
        "mcp": McpSection,
        "mcpServer": McpServerSection,
        "local": LocalSection,
        "context": ContextSettingsSection,
        "workers": WorkersSection,
        "telemetry": TelemetrySection,
    },
    ProviderSection: {"timeouts": TimeoutsSection},
    BudgetSection: {"perTurn": LimitsSection, "perSession": LimitsSection},
}
"""The sections of a section, by key."""
NAMED: dict[str, type[Struct]] = {"providers": ProviderSection, "agents": AgentSection}
"""The sections that hold one object per name."""
NAMED_IN: dict[type[Struct], dict[str, type[Struct]]] = {Settings: NAMED, ProviderSection: {"models": ModelSection}}
"""The same, by the section they stand in."""


def said(section: Struct | UnsetType) -> dict[str, object]:
    """Give what a section says, by field; what it leaves open is left out."""
    if isinstance(section, UnsetType):
        return {}
    return {name: value for name in section.__struct_fields__ if (value := getattr(section, name)) is not UNSET}


def overlay(low: S, high: S) -> S:
    """Lay one section over another of its kind: `high` where it says something, `low` elsewhere, key by key."""
    return msgspec.structs.replace(
        low, **{name: _over(getattr(low, name), value) for name, value in said(high).items()}
    )


def _over(low: object, high: object) -> object:
    if isinstance(low, Struct) and isinstance(high, Struct):
        return overlay(low, high)
    if isinstance(low, dict) and isinstance(high, dict):
        return {**low, **{name: _over(low.get(name, UNSET), value) for name, value in high.items()}}
    return high
