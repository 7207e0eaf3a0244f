"""What a project that nobody trusts yet may say: whatever only chooses, and whatever makes things stricter.

Given the project's settings and the config its user has without it, answers with the part of the first that counts,
and the keys that do not. Whether the project is trusted is not decided here. May import: protocol.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import UNSET, UnsetType

from agi.config.settings import (
    AgentSection,
    ApprovalSection,
    BudgetSection,
    CheckpointsSection,
    CompactionSection,
    ContextSettingsSection,
    LimitsSection,
    LocalSection,
    McpSection,
    McpServerSection,
    PatchReviewSection,
    ProviderSection,
    RetentionSection,
    SandboxSection,
    Settings,
    SkillsSection,
    TelemetrySection,
    TitlesSection,
    VerifySection,
    WorkersSection,
)
from agi.config.values import (
    Config,
    ContextSettings,
    LocalSettings,
    McpServerSettings,
    McpSettings,
    ProviderSettings,
    SandboxMode,
    SandboxSettings,
    SkillsSettings,
)
from agi.protocol.checkpoints import CheckpointPolicy
from agi.protocol.compaction import CompactionPolicy
from agi.protocol.policies import (
    ApprovalPolicy,
    Budget,
    PatchReviewPolicy,
    ReviewMode,
    Rule,
    TitlePolicy,
    VerifyPolicy,
    step_limit,
)
from agi.protocol.preflight import PREFLIGHT_MODES
from agi.protocol.workers import WorkerPolicy

T = TypeVar("T")
N = TypeVar("N", int, float)
_REVIEWS: tuple[ReviewMode, ...] = ("off", "auto", "request")
_SANDBOXES: tuple[SandboxMode, ...] = ("off", "auto", "require")
"""From the loosest to the strictest."""


def narrow(project: Settings, user: Config) -> tuple[Settings, tuple[str, ...]]:
    """Take from a project's settings what counts without trust; gives that, and the keys of what was dropped."""
    sieve = _Sieve()
    narrowed = Settings(
        default_agent=project.default_agent,
        default_provider=project.default_provider,
        default_model=project.default_model,
        fallback_models=project.fallback_models,
        local=_local(sieve, _or(project.local, LocalSection()), user.local),
        providers={
            name: _provider(sieve, f"providers.{name}", section, user.provider(name))
            for name, section in _or(project.providers, {}).items()
        },
        approval=_approval(sieve, _or(project.approval, ApprovalSection()), user.approval, user.approval_timeout_s),
        verify=_verify(sieve, _or(project.verify, VerifySection()), user.verify),
        patch_review=_patch_review(sieve, _or(project.patch_review, PatchReviewSection()), user.patch_review),
        preflight=sieve.as_strict("preflight", project.preflight, user.preflight, PREFLIGHT_MODES),
        budget=_budget(sieve, _or(project.budget, BudgetSection()), user),
        sandbox=_sandbox(sieve, _or(project.sandbox, SandboxSection()), user.sandbox),
        checkpoints=_checkpoints(sieve, _or(project.checkpoints, CheckpointsSection()), user.checkpoints),
        skills=_skills(sieve, _or(project.skills, SkillsSection()), user.skills),
        titles=_titles(sieve, _or(project.titles, TitlesSection()), user.titles),
        retention=_retention(sieve, _or(project.retention, RetentionSection())),
        compaction=_compaction(sieve, _or(project.compaction, CompactionSection()), user.compaction),
        context=_context(sieve, _or(project.context, ContextSettingsSection()), user.context),
        mcp=_mcp(sieve, _or(project.mcp, McpSection()), user.mcp),
        mcp_server=_mcp_server(sieve, _or(project.mcp_server, McpServerSection()), user.mcp_server),
        workers=_workers(sieve, _or(project.workers, WorkersSection()), user.workers),
        telemetry=_telemetry(sieve, _or(project.telemetry, TelemetrySection())),
        agents={
            name: _agent(sieve, f"agents.{name}", section, user.max_steps(name) or step_limit(name))
            for name, section in _or(project.agents, {}).items()
        },
        auth=sieve.drop("auth", project.auth, if_=user.auth == "token" and project.auth == "auto"),
        public_url=sieve.drop("publicUrl", project.public_url),
    )
    return narrowed, tuple(sieve.dropped)


class _Sieve:
    """Lets settings pass and remembers the keys of those that did not."""

    def __init__(self) -> None:
        self.dropped: list[str] = []

    def drop(self, key: str, value: T | UnsetType, *, if_: bool = True) -> T | UnsetType:
        if isinstance(value, UnsetType) or not if_:
            return value
        self.dropped.append(key)
        return UNSET

    def at_most(self, key: str, value: N | UnsetType | None, limit: float | None) -> N | UnsetType | None:
        """Let a limit pass that is not above the user's; None is no limit."""
        if isinstance(value, UnsetType) or limit is None:
            return value
        return self.drop(key, value, if_=value is None or value > limit)

    def in_addition(self, key: str, value: tuple[T, ...] | UnsetType, base: tuple[T, ...]) -> tuple[T, ...] | UnsetType:
        """Let a list add to the user's; what it leaves out stays."""
        if isinstance(value, UnsetType):
            return value
        if not set(base) <= set(value):
            self.dropped.append(key)
        return tuple(dict.fromkeys((*base, *value)))

    def stricter_rules(
        self, key: str, rules: tuple[Rule, ...] | UnsetType, base: tuple[Rule, ...]
    ) -> tuple[Rule, ...] | UnsetType:
        """Let rules that deny and ask add to the user's."""
        if isinstance(rules, UnsetType):
            return rules
        stricter = tuple(rule for rule in rules if rule.verdict != "allow")
        if len(stricter) < len(rules):
            self.dropped.append(key)
        return tuple(dict.fromkeys((*base, *stricter)))

    def as_strict(self, key: str, mode: T | UnsetType, base: T, order: tuple[T, ...]) -> T | UnsetType:
        """Let a mode pass that is no looser than the user's."""
        if isinstance(mode, UnsetType):
            return mode
        return self.drop(key, mode, if_=order.index(mode) < order.index(base))


def _or(value: T | UnsetType, default: T) -> T:
    return default if isinstance(value, UnsetType) else value


def _provider(sieve: _Sieve, at: str, section: ProviderSection, user: ProviderSettings) -> ProviderSection:
    return ProviderSection(
        enabled=sieve.drop(f"{at}.enabled", section.enabled, if_=section.enabled is True and not user.enabled),
        base_url=sieve.drop(f"{at}.baseUrl", section.base_url),
        api_key=sieve.drop(f"{at}.apiKey", section.api_key),
        api=section.api,
        profile=section.profile,
        timeouts=sieve.drop(f"{at}.timeouts", section.timeouts),
        models=sieve.drop(f"{at}.models", section.models),  # a price of its own could defeat a budget
    )


def _local(sieve: _Sieve, section: LocalSection, user: LocalSettings) -> LocalSection:
    return LocalSection(
        weights=sieve.drop("local.weights", section.weights),
        threads=sieve.drop("local.threads", section.threads),
        probe=sieve.drop("local.probe", section.probe, if_=section.probe is True and not user.probe),
    )


def _approval(sieve: _Sieve, section: ApprovalSection, user: ApprovalPolicy, timeout: float | None) -> ApprovalSection:
    kinds, tools = section.require_for_kinds, section.require_for_tools
    return ApprovalSection(
        require_for_kinds=sieve.in_addition("approval.requireForKinds", kinds, user.require_for_kinds),
        require_for_tools=sieve.in_addition("approval.requireForTools", tools, user.require_for_tools),
        timeout_seconds=sieve.at_most("approval.timeoutSeconds", section.timeout_seconds, timeout),
        rules=sieve.stricter_rules("approval.rules", section.rules, user.rules),
        allow_in_sandbox=sieve.drop(
            "approval.allowInSandbox", section.allow_in_sandbox, if_=section.allow_in_sandbox is True
        ),
    )


def _verify(sieve: _Sieve, section: VerifySection, user: VerifyPolicy) -> VerifySection:
    turned_on = section.auto_verify is True and not user.auto_verify
    relaxed = section.require_clean is False and user.require_clean
    attempts = sieve.at_most("verify.maxAttempts", section.max_attempts, user.max_attempts)
    seconds = sieve.at_most("verify.baselineSeconds", section.baseline_seconds, user.baseline_seconds)
    return VerifySection(
        auto_verify=sieve.drop("verify.autoVerify", section.auto_verify, if_=turned_on),
        commands=sieve.drop("verify.commands", section.commands, if_=section.commands != user.commands),
        require_clean=sieve.drop("verify.requireClean", section.require_clean, if_=relaxed),
        max_attempts=UNSET if attempts is None else attempts,
        baseline=sieve.drop("verify.baseline", section.baseline, if_=section.baseline is True and not user.baseline),
        baseline_seconds=UNSET if seconds is None else seconds,
    )


def _patch_review(sieve: _Sieve, section: PatchReviewSection, user: PatchReviewPolicy) -> PatchReviewSection:
    return PatchReviewSection(
        mode=sieve.as_strict("patchReview.mode", section.mode, user.mode, _REVIEWS),
        # A reviewer that a project chooses could be one that says yes to everything.
        model=sieve.drop("patchReview.model", section.model, if_=section.model != user.model),
    )


def _budget(sieve: _Sieve, section: BudgetSection, user: Config) -> BudgetSection:
    turn, session = _or(section.per_turn, LimitsSection()), _or(section.per_session, LimitsSection())
    return BudgetSection(
        per_turn=_limits(sieve, "budget.perTurn", turn, user.budget_per_turn),
        per_session=_limits(sieve, "budget.perSession", session, user.budget_per_session),
    )


def _limits(sieve: _Sieve, at: str, section: LimitsSection, user: Budget) -> LimitsSection:
    return LimitsSection(
        usd=sieve.at_most(f"{at}.usd", section.usd, user.usd),
        tokens=sieve.at_most(f"{at}.tokens", section.tokens, user.tokens),
        steps=sieve.at_most(f"{at}.steps", section.steps, user.steps),
        seconds=sieve.at_most(f"{at}.seconds", section.seconds, user.seconds),
    )


def _sandbox(sieve: _Sieve, section: SandboxSection, user: SandboxSettings) -> SandboxSection:
    opened = section.network is True and not user.network
    return SandboxSection(
        mode=sieve.as_strict("sandbox.mode", section.mode, user.mode, _SANDBOXES),
        network=sieve.drop("sandbox.network", section.network, if_=opened),
        hosts=sieve.drop("sandbox.hosts", section.hosts, if_=section.hosts not in ((), user.hosts)),
        denied_hosts=sieve.in_addition("sandbox.deniedHosts", section.denied_hosts, user.denied_hosts),
        writable=sieve.drop("sandbox.writable", section.writable, if_=section.writable not in ((), user.writable)),
        memory_mb=sieve.drop("sandbox.memoryMb", section.memory_mb),
        processes=sieve.drop("sandbox.processes", section.processes),
    )


def _checkpoints(sieve: _Sieve, section: CheckpointsSection, user: CheckpointPolicy) -> CheckpointsSection:
    switched = section.enabled is not user.enabled
    return CheckpointsSection(
        enabled=sieve.drop("checkpoints.enabled", section.enabled, if_=switched),
        max_file_bytes=sieve.drop("checkpoints.maxFileBytes", section.max_file_bytes),
        max_total_bytes=sieve.drop("checkpoints.maxTotalBytes", section.max_total_bytes),
    )


def _skills(sieve: _Sieve, section: SkillsSection, user: SkillsSettings) -> SkillsSection:
    tokens = sieve.at_most("skills.maxTokens", section.max_tokens, user.max_tokens)
    return SkillsSection(
        enabled=sieve.drop("skills.enabled", section.enabled, if_=section.enabled is True and not user.enabled),
        max_tokens=UNSET if tokens is None else tokens,
    )


def _titles(sieve: _Sieve, section: TitlesSection, user: TitlePolicy) -> TitlesSection:
    # Asking a model costs the user's money, and tells it what was said.
    return TitlesSection(
        mode=sieve.drop("titles.mode", section.mode, if_=section.mode == "model" != user.mode),
        model=sieve.drop("titles.model", section.model, if_=section.model != user.model),
    )


def _retention(sieve: _Sieve, section: RetentionSection) -> RetentionSection:
    """A repository does not decide what of its user's sessions is removed."""
    return RetentionSection(
        max_age_days=sieve.drop("retention.maxAgeDays", section.max_age_days),
        max_bytes=sieve.drop("retention.maxBytes", section.max_bytes),
        keep_sessions=sieve.drop("retention.keepSessions", section.keep_sessions),
    )


def _compaction(sieve: _Sieve, section: CompactionSection, user: CompactionPolicy) -> CompactionSection:
    """Which model sums up is a choice like any other; what makes more calls of it than the user wants is not."""
    turned_on = section.enabled is True and not user.enabled
    sooner = not isinstance(section.threshold, UnsetType) and section.threshold < user.threshold
    return CompactionSection(
        enabled=sieve.drop("compaction.enabled", section.enabled, if_=turned_on),
        threshold=sieve.drop("compaction.threshold", section.threshold, if_=sooner),
        reserve_tokens=sieve.drop("compaction.reserveTokens", section.reserve_tokens),
        keep_recent_tokens=sieve.drop("compaction.keepRecentTokens", section.keep_recent_tokens),
        model=section.model,
    )


def _context(sieve: _Sieve, section: ContextSettingsSection, user: ContextSettings) -> ContextSettingsSection:
    """Less may be told for a project's sake; more costs its user, and other files are not its to show."""
    files = section.rules_files
    others = not isinstance(files, UnsetType) and not set(files) <= set(user.rules_files)
    return ContextSettingsSection(
        rules_files=sieve.drop("context.rulesFiles", files, if_=others),
        rules_tokens=_tokens(sieve, "rulesTokens", section.rules_tokens, user.rules_tokens),
        notes_tokens=_tokens(sieve, "notesTokens", section.notes_tokens, user.notes_tokens),
        repo_map_tokens=_tokens(sieve, "repoMapTokens", section.repo_map_tokens, user.repo_map_tokens),
        selected_files_tokens=_tokens(
            sieve, "selectedFilesTokens", section.selected_files_tokens, user.selected_files_tokens
        ),
    )


def _tokens(sieve: _Sieve, key: str, value: int | UnsetType, limit: int) -> int | UnsetType:
    return sieve.drop(f"context.{key}", value, if_=not isinstance(value, UnsetType) and value > limit)


def _mcp(sieve: _Sieve, section: McpSection, user: McpSettings) -> McpSection:
    tools = sieve.at_most("mcp.maxTools", section.max_tools, user.max_tools)
    tokens = sieve.at_most("mcp.maxTokens", section.max_tokens, user.max_tokens)
    return McpSection(
        enabled=sieve.drop("mcp.enabled", section.enabled, if_=section.enabled is True and not user.enabled),
        max_tools=UNSET if tools is None else tools,
        max_tokens=UNSET if tokens is None else tokens,
    )


def _telemetry(sieve: _Sieve, section: TelemetrySection) -> TelemetrySection:
    """Whom a daemon tells of its work is not the project's to say."""
    return TelemetrySection(
        endpoint=sieve.drop("telemetry.endpoint", section.endpoint), logs=sieve.drop("telemetry.logs", section.logs)
    )


def _mcp_server(sieve: _Sieve, section: McpServerSection, user: McpServerSettings) -> McpServerSection:
    """It may be switched off, and less be permitted."""
    wanted = section.permissions
    more = not isinstance(wanted, UnsetType) and not set(wanted) <= set(user.permissions)
    return McpServerSection(
        enabled=sieve.drop("mcpServer.enabled", section.enabled, if_=section.enabled is True and not user.enabled),
        permissions=sieve.drop("mcpServer.permissions", wanted, if_=more),
    )


def _workers(sieve: _Sieve, section: WorkersSection, user: WorkerPolicy) -> WorkersSection:
    """Fewer may be asked for; and where changes are kept apart, they stay so."""

    def fewer(key: str, value: int | UnsetType, limit: int) -> int | UnsetType:
        return sieve.drop(f"workers.{key}", value, if_=not isinstance(value, UnsetType) and value > limit)

    return WorkersSection(
        max_depth=fewer("maxDepth", section.max_depth, user.max_depth),
        max_live=fewer("maxLive", section.max_live, user.max_live),
        max_total=fewer("maxTotal", section.max_total, user.max_total),
        isolate=sieve.drop("workers.isolate", section.isolate, if_=section.isolate == "off" != user.isolate),
    )


def _agent(sieve: _Sieve, at: str, section: AgentSection, limit: int) -> AgentSection:
    steps = sieve.at_most(f"{at}.maxSteps", section.max_steps, limit)
    return AgentSection(max_steps=UNSET if steps is None else steps)
