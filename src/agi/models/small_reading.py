"""A step is read while it is written: an answer's words are passed on as they come, a call once it is whole.

The text is JSON if the server kept to the schema, and anything at all if it did not: then it is the answer itself, or a
call written in another way. Pure. May import: protocol, models.base, models.small_calls, models.small_steps.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import msgspec

from agi.models.base import CallMade, StreamItem, TextDelta
from agi.models.small_calls import WrittenCall, written_calls
from agi.models.small_steps import ACTION, ANSWER, ARGUMENTS, TEXT
from agi.protocol.ids import CALL, new_id

_BEGIN = re.compile(rf'\s*\{{\s*"{ACTION}"\s*:\s*"{ANSWER}"\s*,\s*"{TEXT}"\s*:\s*"')
_MAY_BEGIN = ("{", "`", "<", "[")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_PIECE = re.compile(r'[^"\\]+|\\u[0-9a-fA-F]{4}|\\[^u]')


class StepReader:
    """One step: `take` each piece of text, then `finish`. A search is told what it is `about`, if anything is said."""

    def __init__(self, offered: Collection[str], *, about: str = "") -> None:
        self._offered = offered
        self._about = about
        self._all: list[str] = []
        self._text: _JsonText | None = None
        self._plain = False

    def take(self, piece: str) -> Iterator[TextDelta]:
        """Add a piece; tells what of it belongs to the answer."""
        if self._text is not None:
            yield from self._said(self._text.take(piece))
            return
        if self._plain:
            yield TextDelta(piece)
            return
        self._all.append(piece)
        whole = "".join(self._all)
        if begun := _BEGIN.match(whole):
            self._text = _JsonText()
            yield from self._said(self._text.take(whole[begun.end() :]))
        elif whole.strip() and not whole.lstrip().startswith(_MAY_BEGIN):
            self._plain = True
            yield TextDelta(whole.lstrip())

    def finish(self, *, cut: bool = False) -> Iterator[StreamItem]:
        """What is left: a call, or text that turned out to be none. What was `cut` off in a call is neither."""
        if self._text is not None:
            yield from self._said(self._text.rest())
        if self._text is not None or self._plain:
            return
        whole = "".join(self._all)
        calls = written_calls(whole, self._offered)
        for call in calls:
            yield CallMade(new_id(CALL), call.name, _fitted(call, self._about))
        if not calls and not cut and (answer := _answer(whole)):
            yield TextDelta(answer)

    @staticmethod
    def _said(text: str) -> Iterator[TextDelta]:
        if text:
            yield TextDelta(text)


class _JsonText:
    """Decodes a JSON string behind its opening quote, piece by piece, up to the closing one."""

    def __init__(self) -> None:
        self._waiting = ""
        self._high = ""
        self._closed = False

    def take(self, piece: str) -> str:
        told: list[str] = []
        self._waiting += piece
        while not self._closed and self._waiting:
            if self._waiting[0] == '"':
                self._closed = True
                break
            found = _PIECE.match(self._waiting)
            if found is None:  # an escape that is not whole yet, or never will be
                if len(self._waiting) > 6:
                    self._waiting = self._waiting[1:]
                    continue
                break
            self._waiting = self._waiting[found.end() :]
            told.append(self._decoded(found[0]))
        return "".join(told)

    def rest(self) -> str:
        """The end came: half of a pair is no letter."""
        return "\ufffd" if self._high else ""

    def _decoded(self, piece: str) -> str:
        if piece.startswith("\\u"):
            return self._unit(int(piece[2:], 16))
        before = "\ufffd" if self._high else ""
        self._high = ""
        return before + (_ESCAPES.get(piece[1], piece[1]) if piece.startswith("\\") else piece)

    def _unit(self, unit: int) -> str:
        """A letter by its number; those beyond the first plane come in two halves."""
        before, self._high = self._high, ""
        if before and 0xDC00 <= unit <= 0xDFFF:
            return (before + chr(unit)).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        broken = "\ufffd" if before else ""
        if 0xD800 <= unit <= 0xDBFF:
            self._high = chr(unit)
            return broken
        return broken + ("\ufffd" if 0xDC00 <= unit <= 0xDFFF else chr(unit))


def _fitted(call: WrittenCall, about: str) -> str:
    """The arguments as the tool takes them: without what was not offered, with what the model need not write."""
    wanted = ARGUMENTS.get(call.name)
    given = msgspec.json.decode(call.arguments, type=dict[str, object])
    fitted = {wanted: given[wanted]} if wanted in given else given
    if call.name == "search" and about:
        fitted["about"] = about
    return msgspec.json.encode(fitted).decode()


def _answer(whole: str) -> str:
    """The text of an answer whose fields stand in another order, or the whole as it is."""
    try:
        value = msgspec.json.decode(whole)
    except (msgspec.DecodeError, RecursionError):
        return whole.strip()
    told = value.get(TEXT) if isinstance(value, dict) else None
    return told if isinstance(told, str) else whole.strip()
