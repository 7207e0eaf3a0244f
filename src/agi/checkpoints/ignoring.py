"""Which files a project does not care about, asked again and again: answers are kept while the rules stay the same.

What the rules mean is workspace.ignore's business. May import: workspace.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from agi.workspace.handle import Workspace
from agi.workspace.ignore import RULES_LIMIT, Rule, Rules, read_rules
from agi.workspace.walking import RULES_FILE, rules_above

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Ignored:
    """The rules that hold in one folder: its own first, then those of the folders above."""

    def __init__(self, rules: Sequence[Rule], depth: int, above: Ignored | None) -> None:
        self._rules = Rules(rules)
        self._depth = depth
        self._above = above
        self._answers: dict[tuple[str, bool], bool] = {}

    def names(self, path: str, is_folder: bool) -> bool:
        """Whether a path is ignored, given that no folder above it is."""
        asked = (path, is_folder)
        answer = self._answers.get(asked)
        if answer is None:
            answer = self._answers[asked] = self._ask(path, is_folder)
        return answer

    def _ask(self, path: str, is_folder: bool) -> bool:
        said = self._rules.verdict(path.split("/")[self._depth :], is_folder=is_folder)
        if said is not None:
            return said
        return self._above is not None and self._above.names(path, is_folder)


class RuleBook:
    """The rules of one workspace; those whose files still say the same keep their answers."""

    def __init__(self) -> None:
        self._top: tuple[list[Rule], Ignored] | None = None
        self._known: dict[str, tuple[bytes, Ignored, Ignored]] = {}

    def above(self, workspace: Workspace) -> Ignored:
        """What a repository says about the workspace from above."""
        rules = rules_above(workspace)
        if self._top is None or self._top[0] != rules:
            self._top = (rules, Ignored(rules, 0, None))
        return self._top[1]

    def inside(self, folder: int, base: str, above: Ignored) -> Ignored:
        """The rules in an open folder that has a file of its own; `base` is its path with a slash at the end."""
        text = _text(folder)
        if text is None:
            return above
        before = self._known.get(base)
        if before is None or before[0] != text or before[1] is not above:
            rules = read_rules(text.decode(errors="surrogateescape"))
            before = self._known[base] = (text, above, Ignored(rules, base.count("/"), above))
        return before[2]


def _text(folder: int) -> bytes | None:
    try:
        with os.fdopen(os.open(RULES_FILE, _READ, dir_fd=folder), "rb") as file:
            return file.read(RULES_LIMIT)
    except OSError:
        return None
