"""Repositories inside a workspace, compared before and after a command: none may be left that starts a program.

git starts itself in each repository it finds inside another, with the settings it finds there, and so does an editor. A
command may make repositories and work with them. What it put there that could start a program, and was not there
before, is set aside, and what stood there is put back. May import: sandbox.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache

from agi.sandbox.gitlinks import gitlinks
from agi.sandbox.homes import within
from agi.sandbox.repositories import Element, Finder, Stamp, elements
from agi.sandbox.repository import git_folder
from agi.sandbox.stepping import FOLDER, beneath, opened, set_aside, shown, write_new

_SLACK_NS = 100_000_000
_MOST_TOLD = 8
_INCOMPLETE = (
    "not all folders could be looked through for repositories whose settings start programs: "
    "there are too many in this workspace"
)


class Nested:
    """A look at all repositories inside a workspace, taken when it is made."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._top = git_folder(workspace)
        self._finder = _finder(workspace)
        self._began_ns = time.time_ns() - _SLACK_NS
        self._elements: dict[str, Element] = {}
        self._reached: dict[str, set[str]] = {}
        self._closed: dict[str, Stamp] = {}
        places, self._saw_all = self._find()
        for place in (*places, *filter(None, (self._top,))):
            for element in elements(place, workspace):
                self._elements[element.path] = element
                self._reached.setdefault(place, set()).add(element.path)
        self._stamps = {element.stamp for element in self._elements.values()}

    def put_back(self) -> tuple[str, ...]:
        """Set aside what could start a program and could not before; says what."""
        refused: dict[str, set[str]] = {}
        places, saw_all = self._find(may_open=True)
        for place in places:
            for element, why in self._refusable(place):
                if self._refuse(element):
                    refused.setdefault(os.path.relpath(element.path, self._workspace), set()).update(why)
        notes = [f"set aside, since it makes git start programs: {_listed(refused)}"] if refused else []
        if not saw_all and not self._finder.has_said:
            self._finder.has_said = True
            notes.append(_INCOMPLETE)
        return tuple(notes)

    def _find(self, *, may_open: bool = False) -> tuple[list[str], bool]:
        """What git itself would go into first: that is looked at however much else there is."""
        links, is_all = gitlinks(self._top) if self._top else ((), True)
        found, saw_all = self._finder.find(self._closed, may_open=may_open)
        return [*dict.fromkeys((*(f"{self._workspace}/{link}/.git" for link in links), *found))], is_all and saw_all

    def _refusable(self, place: str) -> Iterator[tuple[Element, frozenset[str]]]:
        there = list(elements(place, self._workspace))
        fresh = [element for element in there if self._is_fresh(element)]
        leads = any(element.leads for element in fresh)
        bad = {
            element.path: new
            for element in there
            if (leads or element in fresh) and (new := element.dangers - self._known(place, element, leads=leads))
        }
        why = frozenset[str]().union(*bad.values())
        # What lies elsewhere is not ours to move: then what leads there goes, however old it is.
        is_elsewhere = not all(map(self._may_move, bad))
        for one in there if bad else ():
            if (one in fresh and (one.leads or one.path in bad)) or (one.leads and is_elsewhere):
                yield one, bad.get(one.path, why)

    def _is_fresh(self, element: Element) -> bool:
        if element.stamp in self._stamps:
            return False
        return self._saw_all or max(element.stamp[2::5]) >= self._began_ns

    def _known(self, place: str, element: Element, *, leads: bool) -> frozenset[str]:
        """What it could start before. Where git was led elsewhere, only what it was led to, or is the user's own."""
        before = self._elements.get(element.path)
        if before is None:
            return frozenset()
        is_own = self._top is not None and within(element.path, self._top)
        was_reached = any(element.path in self._reached.get(one, ()) for one in (place, self._top or place))
        return before.dangers if not leads or is_own or was_reached else frozenset()

    def _may_move(self, path: str) -> bool:
        return any(within(path, place) for place in (self._workspace, self._top) if place)

    def _refuse(self, element: Element) -> bool:
        if not self._may_move(element.path):
            return False
        before = self._elements.get(element.path)
        folder, _, name = element.path.rpartition("/")
        with suppress(OSError), opened(os.open("/", FOLDER)) as root, opened(beneath(root, folder[1:])) as parent:
            set_aside(parent, name)
            if before is not None and before.content is not None and before.stamp != element.stamp:
                if before.is_link:
                    os.symlink(os.fsdecode(before.content), name, dir_fd=parent)
                else:
                    write_new(parent, name, before.content, before.mode)
            return True
        return False


@lru_cache(maxsize=8)
def _finder(workspace: str) -> Finder:
    return Finder(workspace)


def _listed(refused: Mapping[str, set[str]]) -> str:
    told = [f"{path} ({_told(why)})" for path, why in refused.items()]
    more = f" and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
    return shown("; ".join(told[:_MOST_TOLD])) + more


def _told(why: set[str]) -> str:
    named = sorted({one.partition(" ")[0] if one.startswith("hooks/") else one.partition(" = ")[0] for one in why})
    return ", ".join(named)[:300]
