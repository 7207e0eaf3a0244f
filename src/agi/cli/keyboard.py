"""What a terminal sends when keys are pressed, turned into keys: arrows, Enter, letters, a paste.

Pure: bytes in, keys out. A sequence may come in pieces; a lone Escape is one only once nothing has followed it for a
moment, which whoever reads must say. May import: nothing of ours.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

LARGEST_PASTE = 64 << 10
"""A paste that is longer is thrown away as a whole."""
_LONGEST_SEQUENCE = 32
_PASTE, _PASTED = b"\x1b[200~", b"\x1b[201~"


class Key(NamedTuple):
    """One key, or what was pasted. `text` is what it writes; empty for keys that write nothing."""

    name: str
    text: str = ""


_CONTROLS = {
    0x01: "home",
    0x03: "interrupt",
    0x04: "end_of_input",
    0x05: "end",
    0x08: "backspace",
    0x0A: "enter",
    0x0D: "enter",
    0x0E: "down",
    0x10: "up",
    0x15: "erase_all",
    0x17: "erase_word",
    0x7F: "backspace",
}
_LETTERS = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end"}
_NUMBERS = {"1": "home", "3": "delete", "4": "end", "5": "page_up", "6": "page_down", "7": "home", "8": "end"}


class Keyboard:
    """Reads keys from bytes, piece by piece."""

    def __init__(self) -> None:
        self._held = b""
        self._is_too_long = False
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    @property
    def is_waiting(self) -> bool:
        """Whether something has begun that may go on, such as an Escape; a paste says itself where it ends."""
        return bool(self._held) and not self._held.startswith(_PASTE)

    def feed(self, data: bytes) -> list[Key]:
        """Give the keys that are complete."""
        self._held += data
        keys = []
        while self._held and (taken := self._take()) is not None:
            key, length = taken
            self._held = self._held[length:]
            if key is not None:
                keys.append(key)
        return keys

    def settle(self) -> list[Key]:
        """Nothing followed: what was begun is all there is."""
        held, self._held = self._held, b""
        return [Key("escape")] if held == b"\x1b" else []

    def _take(self) -> tuple[Key | None, int] | None:
        """The first key and how many bytes it took; None as long as it is not complete."""
        first = self._held[0]
        if first == 0x1B:
            return self._sequence()
        if first < 0x20 or first == 0x7F:
            return Key(_CONTROLS.get(first, "other")), 1
        text = self._decode(self._held[:1])
        return (Key("text", text) if text else None), 1

    def _sequence(self) -> tuple[Key | None, int] | None:
        held = self._held
        if len(held) == 1 or (_PASTE.startswith(held) and held != _PASTE):
            return None
        if held.startswith(_PASTE):
            return self._paste()
        if held[1:2] not in (b"[", b"O"):
            return (Key("escape"), 1) if held[1] == 0x1B else (Key("other"), 2)
        for at in range(2, min(len(held), _LONGEST_SEQUENCE)):
            if 0x40 <= held[at] <= 0x7E:
                return Key(_named(held[2:at], chr(held[at]))), at + 1
        return (Key("other"), len(held)) if len(held) >= _LONGEST_SEQUENCE else None

    def _paste(self) -> tuple[Key | None, int] | None:
        end = self._held.find(_PASTED, len(_PASTE))
        if b"\x03" in self._held:  # however a paste begins, Ctrl-C ends it
            return Key("interrupt"), len(self._held)
        if end < 0 and len(self._held) > LARGEST_PASTE:
            self._is_too_long = True
            self._held = _PASTE + self._held[-len(_PASTED) :]  # its end may be there in part
        if end < 0:
            return None
        text = "" if self._is_too_long else self._held[len(_PASTE) : end].decode(errors="replace")
        self._is_too_long = False
        return Key("paste", text), end + len(_PASTED)


def _named(parameters: bytes, final: str) -> str:
    if final == "~":
        return _NUMBERS.get(parameters.split(b";")[0].decode("ascii", "replace"), "other")
    return _LETTERS.get(final, "other")
