"""`agi tasks`: what is to be done in a project, and who worked on it. May import: errors, protocol, client, cli."""

from __future__ import annotations

import msgspec

from agi.cli import exits
from agi.cli.display import exact, line
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import put, say
from agi.cli.place import place
from agi.client.crew import listed_tasks, new_task

ACTIONS = ("list", "new")


def tasks(arguments: Arguments) -> int:
    """Do what the first word says; without one, list."""
    words = arguments.only(0, 1, 2)
    name = words[0] if words else "list"
    if name not in ACTIONS:
        error = usage("tasks", f"There is no `agi tasks {name[:40]}`.")
        error.hint = nearest(name, ACTIONS) + error.hint
        raise error
    if name == "new":
        return _new(arguments, words[1:])
    if len(words) == 2 or arguments.has("--slug"):
        raise usage("tasks", "`agi tasks list` takes neither a title nor a slug.")
    return _list(arguments)


def _new(arguments: Arguments, words: list[str]) -> int:
    if len(words) != 1:
        raise usage("tasks", "`agi tasks new` needs one title, in quotes.")
    made = new_task(place(arguments), words[0], arguments.get("--slug"))
    put(msgspec.json.encode(made).decode() + "\n" if arguments.has("--json") else f"{made.task_slug}\n")
    return exits.OK


def _list(arguments: Arguments) -> int:
    found = listed_tasks(place(arguments))
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    width = max((len(exact(one.task_slug)) for one in found), default=0)
    for one in found:
        put(f"{exact(one.task_slug):{width}}  {line(one.title, 80)}\n")
        for work in one.work:
            put(
                f"    {line(work.role, 40)} ({work.kind}, {line(work.status, 20)}) {line(work.summary, 80)}".rstrip()
                + "\n"
            )
        if one.problem:
            say(f"{exact(one.task_dir)}: {line(one.problem, 300)}")
    if not found:
        say('There are no tasks here. `agi tasks new "…"` makes one.')
    return exits.OK
