"""From single steps to what a session did on the whole, and from that to what taking it back would do.

Whatever holds somebody else's work is named, not touched. Pure. May import: protocol, checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import sha256

from msgspec import Struct

from agi.checkpoints.ledger import Seen, Step
from agi.checkpoints.nodes import Change, Known, Node, is_ignored, reason_of
from agi.checkpoints.paths import shown
from agi.protocol.checkpoints import RevertConflict, Unrestored

LONG_NS = 2_000_000_000
"""A command that took less leaves nobody the time to work beside it."""
EARLY_NS = 500_000_000
"""What a longer one changed last this soon after it began is its own: most write at once, and then run or wait."""
MOST_IGNORED = 100
"""How many ignored files are named."""

Done = tuple[Step, Sequence[Seen]]
"""A step and the changes in it."""


class Net(Struct):
    """What became of a path by all of a session's steps together."""

    path: str
    before: Node | None
    after: Node | None
    last: int
    """The number of the latest change."""
    broken: bool = False
    """Whether somebody else changed it in between."""
    interrupted: bool = False
    """Whether one of the steps was cut off, so that nobody can tell whose changes it saw."""
    elsewhere: str = ""
    """Another session that was at work at the same time and may have made the change."""
    doubtful: bool = False
    """Whether it was changed late in a long command, which the user may have done as well."""


class Plan(Struct, frozen=True, kw_only=True):
    """What a revert would do."""

    moves: tuple[Change, ...]
    """From what is there now to what shall be there."""
    conflicts: tuple[RevertConflict, ...] = ()
    unrestored: tuple[Unrestored, ...] = ()

    def digest(self) -> str:
        """A name for exactly this plan."""
        told = repr([(one.path, one.before, one.after) for one in self.moves])
        return sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def compose(steps: Sequence[Done], others: Sequence[Done] = ()) -> dict[str, Net]:
    """Put a session's steps together, in order; `others` are steps of other sessions at the same time."""
    nets: dict[str, Net] = {}
    for step, changes in steps:
        for path, first, last in _of_step(changes):
            net = nets.get(path)
            if net is None:
                net = nets[path] = Net(path, first.change.before, None, 0)
            elif net.after != first.change.before:
                net.broken = True
            net.after, net.last = last.change.after, last.number
            net.interrupted = net.interrupted or step.cause == "interrupted"
            if step.named is None:
                net.elsewhere = net.elsewhere or _claimed(path, first.number, last.number, others)
                net.doubtful = net.doubtful or _is_doubtful(step, last)
    return nets


def changed(nets: Mapping[str, Net]) -> list[Change]:
    """What is different in the end; not what is ignored, of which nobody knows more than that."""
    return [
        Change(net.path, net.before, net.after)
        for net in nets.values()
        if net.before != net.after and not is_ignored(net.before)
    ]


def plan(
    nets: Mapping[str, Net],
    now: Mapping[str, Known],
    *,
    forced: Collection[str] = (),
    wanted: Callable[[str], bool] = lambda path: True,
    later: Callable[[Net], str] = lambda net: "",
) -> Plan:
    """How to take it back, given what is there now; `later` names the session that changed a path since, if one did."""
    moves: list[Change] = []
    conflicts: list[RevertConflict] = []
    unrestored: list[Unrestored] = []
    ignored: list[str] = []
    for path in sorted(filter(wanted, nets)):
        net, there = nets[path], now.get(path)
        if is_ignored(net.before):
            ignored.append(path)
            continue
        current = None if there is None or there.node.kind == "passed" else there.node
        if current == net.before:
            continue
        if (_is_folder(net.before) and _is_folder(current)) or _only_a_folder(net, current):
            moves += [Change(path, current, net.before)] if current == net.after else []
            continue
        lost = next((node for node in (net.before, current) if node is not None and not node.is_kept), None)
        if lost is not None:
            unrestored.append(Unrestored(path=shown(path), reason=_why(lost)))
            continue
        conflict = _conflict(net, current, later)
        if conflict is not None:
            conflicts.append(conflict)
        if conflict is None or path in forced:
            moves.append(Change(path, current, net.before))
    unrestored = sorted([*unrestored, *_ignored(ignored)], key=lambda one: one.path)
    return Plan(moves=tuple(moves), conflicts=tuple(conflicts), unrestored=tuple(unrestored))


def _of_step(changes: Sequence[Seen]) -> Iterator[tuple[str, Seen, Seen]]:
    """The first and the last change of each path."""
    firsts: dict[str, Seen] = {}
    lasts: dict[str, Seen] = {}
    for one in changes:
        firsts.setdefault(one.change.path, one)
        lasts[one.change.path] = one
    for path, first in firsts.items():
        yield path, first, lasts[path]


def _claimed(path: str, first: int, last: int, others: Sequence[Done]) -> str:
    for step, changes in others:
        if any(one.change.path == path and first <= one.number <= last for one in changes):
            return step.session
    return ""


def _is_doubtful(step: Step, last: Seen) -> bool:
    """Whether a change in a command may as well be the user's. What is gone can only be brought back."""
    if step.ended - step.began < LONG_NS or last.change.after is None:
        return False
    return abs(last.at - step.began) > EARLY_NS


def _ignored(paths: Sequence[str]) -> Iterator[Unrestored]:
    """What ignore rules leave out, up to a limit; the last one named says how many there are besides."""
    reason = "It changed or is gone, and what it held was not kept, since it is ignored."
    for number, path in enumerate(paths[:MOST_IGNORED], 1):
        more = len(paths) - number if number == MOST_IGNORED else 0
        yield Unrestored(path=shown(path), reason=f"{reason} So are {more} more." if more else reason)


def _conflict(net: Net, current: Node | None, later: Callable[[Net], str]) -> RevertConflict | None:
    path = shown(net.path)
    if current != net.after:
        return RevertConflict(path=path, reason="changed_since", session_id=later(net))
    if net.broken:
        return RevertConflict(path=path, reason="changed_between")
    if net.elsewhere:
        return RevertConflict(path=path, reason="changed_elsewhere", session_id=net.elsewhere)
    if net.interrupted:
        return RevertConflict(path=path, reason="interrupted")
    return RevertConflict(path=path, reason="during_command") if net.doubtful and current is not None else None


def _is_folder(node: Node | None) -> bool:
    return node is not None and node.kind == "folder"


def _only_a_folder(net: Net, current: Node | None) -> bool:
    """Folders come and go with what is in them; one that somebody filled or removed meanwhile is left alone."""
    return all(node is None or node.kind == "folder" for node in (net.before, net.after, current))


def _why(node: Node) -> str:
    return {
        "large": "It is too large to be kept (checkpoints.maxFileBytes).",
        "over_limit": "There was no room to keep it (checkpoints.maxTotalBytes).",
        "unreadable": "It may not be read.",
    }.get(reason_of(node), "What it held is not known.")
