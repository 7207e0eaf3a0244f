"""AGENTS.md as settings: the text of a project's rules, and the verification commands it names.

    ## Verification

    ```sh
    make test
    ```

Every line of the first code block under a heading such as `Verify` or `Verification commands` is a command. They count
only where the workspace is trusted, and where no `config.json` names others. May import: errors.
"""

from __future__ import annotations

from pathlib import Path

from agi.config.files import read_inside

RULES_NAME = "AGENTS.md"
RULES_LIMIT = 1 << 16
_HEADINGS = frozenset({"verify", "verification", "verify commands", "verification commands"})
_MOST_COMMANDS = 20
_LONGEST_COMMAND = 1000


def read_rules(project: Path) -> bytes:
    """Read a project's AGENTS.md as far as the limit and one byte more; empty if there is none.

    Raises ConfigError if it leads out of the project or is no regular file.
    """
    return read_inside(project, RULES_NAME, limit=RULES_LIMIT, links=True, cut=True) or b""


def verify_commands(rules: bytes) -> tuple[str, ...]:
    """Find the verification commands in an AGENTS.md; a line with hidden characters is no command."""
    if b"verif" not in rules.lower():
        return ()
    lines = _block(rules[:RULES_LIMIT].decode(errors="replace"))
    commands = [line.strip().removeprefix("$ ") for line in lines]
    usable = [text for text in commands if text and text[0] != "#" and text.isprintable()]
    return tuple(text for text in usable if len(text) <= _LONGEST_COMMAND)[:_MOST_COMMANDS]


def _block(text: str) -> list[str]:
    """Give the lines of the first fenced block under the heading; a block that is not closed is none."""
    under_heading, fence = False, ""
    found: list[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        if fence:
            if stripped == fence:
                return found
            found.append(line)
        elif stripped.startswith("#"):
            under_heading = stripped.strip("#: ").lower() in _HEADINGS
        elif under_heading and stripped.startswith(("```", "~~~")):
            fence = stripped[:3]
    return []
