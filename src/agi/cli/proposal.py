"""A call that waits for a yes, as a person sees it: what would be done, why it is asked, and what can be answered.

Putting the question and sending the answer are `approving`'s business. May import: protocol, cli.
"""

from __future__ import annotations

from typing import Literal

from agi.cli.calls import summary, whole
from agi.cli.display import exact, fit
from agi.protocol.commands import Approve
from agi.protocol.events import ApprovalRequested

COLUMNS = 80
SHOWN = 60
"""Lines that are shown unasked."""
WIDEST = 400
"""Characters of a line of a diff that are shown unasked."""
EACH_TIME = frozenset({"destructive", "patch_review", "untrusted_verification"})
"""Rules that ask each time, whatever was granted before."""
_PLAIN, _BOLD, _RED, _GREEN, _CYAN = ("\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m")
_OF_LINES = {"+": _GREEN, "-": _RED, "@": _CYAN}

Answer = Approve | Literal["cancel", "all"] | None


def question(asked: ApprovalRequested, *, colors: bool = False, everything: bool = False) -> str:
    """Who asks for what, why it is asked, and the change or the call itself: all of it where it is not too long."""
    risk = _painted(f"risk: {asked.risk}", _BOLD + _RED if colors and asked.risk == "high" else "")
    head = f"? {exact(asked.name)} wants to run ({risk}). {exact(asked.reason)}"
    lines = _lines(asked)
    shown = lines if everything else [_bounded(line) if asked.preview else line for line in lines[:SHOWN]]
    more = len(lines) - len(shown)
    if colors and asked.preview:
        shown = _coloured(shown)
    end = [f"… {more} more {'line' if more == 1 else 'lines'}"] if more else []
    return "\n".join([head, *(f"    {line}" for line in (*shown, *end))])


def choices(asked: ApprovalRequested) -> str:
    """What can be answered."""
    session = " · [s] for this session" if _can_be_granted(asked) else ""
    every = " · [v]iew all" if _is_cut(asked) else ""
    return f"[y]es, once{session} · [n]o, or n <reason> · [c]ancel the turn{every}"


def allowed(asked: ApprovalRequested, typed: str) -> str:
    """What to say to an answer that is none."""
    letters = ["y", *("s" if _can_be_granted(asked) else ""), "n", "n <reason>", "c", *("v" if _is_cut(asked) else "")]
    what = f"`{fit(exact(typed), 30)}` is no answer" if typed else "An empty line is no answer"
    return f"{what}. Type {', '.join(letters[:-1])} or {letters[-1]}, and Enter."


def last_line(asked: ApprovalRequested) -> str:
    """The line that is answered: it names the call again, since what is above may have scrolled away."""
    letters = "y/s/n/c" if _can_be_granted(asked) else "y/n/c"
    tail = f" [{letters}]: "
    return fit(summary(asked.name, asked.input), COLUMNS - len(tail)) + tail


def read_answer(typed: str | None, asked: ApprovalRequested) -> Answer:
    """Understand what was typed; the end of the input cancels the turn, anything unclear is no answer."""
    word, _, reason = ("c" if typed is None else typed).partition(" ")
    match word.lower().rstrip(",:"):
        case "y" | "yes":
            return Approve(tool_call_id=asked.tool_call_id, action="approve")
        case "s" | "session" if _can_be_granted(asked):
            return Approve(tool_call_id=asked.tool_call_id, action="approve", remember="session")
        case "n" | "no":
            return Approve(tool_call_id=asked.tool_call_id, action="deny", reason=reason.strip()[:10_000])
        case "c" | "cancel":
            return "cancel"
        case "v" | "view" if _is_cut(asked):
            return "all"
    return None


def _can_be_granted(asked: ApprovalRequested) -> bool:
    return asked.rule not in EACH_TIME and asked.risk != "high"


def _lines(asked: ApprovalRequested) -> list[str]:
    if not asked.preview:
        return whole(asked.input)
    return [exact(line) for line in asked.preview.rstrip("\n").split("\n")]


def _is_cut(asked: ApprovalRequested) -> bool:
    lines = _lines(asked)
    return len(lines) > SHOWN or (bool(asked.preview) and any(len(line) > WIDEST for line in lines))


def _bounded(line: str) -> str:
    return line if len(line) <= WIDEST else f"{line[:WIDEST]}… {len(line) - WIDEST} more characters"


def _coloured(diff: list[str]) -> list[str]:
    """Colour a diff line by line; only outside of hunks does a line that begins with `+++` or `---` name a file."""
    painted, in_hunk = [], False
    for line in diff:
        in_hunk = line.startswith("@@") or (in_hunk and not line.startswith("diff "))
        colour = _OF_LINES.get(line[:1], "") if in_hunk else _BOLD
        painted.append(_painted(line, colour))
    return painted


def _painted(text: str, colour: str) -> str:
    return f"{colour}{text}{_PLAIN}" if colour else text
