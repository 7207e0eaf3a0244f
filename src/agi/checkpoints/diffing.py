"""Changes as diffs for people and programs: unified, one a file, bounded; what is no text is only named.

May import: protocol, workspace.diffs, checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct

from agi.checkpoints.nodes import Change, Node
from agi.checkpoints.paths import shown
from agi.protocol.checkpoints import ChangeStatus, FileChange
from agi.protocol.parts import Artifact
from agi.workspace.diffs import summary, unified_diff

MOST_FILES = 1000
LONGEST_TEXT = 1024 * 1024
LONGEST_PATCH = 256 * 1024
LONGEST_TOGETHER = 4 * 1024 * 1024

Fetch = Callable[[Node], bytes | None]
"""Gives the content of a file or a link; None if it is not to be had."""


class Diffs(Struct, frozen=True):
    """Changes, told; `truncated` if some of it had to be left out."""

    files: tuple[FileChange, ...]
    summary: dict[str, int]
    truncated: bool


class _Move(Struct, frozen=True):
    """A change of a file that may have gone from one place to another."""

    old: str
    path: str
    before: Node | None
    after: Node | None

    @property
    def status(self) -> ChangeStatus:
        if self.before is None:
            return "added"
        if self.after is None:
            return "deleted"
        return "modified" if self.old == self.path else "renamed"


def told(changes: Sequence[Change], fetch: Fetch, by_others: Collection[str] = ()) -> Diffs:
    """Tell changes of files, by path; folders are not told."""
    moves = sorted(_moves(changes), key=lambda move: move.path)
    files: list[FileChange] = []
    left = LONGEST_TOGETHER
    truncated = len(moves) > MOST_FILES
    counts = {"files": len(moves), "additions": 0, "deletions": 0}
    for move in moves[:MOST_FILES]:
        file, cut = _file(move, fetch, left, {move.old, move.path} & set(by_others))
        left -= len(file.artifact.patch)
        truncated = truncated or cut
        for name in ("additions", "deletions"):
            counts[name] += (file.artifact.summary or {}).get(name, 0)
        files.append(file)
    return Diffs(tuple(files), counts, truncated)


def _moves(changes: Sequence[Change]) -> Iterator[_Move]:
    """The changes, with what went and came elsewhere as one."""
    plain = [Change(one.path, _no_folder(one.before), _no_folder(one.after)) for one in changes]
    plain = [one for one in plain if one.before != one.after]
    gone: dict[tuple[str, bytes], list[str]] = {}
    for one in plain:
        if one.after is None and one.before is not None and one.before.size:
            gone.setdefault((one.before.kind, one.before.key), []).append(one.path)
    moved: set[str] = set()
    for one in plain:
        if one.before is None and one.after is not None and gone.get((one.after.kind, one.after.key)):
            old = gone[one.after.kind, one.after.key].pop()
            moved |= {old, one.path}
            before = next(other.before for other in plain if other.path == old)
            yield _Move(old, one.path, before, one.after)
    yield from (_Move(one.path, one.path, one.before, one.after) for one in plain if one.path not in moved)


def _file(move: _Move, fetch: Fetch, left: int, others: Collection[str]) -> tuple[FileChange, bool]:
    before, after = _text(move.before, fetch), _text(move.after, fetch)
    patch, binary, cut = "", before is None or after is None, False
    if before is None or after is None:
        old, new = _side("a/", move.old, move.before), _side("b/", move.path, move.after)
        patch = f"{_head(move)}Binary files {old} and {new} differ\n"
    elif max(len(before), len(after)) > LONGEST_TEXT:
        cut = True
    else:
        patch = _patch(move, before, after)
    if len(patch) > min(LONGEST_PATCH, left):
        patch, cut = "", True
    counts = summary(patch) if patch else {"files": 1, "additions": 0, "deletions": 0}
    return FileChange(
        path=shown(move.path),
        status=move.status,
        old_path=shown(move.old) if move.old != move.path else "",
        artifact=Artifact(kind="file_diff", patch_format="unified", patch=patch, summary=counts),
        binary=binary,
        by_others=bool(others),
    ), cut


def _patch(move: _Move, before: str, after: str) -> str:
    """A diff as git writes it, with the modes, which a plain one does not know."""
    old, new = shown(move.old), shown(move.path)
    plain = unified_diff(
        old,
        None if move.before is None else before,
        None if move.after is None else after,
        new_path=new if new != old else "",
    )
    lines = plain.split("\n") if plain else [f"diff --git a/{old} b/{new}", ""]
    head = [line for line in lines[:4] if not line.startswith(("new file mode", "deleted file mode"))]
    return "\n".join([head[0], *_modes(move), *head[1:], *lines[4:]])


def _head(move: _Move) -> str:
    old, new = shown(move.old), shown(move.path)
    moved = [f"rename from {old}", f"rename to {new}"] if old != new else []
    return "\n".join([f"diff --git a/{old} b/{new}", *_modes(move), *moved]) + "\n"


def _modes(move: _Move) -> list[str]:
    if move.before is None:
        return [f"new file mode {_mode(move.after)}"]
    if move.after is None:
        return [f"deleted file mode {_mode(move.before)}"]
    old, new = _mode(move.before), _mode(move.after)
    return [f"old mode {old}", f"new mode {new}"] if old != new else []


def _mode(node: Node | None) -> str:
    if node is not None and node.kind == "link":
        return "120000"
    return "100755" if node is not None and node.mode & 0o100 else "100644"


def _side(prefix: str, path: str, node: Node | None) -> str:
    return "/dev/null" if node is None else prefix + shown(path)


def _text(node: Node | None, fetch: Fetch) -> str | None:
    """What a diff compares; None if it is no text, or not to be had."""
    if node is None:
        return ""
    data = fetch(node) if node.is_kept else None
    if data is None or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _no_folder(node: Node | None) -> Node | None:
    return None if node is not None and node.kind == "folder" else node
