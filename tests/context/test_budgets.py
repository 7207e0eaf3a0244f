"""What each section may cost: as configured, never more than a share of the window; and which names files may have."""

from __future__ import annotations

import msgspec
import pytest

from agi.config.settings import ContextSettingsSection
from agi.config.values import RULES_FILES, ContextSettings
from agi.context.budgets import SHARES, budgets_for


def test_a_small_window_leaves_each_section_its_share():
    """An unknown one limits nothing."""
    settings = ContextSettings()

    assert budgets_for(settings, 1_500, None)["rules"] == settings.rules_tokens
    assert budgets_for(settings, 1_500, 8_000) == {name: min(2_000, 8_000 // share) for name, share in SHARES.items()}


def test_what_is_switched_off_stays_off():
    """A budget of nothing tells nothing."""
    assert budgets_for(ContextSettings(rules_tokens=0), 0, 1_000_000)["rules"] == 0


@pytest.mark.parametrize("name", [*RULES_FILES, "rules/*", "*.md", "a b.md"])
def test_files_are_named_from_their_folder(name):
    """The last part may be a pattern."""
    assert msgspec.convert({"rulesFiles": [name]}, ContextSettingsSection).rules_files == (name,)


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../x", "a/../../x", "..", "*/x", "a/*/b", "a\\b", "a/", "a\0b"])
def test_what_leads_elsewhere_is_no_name(name):
    """Nor is a pattern that enters folders."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"rulesFiles": [name]}, ContextSettingsSection)
