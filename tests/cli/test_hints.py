"""Hints at the command line speak of commands, not of routes."""

from __future__ import annotations

import pytest

from agi.cli.hints import hint_of


@pytest.mark.parametrize(
    ("code", "hint", "told"),
    [
        (
            "session_not_found",
            "List the sessions with GET /v1/sessions or `agi sessions`.",
            "`agi sessions` lists them.",
        ),
        ("invalid", "GET /openapi.json says what is expected.", ""),
        ("bad_request", "Upload it with POST …/attachments and send back its ref.", ""),
        ("missing_key", "Set OPENAI_API_KEY.", "Set OPENAI_API_KEY."),
        ("brand_new", "", ""),
    ],
)
def test_a_hint_helps_whoever_types_commands(code, hint, told):
    """Known codes have words of their own; what speaks only of HTTP is left out."""
    assert hint_of(code, hint) == told
