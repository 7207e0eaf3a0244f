"""Roles: agents written as Markdown with a front matter, in `.agi/roles`, `.agents/roles` and the user's settings.

    ---
    name: product-analyst
    description: Finds out what is wanted and has it built.
    model: anthropic/claude-sonnet-4-5
    tools: [read_file, search]
    permissions: [agent-draft, projects-list, projects-create]
    maxSteps: 40
    ---
    You are a product analyst. …

The text is read by a model, and what the agent does is gated by approvals, so it counts without trust; permissions, and
a step limit above the default, do not. A file that is wrong is told of and left out. May import: errors, config,
protocol, skills, agents.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from agi.agents.base import Agent
from agi.agents.builtin import MANNERS, READ_TOOLS
from agi.agents.load import PROMPT_LIMIT, ROLE_FOLDERS, is_name
from agi.config import Config
from agi.config.files import read_inside
from agi.errors import ConfigError
from agi.protocol.drafts import PERMISSIONS, RoleProblem
from agi.protocol.policies import step_limit
from agi.protocol.visible import visible
from agi.skills.frontmatter import read_fields, split
from agi.skills.scalars import Unreadable

SUFFIX = ".md"
MOST_ROLES = 200
MOST_TOOLS = 200
MOST_STEPS = 100_000
LONGEST = 1_000
FIELDS = ("name", "description", "provider", "model", "tools", "permissions", "maxSteps", "maxUsd")
EVERY_TOOL = "*"
_EXAMPLE = "docs/agents.md shows how one is written."

_Fields = Mapping[str, str | tuple[str, ...]]
Source = Literal["project", "user"]


def load_roles(
    folders: Sequence[tuple[Path, str]], *, config: Config, taken: frozenset[str]
) -> tuple[list[Agent], tuple[RoleProblem, ...]]:
    """Read every role of these folders, and say what is wrong; a name that is `taken` or was met before stays."""
    found: dict[str, Agent] = {}
    problems: list[RoleProblem] = []
    for root, folder in folders:
        for name in _names(root, folder, problems):
            path = f"{folder}/{name}{SUFFIX}"
            shown = path if folder in ROLE_FOLDERS else str(root / path)
            source: Source = "project" if folder in ROLE_FOLDERS else "user"
            try:
                agent = _read(root, path, name, source)
                if agent.name in taken or agent.name in found:
                    raise Unreadable(f"Another agent is called {agent.name!r}.", "Rename one of them, or remove it.")
            except (Unreadable, ConfigError) as error:
                problems.append(RoleProblem(path=visible(shown), message=str(error), hint=error.hint))
                continue
            found[agent.name] = _as_trusted(agent, config, shown, problems)
    return list(found.values()), tuple(problems)


def _names(root: Path, folder: str, problems: list[RoleProblem]) -> list[str]:
    """The roles of a folder by their files; what else lies there is not looked at."""
    place = root / folder
    try:
        if place.is_symlink() and folder in ROLE_FOLDERS:
            raise ConfigError("It is a link.", hint="Put a real folder in its place.")
        with os.scandir(place) as entries:
            names = [entry.name for entry in islice(entries, 10 * MOST_ROLES)]
    except (OSError, ConfigError) as error:
        said = error.message if isinstance(error, ConfigError) else f"It cannot be read: {error.strerror}."
        problems.append(RoleProblem(path=folder, message=said, hint="Put a folder in its place, or remove it."))
        return []
    roles = sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX) and not name.startswith("."))
    roles = [name for name in roles if name.upper() != "README"]
    if len(roles) > MOST_ROLES:
        said = f"It holds more than {MOST_ROLES} roles; the others are not looked at."
        problems.append(RoleProblem(path=folder, message=said, hint="Remove some."))
    return roles[:MOST_ROLES]


def _read(root: Path, path: str, name: str, source: Source) -> Agent:
    content = read_inside(root, path, limit=PROMPT_LIMIT)
    if content is None:
        raise Unreadable("It is not there any more.")
    try:
        lines, body = split(visible(content.decode("utf-8-sig")))
    except UnicodeDecodeError:
        raise Unreadable("It is not UTF-8.", "Save it as UTF-8.") from None
    fields = read_fields(lines)
    _refuse_unknown(fields)
    named = _text(fields, "name") or name
    if not is_name(named):
        raise Unreadable(f"{named[:80]!r} cannot be a role's name.", "Use letters, digits, `-`, `_`, `.`.")
    provider, model = _model(fields)
    return Agent(
        name=named,
        description=" ".join(_text(fields, "description").split())[:LONGEST] or "A role.",
        prompt=f"{body.strip()}\n\n{MANNERS}" if body.strip() else MANNERS,
        tools=_tools(fields),
        max_steps=int(_number(fields, "maxSteps", most=MOST_STEPS) or 0) or step_limit(named),
        provider=provider,
        model=model,
        source=source,
        permissions=_permissions(fields),
        max_usd=_number(fields, "maxUsd", most=1e9),
    )


def _as_trusted(agent: Agent, config: Config, shown: str, problems: list[RoleProblem]) -> Agent:
    """What the role may have here: the user's own has all it asks for, a project's only where it is trusted."""
    from msgspec.structs import replace

    steps = config.max_steps(agent.name)
    if agent.source == "user" or config.trusted:
        return replace(agent, max_steps=steps or agent.max_steps)
    if agent.permissions:
        said = f"Its permissions ({', '.join(agent.permissions)}) do not count: the project is not trusted."
        problems.append(RoleProblem(path=shown, message=said, hint="`agi trust` trusts it as it is."))
    return replace(agent, max_steps=steps or min(agent.max_steps, step_limit(agent.name)), permissions=())


def _refuse_unknown(fields: _Fields) -> None:
    for key in fields:
        if key not in FIELDS:
            raise Unreadable(f"There is no field {key[:80]!r}.", f"Fields: {', '.join(FIELDS)}.")


def _text(fields: _Fields, key: str) -> str:
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise Unreadable(f"`{key}` must be a text.", _EXAMPLE)
    return value


def _list(fields: _Fields, key: str) -> tuple[str, ...]:
    """The words of a list; one text may hold several, with commas between."""
    value = fields.get(key, ())
    words = value if isinstance(value, tuple) else tuple(value.split(","))
    return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))


def _tools(fields: _Fields) -> tuple[str, ...] | None:
    if "tools" not in fields:
        return READ_TOOLS
    names = _list(fields, "tools")
    if names == (EVERY_TOOL,):
        return None
    if len(names) > MOST_TOOLS or any(len(name) > 200 for name in names):
        raise Unreadable(f"`tools` names more than {MOST_TOOLS} tools, or one with a very long name.", _EXAMPLE)
    return names


def _permissions(fields: _Fields) -> tuple[str, ...]:
    names = _list(fields, "permissions")
    for name in names:
        if name not in PERMISSIONS:
            raise Unreadable(f"There is no permission {name[:80]!r}.", f"Permissions: {', '.join(PERMISSIONS)}.")
    return names


def _model(fields: _Fields) -> tuple[str | None, str | None]:
    """Who answers: `model`, `provider/model`, or both fields."""
    provider, model = _text(fields, "provider"), _text(fields, "model")
    if not provider and "/" in model:
        provider, _, model = model.partition("/")
    if max(len(provider), len(model)) > 200:
        raise Unreadable("`model` is too long.", _EXAMPLE)
    return provider or None, model or None


def _number(fields: _Fields, key: str, *, most: float) -> float | None:
    text = _text(fields, key)
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= most:
        raise Unreadable(f"`{key}` is {text[:40]!r}, and must be a number above 0.", _EXAMPLE)
    return value
