"""skill: the text of a skill, one of its files, or the skills that fit a question.

Where skills come from and what may be read of them is the room of skills' business; nothing of one is run here.
May import: errors, protocol, skills, tools.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from agi.errors import Invalid
from agi.protocol.parts import Json, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.schema import input_schema, read_input
from agi.tools.threads import in_thread

if TYPE_CHECKING:
    from agi.protocol.skills import Skill
    from agi.skills.loading import Loaded, Skills

MOST_FOUND = 20
_DESCRIBED = 300
_OWNERS = {"project": "the project's", "user": "the user's own"}


class SkillInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A skill by its name, or a search for one."""

    name: Annotated[str, Meta(min_length=1, max_length=200, description="The skill to load.")] | None = None
    file: (
        Annotated[
            str,
            Meta(min_length=1, max_length=1000, description="One of its files instead, from the skill's folder."),
        ]
        | None
    ) = None
    query: (
        Annotated[str, Meta(min_length=1, max_length=1000, description="Without a name: find skills by words.")] | None
    ) = None


class SkillTool:
    """Shows a skill, or finds one."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="skill",
            description="Load a skill (instructions this project or the user keeps for a kind of work) by its name, "
            "read one of its files, or find skills by a query.",
            input_schema=input_schema(SkillInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Read what was asked for."""
        asked = read_input(call, SkillInput)
        if (asked.name is None) == (asked.query is None) or (asked.file and asked.name is None):
            return failed(call, "Give the name of a skill, and a file of it if one is wanted; or a query alone.")
        if context.skills is None:
            return failed(call, "No skills are known here.")
        skills = context.skills
        text, facts = await in_thread(lambda _: _answer(skills, asked))
        return ToolResult(id=call.id, ok=True, parts=(Text(text=text),), result=facts)


def _answer(skills: Skills, asked: SkillInput) -> tuple[str, Json]:
    if asked.name is None:
        return _found(skills, asked.query or "")
    if asked.file is None:
        return _loaded(skills.load(asked.name))
    text = skills.read(asked.name, asked.file)
    return text, {"name": asked.name, "file": asked.file}


def _loaded(loaded: Loaded) -> tuple[str, Json]:
    skill = loaded.skill
    lines = [f"Skill {skill.name}, {_OWNERS[skill.source]}: {skill.path}"]
    if skill.compatibility:
        lines.append(f"It needs: {skill.compatibility}")
    if skill.allowed_tools:
        lines.append(f"It wishes for these tools, which grants nothing: {skill.allowed_tools}")
    if loaded.files:
        lines.append(_where(skill))
        lines += [f"- {file.path} ({file.size:,} bytes)" for file in loaded.files]
        lines += ["- …"] if loaded.more_files else []
    files: list[Json | str] = [file.path for file in loaded.files]
    facts: Json = {"name": skill.name, "source": skill.source, "path": skill.path, "files": files}
    return "\n".join((*lines, "", loaded.body)), facts


def _where(skill: Skill) -> str:
    """How its files are reached."""
    if skill.source == "project":
        folder = skill.path.rpartition("/")[0]
        return f"Its files, in {folder}; read them with `file`, run scripts as any other file of the project:"
    return "Its files, outside the workspace: read them with `file`; commands in the sandbox do not see them:"


def _found(skills: Skills, query: str) -> tuple[str, Json]:
    from agi.skills.catalogue import shortened  # late: only a search needs it
    from agi.skills.ranking import ranked

    listed = skills.all()
    if not listed.enabled:
        raise Invalid("Skills are switched off here.", hint="`skills.enabled` does it.", code="skills_off")
    fitting = [skill for skill, score in ranked(listed.skills, query) if score > 0]
    if not fitting:
        count = len(listed.skills)
        said = f"None of {count:,} skills fits. Try other words." if count else "There are no skills here."
        return said, {"names": []}
    lines = [f"- {one.name} ({one.source}): {shortened(one.description, _DESCRIBED)}" for one in fitting[:MOST_FOUND]]
    if len(fitting) > MOST_FOUND:
        lines.append(f"[{len(fitting) - MOST_FOUND:,} more fit less well; other words find them]")
    return "\n".join(lines), {"names": [skill.name for skill in fitting[:MOST_FOUND]]}
