"""When a change is checked: whether the default command means anything here, and whether to try again.

Running the commands is the loop's business. May import: protocol.
"""

from __future__ import annotations

from agi.protocol.policies import VerifyPolicy

__all__ = ["VerifyPolicy", "default_applies", "may_try_again"]

_DEFAULT = VerifyPolicy().commands


def default_applies(policy: VerifyPolicy, makefile: str | None) -> bool:
    """Tell whether the commands mean something here: the default, `make test`, needs a Makefile that knows `test`."""
    return policy.commands != _DEFAULT or (makefile is not None and _has_target(makefile, "test"))


def may_try_again(policy: VerifyPolicy, *, attempts: int) -> bool:
    """Tell whether a failure, the `attempts`-th one, still sends the agent back to work."""
    return attempts < policy.max_attempts


def _has_target(makefile: str, target: str) -> bool:
    """Look for a rule; a recipe line, a comment and an assignment (`test := 1`, `test = a:b`) are none."""
    for line in makefile.splitlines():
        names, colon, rest = line.partition(":")
        is_rule = colon and "=" not in names and not rest.startswith(("=", ":="))
        if is_rule and not line.startswith(("\t", "#")) and target in names.split():
            return True
    return False
