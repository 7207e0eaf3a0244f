"""Files that go along with a prompt on the command line: named with `--attach`, or mentioned as `@path`.

`--attach` is the user's word for any file. What a mention reaches is said in the client's `mentions`: a diff or a page
from stdin attaches nothing. May import: errors, protocol, config, client, cli.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from agi.cli.options import usage
from agi.cli.output import say
from agi.client import mentions
from agi.client.base import Brought, Client
from agi.client.mentions import LIMIT, MOST, bring_mentioned, mentioned
from agi.config.files import read_file
from agi.errors import ConfigError
from agi.protocol.parts import InputPart

__all__ = ["LIMIT", "MOST", "attach_all", "bring", "mentioned"]


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
    return await mentions.attach_all(client, session_id, files, say)


def _mentioned(path: str, project: Path) -> Brought | None:
    return bring_mentioned(path, project, say, otherwise="--attach shows any file.")


def _named(path: str) -> Brought:
    if "\0" in path or not path:
        raise usage("", "--attach needs the name of a file.")
    if os.path.isdir(os.path.expanduser(path)):
        raise ConfigError(f"{path[:200]!r} is a folder.", hint="--attach names a file to show.", code="usage")
    data = read_file(Path(os.path.expanduser(path)), limit=LIMIT)
    if data is None:
        raise ConfigError(f"There is no file {path[:200]!r}.", hint="--attach names a file to show.", code="usage")
    if not data:
        raise ConfigError(f"The file {path[:200]!r} is empty.", hint="Attach one that holds something.", code="usage")
    return Brought(_readable(path), data)


def _readable(path: str) -> str:
    return os.fsencode(path).decode(errors="replace")
