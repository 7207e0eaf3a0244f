"""What happened here, of the events that this process wrote: what a fork carries over happened somewhere else.

A fork is written in one piece, from `session_created` to the `session_forked` behind all that it carries over. Those
turns, answers and calls were counted where they happened. Pure. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agi.protocol.events import Event, SessionCreated, SessionForked

Hear = Callable[[Sequence[Event]], None]


def of_its_own(hear: Hear) -> Hear:
    """An observer of the log that is not told what was carried over."""
    return lambda events: hear(own(events))


def own(events: Sequence[Event]) -> Sequence[Event]:
    """The events of one append, without those that stand in a fork before its own log begins."""
    at = next((place for place, event in enumerate(events) if event.type == SessionForked.TYPE), 0)
    return [event for event in events[:at] if event.type == SessionCreated.TYPE] + [*events[at:]] if at else events
