"""What the slash commands do. Each raises AgiError with what went wrong; the interface tells it.

May import: errors, protocol, client, tui.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agi.errors import Invalid
from agi.protocol.commands import Compact, ForkSession, UpdateSession
from agi.tui import reports
from agi.tui.clipboard import copy_to_desktop
from agi.tui.commands import table
from agi.tui.draft_verbs import DraftVerbs
from agi.tui.entries import Said, Thought
from agi.tui.pages import Row, diff_page, live_page, row_page, text_page
from agi.tui.tokens import PALETTES
from agi.tui.undoing import undo

if TYPE_CHECKING:
    from agi.tui.app import AgiApp
    from agi.tui.desk import Desk

SESSIONS = 100


class Verbs:
    """The commands, by name."""

    def __init__(self, app: AgiApp, desk: Desk) -> None:
        self._app = app
        self._desk = desk
        self._drafts = DraftVerbs(app, desk)

    async def run(self, name: str, argument: str) -> None:
        """Do what a command says."""
        if name in ("draft", "undraft"):
            await getattr(self._drafts, name)(argument)
        else:
            await getattr(self, f"do_{name}")(argument)

    async def do_help(self, _: str) -> None:
        """The commands."""
        self._app.push_screen(text_page("Commands", table(), self._app.palette))

    async def do_keys(self, _: str) -> None:
        """The keys."""
        self._app.key_keys()

    async def do_new(self, _: str) -> None:
        """Put the session away; the next message begins another one."""
        await self._desk.leave()
        self._app.hint("The next message begins a session.")

    async def do_sessions(self, _: str) -> None:
        """Choose a session."""
        listed = await self._desk.client.sessions(limit=SESSIONS)
        if not listed:
            self._app.hint("There are no sessions yet.")
            return
        rows = [Row(one.id, one.title or "Untitled", reports.session_note(one)) for one in listed]
        chosen = await self._app.push_screen_wait(row_page("Sessions", rows, self._app.palette))
        if chosen:
            await self._desk.open(chosen)

    async def do_rename(self, title: str) -> None:
        """Give the session a title."""
        if not title:
            raise Invalid("A session is renamed to something.", hint="/rename <title>")
        await self._desk.client.update_session(self._open(), UpdateSession(title=title[:500]))
        self._app.hint("renamed")

    async def do_context(self, _: str) -> None:
        """How full the window is."""
        report = await self._desk.client.context(self._open())
        draft = await self._desk.drafts.status() if self._desk.drafts.active else {}
        usage = self._desk.standing.usage if self._desk.standing else None
        self._desk.percent = report.percent
        text = reports.context_text(report, usage, draft)
        self._app.push_screen(text_page("Context", text, self._app.palette))
        self._app.changed()

    async def do_compact(self, focus: str) -> None:
        """Make the conversation shorter."""
        self._app.hint("compacting …", 30.0)
        done = await self._desk.client.compact(self._open(), Compact(focus=focus[:2000]))
        if done.status == "queued":
            self._app.hint("It is made shorter before the model is asked next.", 6.0)
        else:
            self._app.hint(f"made shorter: {done.pre_tokens:,} → {done.post_tokens:,} tokens", 6.0)

    async def do_agents(self, _: str) -> None:
        """Who works here, as it changes."""
        found = await self._desk.client.sessions(limit=SESSIONS)

        async def look() -> None:
            found[:] = await self._desk.client.sessions(limit=SESSIONS)

        def text() -> str:
            self._app.do(look())
            return reports.agents_text(self._desk.drafts.agents, found)

        self._app.push_screen(live_page("Agents", text, self._app.palette))

    async def do_diff(self, _: str) -> None:
        """What the session changed."""
        found = await self._desk.client.diff(self._open())
        if not found.files:
            self._app.hint("The session changed no files.")
            return
        title = f"Changes: {reports.counted(found.summary)}"
        patch = "".join(file.artifact.patch for file in found.files)
        self._app.push_screen(diff_page(title, patch, self._app.palette, before=reports.diff_notes(found)))

    async def do_undo(self, argument: str) -> None:
        """Take back what the last turn did to files, or a turn that is named."""
        await undo(self._app, self._desk, argument)

    async def do_fork(self, _: str) -> None:
        """Go on in a fork."""
        made = await self._desk.client.fork_session(self._open(), ForkSession())
        await self._desk.open(made.id)
        self._app.tell(f"This is a fork, {made.id}. The session it came from is as it was.")

    async def do_model(self, name: str) -> None:
        """Choose the model of the session, or of the one to come."""
        if not name:
            listed = await self._desk.client.models()
            rows = [Row(f"{one.provider}/{one.id}", one.id, reports.model_note(one)) for one in listed.models]
            if not rows:
                raise Invalid(listed.problem or "No model can be asked for.", hint="`agi setup` chooses who answers.")
            name = await self._app.push_screen_wait(row_page("Models", rows, self._app.palette))
            if not name:
                return
        provider, _, model = name.partition("/") if "/" in name else ("", "", name)
        if self._desk.session_id:
            command = UpdateSession(provider=provider or None, model=model)
            await self._desk.client.update_session(self._desk.session_id, command)
        self._desk.provider, self._desk.model = provider or self._desk.provider, model
        self._app.hint(f"{model} answers from the next message on.")
        self._app.changed()

    async def do_queue(self, _: str) -> None:
        """What waits for its turn."""
        standing = self._desk.standing
        texts = [
            self._desk.conversation.waiting.get(one.message_id, "") + (" (steers)" if one.mode == "steer" else "")
            for one in (standing.queue if standing else [])
        ]
        if not texts:
            self._app.hint("Nothing is queued.")
            return
        text = "\n\n".join(f"{number}. {one}" for number, one in enumerate(texts, 1))
        self._app.push_screen(text_page("Queue", text, self._app.palette))

    async def do_stop(self, _: str) -> None:
        """Stop the turn."""
        if self._desk.standing is None or not self._desk.standing.is_busy:
            self._app.hint("Nothing is running.")
            return
        await self._app.stop()

    async def do_approvals(self, _: str) -> None:
        """Go to the question."""
        self._app.key_answer()

    async def do_cost(self, _: str) -> None:
        """What the session cost."""
        self._open()
        assert self._desk.standing is not None  # noqa: S101
        self._app.tell(reports.cost_text(self._desk.standing.usage))

    async def do_copy(self, argument: str) -> None:
        """Copy an answer."""
        number = int(argument) if argument.isascii() and argument.isdigit() and len(argument) < 6 else 1
        text = self.last_answer(number)
        if not text:
            self._app.hint("There is no answer to copy.")
            return
        self.take_copy(text)

    async def do_theme(self, name: str) -> None:
        """Other colours."""
        if not name:
            rows = [Row(one, one) for one in PALETTES]
            name = await self._app.push_screen_wait(row_page("Theme", rows, self._app.palette))
        if name and name not in PALETTES:
            raise Invalid(f"There is no theme {name[:40]!r}.", hint=f"There are {', '.join(PALETTES)}.")
        if name:
            self._app.dress(PALETTES[name])

    async def do_mouse(self, _: str) -> None:
        """Let the terminal have the mouse, or take it back."""
        self._app.hint("The mouse is the terminal's." if self._app.toggle_mouse() else "The mouse is taken.")

    async def do_exit(self, _: str) -> None:
        """Leave."""
        self._app.key_leave()

    def last_answer(self, number: int = 1) -> str:
        """What the agent said last, or before that."""
        said = (
            entry.text
            for entry in reversed(self._desk.conversation.entries)
            if isinstance(entry, Said) and not isinstance(entry, Thought) and not entry.by_user
        )
        for _ in range(max(number, 1) - 1):
            next(said, "")
        return next(said, "")

    def take_copy(self, text: str) -> None:
        """Copy, and say how."""
        self._app.copy_to_clipboard(text)
        program = copy_to_desktop(text, self._app.env)
        self._app.hint(f"copied {len(text):,} characters by the terminal{f' and {program}' if program else ''}")

    def _open(self) -> str:
        if not self._desk.session_id:
            raise Invalid("No session is open.", hint="Say something, or choose one with /sessions.")
        return self._desk.session_id
