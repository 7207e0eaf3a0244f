"""Pictures that were written anew, kept for the whole process: twenty turns do not encode one picture twenty times.

Kept by what the file holds and how large it may be, so that what is sent stays the same from call to call.
May import: errors, its siblings.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from functools import cache
from threading import Lock

from agi.errors import Invalid
from agi.media.pictures import Bounds, Encoded, encode_picture

MOST = 64 * 1024 * 1024
"""Bytes that are kept; what was not needed for longest goes first."""
_ROW = 200
"""What an entry takes besides its bytes."""
_Key = tuple[bytes, Bounds]


class Kept:
    """Encodes pictures, each once while there is room. May be used by several threads."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = Lock()
        self._found: OrderedDict[_Key, Encoded | Invalid] = OrderedDict()
        self._size = 0

    def encoded(self, data: bytes, bounds: Bounds) -> Encoded:
        """The picture as it is sent; raises Invalid, and the same again for one that could not be encoded before."""
        key = (hashlib.sha256(data).digest(), bounds)
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
        if found is None:
            try:
                found = encode_picture(data, bounds)
            except Invalid as error:
                found = error
            self._keep(key, found)
        if isinstance(found, Invalid):
            raise found
        return found

    def _keep(self, key: _Key, found: Encoded | Invalid) -> None:
        with self._lock:
            if key in self._found:
                return
            self._found[key] = found
            self._size += _size(found)
            while self._size > self._most and self._found:
                self._size -= _size(self._found.popitem(last=False)[1])


def _size(found: Encoded | Invalid) -> int:
    return _ROW + (len(found.data) if isinstance(found, Encoded) else 0)


@cache
def kept() -> Kept:
    """Those of this process."""
    return Kept()
