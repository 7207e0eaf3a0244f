"""Judging a session's calls again by another policy: what would have been allowed, asked about or denied.

Each call is judged as it stood then, with what people had granted by then; the folder, its trust and its sandbox are
those of today. A fork carries calls over without what was decided about them. Nothing is run.
May import: errors, config, protocol, eventlog, policy, views, sessions, replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from agi.config.grants import read_grants
from agi.config.load import approval_of
from agi.errors import AgiError, Invalid
from agi.policy.approval import Decision, judge
from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.parts import ToolCallPart
from agi.protocol.policies import ApprovalPolicy
from agi.protocol.rejudging import Now, PolicyReplay, Rejudged, Then
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind
from agi.replay.cassette import read_regular
from agi.replay.damage import refuse_unreadable
from agi.sessions.ground import ground_for, ground_of
from agi.sessions.runner import with_team
from agi.sessions.sites import Site
from agi.tools.base import Registry
from agi.tools.builtin import builtin_tools
from agi.views.folding import fold
from agi.views.state import SessionState

SHOWN = 300
MOST_POLICY = 1024 * 1024
_KINDS = frozenset(ToolKind)
_UNDECIDED = ("not_reached", "not_known")
_STRICT: dict[str, int] = {"allow": 0, "allowed": 0, "ask": 1, "asked": 1, "deny": 2, "denied": 2}


def read_policy(path: Path) -> ApprovalPolicy:
    """A policy from a file: a settings file, or only what stands under `approval`; raises Invalid or ConfigError."""
    text = read_regular(path, MOST_POLICY)
    if isinstance(text, str):
        raise Invalid(text, hint="Give a settings file, or its `approval` alone.")
    return approval_of(text, str(path))


def rejudge(
    events: Sequence[Event],
    site: Site,
    *,
    policy: ApprovalPolicy | None = None,
    source: str = "",
    tools: Sequence[ToolDefinition] = (),
) -> PolicyReplay:
    """Judge every call of a session; `tools` are those it had beside the built-in ones. Raises Invalid on damage."""
    for event in events:
        refuse_unreadable(event)
    known = {one.name: one for one in tools} | {one.name: one for one in Registry(builtin_tools()).definitions()}
    names = {name: one for one in known.values() for name in (one.name, *one.aliases)}
    judging = _Judging(site, policy or site.config.approval, names, _kinds(events))
    calls = tuple(judging.all(events))
    by_then = [(_STRICT[one.now] - _STRICT[one.then]) for one in calls if one.differs]
    return PolicyReplay(
        session_id=events[0].session_id,
        policy=source or "the settings of today",
        calls=calls,
        differs=len(by_then),
        looser=sum(step < 0 for step in by_then),
        stricter=sum(step > 0 for step in by_then),
    )


Outcome = tuple[Then, str, str]
"""How a call was decided, the answer if it was asked about, and the rule that asked."""


class _Judging:
    def __init__(
        self, site: Site, policy: ApprovalPolicy, tools: dict[str, ToolDefinition], kinds: dict[str, str]
    ) -> None:
        self._site = site
        self._policy = policy
        self._tools = tools
        self._kinds = kinds
        self._lasting = read_grants(site.home_config, site.workspace.root) if site.trusted else []

    def all(self, events: Sequence[Event]) -> Iterator[Rejudged]:
        """Every call in the order in which it was made."""
        carried = next((one.seq for one in events if one.type == ev.SessionForked.TYPE), 0)
        became = _outcomes(events[carried:])
        state: SessionState | None = None
        for event in events:
            state = fold(state, event)
            data = event.data
            if not isinstance(data, ev.ModelOutputCompleted) or state is None or data.message.status != "complete":
                continue
            for part in data.message.parts:
                if isinstance(part, ToolCallPart):
                    call = ToolCall(part.content.id, part.content.name, part.content.args)
                    there: Outcome = ("not_known" if event.seq < carried else "not_reached", "", "")
                    outcome = became.get(call.id, there)
                    yield self._one(event, call, data.message.agent or state.agent, state, outcome)

    def _one(self, event: Event, call: ToolCall, agent: str, state: SessionState, outcome: Outcome) -> Rejudged:
        then, answer, rule = outcome
        decision = self._decide(call, agent, state)
        now: Now = decision.verdict
        return Rejudged(
            seq=event.seq,
            turn_id=event.turn_id or "",
            tool_call_id=call.id,
            name=call.name,
            input=bytes(call.input).decode(errors="replace")[:SHOWN],
            agent=agent,
            then=then,
            answer=answer,
            then_rule=rule,
            now=now,
            rule=decision.rule,
            reason=decision.reason,
            risk=decision.risk,
            by=decision.by,
            differs=then not in _UNDECIDED and _STRICT[then] != _STRICT[now],
        )

    def _decide(self, call: ToolCall, agent: str, state: SessionState) -> Decision:
        definition = self._tools.get(call.name)
        if definition is None and call.name in self._kinds:
            kind = ToolKind(self._kinds[call.name])
            definition = ToolDefinition(name=call.name, description="", input_schema={}, kind=kind)
        if definition is None:
            return Decision(verdict="deny", rule="unknown_tool", reason=f"There is no tool {call.name!r}.", risk="low")
        ground = ground_of(self._site)
        if definition.kind is ToolKind.EXEC:
            if reason := self._site.no_commands():
                return Decision(verdict="deny", rule="sandbox_required", reason=reason, risk="high")
            ground = ground_for(ground, definition, self._site.cell())
        try:
            allowed = with_team(self._site.agents.find(agent), state).tools
        except AgiError:
            allowed = None  # the agent is gone; its tools are no longer known
        granted = (*state.grants, *self._lasting)
        return judge(self._policy, definition, call, allowed_tools=allowed, granted=granted, ground=ground)


def _kinds(events: Sequence[Event]) -> dict[str, str]:
    """The kinds of tools as far as the log tells: where one ran, or was asked about for its kind."""
    kinds: dict[str, str] = {}
    for event in events:
        data = event.data
        if isinstance(data, ev.ApprovalRequested) and data.rule.partition(":")[0] == "kind":
            kinds.setdefault(data.name, data.rule.partition(":")[2])
        elif isinstance(data, ev.ToolCallStarted):
            kinds[data.tool_call.name] = data.kind
    return {name: kind for name, kind in kinds.items() if kind in _KINDS}


def _outcomes(events: Sequence[Event]) -> dict[str, Outcome]:
    """What became of each call."""
    found: dict[str, Outcome] = {}
    for event in events:
        data = event.data
        if isinstance(data, ev.ApprovalRequested):
            found[data.tool_call_id] = ("asked", "", data.rule)
        elif isinstance(data, ev.ApprovalGranted | ev.ApprovalDenied) and data.tool_call_id in found:
            answer = "granted" if isinstance(data, ev.ApprovalGranted) else data.cause
            found[data.tool_call_id] = ("asked", answer, found[data.tool_call_id][2])
        elif isinstance(data, ev.ToolCallStarted):
            found.setdefault(data.tool_call.id, ("allowed", "", ""))
        elif isinstance(data, ev.ToolCallCompleted) and data.blocked and not _was_canceled(data):
            found.setdefault(data.tool_call_id, ("denied", "", ""))
    return found


def _was_canceled(data: ev.ToolCallCompleted) -> bool:
    from agi.sessions.closing import NOT_RUN

    return data.tool_result.error == NOT_RUN
