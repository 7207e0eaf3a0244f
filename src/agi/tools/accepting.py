"""A change of which only some hunks were accepted: which they are, and how that is told to the model.

May import: editing, protocol, tools.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from agi.editing.drafts import Draft
from agi.editing.hunks import keep_only, pieces
from agi.editing.reports import told
from agi.protocol.hunks import Hunk
from agi.protocol.parts import Json
from agi.tools.output import printable


def hunks_of(draft: Draft) -> tuple[Hunk, ...]:
    """The pieces of a change, as they are shown."""
    return tuple(_shown(piece.hunk) for piece in pieces(draft))


class Part:
    """The part of a change that was accepted."""

    def __init__(self, accepted: Collection[str], remark: str) -> None:
        self._accepted = accepted
        self._remark = remark
        self._hunks: list[Hunk] = []

    def narrow(self, draft: Draft) -> None:
        """Take out of a change what was not accepted."""
        self._hunks = [_shown(piece.hunk) for piece in keep_only(draft, self._accepted)]

    def tell(self, draft: Draft) -> tuple[str, Json]:
        """Say which hunks were made and which were refused."""
        kept = [hunk for hunk in self._hunks if hunk.id in self._accepted]
        refused = [hunk for hunk in self._hunks if hunk.id not in self._accepted]
        lines = [
            f"Only a part of this change was accepted and made: {len(kept)} of {len(self._hunks)} hunks.",
            *(f"made: {hunk.path} {hunk.header}" for hunk in kept),
            *(f"refused: {hunk.path} {hunk.header}" for hunk in refused),
            *([f"The reason given: {self._remark}"] if self._remark else []),
            *(f"{one.path}: {one.note}." for one in told(draft) if one.note and one.letter != "="),
            "The files hold nothing of what was refused; do not make it in another way.",
        ]
        files = [{"path": printable(one.path), "change": one.facts()["change"]} for one in told(draft)]
        return "\n".join(lines), {"files": files, "accepted": _named(kept), "refused": _named(refused)}


def _named(hunks: Sequence[Hunk]) -> list[Json]:
    return [{"id": hunk.id, "path": hunk.path, "header": hunk.header} for hunk in hunks]


def _shown(hunk: Hunk) -> Hunk:
    texts = {name: printable(getattr(hunk, name)) for name in ("path", "header", "diff")}
    return msgspec.structs.replace(hunk, **texts)
