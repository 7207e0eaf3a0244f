"""Make a skill of the beginning of its SKILL.md, or say what is wrong with it; and a text of a skill's, made safe.

The rules are those of the agentskills format. Pure: where the bytes come from is finding's business.
May import: protocol, skills.
"""

from __future__ import annotations

import re

from msgspec import Struct

from agi.protocol.skills import Skill, SkillProblem, SkillSource, SkillTrouble
from agi.protocol.visible import visible
from agi.skills import frontmatter
from agi.skills.scalars import Unreadable

SKILL_NAME = "SKILL.md"
LARGEST = 256 * 1024
"""Bytes of a SKILL.md; what is longer belongs into files beside it."""
HEAD = 16 * 1024
"""How many of its first bytes must hold the front matter."""
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1_024
LONGEST_COMPATIBILITY = 500
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NAMING = "Use lowercase letters, digits and single hyphens between them, 64 characters at most."


class Told(Struct, frozen=True, kw_only=True):
    """Where a skill was found."""

    folder: str
    """The name of its folder."""
    path: str
    """How its SKILL.md is named in lists."""
    source: SkillSource

    def problem(self, code: SkillTrouble, message: str, hint: str = "") -> SkillProblem:
        """Say why it does not count."""
        return SkillProblem(name=one_line(self.folder)[:80], path=self.path, code=code, message=message, hint=hint)


def skill_from(head: bytes, size: int, told: Told) -> Skill | SkillProblem:
    """Read the beginning of a SKILL.md; `size` is that of the whole file."""
    if size > LARGEST:
        return told.problem(
            "too_large",
            f"{SKILL_NAME} has {size:,} bytes; {LARGEST:,} at most are read.",
            "Move most of it into files beside it; they are read when needed.",
        )
    try:
        text = decoded(head, whole=len(head) >= size)
    except ValueError as error:
        return told.problem("not_text", f"{SKILL_NAME} is no text: {error}.", "Save it as UTF-8.")
    try:
        lines, _ = frontmatter.split(text)
        front = frontmatter.read(lines)
    except Unreadable as problem:
        return told.problem("invalid", str(problem), problem.hint)
    if said := _wrong(front, told.folder):
        return told.problem("invalid", *said)
    return Skill(
        name=front.name,
        description=one_line(front.description),
        source=told.source,
        path=told.path,
        license=one_line(front.license)[:LONGEST_DESCRIPTION],
        compatibility=one_line(front.compatibility),
        allowed_tools=one_line(front.allowed_tools)[:LONGEST_DESCRIPTION],
        metadata={one_line(key): one_line(value) for key, value in front.metadata.items()},
    )


def is_name(name: str) -> bool:
    """Whether a skill can be called so; such a name leads nowhere as a path."""
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None


def decoded(data: bytes, *, whole: bool = True) -> str:
    """Bytes as text; raises ValueError saying why they are none. Of a part, its last character may be torn."""
    if (at := data.find(b"\0")) >= 0:
        raise ValueError(f"it has a zero byte at {at:,}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if not whole and error.end == len(data) and error.reason == "unexpected end of data":
            return data[: error.start].decode("utf-8-sig")
        raise ValueError(f"byte {error.start:,} is not UTF-8") from None


def one_line(text: str) -> str:
    """A text of a skill's for lists: on one line, without what nobody sees."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    shown = "".join(char if char.isprintable() else " " for char in visible(text))
    return " ".join(shown.split())


def _wrong(front: frontmatter.FrontMatter, folder: str) -> tuple[str, str] | None:
    """What is wrong with a front matter, and what to do about it."""
    if not front.name:
        return "Its front matter has no name.", f"Add a line `name: {one_line(folder)[:80]}`."
    if not is_name(front.name):
        return f"{one_line(front.name)[:80]!r} is no name a skill can have.", _NAMING
    if front.name != folder:
        shown = one_line(folder)[:80]
        return f"Its name is {front.name}, but its folder is called {shown}.", "Make them the same."
    description = one_line(front.description)
    if not description:
        return "Its front matter has no description.", "Say in it what the skill does and when to use it."
    if len(description) > LONGEST_DESCRIPTION:
        count = f"{len(description):,} characters; {LONGEST_DESCRIPTION:,} are allowed"
        return f"Its description has {count}.", "Shorten it; details belong into the text below."
    if len(one_line(front.compatibility)) > LONGEST_COMPATIBILITY:
        return f"Its compatibility has more than {LONGEST_COMPATIBILITY} characters.", "Shorten it."
    return None
