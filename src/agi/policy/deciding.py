"""How a call is decided that is not simply free: its command read, the rules about it laid over each other.

Deny beats ask beats allow; a rule about a risk beats one about a habit. Brings the reader of commands with it, so it is
imported when the first such call comes. May import: protocol, policy.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agi.policy.approval import Decision, digest_of
from agi.policy.ground import Ground
from agi.policy.remembering import worth_remembering
from agi.policy.risk import risk_of
from agi.policy.rules import about, allowing, allows_file, in_words, speaks_of
from agi.policy.subjects import Subject, subject_of
from agi.policy.touching import about_files
from agi.protocol.grants import Grant
from agi.protocol.policies import ApprovalPolicy, Rule
from agi.protocol.sessions import Risk
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind


def decide(
    policy: ApprovalPolicy,
    definition: ToolDefinition,
    call: ToolCall,
    *,
    asks: tuple[str, str],
    granted: Sequence[Grant],
    ground: Ground,
) -> Decision:
    """Decide a call of a tool that the agent has; `asks` is why its kind or name is asked about, if it is."""
    subject = subject_of(definition, call, ground)
    risk = risk_of(subject)
    strict = about(policy.rules, definition) + (about_files(policy.rules) if subject.seen is not None else [])
    decision = _by_strict_rule(strict, subject, risk)
    if decision is None and not asks[0]:
        return Decision(verdict="allow", rule="not_required", reason="No rule asks for approval.", risk=risk)
    decision = (
        decision
        or _by_allowing_rule(policy, subject, risk, granted)
        or _in_sandbox(policy, subject, risk, ground)
        or _asking(subject, risk, *asks)
    )
    if decision.verdict != "ask":
        return decision
    forgets = decision.rule in ("rule:ask", "rule:deny")  # such a rule would beat what was remembered
    remember = None if forgets else worth_remembering(subject, ground, risk)
    return msgspec.structs.replace(decision, digest=digest_of(definition, call, ground), remember=remember)


def _by_strict_rule(rules: Sequence[Rule], subject: Subject, risk: Risk) -> Decision | None:
    """A rule that denies, one that could, or one that asks; in this order."""
    denying = [(rule, speaks_of(rule, subject)) for rule in rules if rule.verdict == "deny"]
    for rule, found in denying:
        if found == "yes":
            reason = f"A rule denies {in_words(rule)}."
            return Decision(verdict="deny", rule="rule:deny", reason=reason, risk=risk, by=(rule,))
    for rule, found in denying:
        if found == "maybe":
            reason = f"It cannot be told whether this is what a rule denies: {in_words(rule)}."
            return Decision(verdict="ask", rule="rule:deny", reason=reason, risk=risk, by=(rule,))
    for rule in rules:
        if rule.verdict == "ask" and speaks_of(rule, subject) != "no":
            reason = f"A rule asks about {in_words(rule)}."
            return Decision(verdict="ask", rule="rule:ask", reason=reason, risk=risk, by=(rule,))
    return None


def _by_allowing_rule(
    policy: ApprovalPolicy, subject: Subject, risk: Risk, granted: Sequence[Grant]
) -> Decision | None:
    """Rules of a file and of earlier answers; what destroys is allowed only by a file, and only to the letter."""
    written = [rule for rule in policy.rules if rule.verdict == "allow"]
    everything = [*written, *(grant.rule for grant in granted)]
    free = ToolKind.WRITE not in policy.require_for_kinds
    mine = [rule for rule in about(everything, subject.definition) if risk != "high" or _is_spelled(rule, written)]
    if subject.unclear:
        return None
    used = allowing(mine, subject, may_write=lambda path: free or allows_file(everything, path))
    if not used:
        return None
    origin, where = "rule:allow", "by a rule"
    for grant in granted:
        if grant.rule in used and grant.rule not in written:
            origin, where = f"{grant.scope}_grant", f"for this {grant.scope}"
    told = " and ".join(in_words(rule) for rule in used)
    return Decision(verdict="allow", rule=origin, reason=f"Allowed {where}: {told}.", risk=risk, by=used)


def _is_spelled(rule: Rule, written: Sequence[Rule]) -> bool:
    return rule.exactly is not None and rule in written


def _in_sandbox(policy: ApprovalPolicy, subject: Subject, risk: Risk, ground: Ground) -> Decision | None:
    held = bool(ground.boundary) and not ground.network and subject.definition.kind is ToolKind.EXEC
    if not policy.allow_in_sandbox or not held or risk == "high" or subject.text is None:
        return None
    reason = f"It runs in a sandbox without network ({ground.boundary}), and approval.allowInSandbox is set."
    return Decision(verdict="allow", rule="in_sandbox", reason=reason, risk=risk)


def _asking(subject: Subject, risk: Risk, rule: str, reason: str) -> Decision:
    """Why a person is asked; each time, if it could destroy something or cannot be read."""
    if subject.seen is not None and subject.seen.unreadable:
        why = (
            f"It cannot be told for certain what this runs ({subject.seen.unreadable}), so it is asked about each time."
        )
        return Decision(verdict="ask", rule="unparsed", reason=why, risk=risk)
    if risk == "high":
        why = "It could destroy something that cannot be brought back, so it is asked about each time."
        return Decision(verdict="ask", rule="destructive", reason=why, risk=risk)
    return Decision(verdict="ask", rule=rule, reason=reason, risk=risk)
