"""A tool call in words: what it is about on one line, all of its arguments to decide on, and what came of it.

May import: protocol, tui.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from agi.protocol.parts import Artifact, Audio, File, Image, Json, Text
from agi.protocol.showing import exact, exact_lines
from agi.tui.safe import one_line

_TELLING = ("command", "path", "query", "url", "name", "patch", "source", "pattern")
_FILE = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")


def about(given: bytes) -> str:
    """What a call is about, such as the path of a file; one line."""
    arguments = _arguments(given)
    telling = next((arguments[key] for key in _TELLING if isinstance(arguments.get(key), str)), None)
    if telling is None:
        return one_line(bytes(given).decode(errors="replace"), 200) if arguments else ""
    if "patch" in arguments:
        return one_line(", ".join(_files(str(telling))) or str(telling), 200)
    return one_line(str(telling), 200)


def whole(given: bytes) -> list[str]:
    """All arguments of a call, each character shown; a lone command stands for itself."""
    arguments = _arguments(given)
    if not arguments:
        return [exact(bytes(given).decode(errors="replace"))]
    if list(arguments) == ["command"] and isinstance(arguments["command"], str):
        return exact_lines(arguments["command"])
    lines: list[str] = []
    for key, value in arguments.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        first, *more = exact_lines(text)
        lines += [f"{exact(key)}: {first}"] if not more else [f"{exact(key)}:", *(f"  {one}" for one in (first, *more))]
    return lines


def outcome(
    *, ok: bool, error: str, result: Json | UnsetType, artifact: Artifact | UnsetType, output: str
) -> tuple[str, str]:
    """What came of a call in a word or two, and the change it made as a diff."""
    patch = artifact.patch if artifact is not UNSET and artifact.kind == "file_diff" else ""
    told = result if result is not UNSET else {}
    if artifact is not UNSET and artifact.summary and patch:
        counts = artifact.summary
        return f"+{counts.get('additions', 0)} −{counts.get('deletions', 0)}", patch
    if isinstance(told.get("exit_code"), int):
        return f"exit {told['exit_code']}", patch
    if not ok:
        return one_line(error, 60), patch
    lines = output.count("\n") + 1 if output.strip() else 0
    return (f"{lines} {'line' if lines == 1 else 'lines'}" if lines else ""), patch


def said_by(parts: Sequence[Text | Image | Audio | File]) -> str:
    """The text of a result; what is no text is named."""
    return "\n".join(part.text if isinstance(part, Text) else f"[{part.mime_type}: {part.ref}]" for part in parts)


def _arguments(given: bytes) -> dict[str, object]:
    try:
        value = msgspec.json.decode(given)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _files(patch: str) -> list[str]:
    return [one.removeprefix(mark) for one in patch.split("\n") for mark in _FILE if one.startswith(mark)]
