"""What a transcript is made of: things said, thought, called and told, each drawn as some lines.

Values that change while they are live; every change makes a new `version`, by which drawings know that they are old.
How they look is `drawing`'s business. May import: nothing of ours.
"""

from __future__ import annotations

from typing import Literal

CallState = Literal["asked", "waiting", "running", "ok", "failed", "refused", "interrupted"]
Tone = Literal["plain", "good", "bad", "wait"]
LIVE_OUTPUT = 20_000
"""Characters of a call's output that are kept; of more, the beginning and the end."""


class Entry:
    """One piece of the transcript."""

    __slots__ = ("gap", "head", "id", "version")

    def __init__(self, id: str, *, head: str = "") -> None:
        self.id = id
        self.head = head
        """Who speaks and when, where another one begins."""
        self.gap = False
        """Whether a blank line stands before it."""
        self.version = 0

    @property
    def source(self) -> str:
        """What is copied: the text as it came."""
        return ""

    def touch(self) -> None:
        """Take note that it looks different now."""
        self.version += 1


class Said(Entry):
    """Something said, by a person or an agent; markdown."""

    __slots__ = ("by_user", "live", "note", "text")

    def __init__(self, id: str, text: str, *, head: str = "", by_user: bool = False, live: bool = False) -> None:
        super().__init__(id, head=head)
        self.text = text
        self.by_user = by_user
        self.live = live
        """Whether more of it is coming."""
        self.note = ""
        """What is to be known of it, such as that it is queued or was cut off."""

    @property
    def source(self) -> str:
        """What was said."""
        return self.text

    def put(self, delta: str, offset: int) -> None:
        """Add a piece where it belongs; one that came before is not added twice."""
        if offset > len(self.text):
            self.text = f"…\n\n{delta}" if not self.text else self.text + delta
        else:
            self.text = self.text[:offset] + delta
        self.touch()


class Thought(Said):
    """Something the model thought aloud; folded to a line unless all is unfolded."""

    __slots__ = ()


class Aside(Said):
    """Something the harness told the model beside the conversation, such as a map; folded to a line like a thought."""

    __slots__ = ()


class Call(Entry):
    """A tool that was called, with what came of it."""

    __slots__ = ("_cut", "about", "name", "output", "patch", "seconds", "state", "telling")

    def __init__(self, id: str, name: str, about: str, *, head: str = "", state: CallState = "asked") -> None:
        super().__init__(id, head=head)
        self.name = name
        self.about = about
        """What it is about, on one line: a path, a command."""
        self.state: CallState = state
        self.telling = ""
        """Its outcome in a word or two: `212 lines`, `exit 1`."""
        self.output = ""
        self._cut = 0
        self.patch = ""
        """The change it made, as a diff."""
        self.seconds: float | None = None

    @property
    def source(self) -> str:
        """The diff, or the output."""
        return self.patch or self.output or f"{self.name} {self.about}".strip()

    def hear(self, chunk: str) -> None:
        """Take a piece of its output while it runs."""
        self.replace_output(self.output + chunk)

    def replace_output(self, text: str) -> None:
        """Keep an output, the middle of a very long one left out."""
        if len(text) > LIVE_OUTPUT:
            half = LIVE_OUTPUT // 2
            self._cut += len(text) - 2 * half
            text = text[:half].partition("\n… [")[0] + f"\n… [{self._cut:,} characters left out]\n" + text[-half:]
        self.output = text
        self.touch()


class Told(Entry):
    """A word of the interface or the harness itself: an ending, a notice, the answer to a command."""

    __slots__ = ("text", "tone")

    def __init__(self, id: str, text: str, *, tone: Tone = "plain") -> None:
        super().__init__(id)
        self.text = text
        self.tone: Tone = tone

    @property
    def source(self) -> str:
        """What was told."""
        return self.text
