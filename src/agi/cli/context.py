"""`agi context`: what a session's model is shown, what was left out and why; or what a new session here would be told.

May import: errors, protocol, client, cli.
"""

from __future__ import annotations

import asyncio

import msgspec

from agi.cli import exits
from agi.cli.abbreviations import find_session
from agi.cli.display import Screen, exact, line
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import STDOUT, is_terminal, put, say
from agi.cli.place import has_sessions, place
from agi.client.find import open_client
from agi.errors import NotFound
from agi.protocol.context import ContextReport, ContextSection

_STATUS = {"in": "in", "cut": "cut", "left_out": "left out"}
_CAUSES = {
    "first_turn": "it was made for the first turn",
    "agent_changed": "made anew for another agent",
    "model_changed": "made anew for another model",
    "tools_changed": "made anew when the tools changed",
    "compacted": "made anew after the conversation was made shorter",
}


def context(arguments: Arguments) -> int:
    """Print a table of the sections, or the text of one."""
    words = arguments.only(0, 1)
    if words and arguments.has("--agent"):
        raise usage("context", "A session has its agent; --agent is for a session that is not begun.")
    report = asyncio.run(_report(arguments, words[0] if words else ""))
    wanted = arguments.get("--text")
    if wanted:
        return _text(report, wanted)
    if arguments.has("--json"):
        put(msgspec.json.encode(report).decode() + "\n")
        return exits.OK
    _table(report)
    return exits.OK


async def _report(arguments: Arguments, session: str) -> ContextReport:
    settings = place(arguments)
    text = bool(arguments.get("--text"))
    if not session:
        from agi.client.inprocess import new_context  # late: it brings the whole house

        return await new_context(settings, agent=arguments.get("--agent") or "", text=text)
    if not has_sessions(settings):
        raise NotFound(f"There are no sessions in {settings.project}.", hint="Name the folder with --project.")
    client = await open_client(settings)
    try:
        found = await find_session(client, session)
        return await client.context(found.id, text=text)
    finally:
        await client.close()


def _text(report: ContextReport, name: str) -> int:
    found = [one for one in report.sections if name in (one.name, one.source)]
    if not found:
        names = tuple(dict.fromkeys(one.name for one in report.sections))
        error = NotFound(f"There is no section {name[:80]!r}.", code="section_not_found")
        error.hint = nearest(name, names) + f"Sections: {', '.join(names)}."
        raise error
    show = Screen().show if is_terminal(STDOUT) else str
    texts = dict.fromkeys(one.text for one in found if one.text)
    put(show("\n\n".join(texts) + "\n") if texts else "")
    for one in found:
        if not one.text:
            say(f"{one.name} ({exact(one.source)}) is left out: {line(one.why, 300)}")
    return exits.OK


def _table(report: ContextReport) -> None:
    model = f"{report.provider}/{report.model}" if report.provider else "no model yet"
    what = _CAUSES.get(report.cause, report.cause) if report.recorded else "this is what the next turn would be told"
    put(f"{exact(report.session_id or 'A new session here')}: {exact(report.agent)} on {exact(model)}; {what}.\n\n")
    rows = [("section", "tokens", "of", "", "from")]
    rows += [_row(one) for one in report.sections]
    rows.append(("conversation", f"{report.conversation_tokens:,}", "", "in", f"{report.messages} messages"))
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    for name, tokens, budget, status, source in rows:
        put(f"{name:{widths[0]}}  {tokens:>{widths[1]}}  {budget:>{widths[2]}}  {status:{widths[3]}}  {source}\n")
    put(f"\n{_total(report)}\n")


def _row(one: ContextSection) -> tuple[str, str, str, str, str]:
    why = f" ({line(one.why, 200)})" if one.why else ""
    told = " (told in the conversation)" if one.place == "conversation" and not why else ""
    budget = f"{one.budget:,}" if one.budget is not None else ""
    return one.name, f"{one.tokens:,}", budget, _STATUS[one.status], f"{exact(one.source)}{why}{told}"


def _total(report: ContextReport) -> str:
    told = f"About {report.total_tokens:,} tokens in all"
    if report.window is None:
        return f"{told}; how much the model takes is not known."
    free = f"{report.reserve:,} kept free for the answer"
    used = f"{told}, {report.percent}% of a window of {report.window:,} ({report.window_source}) with {free}"
    return f"{used}; {report.withheld} parts withheld." if report.withheld else f"{used}."
