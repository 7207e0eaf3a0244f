"""A call that waits for a yes, as a person sees it: what would be done, why it is asked, and what can be answered.

Putting the question and sending the answer are `approving`'s business. May import: protocol, cli.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET

from agi.cli.calls import summary, whole
from agi.cli.display import exact, fit
from agi.protocol.commands import Approve
from agi.protocol.events import ApprovalRequested
from agi.protocol.grants import GrantScope

COLUMNS = 80
SHOWN = 60
"""Lines that are shown unasked."""
WIDEST = 400
"""Characters of a line of a diff that are shown unasked."""
_PLAIN, _BOLD, _RED, _GREEN, _CYAN = ("\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m")
_OF_LINES = {"+": _GREEN, "-": _RED, "@": _CYAN}

Answer = Approve | Literal["cancel", "all", "hunks"] | None


def question(asked: ApprovalRequested, *, colors: bool = False, everything: bool = False) -> str:
    """Who asks for what, why it is asked, and the change or the call itself: all of it where it is not too long."""
    risk = _painted(f"risk: {asked.risk}", _BOLD + _RED if colors and asked.risk == "high" else "")
    head = f"? {exact(asked.name)} wants to run ({risk}). {exact(asked.reason)}"
    lines = _lines(asked)
    shown = lines if everything else [bounded(line) if asked.preview else line for line in lines[:SHOWN]]
    more = len(lines) - len(shown)
    if colors and asked.preview:
        shown = coloured(shown)
    end = [f"… {more} more {'line' if more == 1 else 'lines'}"] if more else []
    return "\n".join([head, *(f"    {line}" for line in (*shown, *end))])


def choices(asked: ApprovalRequested) -> str:
    """What can be answered, and exactly what would be remembered of it."""
    scopes = _scopes(asked)
    longer = "".join(f" · [{scope[0]}]{scope[1:]}" for scope in scopes)
    every = " · [v]iew all" if _is_cut(asked) else ""
    offered = f"[y]es, once{longer} · [n]o, or n <reason> · [c]ancel the turn{every}"
    if _is_in_hunks(asked):
        offered += f"\nh: decide about each of the {len(asked.hunks)} hunks"
    if not scopes or asked.remember is UNSET:
        return offered
    letters = " or ".join(scope[0] for scope in scopes)
    return f"{offered}\n{letters}: do not ask again about {exact(asked.remember.text)}"


def allowed(asked: ApprovalRequested, typed: str) -> str:
    """What to say to an answer that is none."""
    letters = [*_yeses(asked), "n", "n <reason>", "c", *("v" if _is_cut(asked) else "")]
    what = f"`{fit(exact(typed), 30)}` is no answer" if typed else "An empty line is no answer"
    return f"{what}. Type {', '.join(letters[:-1])} or {letters[-1]}, and Enter."


def last_line(asked: ApprovalRequested) -> str:
    """The line that is answered: it names the call again, since what is above may have scrolled away."""
    tail = f" [{'/'.join([*_yeses(asked), 'n', 'c'])}]: "
    return fit(summary(asked.name, asked.input), COLUMNS - len(tail)) + tail


def read_answer(typed: str | None, asked: ApprovalRequested) -> Answer:
    """Understand what was typed; the end of the input cancels the turn, anything unclear is no answer."""
    word, _, reason = ("c" if typed is None else typed).partition(" ")
    match word.lower().rstrip(",:"):
        case "y" | "yes":
            return yes(asked)
        case "s" | "session" if "session" in _scopes(asked):
            return yes(asked, "session")
        case "w" | "workspace" if "workspace" in _scopes(asked):
            return yes(asked, "workspace")
        case "n" | "no":
            return no(asked, reason.strip()[:10_000])
        case "c" | "cancel":
            return "cancel"
        case "v" | "view" if _is_cut(asked):
            return "all"
        case "h" | "hunks" if _is_in_hunks(asked):
            return "hunks"
    return None


def yes(
    asked: ApprovalRequested,
    remember: Literal["once", "session", "workspace"] = "once",
    *,
    hunks: tuple[str, ...] | None = None,
    reason: str = "",
) -> Approve:
    """Let this very call run, or make these hunks of its change."""
    call, digest = asked.tool_call_id, asked.digest or None
    return Approve(tool_call_id=call, action="approve", remember=remember, digest=digest, hunks=hunks, reason=reason)


def no(asked: ApprovalRequested, reason: str) -> Approve:
    """Refuse it."""
    return Approve(tool_call_id=asked.tool_call_id, action="deny", reason=reason)


def _yeses(asked: ApprovalRequested) -> list[str]:
    """The letters by which it can run."""
    return ["y", *("h" if _is_in_hunks(asked) else ""), *(scope[0] for scope in _scopes(asked))]


def _is_in_hunks(asked: ApprovalRequested) -> bool:
    return len(asked.hunks) > 1


def _scopes(asked: ApprovalRequested) -> tuple[GrantScope, ...]:
    """For how long the answer can count; what could destroy something is asked about each time."""
    return () if asked.remember is UNSET or asked.risk == "high" else asked.remember.scopes


def _lines(asked: ApprovalRequested) -> list[str]:
    if not asked.preview:
        return whole(asked.input)
    return [exact(line) for line in asked.preview.rstrip("\n").split("\n")]


def _is_cut(asked: ApprovalRequested) -> bool:
    lines = _lines(asked)
    return len(lines) > SHOWN or (bool(asked.preview) and any(len(line) > WIDEST for line in lines))


def bounded(line: str) -> str:
    """A line without the end that would push others off the screen."""
    return line if len(line) <= WIDEST else f"{line[:WIDEST]}… {len(line) - WIDEST} more characters"


def coloured(diff: list[str]) -> list[str]:
    """Colour a diff line by line; only outside of hunks does a line that begins with `+++` or `---` name a file."""
    painted, in_hunk = [], False
    for line in diff:
        in_hunk = line.startswith("@@") or (in_hunk and not line.startswith("diff "))
        colour = _OF_LINES.get(line[:1], "") if in_hunk else _BOLD
        painted.append(_painted(line, colour))
    return painted


def _painted(text: str, colour: str) -> str:
    return f"{colour}{text}{_PLAIN}" if colour else text
