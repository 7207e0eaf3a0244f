"""A plan at the command line: its steps shown in full, and answered by the person, by `--yes`, or by nobody.

To be imported late: few turns begin with one. May import: errors, protocol, client, cli.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from agi.cli.approving import FILE_TOOLS
from agi.cli.display import exact, fit, line
from agi.cli.printing import Printer
from agi.cli.questions import ask_line
from agi.client.base import Client
from agi.errors import AgiError, Conflict, NotFound
from agi.protocol.commands import EditedStep, ResolvePreflight
from agi.protocol.events import PreflightRequested
from agi.protocol.preflight import EstimatedCost, PendingPreflight, PreflightStep

Plan = PreflightRequested | PendingPreflight
CHOICES = "[y]es · [n]o, or n <reason> · s <numbers>: leave these steps out, or take them in again"
LAST_LINE = "Begin with this plan? [y/n/s]: "
LEFT_OUT = "–"


class Plans:
    """Answers the plan of a turn."""

    def __init__(
        self,
        client: Client,
        session_id: str,
        printer: Printer,
        *,
        person: bool,
        yes: bool,
        trusted: bool,
        cancel: Callable[[], None],
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._printer = printer
        self._person = person
        self._yes = yes
        self._trusted = trusted
        self._cancel = cancel
        self._task: asyncio.Task[None] | None = None

    def ask(self, turn_id: str, plan: Plan, *, ours: bool = True) -> None:
        """Show a plan and have it answered; `--yes` answers only for our own turn."""
        if not self._person and not (self._yes and ours):
            self._printer.note(shown(plan))  # it is refused already, since nobody can be asked
            return
        self._task = asyncio.create_task(self._answer(turn_id, plan, ours))
        self._task.add_done_callback(self._ended)

    def hear_answer(self) -> None:
        """It is answered, by us or elsewhere."""
        if self._task is not None and not self._task.done():
            self._task.cancel()

    async def close(self) -> None:
        """Ask nothing more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A fault of ours must not leave a turn waiting for an answer that nobody will give."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._printer.note(f"agi: something went wrong: {type(error).__name__}: {error}")
            self._cancel()

    async def _answer(self, turn_id: str, plan: Plan, ours: bool) -> None:
        if self._yes and ours:
            unseen = () if self._trusted else _not_unseen(plan.steps)
            self._printer.note(shown(plan, unseen))
            await self._send(turn_id, approval(plan, unseen, reason="--yes"))
            return
        self._printer.note(shown(plan))
        command = await self._put(plan)
        if command is None:
            self._cancel()
        else:
            await self._send(turn_id, command)

    async def _put(self, plan: Plan) -> ResolvePreflight | None:
        """Put the question until it is answered; None if the turn is to end."""
        left_out: set[str] = set()
        self._printer.note(CHOICES)
        while True:
            typed = await ask_line(LAST_LINE)
            word, _, rest = ("c" if typed is None else typed).partition(" ")
            match word.lower().rstrip(",:"):
                case "y" | "yes":
                    return approval(plan, left_out)
                case "n" | "no":
                    return ResolvePreflight(approved=False, reason=rest.strip()[:10_000], digest=plan.digest)
                case "c" | "cancel":
                    return None
                case "s" | "skip" if (chosen := _numbered(rest, plan.steps)) is not None:
                    left_out ^= chosen
                    self._printer.note("\n".join(_steps(plan.steps, left_out)))
                case _:
                    what = f"`{fit(exact(typed or ''), 30)}` is no answer" if typed else "An empty line is no answer"
                    self._printer.note(f"{what}. Type y, n, n <reason>, c, or s and the numbers of steps, and Enter.")

    async def _send(self, turn_id: str, command: ResolvePreflight) -> None:
        try:
            await self._client.resolve_preflight(self._session_id, turn_id, command)
        except (Conflict, NotFound):
            pass  # somebody was faster, or the turn is over; the log tells
        except AgiError as error:
            self._printer.note(f"agi: the answer could not be given: {error.message}")


def shown(plan: Plan, left_out: Collection[str] = ()) -> str:
    """The plan for a person: every step with what exactly it is about, what it may cost, and what to know."""
    permissions = ", ".join(plan.required_permissions)
    lines = ["The plan, before anything runs:" if plan.steps else "There is no plan."]
    lines += _steps(plan.steps, left_out)
    lines += [f"Takes: {permissions}"] if permissions else []
    lines.append(f"Costs: {_cost(plan.estimated_cost)}")
    lines += [f"! {line(warning, 500)}" for warning in plan.warnings]
    return "\n".join(lines)


def approval(plan: Plan, left_out: Collection[str], reason: str = "") -> ResolvePreflight:
    """Say yes to the plan, or to what is left of it."""
    edited = None
    if left_out:
        edited = [EditedStep(id=one.id, description=one.description, skip=one.id in left_out) for one in plan.steps]
    return ResolvePreflight(approved=True, edited_steps=edited, reason=reason, digest=plan.digest)


def _steps(steps: Sequence[PreflightStep], left_out: Collection[str]) -> list[str]:
    lines: list[str] = []
    for number, step in enumerate(steps, start=1):
        mark = f"{LEFT_OUT:>3}" if step.id in left_out else f"{number:2}."
        lines.append(f"{mark} {line(step.description, 400)}")
        if step.tool_name:
            asks = "asks" if step.needs_approval else "does not ask"
            call = f"{exact(step.tool_name)} {exact(step.target)}".strip()
            lines.append(f"      {call} (risk: {step.risk}, {asks})")
    return lines


def _cost(cost: EstimatedCost) -> str:
    tokens = f"about {cost.input_tokens:,} tokens in, {cost.output_tokens:,} out"
    if cost.estimated_usd is None or cost.low_usd is None or cost.high_usd is None:
        return f"not known; {tokens}"
    return f"about ${cost.estimated_usd:.4f} (${cost.low_usd:.4f} to ${cost.high_usd:.4f}); {tokens}"


def _numbered(text: str, steps: Sequence[PreflightStep]) -> set[str] | None:
    """The steps of these numbers; None if one of them is none."""
    words = text.replace(",", " ").split()
    if not words or not all(word.isascii() and word.isdigit() and 1 <= int(word[:9]) <= len(steps) for word in words):
        return None
    return {steps[int(word) - 1].id for word in words}


def _not_unseen(steps: Sequence[PreflightStep]) -> set[str]:
    """What `--yes` does not approve without trust: all that is asked about, but for changes of files."""
    return {step.id for step in steps if step.needs_approval and step.tool_name not in FILE_TOOLS}
