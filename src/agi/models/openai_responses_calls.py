"""The tool calls of one answer in OpenAI's Responses format, put together from announcements, deltas and whole items.

Servers disagree on how an event names its call: some give every call the same index, some change a call's id from
event to event, some announce nothing. Pure. May import: protocol, models.base and its own format's events.
"""

from __future__ import annotations

import re

from agi.models.base import CallMade
from agi.models.openai_responses_events import Event, Item, written_in
from agi.protocol.ids import CALL, new_id

_USABLE_ID = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)

Keys = tuple[tuple[object, object], ...]


class _Call:
    """A call as far as it has come."""

    __slots__ = ("announced", "id", "name", "pieces", "whole")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.announced = ""
        self.pieces: list[str] = []
        self.whole = False

    @property
    def arguments(self) -> str:
        """What was written; an announcement may hold a placeholder, and counts only where nothing else came."""
        return "".join(self.pieces) or self.announced

    def know(self, item: Item) -> None:
        """Take over what an item tells; what it leaves open stays as it is."""
        self.id = item.call_id if isinstance(item.call_id, str) and item.call_id else self.id
        self.name = item.name if isinstance(item.name, str) and item.name else self.name

    def write(self, arguments: object) -> None:
        """Take over arguments that are said to be all, if any are."""
        if written := written_in(arguments):
            self.pieces = [written]


class Calls:
    """All calls of an answer; they are told in the order they began, each as soon as it is whole."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_key: dict[tuple[object, object], _Call] = {}
        self._ended: set[tuple[str, str, str]] = set()
        self._ids: set[str] = set()
        self.told = 0
        """How many were told so far."""

    @property
    def pending(self) -> bool:
        """Whether a call has begun that is not whole."""
        return self.told < len(self._calls)

    def begin(self, event: Event, item: Item) -> None:
        """A call is announced."""
        call = self._add(_keys(event.output_index, item.id))
        call.know(item)
        call.announced = written_in(item.arguments)

    def write(self, event: Event) -> None:
        """A piece of the arguments, or all of them."""
        call = self._find(_keys(event.output_index, event.item_id))
        if isinstance(event.delta, str):
            call.pieces.append(event.delta)
        else:
            call.write(event.arguments)

    def end(self, event: Event, item: Item) -> list[CallMade]:
        """A call is there as a whole; tells what can be told now. The same one a second time is nothing new."""
        given = (str(item.call_id), str(item.name), written_in(item.arguments))
        if item.call_id and given in self._ended:
            return []
        self._ended.add(given)
        call = self._find(_keys(event.output_index, item.id))
        call.know(item)
        call.write(item.arguments)
        call.whole = True
        return self._tell()

    def drop_pending(self) -> None:
        """Forget what is half there: a list of all calls has come that says it better."""
        del self._calls[self.told :]
        self._by_key.clear()

    def end_all(self) -> list[CallMade]:
        """No more comes: what is half there is all there is."""
        for call in self._calls:
            call.whole = True
        return self._tell()

    def _add(self, keys: Keys) -> _Call:
        call = _Call()
        self._calls.append(call)
        self._by_key.update(dict.fromkeys(keys, call))
        return call

    def _find(self, keys: Keys) -> _Call:
        """The call that is named: by index and id together, by one of them, else the last one begun, else a new one."""
        for key in keys:
            call = self._by_key.get(key)
            if call is not None and not call.whole:
                return call
        last = self._calls[-1] if self._calls else None
        return last if last is not None and not last.whole else self._add(keys)

    def _tell(self) -> list[CallMade]:
        made: list[CallMade] = []
        while self.pending and (call := self._calls[self.told]).whole:
            usable = _USABLE_ID.fullmatch(call.id) and call.id not in self._ids
            call_id = call.id if usable else new_id(CALL)
            self._ids.add(call_id)
            made.append(CallMade(call_id, call.name, call.arguments))
            self.told += 1
        return made


def _keys(index: object, id: object) -> Keys:
    """The names of a call, the surest first."""
    named = id if isinstance(id, str) and id else None
    counted = index if isinstance(index, int) else None
    keys = ((counted, named), ("id", named), ("index", counted))
    return tuple(key for key in keys if None not in key)
