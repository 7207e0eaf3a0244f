"""What the commands tell, as text: sessions, models, context, cost, agents. Pure. May import: protocol, client, tui."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agi.client.base import ModelOffer
from agi.protocol.checkpoints import SessionDiff
from agi.protocol.context import ContextReport
from agi.protocol.messages import Usage
from agi.protocol.sessions import Session
from agi.protocol.showing import exact
from agi.tui.bars import ACTIVITIES
from agi.tui.drafts import Agent
from agi.tui.safe import one_line
from agi.tui.times import clock

BAR = 30


def session_note(session: Session) -> str:
    """A session on a line: how it stands, who answers, when it was touched."""
    standing = ACTIVITIES.get(session.activity, session.activity) if session.activity != "idle" else session.status
    return f"{standing} · {session.agent} · {clock(session.updated_at, '%Y-%m-%d %H:%M')} · {session.id[-8:]}"


def model_note(model: ModelOffer) -> str:
    """A model on a line: who has it, how much it takes in, what it costs."""
    told = [model.provider]
    told += [f"{model.context_window:,} tokens"] if model.context_window else []
    price = model.price
    if price is not None and price.input_usd is not None and price.output_usd is not None:
        told.append(f"${price.input_usd:g} in, ${price.output_usd:g} out a million")
    return " · ".join([*told, model.note] if model.note else told)


def context_text(report: ContextReport, usage: Usage | None, draft: Mapping[str, Any]) -> str:
    """How full the window is, of what, and what that cost."""
    window = "?" if report.window is None else f"{report.window:,}"
    percent = "?" if report.percent is None else f"{report.percent:.0f}"
    told = [
        f"{percent}% used  {_bar(report.percent)}",
        f"{report.total_tokens:,} of {window} tokens, {report.reserve:,} kept for the answer",
        f"{report.messages} messages: {report.conversation_tokens:,} tokens",
    ]
    if report.compacted:
        told.append(f"made shorter {report.compacted} {'time' if report.compacted == 1 else 'times'}")
    if usage is not None:
        told.append(cost_text(usage))
    if draft:
        told.append(f"draft: {draft.get('role', '')}, {draft.get('turnCount', 0)} turns")
    rows = [(one.name, one.source, f"{one.tokens:,}", one.why or one.status) for one in report.sections]
    wide = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    told += ["", "What it is made of, in tokens:"]
    told += [
        f"  {name:<{wide[0]}}  {tokens:>{wide[2]}}  {one_line(source, 60)}  {one_line(state, 80)}"
        for name, source, tokens, state in rows
    ]
    return "\n".join(told)


def cost_text(usage: Usage) -> str:
    """Tokens and money."""
    money = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{usage.requests} requests: {usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out, {money}"


def agents_text(agents: Sequence[Agent], sessions: Sequence[Session]) -> str:
    """Who is alive, as a tree: drafts and workers under who started them, then sessions in which a turn runs."""
    known = {one.session_id for one in agents}
    told = []
    for one in agents:
        if one.parent_id not in known:
            told += _tree(one, agents, "")
    busy = [one for one in sessions if one.activity != "idle" and one.id not in known]
    told += [
        f"{ACTIVITIES.get(one.activity, one.activity)}  {one.agent}  {one_line(one.title or one.id, 60)}"
        for one in busy
    ]
    return "\n".join(told) or "Nobody works here now."


def counted(summary: Mapping[str, int]) -> str:
    """Files and lines, such as `2 files, +31 −2`."""
    files = summary.get("files", 0)
    lines = f", +{summary.get('additions', 0)} −{summary.get('deletions', 0)}"
    return f"{files} {'file' if files == 1 else 'files'}{lines}"


def diff_notes(found: SessionDiff) -> str:
    """What a diff does not tell by itself."""
    told = []
    if long := [exact(file.path) for file in found.files if not file.artifact.patch]:
        told.append(f"Not shown, too long or no text: {', '.join(long[:10])}")
    if shared := [exact(file.path) for file in found.files if file.by_others]:
        told.append(f"Changed by others too: {', '.join(shared[:10])}")
    if found.truncated:
        told.append("There is more than is shown.")
    return "\n".join([*told, ""]) if told else ""


def _tree(agent: Agent, agents: Sequence[Agent], indent: str) -> list[str]:
    state = ACTIVITIES.get(agent.status, agent.status)
    task = f"  {one_line(agent.task, 40)}" if agent.task else ""
    told = [f"{indent}{state}  {one_line(agent.role, 40)} ({agent.kind}){task}"]
    for child in agents:
        if child.parent_id == agent.session_id and child.session_id != agent.session_id and len(indent) < 40:
            told += _tree(child, agents, f"{indent}  └ ")
    return told


def _bar(percent: float | None) -> str:
    filled = 0 if percent is None else round(BAR * min(max(percent, 0), 100) / 100)
    return "█" * filled + "░" * (BAR - filled)
