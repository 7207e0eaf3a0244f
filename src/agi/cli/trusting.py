"""May this project's own settings and commands count? Asked at a terminal, and only where it would change something.

Keeping the answer is others' business. May import: errors, config, trust, client, cli.
"""

from __future__ import annotations

from contextlib import suppress

from agi.cli.covered import describe
from agi.cli.output import say
from agi.cli.questions import ask_now
from agi.client.declined import decline, is_declined
from agi.client.ignored import waiting_for_trust
from agi.client.settings import ClientSettings
from agi.config.fingerprint import NOTHING
from agi.errors import ConfigError
from agi.trust import TrustState, set_trust, trust_state

QUESTION = "Trust it? It can then run commands as you. [y]es · [n]o · Enter: not now: "
NOT_TRUSTED = "Not trusted: of its settings only what is harmless counts. `agi trust` changes that."


def ask_trust(settings: ClientSettings) -> TrustState:
    """Tell how the project stands; where something of it waits for trust, ask the person who is there first.

    A no is remembered until one of the files changes.
    """
    state = trust_state(settings.project, settings.home_config)
    if state.trusted or state.fingerprint in ("", NOTHING) or not waiting_for_trust(settings):
        return state
    if is_declined(settings.project, settings.home_config, state.fingerprint):
        return state
    for line in describe(settings.project, state, contents=True):
        say(line)
    answer = (ask_now(QUESTION) or "").lower()
    if answer in ("y", "yes"):
        return set_trust(settings.project, settings.home_config, True, seen=state.fingerprint)
    say(NOT_TRUSTED)
    if answer in ("n", "no"):
        with suppress(ConfigError):  # then it is asked again
            decline(settings.project, settings.home_config, state.fingerprint)
    return state
