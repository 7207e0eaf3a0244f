"""What the rest of the house sees of the settings: frozen values, and secrets that do not print.

Where a value came from is no longer told here. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NoReturn

from msgspec import Struct

from agi.protocol.policies import ApprovalPolicy, Budget, PatchReviewPolicy, VerifyPolicy

AuthMode = Literal["auto", "token"]
Api = Literal["chat", "responses", "messages", "gemini"]
SandboxMode = Literal["off", "auto", "require"]


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


class SandboxSettings(Struct, frozen=True, kw_only=True):
    """How commands are kept in."""

    mode: SandboxMode = "auto"
    """`auto`: the best there is, said when it is none; `require`: no sandbox, no command; `off`: none."""
    network: bool = False
    """Whether commands in the sandbox may reach the network."""


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


class Config(Struct, frozen=True, kw_only=True):
    """Every setting, resolved."""

    default_agent: str | None = None
    """The agent of a new session; None is `build`."""
    default_provider: str | None = None
    """The provider of a new session; None lets the models decide by the keys there are."""
    default_model: str | None = None
    """The model of a new session; None is the provider's first choice."""
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
    budget_per_turn: Budget = Budget()
    """What one turn may use up."""
    budget_per_session: Budget = Budget()
    """What all turns of a session together may use up."""
    sandbox: SandboxSettings = SandboxSettings()
    """How commands are kept in."""
    agents: Mapping[str, AgentSettings] = {}
    """Limits by agent."""
    auth: AuthMode = "auto"
    """`auto`: the same user on loopback needs no token; `token`: everyone does."""
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
