"""The files a patch touches, worked out in memory: nothing is written until every section has found its place.

Two sections may speak of one file, by one name or by two; the later one sees what the earlier one did. Reads through
the workspace, writes nothing. May import: errors, tools, workspace.
"""

from __future__ import annotations

from msgspec import Struct

from agi.errors import Invalid, NotFound, TooLarge
from agi.tools.patch_envelope import Add, Delete, Section, Update
from agi.tools.patch_match import apply_hunks
from agi.tools.text import BOM, decode
from agi.workspace.diffs import unified_diff
from agi.workspace.handle import Change, Workspace


class _State(Struct, frozen=True):
    """What a place holds: bytes, or nothing; with which permissions; and where they came from."""

    data: bytes | None
    mode: int | None = None
    moved_from: str = ""
    size: int = 0
    """How large a file is of which the data was not read, since it is too large to patch."""


class Draft:
    """The files a patch touches, as they were and as they shall be."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._before: dict[str, _State] = {}
        self._after: dict[str, _State] = {}

    def take(self, section: Section) -> None:
        """Work one section into the draft; raises if it does not fit the files."""
        if isinstance(section, Add):
            self._put(section.path, section.content.encode())
        elif isinstance(section, Delete):
            self._existing(section.path, follow=False)
            self._put(section.path, None, follow=False)
        else:
            self._update(section)

    def _update(self, section: Update) -> None:
        state = self._existing(section.path)
        data = _updated(section, state)
        if not section.move_to:
            self._put(section.path, data, moved_from=state.moved_from)
            return
        source = self._workspace.locate(section.path, follow=False)
        self._put(section.path, None, follow=False)
        self._put(section.move_to, data, mode=state.mode, moved_from=state.moved_from or source)

    def _existing(self, path: str, *, follow: bool = True) -> _State:
        state = self._look(self._workspace.locate(path, follow=follow))
        if state.data is None:
            raise NotFound(f"{path!r} does not exist.", hint="Nothing was changed.", code="file_not_found")
        return state

    def _put(
        self, path: str, data: bytes | None, *, mode: int | None = None, moved_from: str = "", follow: bool = True
    ) -> None:
        place = self._workspace.locate(path, follow=follow)
        before = self._look(place)
        self._after[place] = _State(data, mode or before.mode, moved_from if moved_from != place else "")

    def _look(self, place: str) -> _State:
        """What a place holds in the draft; read from disk when it is first met."""
        if place not in self._before:
            self._before[place] = self._after[place] = self._read(place)
        return self._after[place]

    def _read(self, place: str) -> _State:
        try:
            read = self._workspace.read_bytes(place)
        except NotFound:
            return _State(None)
        return _State(read.data, read.mode, size=read.size if read.truncated else 0)

    def changes(self) -> list[Change]:
        """What must be done on disk."""
        return [Change(place, self._after[place].data, self._after[place].mode) for place in self._changed()]

    def described(self) -> list[tuple[str, str]]:
        """What was done, as a letter and a path."""
        sources = {self._after[place].moved_from for place in self._changed()}
        return [(self._letter(place), place) for place in self._changed() if not self._is_source(place, sources)]

    def diff(self) -> str:
        """All changes as one unified diff."""
        sources = {self._after[place].moved_from for place in self._changed()}
        return "".join(self._diff(place) for place in self._changed() if not self._is_source(place, sources))

    def _changed(self) -> list[str]:
        return [place for place, state in self._after.items() if state != self._before[place]]

    def _is_source(self, place: str, sources: set[str]) -> bool:
        return place in sources and self._after[place].data is None

    def _letter(self, place: str) -> str:
        after = self._after[place]
        if after.data is None:
            return "D"
        if after.moved_from:
            return "R"
        return "A" if self._before[place].data is None else "M"

    def _diff(self, place: str) -> str:
        after = self._after[place]
        source = after.moved_from or place
        try:
            before_text, after_text = (_as_text(state) for state in (self._before[source], after))
        except Invalid:
            return f"diff --git a/{source} b/{place}\nBinary files differ\n"
        return unified_diff(source, before_text, after_text, new_path=place if source != place else "")


def _updated(section: Update, state: _State) -> bytes:
    """Apply an update to a file's bytes; a leading byte order mark stays, and an update without hunks keeps all."""
    data = state.data or b""
    if state.size:
        raise TooLarge(f"{section.path!r} is too large to patch: {state.size} bytes.", hint="Nothing was changed.")
    if not section.hunks:
        return data
    mark = BOM.encode() if data.startswith(BOM.encode()) else b""
    return mark + apply_hunks(section.path, decode(section.path, data), section.hunks).encode()


def _as_text(state: _State) -> str | None:
    if state.size:
        raise Invalid("too large to show")
    return None if state.data is None else decode("", state.data)
