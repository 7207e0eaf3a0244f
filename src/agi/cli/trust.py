"""`agi trust`: let a project's own settings count, or no longer. May import: errors, config, trust, client, cli."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec.structs import replace

from agi.cli import exits
from agi.cli.display import exact
from agi.cli.options import Arguments, usage
from agi.cli.output import put, say
from agi.cli.place import folder, place
from agi.cli.trusting import describe
from agi.config.files import config_dir
from agi.config.fingerprint import NOTHING
from agi.trust import list_trusted, set_trust, trust_state


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
    settings = replace(place(arguments), project=folder("trust", path))
    state = trust_state(settings.project, settings.home_config)
    if not state.trusted and state.fingerprint not in ("", NOTHING):
        for line in describe(settings, state):
            say(line)
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
        put(f"{one.trusted_at}  {exact(one.path)}{note}\n")
    if not found:
        put("No workspace is trusted.\n")
    return exits.OK
