"""Which settings do not count, and which of them trust would let count."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from agi.client.ignored import ignored_settings, waiting_for_trust


def configure(here, settings: object) -> None:
    here.data.mkdir(exist_ok=True)
    (here.data / "config.json").write_text(json.dumps(settings))


def test_what_waits_for_trust_is_told_apart_from_what_is_simply_unknown(here):
    """Trust mends the one and not the other."""
    configure(here, {"nosuch": 1, "providers": {"local": {"baseUrl": "http://127.0.0.1:9"}}})
    waiting = waiting_for_trust(here.settings)

    assert len(waiting) == 1
    assert "`providers.local.baseUrl` is ignored" in waiting[0]
    assert len(ignored_settings(here.settings)) == 2
    assert len(ignored_settings(replace(here.settings, trust_once=True))) == 1


def test_commands_in_the_rules_wait_for_trust_too(here):
    """AGENTS.md can name what is run."""
    (here.project / "AGENTS.md").write_text("## Verification\n\n```sh\nmake check\n```\n")

    assert "make check" in waiting_for_trust(here.settings)[0]


@pytest.mark.parametrize("settings", [{}, {"defaultAgent": "plan"}, {"sandbox": {"mode": "require"}}, 7], ids=str)
def test_where_nothing_waits_nothing_is_told(here, settings):
    """Harmless settings count at once; of a file that cannot be read nothing is known."""
    configure(here, settings)

    assert waiting_for_trust(here.settings) == ()
