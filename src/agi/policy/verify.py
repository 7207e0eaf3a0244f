"""When a failed verification sends the agent back to work. Pure. May import: protocol."""

from __future__ import annotations

from agi.protocol.policies import VerifyPolicy

__all__ = ["VerifyPolicy", "may_try_again"]


def may_try_again(policy: VerifyPolicy, *, attempts: int) -> bool:
    """Tell whether a failure, the `attempts`-th one, still sends the agent back to work."""
    return attempts < policy.max_attempts
