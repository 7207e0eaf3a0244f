"""The daemon's end of the line to the holder of a command; what is said on it stands in `saying.py`.

While it is open, a holder knows that someone is there. May import: nothing of ours.
"""

from __future__ import annotations

import asyncio
import select
import socket
from contextlib import suppress

_LONGEST = 64
_LONGEST_ANSWER = 200


class Line:
    """The daemon's end, and at first the other one, which is handed on."""

    def __init__(self) -> None:
        self._ours, self.theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._said = b""

    def is_answered(self, seconds: float) -> bool:
        """Wait for the helper's answer to the order that the line went with, or for its end; False if time was up."""
        poll = select.poll()
        poll.register(self._ours, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    async def is_answered_meanwhile(self, seconds: float) -> bool:
        """The same, and others go on."""
        loop = asyncio.get_running_loop()
        answered = loop.create_future()
        loop.add_reader(self._ours, _note, answered)
        try:
            done, _ = await asyncio.wait({answered}, timeout=seconds)
            return bool(done)
        finally:
            loop.remove_reader(self._ours)

    def answer(self) -> bytes:
        """What the helper has said; nothing if it is gone, or has not answered. The holder says nothing before."""
        try:
            return self._ours.recv(_LONGEST_ANSWER)
        except OSError:
            return b""

    def say(self, word: bytes) -> None:
        """Tell the holder something; one that is gone hears nothing."""
        with suppress(OSError):
            self._ours.send(word)

    def hear(self) -> bytes:
        """All that it has said so far; what goes on after more than a holder has to say is not listened to."""
        with suppress(OSError):
            while len(self._said) < _LONGEST and (said := self._ours.recv(_LONGEST)):
                self._said += said
        return self._said

    def wait(self, seconds: float | None) -> bool:
        """Wait until the holder is gone; False if it is still there then."""
        poll = select.poll()
        try:
            poll.register(self._ours, select.POLLRDHUP)
        except ValueError:
            return True  # we hung up ourselves
        return bool(poll.poll(None if seconds is None else seconds * 1000))

    def close(self) -> None:
        """Hang up: whatever the holder still has to end, it ends."""
        self._ours.close()
        self.theirs.close()


def _note(answered: asyncio.Future[None]) -> None:
    if not answered.done():
        answered.set_result(None)
