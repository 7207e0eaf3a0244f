"""What to wait for in a growing text: a plain text, or a regular expression that is matched in linear time.

Patterns come from models, so they are bounded, and none can take for ever. May import: errors.
"""

from __future__ import annotations

from typing import Protocol

from agi.errors import Invalid

LONGEST = 500
_CARRIED = 4096
"""How much of an unfinished line is looked at again when more of it comes."""
_LARGEST = 1 << 20
"""Bytes a compiled expression may take."""


class Pattern(Protocol):
    """Looks for something in a text that comes in pieces."""

    def feed(self, text: str) -> bool:
        """Take the next piece; True once it is found."""


class Literal:
    """A plain text; it may lie across pieces."""

    def __init__(self, wanted: str) -> None:
        self._wanted = _checked(wanted)
        self._carried = ""

    def feed(self, text: str) -> bool:
        """Take the next piece; True once it is found."""
        seen = self._carried + text
        # Not `seen[-0:]`, which is all of it.
        self._carried = seen[max(0, len(seen) - len(self._wanted) + 1) :]
        return self._wanted in seen


class Expression:
    """A regular expression without look-around; `^` and `$` are the ends of a line."""

    def __init__(self, wanted: str) -> None:
        import jsonschema_rs  # late: the one engine at hand that is linear; few wait for an expression

        schema = {"pattern": f"(?m){_checked(wanted)}"}
        options = jsonschema_rs.RegexOptions(size_limit=_LARGEST)
        try:
            self._validator = jsonschema_rs.validator_for(schema, offline=True, pattern_options=options)
        except ValueError as error:
            raise Invalid(
                f"{wanted!r} is not a regular expression that can be waited for.",
                code="pattern_invalid",
                hint="Look-around and back-references are not known, and it must not be too large.",
            ) from error
        self._carried = ""

    def feed(self, text: str) -> bool:
        """Take the next piece; True once it is found."""
        seen = self._carried + text
        self._carried = seen[seen.rfind("\n") + 1 :][-_CARRIED:]
        return self._validator.is_valid(seen)


def _checked(wanted: str) -> str:
    if not wanted or len(wanted) > LONGEST:
        raise Invalid(
            f"A pattern has from 1 to {LONGEST} characters.", code="pattern_invalid", hint="Wait for something shorter."
        )
    return wanted
