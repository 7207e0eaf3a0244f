"""A skill as clients and models see it: a folder of instructions with a name. May import: nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

SkillSource = Literal["project", "user"]
SkillTrouble = Literal["invalid", "too_large", "not_text", "unreadable", "shadowed", "too_many"]


class Skill(Struct, frozen=True, kw_only=True):
    """Instructions for one kind of work, as its front matter describes them; its text is loaded when it is used."""

    name: str
    description: str
    """What it does and when to use it, on one line."""
    source: SkillSource
    """Whether the project brings it, or the user's own settings."""
    path: str
    """Its SKILL.md: from the workspace's root, or an absolute path for one of the user's."""
    license: str = ""
    compatibility: str = ""
    """What it needs, in its own words."""
    allowed_tools: str = ""
    """Tools it wishes for, in its own words; they are granted nothing by it."""
    metadata: Mapping[str, str] = {}


class SkillProblem(Struct, frozen=True, kw_only=True):
    """Why something that looks like a skill is not one of those that count."""

    name: str
    path: str
    code: SkillTrouble
    message: str
    hint: str = ""


class SkillList(Struct, frozen=True, kw_only=True):
    """The skills there are, sorted by name, and what is wrong with others."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[SkillProblem, ...] = ()
    enabled: bool = True
    """Whether skills are used at all; where not, none are looked for."""
