"""What a call is about, as rules see it: the command it would run, or the files it names.

May import: protocol, policy.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from agi.policy.bash.seen import Seen, see
from agi.policy.ground import Ground
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind

_decode = msgspec.json.Decoder(dict[str, object]).decode
_FILE_KEYS = ("path", "new_path", "from_path", "to_path")
_ENVELOPE = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_DIFF = re.compile(r"^(?:--- |\+\+\+ |(?:rename|copy) (?:from|to) )(.+)$", re.MULTILINE)
_NAME = re.compile(r"[\w./-]+", re.ASCII)
_PREFIX = re.compile(r"^[ab]/")


class Subject(Struct, frozen=True, kw_only=True):
    """What a call is about."""

    definition: ToolDefinition
    text: str | None = None
    """The command it would run; None if it runs none."""
    seen: Seen | None = None
    """The same, taken apart."""
    files: tuple[str, ...] = ()
    """The files it names, as they are spelled and where they lead."""
    unclear: str = ""
    """Why its command or its files cannot be told; empty if they can."""


def subject_of(definition: ToolDefinition, call: ToolCall, ground: Ground) -> Subject:
    """Look at a call's arguments."""
    try:
        given = _decode(call.input)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Subject(definition=definition, unclear="its arguments cannot be read")
    if definition.kind is ToolKind.EXEC and "command" in given:
        text = given["command"]
        if not isinstance(text, str):
            return Subject(definition=definition, unclear="its arguments cannot be read")
        text = _placed(text, given.get("cwd"))
        return Subject(definition=definition, text=text, seen=see(text))
    return _about_files(definition, given, ground)


def _placed(command: str, cwd: object) -> str:
    """A command in another folder is the same as changing there first."""
    folder = cwd.rstrip("/") if isinstance(cwd, str) else ""
    if folder in ("", ".", "./"):
        return command
    quoted = folder if _NAME.fullmatch(folder) else "'" + folder.replace("'", "'\"'\"'") + "'"
    return f"cd {quoted} && {command}"


def _about_files(definition: ToolDefinition, given: dict[str, object], ground: Ground) -> Subject:
    spelled = [value for key in _FILE_KEYS if isinstance(value := given.get(key), str)]
    patch = given.get("patch")
    if isinstance(patch, str):
        named = _named_in(patch)
        if not named or any(name.startswith('"') for name in named):
            return Subject(definition=definition, unclear="the files of the patch cannot be told")
        spelled += named
    try:
        led = [ground.locate(path) for path in spelled] if ground.locate else []
    except Exception:  # whatever the reason, where it leads is not known
        return Subject(definition=definition, files=tuple(spelled), unclear="it names a path outside the workspace")
    return Subject(definition=definition, files=tuple(dict.fromkeys(_plain(path) for path in (*spelled, *led))))


def _named_in(patch: str) -> list[str]:
    """The files a patch names; those of a diff stand there behind `a/` and `b/`."""
    named = [name.strip() for name in _ENVELOPE.findall(patch)]
    named += [_PREFIX.sub("", name.partition("\t")[0].strip()) for name in _DIFF.findall(patch)]
    return [name for name in named if name != "/dev/null"]


def _plain(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts)
