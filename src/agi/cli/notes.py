"""`agi notes`: what the user pinned for a folder. May import: errors, config, client, cli."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from agi.cli import exits
from agi.cli.display import exact, exact_lines
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import put
from agi.cli.place import place
from agi.client.settings import ClientSettings
from agi.config.notes import add_note, read_notes, remove_note
from agi.errors import Invalid, NotFound

SHORTEST = 4


def notes(arguments: Arguments) -> int:
    """Do what the first word says; without one, list."""
    words = arguments.only(0, 1, 2)
    name = words[0] if words else "list"
    if name not in ACTIONS:
        error = usage("notes", f"There is no `agi notes {name[:40]}`.")
        error.hint = nearest(name, ACTIONS) + error.hint
        raise error
    if (len(words) == 2) == (name == "list"):
        what = {"list": "takes no more words", "add": "needs one text, in quotes", "rm": "needs the id of a note"}
        raise usage("notes", f"`agi notes {name}` {what[name]}.")
    return ACTIONS[name](arguments, place(arguments), words[1] if len(words) == 2 else "")


def _list(arguments: Arguments, settings: ClientSettings, _none: str) -> int:
    found = read_notes(settings.home_config, settings.project)
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    for one in found:
        text = "\n    ".join(exact_lines(one.text))
        put(f"{exact(one.id)}\n    {text}\n")
    if not found:
        put("No notes for this folder.\n")
    return exits.OK


def _add(arguments: Arguments, settings: ClientSettings, text: str) -> int:
    note = add_note(settings.home_config, settings.project, text)
    put(msgspec.json.encode(note).decode() + "\n" if arguments.has("--json") else f"{note.id}\n")
    return exits.OK


def _rm(arguments: Arguments, settings: ClientSettings, text: str) -> int:
    """Find it by its id, or by the beginning or the end of it."""
    fitting = [one for one in read_notes(settings.home_config, settings.project) if _fits(one.id, text)]
    if len(fitting) > 1:
        hint = f"Say more of it: {', '.join(one.id for one in fitting[:5])}"
        raise Invalid(f"{len(fitting)} notes fit {text[:80]!r}.", code="note_ambiguous", hint=hint)
    if not fitting:
        raise NotFound(f"There is no note {text[:80]!r}.", code="note_not_found", hint="`agi notes` lists them.")
    remove_note(settings.home_config, fitting[0].id)
    put(f"Removed: {fitting[0].id}\n")
    return exits.OK


def _fits(note_id: str, text: str) -> bool:
    short, rest = text.removeprefix("note_"), note_id.removeprefix("note_")
    return note_id == text or (len(short) >= SHORTEST and (rest.startswith(short) or rest.endswith(short)))


ACTIONS: dict[str, Callable[[Arguments, ClientSettings, str], int]] = {"list": _list, "add": _add, "rm": _rm}
"""What can be done with notes, by its word."""
