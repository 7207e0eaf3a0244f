"""Who answers the agent's questions: the person at the terminal, `--yes`, or nobody.

The harness decides what must be asked; this only finds an answer. May import: errors, protocol, client, cli.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from agi.cli.calls import summary
from agi.cli.printing import Printer
from agi.cli.questions import ask_line
from agi.client.base import Client
from agi.errors import AgiError, Conflict, NotFound
from agi.protocol.commands import Approve
from agi.protocol.events import ApprovalDenied, ApprovalGranted, ApprovalRequested

FILE_TOOLS = frozenset({"write_file", "apply_patch", "edit"})
FILE_RULES = frozenset({"kind:write", "patch_review"})
NOT_TRUSTED = "The workspace is not trusted, so commands are not approved unseen; --trust would allow it."


class _AnsweredElsewhere(Exception):
    """Someone else was faster, or the turn is over."""


class Approver:
    """Answers the questions of one turn, one after the other, in the order they are asked."""

    def __init__(
        self,
        client: Client,
        session_id: str,
        printer: Printer,
        *,
        person: bool,
        yes: bool,
        trusted: bool,
        colors: bool,
        cancel: Callable[[], None],
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._printer = printer
        self.person = person
        """Whether someone can be asked."""
        self._yes = yes
        self._trusted = trusted
        self._colors = colors
        self._cancel = cancel
        self._open: dict[str, tuple[ApprovalRequested, bool]] = {}
        self._worker: asyncio.Task[None] | None = None
        self._question: asyncio.Task[str | None] | None = None
        self._asked = ""
        self._why_closed = ""
        self.refused: list[str] = []
        """The calls that were refused because nobody could be asked."""

    @property
    def asks(self) -> bool:
        """Whether questions are answered here, by a person or by `--yes`."""
        return self.person or self._yes

    def ask(self, asked: ApprovalRequested, *, ours: bool = True) -> None:
        """Have a question answered when its turn comes; `--yes` answers only for our own turn."""
        self._open[asked.tool_call_id] = (asked, ours)
        if self.asks and (self._worker is None or self._worker.done()):
            self._worker = asyncio.create_task(self._answer_all())
            self._worker.add_done_callback(self._ended)

    def hear_answer(self, answer: ApprovalGranted | ApprovalDenied) -> None:
        """Take notice of an answer, ours or another's."""
        asked, ours = self._open.pop(answer.tool_call_id, (None, False))
        if asked is not None and ours and isinstance(answer, ApprovalDenied) and answer.cause == "policy":
            self.refused.append(summary(asked.name, asked.input))
        if answer.tool_call_id == self._asked and self._question is not None:
            is_over = isinstance(answer, ApprovalDenied) and answer.cause == "canceled"
            self._why_closed = "" if is_over else "Answered elsewhere."
            self._question.cancel()

    async def close(self) -> None:
        """Ask nothing more."""
        for task in (self._question, self._worker):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def _ended(self, worker: asyncio.Task[None]) -> None:
        """A fault of ours must not leave a turn waiting for an answer that nobody will give."""
        if not worker.cancelled() and (error := worker.exception()) is not None:
            self._printer.note(f"agi: something went wrong: {type(error).__name__}: {error}")
            self._cancel()

    async def _answer_all(self) -> None:
        while self._open:
            self._asked, (asked, ours) = next(iter(self._open.items()))
            answer = await self._decide(asked, ours)
            self._open.pop(self._asked, None)
            if answer is not None:
                await self._send(answer)

    async def _decide(self, asked: ApprovalRequested, ours: bool) -> Approve | None:
        if ours and self._yes and (self._trusted or _only_writes(asked)):
            digest = asked.digest or None
            return Approve(tool_call_id=asked.tool_call_id, action="approve", reason="--yes", digest=digest)
        if self.person:
            return await self._put(asked)
        self.refused.append(summary(asked.name, asked.input))
        return Approve(tool_call_id=asked.tool_call_id, action="deny", cause="policy", reason=NOT_TRUSTED)

    async def _put(self, asked: ApprovalRequested) -> Approve | None:
        """Put the question until it is answered; None if it was answered elsewhere, or the turn is to end."""
        from agi.cli.proposal import allowed, choices, last_line, question, read_answer  # late: only a person is asked

        self._printer.note(f"{question(asked, colors=self._colors)}\n{choices(asked)}")
        while True:
            try:
                typed = await self._typed(asked, last_line(asked))
                answer = read_answer(typed, asked)
                if answer == "hunks":
                    answer = await self._choose(asked)
            except _AnsweredElsewhere:
                return None
            match answer:
                case "cancel":
                    self._cancel()
                    return None
                case "all":
                    self._printer.note(question(asked, colors=self._colors, everything=True))
                case Approve():
                    return answer
                case _:
                    self._printer.note(allowed(asked, typed or ""))

    async def _choose(self, asked: ApprovalRequested) -> Approve | Literal["cancel"]:
        """Put the question hunk by hunk."""
        from agi.cli.hunks import HELP, HunkChoice  # late: seldom asked for

        choice = HunkChoice(asked)
        while not choice.is_over:
            self._printer.note(choice.shown(colors=self._colors))
            while (taken := choice.take(await self._typed(asked, choice.last_line()))) == "help":
                self._printer.note(HELP)
            if taken == "cancel":
                return "cancel"
        return choice.answer()

    async def _typed(self, asked: ApprovalRequested, prompt: str) -> str | None:
        """A line from the person; raises _AnsweredElsewhere if it is no longer needed."""
        self._question = asyncio.create_task(ask_line(prompt))
        try:
            return await self._question
        except asyncio.CancelledError:
            if asked.tool_call_id in self._open:
                raise  # everything ends
            if self._why_closed:
                self._printer.note(self._why_closed)
            raise _AnsweredElsewhere from None

    async def _send(self, answer: Approve) -> None:
        try:
            await self._client.approve(self._session_id, replace(answer, client="cli"))
        except (Conflict, NotFound):
            pass  # somebody was faster, or the turn is over; the log tells
        except AgiError as error:
            self._printer.note(f"agi: the answer could not be given: {error.message}")


def _only_writes(asked: ApprovalRequested) -> bool:
    """Tell whether a call can only change files of the workspace; what is not known to be so counts as a command."""
    return asked.name in FILE_TOOLS or asked.rule in FILE_RULES
