"""`agi skills`: the instructions agents can load here, what is wrong with others, one of them in full.

May import: errors, client, cli.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from agi.cli import exits
from agi.cli.display import exact, exact_lines, line
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import STDOUT, is_terminal, put, say
from agi.cli.place import folder, place
from agi.client.find import open_daemon
from agi.client.settings import ClientSettings
from agi.protocol.skills import Skill, SkillList

Action = Callable[[Arguments, list[str]], int]
_WIDEST = 32
_MOST_PROBLEMS = 20


def skills(arguments: Arguments) -> int:
    """Do what the first word says; without one, list."""
    words = arguments.only(0, 1, 2, 3)
    name = words[0] if words else "list"
    if name not in ACTIONS:
        error = usage("skills", f"There is no `agi skills {name[:40]}`.")
        error.hint = nearest(name, ACTIONS) + error.hint
        raise error
    return ACTIONS[name](arguments, words[1:])


def _list(arguments: Arguments, rest: list[str]) -> int:
    if rest:
        raise usage("skills", "`agi skills list` takes no name.")
    found = asyncio.run(_offered(place(arguments)))
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    widest = min(max((len(one.name) for one in found.skills), default=0), _WIDEST)
    for one in found.skills:
        put(f"{exact(one.name):{widest}}  {one.source:7}  {line(one.description, 80)}\n")
    for problem in found.problems[:_MOST_PROBLEMS]:
        say(f"{exact(problem.path)}: {line(problem.message, 500)} {line(problem.hint, 300)}".rstrip())
    if len(found.problems) > _MOST_PROBLEMS:
        say(f"{len(found.problems) - _MOST_PROBLEMS:,} more do not count; --json names them.")
    if not found.enabled:
        say("Skills are switched off here: `skills.enabled` is false.")
    elif not found.skills:
        say("There are no skills here. One is a folder with a SKILL.md in .agi/skills; docs/skills.md says more.")
    return exits.OK


async def _offered(settings: ClientSettings) -> SkillList:
    """Ask the daemon if there is one; looking by ourselves makes no data folder."""
    client = await open_daemon(settings)
    if client is None:
        from agi.client.inprocess import offered_skills  # late: it brings the whole house, which a daemon spares us

        return offered_skills(settings)
    try:
        if client.notice:
            say(client.notice)
        return await client.skills()
    finally:
        await client.close()


def _show(arguments: Arguments, rest: list[str]) -> int:
    from agi.client.inprocess import loaded_skill  # late: listing with a daemon does not need it

    if len(rest) not in (1, 2):
        raise usage("skills", "`agi skills show` needs the name of a skill, and may name one of its files.")
    loaded = loaded_skill(place(arguments), *rest)
    if arguments.has("--json"):
        put(msgspec.json.encode(loaded).decode() + "\n")
        return exits.OK
    if len(rest) == 1:
        say(f"{exact(loaded.skill.path)} ({loaded.skill.source})")
        for file in loaded.files:
            say(f"  {exact(file)}")
        if loaded.more_files:
            say("  …")
    # At a terminal every character is shown for what it is; piped on, the text stays as it is.
    body = "\n".join(exact_lines(loaded.body)) if is_terminal(STDOUT) else loaded.body
    put(body if body.endswith("\n") else body + "\n")
    return exits.OK


def _check(arguments: Arguments, rest: list[str]) -> int:
    from agi.client.inprocess import checked_skill  # late: listing does not need it

    if len(rest) != 1:
        raise usage("skills", "`agi skills check` needs the folder of a skill.")
    path = Path(rest[0])
    found = checked_skill(folder("skills", str(path.parent if path.name == "SKILL.md" else path)))
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
    elif isinstance(found, Skill):
        put(f"{found.name}: {line(found.description, 100)}\n")
    else:
        say(f"{exact(found.path)}: {line(found.message, 500)} {line(found.hint, 300)}".rstrip())
    return exits.OK if isinstance(found, Skill) else exits.FAILED


ACTIONS: dict[str, Action] = {"list": _list, "show": _show, "check": _check}
"""What can be done with skills, by its word."""
