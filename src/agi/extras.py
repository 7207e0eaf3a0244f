"""Extras: parts of agi that need packages few others need, and the command that adds them where agi runs.

The command names the packages, never agi itself: so it leaves agi as it was installed (from a folder, editable, by
another installer), and can bring no other project of the same name. It names the Python that runs, since the first
`pip` of the path may belong to another. A test holds the table against pyproject.toml. May import: nothing of ours.
"""

from __future__ import annotations

import os
import sys

EXTRAS = {
    "local": ("xllamacpp>=2026.10",),
    "mcp": ("mcp>=2.3",),
    "otel": ("opentelemetry-exporter-otlp-proto-http>=1.45", "opentelemetry-sdk>=1.45"),
    "providers": ("pydantic-ai-slim>=2.66",),
    "tui": ("textual>=8.2",),
}
"""What each extra consists of."""


def how_to_add(extra: str, *, anew: bool = False) -> str:
    """The command that adds an extra to the Python agi runs in; `anew` also where it is there, but damaged."""
    return how_to_install(*(("--force-reinstall",) if anew else ()), *EXTRAS[extra])


def how_to_install(*wanted: str) -> str:
    """The command that installs packages into the Python agi runs in: by its own pip, or by uv where it has none."""
    from importlib.util import find_spec  # late: a one-shot that lacks nothing pays for nothing

    python = sys.executable or "python"
    if find_spec("pip") is not None:
        words = [python, "-m", "pip", "install", *wanted]
    else:
        words = ["uv", "pip", "install", "--python", python, *wanted]
    return " ".join(_quoted(word) for word in words)


def is_missing(extra: str) -> bool:
    """Whether a package of the extra is not installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        for requirement in EXTRAS[extra]:
            distribution(requirement.partition(">")[0])
    except PackageNotFoundError:
        return True
    return False


def _quoted(word: str) -> str:
    """As it is typed: `>` and `[` mean something to shells."""
    if os.name == "posix":
        from shlex import quote

        return quote(word)
    return f'"{word}"' if set(word) & set(" <>[]") else word
