"""Files that are mentioned as `@path` in what a person typed, and how files go along with a message.

`@path` only reaches files of the folder, and what is no file there stays plain text. Only what was typed is looked
through. What the files are is found out where they are stored. May import: errors, protocol, config, client.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from agi.client.base import Brought, Client
from agi.config.files import read_inside
from agi.errors import ConfigError
from agi.protocol.parts import Audio, File, Image, InputPart
from agi.protocol.showing import exact

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
Tell = Callable[[str], None]
"""Takes a sentence for the person."""


def mentioned(typed: str) -> Iterator[str]:
    """What stands behind an `@`, as a path; not where it stands in a word, as in an address."""
    for match in _MENTION.finditer(typed):
        quoted = match[1] or match[2]
        yield quoted or match[3].rstrip(_TRAILING)


def bring_mentioned(path: str, project: Path, tell: Tell, *, otherwise: str) -> Brought | None:
    """A file of the folder; None, and a word about it where one was surely meant, if it is none or cannot be had.

    `otherwise` says what to do about a file that stands elsewhere.
    """
    place = os.path.normpath(path)
    name = _line(path, 200)
    if os.path.isabs(place) or place.split(os.sep)[0] in ("..", "~", ".agi") or "\0" in place:
        if "\0" not in place and os.path.isfile(os.path.expanduser(path) if os.path.isabs(place) else project / place):
            tell(f"note: @{name} is not a file of this folder; {otherwise}")
        return None
    if not path or os.path.isdir(project / place):
        return None
    try:
        data = read_inside(project, place, limit=LIMIT, links=True)
    except ConfigError as error:
        tell(f"note: @{name} is not attached: {_line(error.message, 300)}")
        return None
    if not data and (data is not None or "/" in path or _FILES.search(path)):
        why = "there is no such file" if data is None else "the file is empty"
        tell(f"note: @{name} is not attached: {why}.")
    return Brought(path, data) if data else None


async def attach_all(client: Client, session_id: str, files: Iterable[Brought], tell: Tell) -> list[InputPart]:
    """Store the files with the session; gives the parts of the message that show them."""
    parts: list[InputPart] = []
    for file in files:
        attached = await client.attach(session_id, os.path.basename(file.name)[-255:] or "file", file.data)
        if attached.note:
            tell(f"note: {_line(file.name, 200)}: {_line(attached.note, 400)}")
        parts.append(_part(attached.ref, attached.mime_type, file.name[-255:]))
    return parts


def _part(ref: str, mime: str, name: str) -> InputPart:
    kind = mime.partition("/")[0]
    shape = Image if kind == "image" and mime != "image/svg+xml" else Audio if kind == "audio" else File
    return shape(ref=ref, mime_type=mime, name=name)


def _line(text: str, limit: int) -> str:
    """Text on one line of at most so many characters, all of them visible."""
    text = exact(" ".join(text[: 4 * limit].split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"
