"""When a change is checked: whether verification is due, and whether the default command means anything here.

Running the commands is the loop's business. May import: protocol.
"""

from __future__ import annotations

from agi.protocol.policies import VerifyPolicy

__all__ = ["VerifyPolicy", "default_applies", "is_due", "may_try_again"]

_DEFAULT = VerifyPolicy().commands


def is_due(policy: VerifyPolicy, *, changed: bool, makefile: str | None) -> bool:
    """Tell whether a turn that is about to end must be verified; `makefile` is the text of the workspace's, if any."""
    return policy.auto_verify and changed and bool(policy.commands) and default_applies(policy, makefile)


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
