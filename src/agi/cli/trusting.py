"""May this project's own settings and commands count? Asked once at a terminal, never assumed.

Keeping the answer is `agi.trust`'s business. May import: errors, config, trust, client, cli.
"""

from __future__ import annotations

from agi.cli.display import exact
from agi.cli.output import say
from agi.cli.questions import ask_now
from agi.client.base import ClientSettings
from agi.config.fingerprint import NOTHING, fingerprint
from agi.trust import TrustState, set_trust, trust_state

SHOWN = 20
QUESTION = "Trust it? They can then run commands as you. [y]es · [n]o, not now: "


def ask_trust(settings: ClientSettings) -> TrustState:
    """Tell how the project stands; where something of it waits for trust, ask the person who is there first."""
    state = trust_state(settings.project, settings.home_config)
    if state.trusted or state.fingerprint in ("", NOTHING):
        return state
    for line in describe(settings, state):
        say(line)
    answer = ask_now(QUESTION) or ""
    if answer.lower() not in ("y", "yes"):
        say("Not trusted: of its settings only what is harmless counts. `agi trust` changes that.")
        return state
    return set_trust(settings.project, settings.home_config, True, seen=state.fingerprint)


def describe(settings: ClientSettings, state: TrustState) -> list[str]:
    """Name what is to be trusted, so that one can look at it first."""
    folder = exact(str(settings.project))
    if state.reason == "changed":
        head, names = f"{folder} has changed since you trusted it:", list(state.changed)
    else:
        head, names = f"{folder} brings settings of its own:", sorted(fingerprint(settings.project).files)
    more = [f"  … and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return [head, *(f"  {exact(name)}" for name in names[:SHOWN]), *more]
