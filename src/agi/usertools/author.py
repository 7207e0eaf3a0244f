"""What the author of a tool imports as `agi_tool`: a decorator for the function, and an error to raise.

Runs inside the tool's own process, by any Python, without the rest of this package. May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

__all__ = ["ToolError", "tool"]

KINDS = ("read", "write", "exec", "network")
SHORTEST_S, USUAL_S, LONGEST_S = 0.1, 60.0, 3600.0

_Function = TypeVar("_Function", bound=Callable[..., Any])

decorated: list[tuple[Callable[..., Any], str, float]] = []
"""The functions that were marked, each with its kind and its time; read by who runs them."""


class ToolError(Exception):
    """Something the model should know: it is told the message, and the hint if there is one."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@overload
def tool(function: _Function) -> _Function: ...


@overload
def tool(*, kind: str = ..., timeout_seconds: float = ...) -> Callable[[_Function], _Function]: ...


def tool(function: Any = None, *, kind: str = "exec", timeout_seconds: float = USUAL_S) -> Any:
    """Mark the one function of tool.py that is the tool; it can still be called like any other.

    `kind` is what it does: `read` (it cannot change the workspace), `write` (it can; no network), `exec`, `network`.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    is_number = isinstance(timeout_seconds, int | float) and not isinstance(timeout_seconds, bool)
    if not is_number or not SHORTEST_S <= timeout_seconds <= LONGEST_S:
        raise ValueError(f"timeout_seconds must be a number from {SHORTEST_S:g} to {LONGEST_S:g}")

    def mark(marked: Any) -> Any:
        if not callable(marked) or isinstance(marked, type):
            raise TypeError("@tool marks a function")
        decorated.append((marked, kind, float(timeout_seconds)))
        return marked

    return mark if function is None else mark(function)
