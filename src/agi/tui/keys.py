"""The keys: one table, from which the interface reads what to do, `/keys` what to say, and the manual what to show.

May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Key(Struct, frozen=True):
    """A key and what it does."""

    names: tuple[str, ...]
    """As the terminal library calls them."""
    shown: str
    does: str
    action: str = ""
    """What the interface is told; empty where the key is handled where it is pressed."""


IN_THE_BOX = (
    Key(("enter",), "enter", "send; while the agent works: queue"),
    Key(("shift+enter", "alt+enter", "ctrl+j", "ctrl+enter"), "shift+enter, ctrl+j, \\ enter", "a new line"),
    Key(("ctrl+s",), "ctrl+s", "tell the running turn at its next step; empty box: what waits longest", "steer"),
    Key(("up",), "up", "in the first line: edit the last queued message, else earlier prompts"),
    Key(("down",), "down", "in the last line: later prompts"),
    Key(("delete",), "del", "in an empty box: drop the last queued message"),
    Key(("tab",), "tab", "take the completion"),
    Key(("escape",), "esc", "close what is open; while the agent works, twice: stop it", "escape"),
    Key(
        ("ctrl+c", "super+c"),
        "ctrl+c",
        "copy what is marked; else clear the box; else stop; else, twice, leave",
        "break",
    ),
    Key(("ctrl+d",), "ctrl+d", "leave, if the box is empty"),
    Key(("ctrl+y",), "ctrl+y", "go to the question that waits", "answer"),
    Key(("ctrl+o",), "ctrl+o", "fold or unfold thoughts and the output of tools", "fold"),
    Key(("ctrl+p",), "ctrl+p", "all commands", "palette"),
    Key(("ctrl+g",), "ctrl+g", "edit the box in $VISUAL or $EDITOR", "editor"),
    Key(("ctrl+l",), "ctrl+l", "draw everything anew", "redraw"),
    Key(("pageup",), "page up", "scroll up", "page_up"),
    Key(("pagedown",), "page down", "scroll down", "page_down"),
    Key(("home",), "home", "in an empty box: to the first line that is loaded"),
    Key(("end",), "end", "in an empty box: to the end, and follow it"),
    Key(("ctrl+z",), "ctrl+z", "undo typing; where the box has nothing to undo, suspend"),
    Key(("question_mark",), "?", "in an empty box: these keys"),
    Key((), "/ @", "a command; a file of the folder"),
)
AT_A_QUESTION = (
    Key(("1",), "1", "choose: this once"),
    Key(("2",), "2", "choose: for the rest of the session, as the rule says"),
    Key(("3",), "3", "choose: in this workspace, as the rule says"),
    Key(("4",), "4", "choose: deny"),
    Key(("5",), "5", "choose: deny and say why"),
    Key(("6",), "6", "choose: decide hunk by hunk, where the change has several"),
    Key(("up", "down"), "up, down", "choose"),
    Key(("enter",), "enter", "give the answer that is chosen; nothing is chosen at first"),
    Key(("left", "right"), "left, right", "another question that waits"),
    Key(("v",), "v", "see all of it"),
    Key(("escape",), "esc", "decide later"),
    Key((), "any other letter", "goes to the box, with the letter"),
)
AT_HUNKS = (
    Key(("1", "2"), "1, 2", "take the hunk; leave it out"),
    Key(("3", "4"), "3, 4", "the same for the rest of its file"),
    Key(("up", "down"), "up, down", "another hunk"),
    Key(("enter",), "enter", "answer, once all are decided"),
    Key(("v",), "v", "see all of the hunk"),
    Key(("escape",), "esc", "back to the question"),
)
AT_A_PLAN = (
    Key(("up", "down"), "up, down", "mark a step"),
    Key(("space",), "space", "leave the marked step out, or take it in again"),
    Key(("e",), "e", "change what the marked step is about"),
    Key(("1",), "1", "choose: begin with the steps that are ticked"),
    Key(("4",), "4", "choose: refuse"),
    Key(("5",), "5", "choose: refuse and say why"),
    Key(("enter",), "enter", "give the answer that is chosen; nothing is chosen at first"),
    Key(("v",), "v", "see all of it"),
    Key(("escape",), "esc", "decide later"),
)
ON_A_PAGE = (
    Key(("up", "down", "pageup", "pagedown", "home", "end"), "arrows, page up, home, …", "move"),
    Key(("enter",), "enter", "take the row, where there are rows"),
    Key(("escape", "q"), "esc, q", "close"),
)
PLACES: Mapping[str, tuple[Key, ...]] = {
    "In the box": IN_THE_BOX,
    "At a question": AT_A_QUESTION,
    "Hunk by hunk": AT_HUNKS,
    "At a plan": AT_A_PLAN,
    "On a page": ON_A_PAGE,
}
ACTIONS: Mapping[str, str] = {name: key.action for key in IN_THE_BOX for name in key.names if key.action}
"""What the interface is told for a key that is pressed in the box."""


def table() -> str:
    """All keys, for people."""
    width = max(len(key.shown) for keys in PLACES.values() for key in keys)
    told = []
    for place, keys in PLACES.items():
        told += [place, *(f"  {key.shown:<{width}}  {key.does}" for key in keys), ""]
    return "\n".join(told).rstrip()
