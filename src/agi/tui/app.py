"""The interface: what stands where, and which key does what. What is done is the desk's and the verbs' business.

Everything that happens is gathered and drawn at most fifteen times a second; while nothing happens, nothing is drawn.
May import: errors, protocol, client, tui.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.timer import Timer

from agi.client.base import Client
from agi.config.daemon import DaemonRecord
from agi.errors import AgiError
from agi.protocol.preflight import PendingPreflight
from agi.tui.bars import Status, Title, queued_row, status_line, title_line
from agi.tui.boxes import BoxActions
from agi.tui.commands import is_command, read_command
from agi.tui.completing import files_of
from agi.tui.composer import Composer
from agi.tui.desk import Desk
from agi.tui.greeting import greeting
from agi.tui.pages import Bar
from agi.tui.panel import QuestionPanel, Waiting
from agi.tui.rows import Rows
from agi.tui.safe import one_line
from agi.tui.sending import send
from agi.tui.themes import theme_of
from agi.tui.tokens import PALETTES, Palette
from agi.tui.transcript import Transcript
from agi.tui.verbs import Verbs

FRAME_S = 1 / 15
"""How often the screen is drawn while things happen."""
QUEUE_SHOWN = 3


class AgiApp(BoxActions, App[str], inherit_bindings=False):
    """The whole screen."""

    ENABLE_COMMAND_PALETTE = False
    ALLOW_IN_MAXIMIZED_VIEW = ""
    CSS = "Screen { background: $background; layers: base; } #title { dock: top; }"
    AUTO_FOCUS: ClassVar[str | None] = "Composer"
    TITLE = "agi"

    def __init__(
        self,
        client: Client,
        project: Path,
        *,
        palette: Palette,
        env: Mapping[str, str],
        daemon: Callable[[], DaemonRecord | None] | None = None,
        session_id: str = "",
        agent: str | None = None,
        provider: str | None = None,
        model: str | None = None,
    ) -> None:
        super().__init__(ansi_color=True if palette.native else None)
        self._client = client
        self.env = env
        self.project = project
        self.palette = palette
        self._first = session_id
        self._daemon = daemon
        self._wanted = (agent, provider, model)
        self._greets = not session_id and daemon is None
        """Whether it is known that nothing is gone on with, so that the screen is not greeted and then filled."""
        self._due = False
        self._clock: Timer | None = None
        self._hint = ""
        self._hint_until = 0.0
        self._files: list[str] | None = None
        self._mouse_is_ours = True
        self.asked_before: frozenset[str] = frozenset()
        for one in PALETTES.values():
            self.register_theme(theme_of(one))
        self.theme = f"agi-{palette.name}"

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield Bar(self.palette, id="title")
        yield Transcript(id="transcript")
        yield Rows(id="news")
        yield QuestionPanel(id="panel")
        yield Rows(id="queue")
        yield Rows(id="suggestions", ground="raised")
        yield Composer(id="box")
        yield Bar(self.palette, id="status")

    def on_mount(self) -> None:
        """Begin: a session to go on with, the draft of the project, or nothing yet."""
        agent, provider, model = self._wanted
        self.desk = Desk(
            self._client,
            self.project,
            changed=self.changed,
            daemon=self._daemon,
            agent=agent,
            provider=provider,
            model=model,
        )
        self.verbs = Verbs(self, self.desk)
        self.title_bar = self.query_one("#title", Bar)
        self.status_bar = self.query_one("#status", Bar)
        self.transcript = self.query_one(Transcript)
        self.panel = self.query_one(QuestionPanel)
        self.box = self.query_one(Composer)
        self.box.send, self.box.act, self.box.refuse = self.sent, self.act, self.hint
        self.panel.decided = self.decided
        self.transcript.wants_older = self.wants_older
        self.suggestions = self.query_one("#suggestions", Rows)
        self.dress(self.palette)
        if self._client.notice:
            self.desk.conversation.tell(f"note: {self._client.notice}")
        self.do(self._begin())
        self.draw()

    async def _begin(self) -> None:
        if self._first:
            await self.desk.open(self._first)
        elif self._daemon is not None:
            await self.desk.drafts.heard.wait()
            draft = self.desk.drafts.active
            if draft is not None and not self.desk.session_id:
                await self.desk.open(draft.session_id)
        self._greets = True
        self.changed()
        await self.desk.learn_models()

    # what is drawn

    def changed(self) -> None:
        """Something is different: draw it, together with what else happens meanwhile."""
        if not self._due and self.is_running:
            self._due = True
            self.set_timer(FRAME_S, self._frame)

    def _frame(self) -> None:
        self._due = False
        if self.is_running:
            self.draw()

    def draw(self) -> None:
        """Bring the screen up to date."""
        desk = self.desk
        if desk.standing is not None and desk.standing.reverted:
            desk.standing.reverted = False
            self.do(desk.open(desk.session_id))
        if self.transcript.conversation is not desk.conversation:
            self.transcript.show(desk.conversation)
        self._greet()
        self.transcript.has_older = desk.has_older
        self.transcript.changed()
        self.box.prompts = desk.conversation.prompts
        self._draw_questions()
        self._draw_queue()
        self.draw_news()
        self.draw_bars()
        self._run_clock()

    def _greet(self) -> None:
        """While nothing was said, say where one is and who answers; asked again only where somebody else would."""
        desk = self.desk
        if not self._greets or desk.conversation.entries:
            return
        if desk.answers_otherwise:
            self.do(desk.learn_models())
        agent = desk.standing.session.agent if desk.standing else desk.agent
        self.transcript.greeting = greeting(self._place(), agent, desk.answering)

    def draw_bars(self) -> None:
        """The title and the line under the box."""
        desk = self.desk
        width = self.size.width
        title = Title(
            connected=desk.connected,
            lost_at=desk.lost_at,
            draft=desk.drafts.active,
            agents=len(desk.drafts.agents),
            place=self._place(),
        )
        self.title_bar.put((title_line(title, width), "text" if desk.connected else "bad"))
        hint = self._hint if time.monotonic() < self._hint_until else ""
        working = None if desk.busy_since is None else time.monotonic() - desk.busy_since
        status = Status(
            standing=desk.standing, working_s=working, context=desk.context, model=desk.model or "", hint=hint
        )
        left, right = status_line(status, max(width - 2, 1))
        gap = " " * max(width - 2 - len(left) - len(right), 1)
        waits = desk.standing is not None and desk.standing.waits_for_you
        self.status_bar.put(
            (f" {left}", "accent" if hint else "faint"), (gap, "faint"), (right, "wait" if waits else "muted")
        )

    def draw_news(self) -> None:
        """What came while somebody was reading further up."""
        unseen = self.transcript.unseen
        text = f"{unseen} new ↓ end" if unseen else "↓ end"
        rows = [] if self.transcript.pinned else [[(f"{text:>{max(self.size.width - 1, 1)}}", "accent")]]
        self.query_one("#news", Rows).put(rows)

    def _draw_questions(self) -> None:
        standing = self.desk.standing
        pending: list[Waiting] = list(standing.pending.values()) if standing else []
        pending += [standing.preflight] if standing and standing.preflight else []
        ids = frozenset(one.turn_id if isinstance(one, PendingPreflight) else one.tool_call_id for one in pending)
        had_focus = self.panel.has_focus
        self.panel.show(pending)
        if ids - self.asked_before:
            self.bell()
        self.asked_before = ids
        if had_focus and not pending:
            self.screen.set_focus(self.box)

    def _draw_queue(self) -> None:
        standing = self.desk.standing
        queue = standing.queue if standing else []
        rows = []
        waits = [one for one in queue if one.mode == "queue"]
        for one in queue[:QUEUE_SHOWN]:
            text = one_line(self.desk.conversation.waiting.get(one.message_id, "…"), 200)
            keys = ["ctrl+s steer now"] if one in waits[:1] else []
            keys = ["↑ edit", *keys, "del drop"] if one is queue[-1] else keys
            name = "steers at the next step" if one.mode == "steer" else f"queued {waits.index(one) + 1}"
            rows.append(queued_row(name, text, " · ".join(keys), self.size.width))
        if len(queue) > QUEUE_SHOWN:
            rows.append([(f" ◌ and {len(queue) - QUEUE_SHOWN} more: /queue", "faint")])
        self.query_one("#queue", Rows).put(rows)

    def _run_clock(self) -> None:
        """A second hand, only while something runs."""
        if self.desk.busy_since is not None and self._clock is None:
            self._clock = self.set_interval(1.0, self.draw_bars)
        elif self.desk.busy_since is None and self._clock is not None:
            self._clock.stop()
            self._clock = None

    def _place(self) -> str:
        home = self.env.get("HOME", "")
        text = str(self.project)
        return "~" + text.removeprefix(home) if home and text.startswith(home + "/") else text

    def dress(self, palette: Palette) -> None:
        """Wear other colours."""
        self.palette = palette
        self.theme = f"agi-{palette.name}"
        for bar in self.query(Bar):
            bar.palette = palette
            bar.refresh()
        for rows in self.query(Rows):
            rows.palette = palette
            rows.refresh()
        self.transcript.palette = self.panel.palette = palette
        self.transcript.changed()
        self.panel.redraw()

    def hint(self, text: str, seconds: float = 4.0) -> None:
        """Say something under the box for a moment."""
        self._hint, self._hint_until = text, time.monotonic() + seconds
        self.draw_bars()
        self.set_timer(seconds + 0.05, self.draw_bars)

    def tell(self, text: str, *, bad: bool = False) -> None:
        """Say something in the transcript."""
        self.desk.conversation.tell(text, "bad" if bad else "plain")
        self.changed()

    # what is done

    def do(self, work: Awaitable[object]) -> None:
        """Do it in the background; what goes wrong is told."""
        self.run_worker(self._done(work), exit_on_error=True)

    async def _done(self, work: Awaitable[object]) -> None:
        try:
            await work
        except AgiError as error:
            hint = f"\n  {error.hint}" if error.hint else ""
            self.tell(f"✗ {error.message}{hint}", bad=True)

    def sent(self, text: str, shown: str) -> None:
        """Enter: a command is done, everything else is said."""
        if not text.strip():
            return
        if is_command(shown):
            try:
                command, argument = read_command(shown)
            except AgiError as error:
                self.hint(f"{error.message} {error.hint}", 6.0)
                return
            self.box.clear_box()
            self.do(self.verbs.run(command.name, argument))
            return
        self.box.clear_box()
        self.transcript.to_end()
        self.do(send(self, text, shown))

    def on_text_area_changed(self, event: Composer.Changed) -> None:
        """What is typed may be the beginning of a command or of a file's name."""
        self.complete()

    def wants_older(self) -> None:
        """Earlier messages are fetched before they are scrolled to."""
        self.do(self._older())

    async def _older(self) -> None:
        if await self.desk.older():
            self.changed()

    def on_app_focus(self, event: events.AppFocus) -> None:
        """The click that wakes the window answers nothing."""
        self.panel.focused_window_at = time.monotonic()

    def on_resize(self, event: events.Resize) -> None:
        """Everything breaks elsewhere."""
        if hasattr(self, "desk"):
            self.changed()

    def files(self) -> list[str]:
        """The files of the folder, looked for once a while."""
        if self._files is None:
            self._files = []
            self.run_worker(self._look_for_files, thread=True, exclusive=True, group="files")
        return self._files

    def forget_files(self) -> None:
        """Look anew the next time."""
        self._files = None

    def _look_for_files(self) -> None:
        found = files_of(self.project)
        self.call_from_thread(self._found_files, found)

    def _found_files(self, found: list[str]) -> None:
        self._files = found
        self.complete()

    async def on_unmount(self) -> None:
        """Let go of the session; what runs in a daemon goes on."""
        if hasattr(self, "desk"):  # else it ended before it began
            await self.desk.close()

    def toggle_mouse(self) -> bool:
        """Let the terminal have the mouse, or take it back; tells whether the terminal has it now."""
        self._mouse_is_ours = not self._mouse_is_ours
        name = "_enable_mouse_support" if self._mouse_is_ours else "_disable_mouse_support"
        switch = getattr(self._driver, name, None)
        if switch is not None:
            switch()
        return not self._mouse_is_ours

    @property
    def fault(self) -> Exception | None:
        """What ended the interface, if it was a fault."""
        return self._exception

    def _fatal_error(self) -> None:
        """A fault of ours ends the interface without a page of local values, which may hold anything."""
        self._close_messages_no_wait()
