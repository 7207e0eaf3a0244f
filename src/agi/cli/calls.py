"""A tool call in words: one line to tell what is happening, all of it to decide on, and what a command said.

May import: protocol, cli.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agi.cli.display import exact, exact_lines, line
from agi.protocol.parts import Audio, File, Image, Text

_TELLING = ("command", "path", "query", "patch", "source")
_FILE = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")


def summary(name: str, given: bytes) -> str:
    """A call on one line, such as `read_file README.md`."""
    arguments = _arguments(given)
    telling = next((arguments[key] for key in _TELLING if isinstance(arguments.get(key), str)), None)
    if telling is None:
        text = "" if not arguments else bytes(given).decode(errors="replace")
    elif "patch" in arguments:
        text = ", ".join(_files(str(telling))) or str(telling)
    else:
        text = str(telling)
    return line(f"{name} {text}").strip()


def whole(given: bytes) -> list[str]:
    """All arguments of a call, each character shown, one line or more an argument."""
    arguments = _arguments(given)
    if not arguments:
        return [exact(bytes(given).decode(errors="replace"))]
    lines: list[str] = []
    for key, value in arguments.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        first, *more = exact_lines(text)
        lines += [f"{exact(key)}: {first}"] if not more else [f"{exact(key)}:", *(f"  {one}" for one in (first, *more))]
    return lines


def output_of(parts: Iterable[Text | Image | Audio | File]) -> str:
    """What a command said, of the result that the model is shown."""
    return without_ending("\n".join(part.text for part in parts if isinstance(part, Text)))


def without_ending(text: str) -> str:
    """Leave out the last line of a command's output where it only says how the command ended."""
    before, _, last = text.rpartition("\n")
    return before if last.startswith("[") and last.endswith("]") else text


def _arguments(given: bytes) -> dict[str, object]:
    try:
        value = msgspec.json.decode(given)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _files(patch: str) -> list[str]:
    return [one.removeprefix(mark) for one in patch.split("\n") for mark in _FILE if one.startswith(mark)]
