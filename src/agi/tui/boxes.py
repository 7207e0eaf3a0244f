"""What the keys of the box and the panel do: the part of the interface that answers keys. May import: errors, tui."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, cast

from agi.tui.completing import SHOWN, Completion, completions
from agi.tui.keys import table as key_table
from agi.tui.pages import diff_page, text_page
from agi.tui.plans import PlanQuestion
from agi.tui.questions import Outcome
from agi.tui.sending import STEERS, send

if TYPE_CHECKING:
    from agi.tui.app import AgiApp

STOP_S = 1.0
"""How soon the second Esc must follow the first to stop a turn."""
LEAVE_S = 2.0
"""The same for leaving."""


class BoxActions:
    """Mixed into the interface; `me` is the whole of it."""

    _stopping_since = -10.0
    _leaving_since = -10.0
    _offered: tuple[Completion, ...] = ()
    _marked = 0

    @property
    def me(self) -> AgiApp:
        """The interface."""
        return cast("AgiApp", self)

    def act(self, name: str) -> None:
        """Do what a key that is not for the text is for."""
        getattr(self, f"key_{name}")()

    def key_escape(self) -> None:
        """Close what is open; twice stops the turn."""
        if self._offered:
            self._offer(())
        elif self.me.screen.selections:
            self.me.screen.clear_selection()
        elif self.me.desk.standing is not None and self.me.desk.standing.is_busy:
            now = time.monotonic()
            if now - self._stopping_since <= STOP_S:
                self._stopping_since = -10.0
                self.me.do(self.stop())
            else:
                self._stopping_since = now
                self.me.hint("esc again to stop", STOP_S)

    def key_break(self) -> None:
        """Ctrl-C: copy, clear, stop or leave, in this order."""
        marked = self.me.screen.get_selected_text() or self.me.box.selected_text
        if marked:
            self.me.verbs.take_copy(marked)
        elif not self.me.box.is_empty:
            self.me.box.clear_box()
            self.me.hint("cleared; ctrl+z brings it back")
        elif self.me.desk.standing is not None and self.me.desk.standing.is_busy:
            self.me.do(self.stop())
        elif time.monotonic() - self._leaving_since <= LEAVE_S:
            self.key_leave()
        else:
            self._leaving_since = time.monotonic()
            self.me.hint("ctrl+c again to leave", LEAVE_S)

    async def stop(self) -> None:
        """Stop the turn; what was queued comes back to the box."""
        queued = await self.me.desk.stop()
        if queued:
            kept = [*queued, self.me.box.whole] if not self.me.box.is_empty else queued
            self.me.box.put("\n\n".join(kept))
            self.me.hint("stopped; what was queued is back in the box", 6.0)
        else:
            self.me.hint("stopped")

    def key_steer(self) -> None:
        """Ctrl-S: the running turn is told at its next step: what is in the box, or what waits longest."""
        standing = self.me.desk.standing
        if standing is None or not standing.is_busy:
            self.me.hint("nothing is running; enter sends")
        elif self.me.box.whole.strip():
            text, shown = self.me.box.whole, self.me.box.text
            self.me.box.clear_box()
            self.me.do(send(self.me, text, shown, "steer"))
        else:
            self.me.do(self._promote())

    async def _promote(self) -> None:
        text = await self.me.desk.steer()
        self.me.hint(STEERS if text else "nothing waits that could steer")

    def key_drop(self) -> None:
        """Delete in an empty box: drop the last queued message."""
        self.me.do(self._drop())

    async def _drop(self) -> None:
        text = await self.me.desk.unqueue()
        if text:
            self.me.desk.conversation.prompts.append(text)
            self.me.hint("dropped from the queue; up brings it back")

    def key_unqueue(self) -> None:
        """Up in an empty box: take the last queued message back, else look at earlier prompts."""
        self.me.do(self._unqueue())

    async def _unqueue(self) -> None:
        text = await self.me.desk.unqueue()
        if text:
            self.me.box.put(text)
            self.me.hint("taken back from the queue")
        else:
            self.me.box.recall(-1)

    def key_answer(self) -> None:
        """Ctrl-Y: go to the question that waits."""
        if self.me.panel.question is None:
            self.me.hint("nothing waits for you")
        else:
            self.me.screen.set_focus(self.me.panel)

    def decided(self, outcome: Outcome) -> None:
        """Something was decided at the panel, or typed there: the box has the focus again, before the next key."""
        if outcome.kind == "view":
            self.me.do(self._view())
            return
        self.me.screen.set_focus(self.me.box)
        question = self.me.panel.question
        if outcome.kind == "answer" and outcome.answer is not None:
            self.me.do(self.me.desk.answer(outcome.answer))
        elif outcome.plan is not None and isinstance(question, PlanQuestion):
            self.me.do(self.me.desk.answer_plan(question.asked.turn_id, outcome.plan))
        elif outcome.kind == "typed":
            self.me.box.type(outcome.text)

    async def _view(self) -> None:
        question = self.me.panel.question
        if question is None:
            return
        title = f"◆ {question.title}: all of it"
        text = "\n".join(question.lines)
        page = diff_page if question.is_diff else text_page
        made = page(title, text, self.me.palette)
        await self.me.push_screen_wait(made)
        question.was_viewed = question.was_viewed or made.saw_end
        self.me.panel.redraw()

    def key_fold(self) -> None:
        """Ctrl-O: fold or unfold."""
        self.me.transcript.unfolded = not self.me.transcript.unfolded
        self.me.transcript.changed()

    def key_palette(self) -> None:
        """Ctrl-P: the commands."""
        self.me.box.put("/")

    def key_keys(self) -> None:
        """The keys, on a page."""
        self.me.push_screen(text_page("Keys", key_table(), self.me.palette))

    def key_redraw(self) -> None:
        """Draw everything anew."""
        self.me.refresh(repaint=True, layout=True)

    def key_page_up(self) -> None:
        """Scroll."""
        self.me.transcript.page(-1)
        self.me.draw_news()

    def key_page_down(self) -> None:
        """Scroll."""
        self.me.transcript.page(1)
        self.me.draw_news()

    def key_to_start(self) -> None:
        """To the first line that is loaded."""
        self.me.transcript.to_start()
        self.me.draw_news()

    def key_to_end(self) -> None:
        """To the end, and follow it."""
        self.me.transcript.to_end()
        self.me.draw_news()

    def key_suspend(self) -> None:
        """Back to the shell for a while."""
        self.me.action_suspend_process()

    def key_leave(self) -> None:
        """Leave."""
        self.me.exit(self.me.verbs.last_answer())

    def key_editor(self) -> None:
        """The box in the user's editor."""
        command = shlex.split(self.me.env.get("VISUAL") or self.me.env.get("EDITOR") or "")
        if not command:
            self.me.hint("Neither VISUAL nor EDITOR is set.")
            return
        with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8", delete=False) as file:
            file.write(self.me.box.whole)
        try:
            with self.me.suspend():
                subprocess.run([*command, file.name], check=False)  # noqa: S603  # the user's own editor
            with open(file.name, encoding="utf-8", errors="replace") as edited:
                self.me.box.put(edited.read().rstrip("\n"))
        except OSError as error:
            self.me.hint(f"{command[0]} could not be started: {error.strerror}.")
        finally:
            os.unlink(file.name)

    # completion

    def complete(self) -> None:
        """Offer what could be meant by what stands before the cursor."""
        row, column = self.me.box.cursor_location
        line = self.me.box.document.get_line(row)[:column]
        if "@" not in line and not line.startswith("/"):
            self._offer(())
            return
        files = self.me.files() if "@" in line else []
        self._offer(tuple(completions(line, files, first=row == 0)))

    def _offer(self, offered: tuple[Completion, ...]) -> None:
        if offered != self._offered:
            self._marked = 0
        self._offered = offered
        self.me.box.is_completing = bool(offered)
        first = max(0, self._marked - SHOWN + 1)
        seen = offered[first : first + SHOWN]
        width = max((len(one.shown) for one in seen), default=0)
        rows = [[(f" {one.shown:<{width}}", "text"), (f"  {one.note}", "muted")] for one in seen]
        self.me.suggestions.put(rows, self._marked - first if offered else None)

    def key_earlier(self) -> None:
        """Mark the completion above."""
        self._mark(-1)

    def key_later(self) -> None:
        """Mark the completion below."""
        self._mark(1)

    def _mark(self, step: int) -> None:
        self._marked = (self._marked + step) % max(len(self._offered), 1)
        self._offer(self._offered)

    def key_take(self) -> None:
        """Put the marked completion in the place of what was typed."""
        self.complete()  # the last key may not have been looked at yet
        if self._offered:
            one = self._offered[self._marked]
            row, column = self.me.box.cursor_location
            self.me.box.replace(one.text, (row, one.start), (row, column))
            self._offer(())
