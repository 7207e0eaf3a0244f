"""From single steps to the whole, and from the whole to how to take it back."""

from __future__ import annotations

import msgspec

from agi.checkpoints.composing import EARLY_NS, LONG_NS, MOST_IGNORED, Done, changed, compose, plan
from agi.checkpoints.ledger import Seen, Step
from agi.checkpoints.nodes import Change, Known, Node

STEP = Step(
    number=1,
    id="ckpt_1",
    session="sess_1",
    turn=None,
    call="",
    workspace=1,
    cause="call",
    owner="",
    named=None,
    first=0,
    last=9,
    made_at=0,
)
FOLDER = Node("folder", 0o755)


def file(text: str) -> Node:
    return Node("file", 0o644, len(text), text.encode())


def done(*changes: tuple[int, str, Node | None, Node | None], **fields: object) -> Done:
    step = msgspec.structs.replace(STEP, **fields)
    return step, [Seen(number, Change(path, before, after)) for number, path, before, after in changes]


def now(**nodes: Node) -> dict[str, Known]:
    return {path: Known(node) for path, node in nodes.items()}


def test_steps_add_up():
    """From the first state to the last; what comes back to where it was did not change."""
    nets = compose(
        [
            done((1, "a", file("1"), file("2")), (2, "b", None, file("1")), (3, "c", file("1"), None)),
            done((4, "a", file("2"), file("3")), (5, "b", file("1"), None)),
        ]
    )

    assert changed(nets) == [Change("a", file("1"), file("3")), Change("c", file("1"), None)]


def test_taking_back_goes_from_what_is_there_to_what_was():
    """Only paths the session changed, and only those that are not back already."""
    nets = compose([done((1, "a", file("1"), file("2")), (2, "b", None, file("1")), (3, "c", file("1"), None))])

    assert plan(nets, now(a=file("2"), b=file("1"), c=file("1"), d=file("9"))).moves == (
        Change("a", file("2"), file("1")),
        Change("b", file("1"), None),
    )


def test_what_was_changed_since_is_in_the_way():
    """It is named, and left alone unless it is forced."""
    nets = compose([done((1, "a", file("1"), file("2")))])
    there = now(a=file("mine"))

    refused = plan(nets, there)
    assert (refused.moves, [(one.path, one.reason) for one in refused.conflicts]) == ((), [("a", "changed_since")])
    assert plan(nets, there, forced=("a",)).moves == (Change("a", file("mine"), file("1")),)


def test_what_was_changed_in_between_is_in_the_way():
    """The user's work is in what the session built on."""
    nets = compose([done((1, "a", file("1"), file("2"))), done((3, "a", file("mine"), file("3")))])

    assert [one.reason for one in plan(nets, now(a=file("3"))).conflicts] == ["changed_between"]


def test_going_back_only_to_after_the_users_change_is_not_in_the_way():
    """The user's state is what comes back."""
    nets = compose([done((3, "a", file("mine"), file("3")))])

    assert plan(nets, now(a=file("3"))).moves == (Change("a", file("3"), file("mine")),)


def test_what_the_user_took_back_alone_needs_nothing():
    """Whoever did it."""
    nets = compose([done((1, "a", file("1"), file("2")))])
    done_already = plan(nets, now(a=file("1")))

    assert (done_already.moves, done_already.conflicts) == ((), ())


def test_a_change_that_another_session_may_have_made_is_in_the_way():
    """A command that ran all the while cannot tell; a call that named the file can."""
    other = done((2, "a", file("1"), file("2")), session="sess_2")
    slow = compose([done((2, "a", file("1"), file("2")))], [other])
    named = compose([done((2, "a", file("1"), file("2")), named=("a",))], [other])

    found = plan(slow, now(a=file("2"))).conflicts
    assert [(one.reason, one.session_id) for one in found] == [("changed_elsewhere", "sess_2")]
    assert plan(named, now(a=file("2"))).conflicts == ()


def test_what_a_cut_off_command_left_is_in_the_way():
    """Between the kill and the next look anybody may have written it."""
    nets = compose([done((1, "a", None, file("1")), cause="interrupted")])

    assert [one.reason for one in plan(nets, now(a=file("1"))).conflicts] == ["interrupted"]


def test_what_cannot_be_brought_back_stays():
    """A file that was not kept, and one that could not be restored by taking the undo back."""
    large = Node("opaque", 0o644, 99, b"large:99:1:1")
    nets = compose([done((1, "was", large, file("1")), (2, "is", None, large))])
    found = plan(nets, now(**{"was": file("1"), "is": large}))

    assert found.moves == ()
    assert [(one.path, "too large" in one.reason) for one in found.unrestored] == [("is", True), ("was", True)]


def test_folders_come_and_go_quietly():
    """One the session made goes again if it is still there; nobody is asked about folders."""
    nets = compose([done((1, "new", None, FOLDER), (2, "gone", FOLDER, None), (3, "mode", FOLDER, Node("folder", 0)))])

    moves = plan(nets, now(new=FOLDER, mode=Node("folder", 0))).moves
    assert moves == (
        Change("gone", None, FOLDER),
        Change("mode", Node("folder", 0), FOLDER),
        Change("new", FOLDER, None),
    )
    assert plan(nets, now(new=Node("folder", 0o700))).conflicts == ()


def test_a_plan_has_a_name_of_its_own():
    """The same plan has the same name, any other another."""
    nets = compose([done((1, "a", file("1"), file("2")))])
    one, two = plan(nets, now(a=file("2"))), plan(nets, now(a=file("3")), forced=("a",))

    assert one.digest() == plan(nets, now(a=file("2"))).digest()
    assert one.digest() != two.digest()


TWO = file("2")


def took(ns: int, at: int, *, after: Node | None = TWO, named: tuple[str, ...] | None = None) -> Done:
    """A call that began at 1 s, took so long, and in which `a` was last changed so long after its beginning."""
    step = msgspec.structs.replace(STEP, began=10**9, ended=10**9 + ns, named=named)
    return step, [Seen(1, Change("a", file("1"), after), 10**9 + at if after is not None else 0)]


def test_what_changed_late_in_a_long_command_may_be_the_users():
    """Nobody can tell, so it is named, and overwritten only where that is asked for."""
    nets = compose([took(LONG_NS, EARLY_NS + 1)])

    refused = plan(nets, now(a=file("2")))
    assert (refused.moves, [(one.path, one.reason) for one in refused.conflicts]) == ((), [("a", "during_command")])
    assert plan(nets, now(a=file("2")), forced=("a",)).moves == (Change("a", file("2"), file("1")),)


def test_a_clock_that_is_not_ours_tells_nothing():
    """A file that was changed before its command began: the disk counts otherwise."""
    assert [one.reason for one in plan(compose([took(LONG_NS, -EARLY_NS - 1)]), now(a=file("2"))).conflicts] == [
        "during_command"
    ]


def test_what_a_command_did_at_once_a_quick_one_did_or_a_call_named_is_its_own():
    """Undo of a command is not in the way of itself."""
    for one in (took(LONG_NS, EARLY_NS), took(LONG_NS - 1, LONG_NS - 1), took(LONG_NS, LONG_NS, named=("a",))):
        assert plan(compose([one]), now(a=file("2"))).conflicts == ()


def test_what_went_during_a_long_command_is_brought_back():
    """Nothing can be lost by that."""
    nets = compose([took(LONG_NS, LONG_NS, after=None)])

    assert plan(nets, {}) == plan(compose([took(0, 0, after=None)]), {})
    assert plan(nets, {}).moves == (Change("a", None, file("1")),)


def test_the_users_work_counts_in_what_a_later_call_built_on():
    """One doubtful step is enough."""
    later = done((2, "a", file("2"), file("3")), named=("a",))

    assert [one.reason for one in plan(compose([took(LONG_NS, LONG_NS), later]), now(a=file("3"))).conflicts] == [
        "during_command"
    ]


def test_an_ignored_file_that_went_or_changed_is_named_and_stays():
    """What it held was never kept."""
    old, new = Node("passed", key=b"ignored:1:1:1"), Node("passed", key=b"ignored:2:2:2")
    nets = compose([done((1, ".env", old, None), (2, "a.log", old, new), (3, "b", file("1"), file("2")))])

    found = plan(nets, now(**{"a.log": new, "b": file("2")}))
    assert found.moves == (Change("b", file("2"), file("1")),)
    assert [(one.path, "ignored" in one.reason) for one in found.unrestored] == [(".env", True), ("a.log", True)]
    assert changed(nets) == [Change("b", file("1"), file("2"))]


def test_ignored_files_are_named_up_to_a_limit():
    """The rest is counted."""
    old = Node("passed", key=b"ignored:1:1:1")
    nets = compose([done(*((n, f"{n:04}.o", old, None) for n in range(1, MOST_IGNORED + 6)))])

    found = plan(nets, {}).unrestored
    assert len(found) == MOST_IGNORED
    assert found[-1].reason.endswith("So are 5 more.")
