"""How settings come together: flag over project file over user's file over environment, key by key.

What could do harm counts from a project only once its user trusts it; what is ignored is named in `Config.warnings`.
Whether it is trusted, the caller says. May import: errors, protocol.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from agi.config.files import CONFIG_LIMIT, CONFIG_NAME, PROJECT_DIR, read_file, read_inside
from agi.config.parse import parse_policy, parse_settings, secret
from agi.config.rules import RULES_NAME, read_rules, verify_commands
from agi.config.settings import BudgetSection, ProviderSection, Settings, Url, VerifySection, overlay, said
from agi.config.values import (
    AgentSettings,
    Config,
    ContextSettings,
    Flags,
    LocalSettings,
    McpServerSettings,
    McpSettings,
    ModelSettings,
    ProviderSettings,
    SandboxSettings,
    SkillsSettings,
    TelemetrySettings,
    TimeoutSettings,
)
from agi.errors import ConfigError
from agi.protocol.checkpoints import CheckpointPolicy
from agi.protocol.compaction import CompactionPolicy
from agi.protocol.policies import ApprovalPolicy, Budget, PatchReviewPolicy, TitlePolicy, VerifyPolicy
from agi.protocol.storage import RetentionPolicy
from agi.protocol.workers import WorkerPolicy

VARIABLES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
        "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        "google": ("GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    }
)
"""The built-in providers, and the environment variables for their key and base URL."""
NO_FLAGS = Flags()
"""Nothing was said on the command line."""
Warnings = tuple[str, ...]
"""What people should know, one sentence each."""
S = TypeVar("S", bound=Struct)
_PLAIN = frozenset(
    {"default_agent", "default_provider", "default_model", "fallback_models", "auth", "preflight", "public_url"}
)
_EXPOSED = "stands in a project's file, where others may read it; `agi setup` keeps keys in your own."
_UNTRUSTED = "is ignored, since this workspace is not trusted. Look at it, then run `agi trust` to use it."


def load_config(
    *,
    project: Path,
    home_config: Path,
    env: Mapping[str, str],
    flags: Flags = NO_FLAGS,
    trusted: bool,
    rules: tuple[str, ...] | None = None,
) -> Config:
    """Make one value of everything that was said; raises ConfigError naming the file and key that are wrong.

    `rules` are the only commands that AGENTS.md may name, where it was trusted for a while and not by its content.
    """
    user, user_warnings = _user_settings(home_config)
    base = overlay(_environment(env), user)
    theirs, project_warnings, ignored = _project_settings(project, base, trusted)
    settings = overlay(_without_model(base, theirs), theirs)
    commands, rules_warnings = _rules_commands(project, settings, trusted, rules)
    config = _with_flags(_build(overlay(commands, settings)), flags)
    warnings = user_warnings + project_warnings + rules_warnings
    return replace(config, trusted=trusted, warnings=warnings, ignored=ignored)


def _user_settings(home_config: Path) -> tuple[Settings, Warnings]:
    path = home_config / CONFIG_NAME
    content = read_file(path, limit=CONFIG_LIMIT)
    if content is None:
        return Settings(), ()
    settings, warnings = parse_settings(content, str(path))
    if _keys(settings) and os.stat(path).st_mode & 0o077:
        warnings += (f"{path} holds keys and can be read by others. Run `chmod 600 {path}`.",)
    return settings, warnings


def _project_settings(project: Path, base: Settings, trusted: bool) -> tuple[Settings, Warnings, tuple[str, ...]]:
    """Give what a project's file says and may say, what is to be told about it, and the keys that do not count."""
    file = str(project / PROJECT_DIR / CONFIG_NAME)
    content = read_inside(project, f"{PROJECT_DIR}/{CONFIG_NAME}", limit=CONFIG_LIMIT)
    if content is None:
        return Settings(), (), ()
    settings, warnings = parse_settings(content, file)
    if settings.trusted_workspaces is not UNSET:
        warnings += (f"{file}: `trustedWorkspaces` is ignored: a workspace cannot trust itself.",)
    if settings.workspace_grants is not UNSET:
        warnings += (f"{file}: `workspaceGrants` is ignored: a workspace cannot allow itself anything.",)
    if settings.resources is not UNSET:
        warnings += (f"{file}: `resources` is ignored: only you register what is talked about by name.",)
    from agi.config.narrowing import narrow  # late: most projects have no settings of their own

    settings, dropped = (_with_rules(settings, base), ()) if trusted else narrow(settings, _build(base))
    warnings += tuple(f"{file}: `{key}` {_UNTRUSTED}" for key in dropped)
    warnings += tuple(f"{file}: `providers.{name}.apiKey` {_EXPOSED}" for name in _keys(settings))
    return settings, warnings, dropped


def _with_rules(theirs: Settings, base: Settings) -> Settings:
    """A trusted project's rules add to the user's; they never take one away."""
    if isinstance(theirs.approval, UnsetType) or isinstance(theirs.approval.rules, UnsetType):
        return theirs
    rules = dict.fromkeys((*_build(base).approval.rules, *theirs.approval.rules))
    return replace(theirs, approval=replace(theirs.approval, rules=tuple(rules)))


def _without_model(base: Settings, theirs: Settings) -> Settings:
    """A model does not follow to a provider that a project names in the place of the user's."""
    moved = theirs.default_provider is not UNSET and theirs.default_provider != base.default_provider
    return replace(base, default_model=UNSET) if moved and theirs.default_model is UNSET else base


def _keys(settings: Settings) -> list[str]:
    providers = {} if isinstance(settings.providers, UnsetType) else settings.providers
    return [name for name, section in providers.items() if section.api_key is not UNSET]


def _environment(env: Mapping[str, str]) -> Settings:
    return Settings(providers={name: _from_variables(env, *names) for name, names in VARIABLES.items()})


def _from_variables(env: Mapping[str, str], key_name: str, url_name: str) -> ProviderSection:
    key, url = env.get(key_name, "").strip(), env.get(url_name, "").strip()
    try:
        return ProviderSection(
            api_key=secret(key) if key else UNSET, base_url=msgspec.convert(url, Url) if url else UNSET
        )
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{url_name} in the environment is not an http(s) URL.", hint="Correct or unset it."
        ) from error
    except ValueError as error:
        raise ConfigError(f"{key_name} in the environment cannot be a key.", hint="Correct or unset it.") from error


def rules_commands(project: Path) -> tuple[str, ...]:
    """The verification commands that AGENTS.md names now; none if it cannot be read."""
    try:
        return verify_commands(read_rules(project))
    except ConfigError:
        return ()


def _rules_commands(
    project: Path, settings: Settings, trusted: bool, agreed: tuple[str, ...] | None
) -> tuple[Settings, Warnings]:
    """Take verification commands from AGENTS.md; as the weakest voice, since any `config.json` is more explicit."""
    try:
        commands = verify_commands(read_rules(project))
    except ConfigError as error:
        return Settings(), (f"{RULES_NAME} is not used: {error.message}",)
    if not commands or "commands" in said(settings.verify):
        return Settings(), ()
    if not trusted:
        return Settings(), (f"{project / RULES_NAME}: the verification command `{commands[0]}` {_UNTRUSTED}",)
    if agreed is not None and commands != agreed:
        changed = (
            f"{project / RULES_NAME} names other verification commands than when this run began; they are ignored."
        )
        return Settings(), (changed,)
    return Settings(verify=VerifySection(commands=commands)), ()


def approval_of(content: bytes, file: str) -> ApprovalPolicy:
    """The approval policy of a settings file, or of what stands under `approval` alone; raises ConfigError.

    A file that says nothing of approval has the defaults.
    """
    return _build(parse_policy(content, file)).approval


def _build(settings: Settings) -> Config:
    """Fill what nobody said with the defaults."""
    approval = said(settings.approval)
    timeout = approval.pop("timeout_seconds", None)
    budget = BudgetSection() if isinstance(settings.budget, UnsetType) else settings.budget
    return replace(
        Config(),
        **{name: value for name, value in said(settings).items() if name in _PLAIN},
        providers=MappingProxyType({name: _provider(one) for name, one in _or_none(settings.providers).items()}),
        local=replace(LocalSettings(), **said(settings.local)),
        approval=replace(ApprovalPolicy(), **approval),
        approval_timeout_s=timeout,
        verify=replace(VerifyPolicy(), **said(settings.verify)),
        patch_review=replace(PatchReviewPolicy(), **said(settings.patch_review)),
        budget_per_turn=replace(Budget(), **said(budget.per_turn)),
        budget_per_session=replace(Budget(), **said(budget.per_session)),
        sandbox=replace(SandboxSettings(), **said(settings.sandbox)),
        checkpoints=replace(CheckpointPolicy(), **said(settings.checkpoints)),
        skills=replace(SkillsSettings(), **said(settings.skills)),
        titles=replace(TitlePolicy(), **said(settings.titles)),
        retention=replace(RetentionPolicy(), **said(settings.retention)),
        compaction=replace(CompactionPolicy(), **said(settings.compaction)),
        context=replace(ContextSettings(), **said(settings.context)),
        mcp=replace(McpSettings(), **said(settings.mcp)),
        mcp_server=replace(McpServerSettings(), **said(settings.mcp_server)),
        workers=replace(WorkerPolicy(), **said(settings.workers)),
        telemetry=replace(TelemetrySettings(), **said(settings.telemetry)),
        agents=_each(settings.agents, AgentSettings()),
    )


def _provider(section: ProviderSection) -> ProviderSettings:
    timeouts = replace(TimeoutSettings(), **said(section.timeouts))
    models = _each(section.models, ModelSettings())
    return replace(ProviderSettings(), **{**said(section), "timeouts": timeouts, "models": models})


def _or_none(sections: Mapping[str, S] | UnsetType) -> Mapping[str, S]:
    return {} if isinstance(sections, UnsetType) else sections


def _each(sections: Mapping[str, Struct] | UnsetType, default: S) -> Mapping[str, S]:
    return MappingProxyType({name: replace(default, **said(section)) for name, section in _or_none(sections).items()})


def _with_flags(config: Config, flags: Flags) -> Config:
    """Let the command line win; a configured model does not follow to another provider that was asked for by name."""
    provider = flags.provider or config.default_provider
    model = config.default_model if provider == config.default_provider else None
    return replace(
        config,
        default_agent=flags.agent or config.default_agent,
        default_provider=provider,
        default_model=flags.model or model,
        sandbox=replace(config.sandbox, mode="require") if flags.require_sandbox else config.sandbox,
    )
