"""`agi trust`: let a project's own settings count, or no longer. May import: errors, config, trust, client, cli."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec.structs import replace

from agi.cli import exits
from agi.cli.covered import describe
from agi.cli.display import exact
from agi.cli.options import Arguments, usage
from agi.cli.output import put, say
from agi.cli.place import folder, place
from agi.cli.questions import ask_now, someone_is_there
from agi.cli.times import local_time
from agi.config.files import config_dir
from agi.trust import list_trusted, set_trust, trust_state

QUESTION = "Trust it as it is now? It can then run commands as you. [y/N]: "


def trust(arguments: Arguments) -> int:
    """Trust a folder as it is now, stop trusting it, or list what is trusted."""
    if arguments.has("--list"):
        arguments.only(0)
        if arguments.has("--revoke"):
            raise usage("trust", "--list and --revoke exclude each other.")
        return _list(as_json=arguments.has("--json"))
    words = arguments.only(0, 1)
    path = words[0] if words else "."
    return _revoke(path) if arguments.has("--revoke") else _trust(arguments, path)


def _trust(arguments: Arguments, path: str) -> int:
    """At a terminal one sees the files and is asked; without one, or with --yes, saying the command is the answer."""
    settings = replace(place(arguments), project=folder("trust", path))
    state = trust_state(settings.project, settings.home_config)
    asks = someone_is_there() and not arguments.has("--yes")
    if not state.trusted and not state.problem:
        for line in describe(settings.project, state, contents=asks):
            say(line)
        if asks and (ask_now(QUESTION) or "").lower() not in ("y", "yes"):
            say("Nothing was changed.")
            return exits.FAILED
    set_trust(settings.project, settings.home_config, True, seen=state.fingerprint or None)
    put(f"Trusted: {exact(str(settings.project))}\n")
    return exits.OK


def _revoke(path: str) -> int:
    """A folder that is gone can still be struck off."""
    home, real = config_dir(os.environ), os.path.realpath(os.path.expanduser(path))
    if real not in [one.path for one in list_trusted(home)]:
        put(f"Was not trusted: {exact(real)}\n")
        return exits.OK
    set_trust(Path(real), home, False)
    put(f"No longer trusted: {exact(real)}\n")
    return exits.OK


def _list(*, as_json: bool) -> int:
    home = config_dir(os.environ)
    found = list_trusted(home)
    if as_json:
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    for one in found:
        state = trust_state(Path(one.path), home)
        note = "" if state.trusted else "  (has changed since; trust it again to use it)"
        put(f"{local_time(one.trusted_at)}  {exact(one.path)}{note}\n")
    if not found:
        put("No workspace is trusted.\n")
    return exits.OK
