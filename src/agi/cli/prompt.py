"""The prompt of a command line: what was typed, what stdin brings where `-` asks for it, or one after the other.

Stdin is read only where `-` says so. May import: cli.
"""

from __future__ import annotations

import os

from agi.cli.options import Arguments, usage
from agi.cli.output import STDIN, is_fed, say
from agi.errors import ConfigError

FROM_STDIN = "-"
LONGEST = 1_000_000


def prompt_of(arguments: Arguments) -> str:
    """The one prompt of the line; what is not UTF-8 in it is replaced, as nothing could store it."""
    if arguments.words and arguments.after is not None:
        raise usage("", f"There are two prompts: {arguments.words[0][:60]!r} and what follows `--`.")
    prompt = _of(arguments.words) if arguments.after is None else _readable(os.fsencode(" ".join(arguments.after)))
    if not prompt.strip():
        raise _empty()
    if len(prompt) > LONGEST:
        raise usage("", f"The prompt has more than {LONGEST} characters. Put it into a file and name the file.")
    return prompt


def typed_of(arguments: Arguments) -> str:
    """What stands on the command line itself, without what stdin brought."""
    words = [word for word in arguments.words if word != FROM_STDIN]
    return _readable(os.fsencode(" ".join((*words, *(arguments.after or ())))))


def _of(words: list[str]) -> str:
    """What was typed and what stdin says, in the order they were named, a blank line between them."""
    typed = [word for word in words if word != FROM_STDIN]
    if len(typed) > 1 or len(words) - len(typed) > 1:
        raise usage("", f"There is more than one prompt: {' '.join(words)[:80]!r}. Put it in quotes.")
    texts = [_read_stdin() if word == FROM_STDIN else _readable(os.fsencode(word)) for word in words]
    there = [text for text in texts if text.strip()]
    if len(there) == 1 and len(texts) == 2 and typed[0].strip():
        say("note: nothing came from stdin.")
    return "\n\n".join(text.strip("\n") for text in there) if len(there) > 1 else "".join(there)


def _empty() -> ConfigError:
    error = usage("", "The prompt is empty.")
    if is_fed():
        error.hint = f"`agi -` reads it from stdin. {error.hint}"
    return error


def _readable(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _read_stdin() -> str:
    try:
        with open(STDIN, "rb", closefd=False) as stdin:
            return _readable(stdin.read(4 * LONGEST + 1))
    except OSError as error:
        raise usage("", f"The prompt cannot be read from stdin: {error.strerror}.") from error
