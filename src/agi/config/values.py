"""What the rest of the house sees of the settings: frozen values, and secrets that do not print.

Where a value came from is no longer told here. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NoReturn

from msgspec import Struct

from agi.protocol.checkpoints import CheckpointPolicy
from agi.protocol.compaction import CompactionPolicy
from agi.protocol.mcp import MCP_PERMISSIONS, McpPermission
from agi.protocol.policies import ApprovalPolicy, Budget, PatchReviewPolicy, TitlePolicy, VerifyPolicy
from agi.protocol.preflight import PreflightMode
from agi.protocol.storage import RetentionPolicy
from agi.protocol.workers import WorkerPolicy

AuthMode = Literal["auto", "token"]
Api = Literal["chat", "responses", "messages", "gemini"]
Profile = Literal["small", "full"]
SandboxMode = Literal["off", "auto", "require"]
LogFormat = Literal["text", "json"]


class Secret:
    """A key that never lands in a log: it prints as stars, and neither msgspec nor pickle can write it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Give the key itself, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not written anywhere")


class TimeoutSettings(Struct, frozen=True, kw_only=True):
    """How long a provider may take; None is the built-in limit."""

    connect_seconds: float | None = None
    """Until the connection stands."""
    first_byte_seconds: float | None = None
    """Until the answer begins."""
    idle_seconds: float | None = None
    """Silence in the middle of an answer."""
    thinking_seconds: float | None = None
    """Silence while the model thinks."""
    total_seconds: float | None = None
    """The whole answer."""


class ModelSettings(Struct, frozen=True, kw_only=True):
    """What the user knows better than any catalog about one model; prices are for a million tokens."""

    context_window: int | None = None
    """Tokens it takes in and gives out together."""
    max_output_tokens: int | None = None
    """Tokens it gives out at most."""
    input_usd: float | None = None
    """What is sent."""
    output_usd: float | None = None
    """What it says."""
    cache_read_usd: float | None = None
    """What is sent and was in the provider's cache."""
    cache_write_usd: float | None = None
    """What is sent and put into the provider's cache."""


class ProviderSettings(Struct, frozen=True, kw_only=True):
    """How one provider is reached."""

    enabled: bool = True
    """Whether it may be used at all."""
    base_url: str | None = None
    """Where its API is; None is the provider's own address."""
    api_key: Secret | None = None
    """What it knows the user by."""
    api: Api | None = None
    """How it is spoken to; None is the provider's own way, `chat` for a server with a name of its own."""
    profile: Profile | None = None
    """`small`: its models are small and led step by step; None is `full`, and `small` for the embedded model."""
    timeouts: TimeoutSettings = TimeoutSettings()
    """When it is given up."""
    models: Mapping[str, ModelSettings] = {}
    """Facts about its models, by name."""


class LocalSettings(Struct, frozen=True, kw_only=True):
    """Models on this machine."""

    weights: str | None = None
    """A GGUF file, or a URL to fetch the embedded model's weights from; None is the usual place."""
    threads: int | None = None
    """Processors the embedded model may use; None lets it decide."""
    probe: bool = True
    """Whether to look for a model server on this machine where no provider is set up."""


class SandboxSettings(Struct, frozen=True, kw_only=True):
    """How commands are kept in."""

    mode: SandboxMode = "auto"
    """`auto`: the best there is, said when it is none; `require`: no sandbox, no command; `off`: none."""
    network: bool = False
    """Whether commands in the sandbox may reach the network."""
    hosts: tuple[str, ...] = ()
    """Where they may reach all the same, over a proxy: `host`, `.suffix`, `host:port`."""
    denied_hosts: tuple[str, ...] = ()
    """Where they never reach over that proxy."""
    writable: tuple[str, ...] = ()
    """Folders beside the workspace that they may change."""
    memory_mb: int | None = None
    """How much memory one command may use; None is the built-in limit."""
    processes: int | None = None
    """How many processes one command may have at a time; None is the built-in limit."""


class SkillsSettings(Struct, frozen=True, kw_only=True):
    """How skills are used."""

    enabled: bool = True
    """Whether they are used at all."""
    max_tokens: int = 1_500
    """How much of a model's context their list may take; 0 lists none, the tool `skill` still finds them."""


RULES_FILES = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
    ".cursorrules",
    ".cursor/rules/*.mdc",
    ".windsurfrules",
)
"""Where people write down rules for agents."""


class ContextSettings(Struct, frozen=True, kw_only=True):
    """What the model is shown, and what it may cost in tokens."""

    rules_files: tuple[str, ...] = RULES_FILES
    """Files of rules, by their name in each folder."""
    rules_tokens: int = 20_000
    """What all rules together may cost."""
    notes_tokens: int = 2_000
    """What notes may cost."""
    repo_map_tokens: int = 1_500
    """What a map of the repository may cost."""
    selected_files_tokens: int = 1_500
    """What files chosen for a question may cost."""


class McpSettings(Struct, frozen=True, kw_only=True):
    """How MCP servers are used."""

    enabled: bool = True
    """Whether they are used at all."""
    max_tools: int = 100
    """How many of their tools a model is offered; others are found by `mcp_find_tool`."""
    max_tokens: int = 15_000
    """How much of a model's context those may take."""


class TelemetrySettings(Struct, frozen=True, kw_only=True):
    """What a daemon tells about its work; never what was said in it."""

    endpoint: str | None = None
    """Where an OpenTelemetry collector listens (OTLP over HTTP); None is nowhere."""
    logs: LogFormat = "text"
    """How the daemon's own log is written."""


class McpServerSettings(Struct, frozen=True, kw_only=True):
    """What MCP clients may do here."""

    enabled: bool = True
    """Whether they are answered at all."""
    permissions: tuple[McpPermission, ...] = MCP_PERMISSIONS
    """Which tools they are offered."""


class AgentSettings(Struct, frozen=True, kw_only=True):
    """Limits of one agent."""

    max_steps: int | None = None
    """Model calls a turn may make; None is the agent's own limit."""


class Flags(Struct, frozen=True, kw_only=True):
    """What was said on the command line; it beats every file."""

    agent: str | None = None
    """`--agent`."""
    provider: str | None = None
    """`--provider`."""
    model: str | None = None
    """`--model`."""
    require_sandbox: bool = False
    """`--require-sandbox`: `sandbox.mode` is `require`, whatever the files say."""


class Config(Struct, frozen=True, kw_only=True):
    """Every setting, resolved."""

    default_agent: str | None = None
    """The agent of a new session; None is `build`."""
    default_provider: str | None = None
    """The provider of a new session; None lets the models decide by the keys there are."""
    default_model: str | None = None
    """The model of a new session; None is the provider's first choice."""
    fallback_models: tuple[str, ...] = ()
    """Who is asked, in this order, when the model of a turn cannot answer: `provider/model`."""
    local: LocalSettings = LocalSettings()
    """Models on this machine."""
    providers: Mapping[str, ProviderSettings] = {}
    """Every provider that is built in or named in a file."""
    approval: ApprovalPolicy = ApprovalPolicy()
    """What needs asking."""
    approval_timeout_s: float | None = None
    """How long a question waits; None is until it is answered or canceled."""
    verify: VerifyPolicy = VerifyPolicy()
    """How changes are checked."""
    patch_review: PatchReviewPolicy = PatchReviewPolicy()
    """Whether patches are shown first."""
    preflight: PreflightMode = "off"
    """Whether an agent's steps are approved before it begins."""
    budget_per_turn: Budget = Budget()
    """What one turn may use up."""
    budget_per_session: Budget = Budget()
    """What all turns of a session together may use up."""
    sandbox: SandboxSettings = SandboxSettings()
    """How commands are kept in."""
    checkpoints: CheckpointPolicy = CheckpointPolicy()
    """What is kept to take changes back."""
    skills: SkillsSettings = SkillsSettings()
    """How skills are used."""
    titles: TitlePolicy = TitlePolicy()
    """How sessions get their titles."""
    retention: RetentionPolicy = RetentionPolicy()
    """How long sessions are kept."""
    compaction: CompactionPolicy = CompactionPolicy()
    """How long conversations are made shorter."""
    context: ContextSettings = ContextSettings()
    """What the model is shown."""
    mcp: McpSettings = McpSettings()
    """How MCP servers are used."""
    mcp_server: McpServerSettings = McpServerSettings()
    """What MCP clients may do here."""
    workers: WorkerPolicy = WorkerPolicy()
    """How far agents may have others work for them."""
    telemetry: TelemetrySettings = TelemetrySettings()
    """What a daemon tells about its work."""
    agents: Mapping[str, AgentSettings] = {}
    """Limits by agent."""
    auth: AuthMode = "auto"
    """`auto`: the same user on loopback needs no token; `token`: everyone does."""
    public_url: str | None = None
    """Where a proxy that speaks https has the daemon answer; with it, everyone needs the token."""
    trusted: bool = False
    """Whether the user trusts this workspace; verification asks first where not."""
    warnings: tuple[str, ...] = ()
    """What was ignored or looks wrong, for people."""
    ignored: tuple[str, ...] = ()
    """The keys of the project's file that do not count for lack of trust, such as `providers.local.baseUrl`."""

    def provider(self, name: str) -> ProviderSettings:
        """Give a provider's settings, also of one nobody configured."""
        return self.providers.get(name, ProviderSettings())

    def max_steps(self, agent: str) -> int | None:
        """Give the configured step limit of an agent, or None."""
        settings = self.agents.get(agent)
        return settings.max_steps if settings else None
