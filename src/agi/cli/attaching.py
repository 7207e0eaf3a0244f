"""Files that go along with a prompt: named with `--attach`, or mentioned as `@path` in what was typed.

`--attach` is the user's word for any file; `@path` only reaches files of the folder, and what is no file there stays
plain text. Only what was typed is looked through: a diff or a page from stdin attaches nothing. What the files are is
found out where they are stored. May import: errors, protocol, config, client, cli.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from agi.cli.beginning import Brought
from agi.cli.display import line
from agi.cli.options import usage
from agi.cli.output import say
from agi.client.base import Client
from agi.config.files import read_file, read_inside
from agi.errors import ConfigError
from agi.protocol.parts import Audio, File, Image, InputPart

LIMIT = 20 * 1024 * 1024
MOST = 50
"""Files that go along with one prompt."""
_MENTION = re.compile(r"""(?<![\w@/.+-])@(?:"([^"\n]{1,500})"|'([^'\n]{1,500})'|([^\s"'`<>|*@]{1,500}))""")
_TRAILING = ".,;:!?)]}…"
_FILES = re.compile(
    r"\.(py|pyi|js|jsx|ts|tsx|go|rs|c|h|cc|cpp|hpp|java|kt|rb|php|sh|sql|md|rst|txt|log|json|toml|ya?ml|xml|html?|css|csv"
    r"|ini|cfg|diff|patch|png|jpe?g|gif|webp|bmp|svg|pdf|wav|mp3|flac|ogg|m4a)$",
    re.IGNORECASE,
)
"""How names end that are hardly meant as anything but a file."""


def bring(named: Sequence[str], typed: str, project: Path) -> tuple[Brought, ...]:
    """Read the files; raises ConfigError for one that was named and cannot be had."""
    found = {path: _named(path) for path in dict.fromkeys(named)}
    for path in dict.fromkeys(mentioned(typed)):
        if path not in found and (brought := _mentioned(path, project)):
            found[path] = brought
    if len(found) > MOST:
        raise usage("", f"There are {len(found)} files; at most {MOST} go along with one prompt.")
    return tuple(found.values())


async def attach_all(client: Client, session_id: str, files: Iterable[Brought]) -> list[InputPart]:
    """Store the files with the session; gives the parts of the message that show them."""
    parts: list[InputPart] = []
    for file in files:
        attached = await client.attach(session_id, os.path.basename(file.name)[-255:] or "file", file.data)
        if attached.note:
            say(f"note: {line(file.name, 200)}: {line(attached.note, 400)}")
        parts.append(_part(attached.ref, attached.mime_type, file.name[-255:]))
    return parts


def mentioned(typed: str) -> Iterator[str]:
    """What stands behind an `@`, as a path; not where it stands in a word, as in an address."""
    for match in _MENTION.finditer(typed):
        quoted = match[1] or match[2]
        yield quoted or match[3].rstrip(_TRAILING)


def _part(ref: str, mime: str, name: str) -> InputPart:
    kind = mime.partition("/")[0]
    shape = Image if kind == "image" and mime != "image/svg+xml" else Audio if kind == "audio" else File
    return shape(ref=ref, mime_type=mime, name=name)


def _named(path: str) -> Brought:
    if "\0" in path or not path:
        raise usage("", "--attach needs the name of a file.")
    data = read_file(Path(os.path.expanduser(path)), limit=LIMIT)
    if data is None:
        raise ConfigError(f"There is no file {path[:200]!r}.", hint="--attach names a file to show.", code="usage")
    if not data:
        raise ConfigError(f"The file {path[:200]!r} is empty.", hint="Attach one that holds something.", code="usage")
    return Brought(_readable(path), data)


def _mentioned(path: str, project: Path) -> Brought | None:
    """A file of the folder; None, and a word about it where one was surely meant, if it is none or cannot be had."""
    place = os.path.normpath(path)
    if os.path.isabs(place) or place.split(os.sep)[0] in ("..", "~", ".agi") or "\0" in place:
        if os.path.isfile(os.path.expanduser(path) if os.path.isabs(place) else project / place):
            say(f"note: @{line(path, 200)} is not a file of this folder; --attach shows any file.")
        return None
    if not path or os.path.isdir(project / place):
        return None
    try:
        data = read_inside(project, place, limit=LIMIT, links=True)
    except ConfigError as error:
        say(f"note: @{line(path, 200)} is not attached: {line(error.message, 300)}")
        return None
    if not data and (data is not None or "/" in path or _FILES.search(path)):
        why = "there is no such file" if data is None else "the file is empty"
        say(f"note: @{line(path, 200)} is not attached: {why}.")
    return Brought(path, data) if data else None


def _readable(path: str) -> str:
    return os.fsencode(path).decode(errors="replace")
