"""What a command line of `agi setup` asks for. A key is taken from a variable, a file or stdin, and never from the line
itself, where every process of this machine can read it.

May import: errors, config, client, cli.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from agi.cli.options import Arguments, usage
from agi.cli.output import STDIN, is_terminal
from agi.cli.setup_known import (
    SERVERS,
    checked_api,
    checked_key,
    checked_model,
    checked_name,
    checked_url,
)
from agi.client.setup import EMBEDDED, Choices, Survey
from agi.config.files import read_file
from agi.config.load import VARIABLES
from agi.config.values import Api, Secret
from agi.errors import ConfigError

LONGEST_KEY = 64 << 10
KEY_OPTIONS = ("--key", "--key-env", "--key-file")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class Wish(Struct, frozen=True, kw_only=True):
    """What was said on the command line."""

    provider: str | None = None
    base_url: str | None = None
    api: Api | None = None
    key: Secret | None = None
    asks_key: bool = False
    """`--key -` at a terminal: it is asked for."""
    model: str | None = None
    agent: str | None = None
    test: bool = True
    for_project: bool = False
    json: bool = False
    yes: bool = False

    def is_enough(self, found: Survey, *, person: bool) -> bool:
        """Whether nothing needs to be asked; a person who is there is asked for what was left open."""
        if self.provider is None or self.asks_key:
            return False
        if self.provider == EMBEDDED:
            return True
        known = found.provider(self.provider)
        reachable = self.address(found) or known.base_url or self.key or known.has_key
        return bool(reachable) and (not person or self.key is not None or self.model is not None)

    def embedded(self) -> Choices:
        """The choice of the embedded model, which needs no name."""
        return Choices(provider=EMBEDDED, agent=self.agent)

    def address(self, found: Survey) -> str | None:
        """The base URL to write down: the one that was said, or a known server's usual one where there is none yet."""
        if self.base_url or self.provider not in SERVERS or found.provider(self.provider).base_url:
            return self.base_url
        return SERVERS[self.provider].url


def read_wish(arguments: Arguments, env: Mapping[str, str]) -> Wish:
    """Understand the options; raises ConfigError, which never repeats what may be a key."""
    given_api, model = arguments.get("--api"), arguments.get("--model")
    api = checked_api(given_api) if given_api is not None else None
    provider, base_url = _provider(arguments, api)
    wish = Wish(
        provider=provider,
        base_url=base_url,
        api=api,
        key=_key(arguments, env),
        asks_key=arguments.get("--key") == "-" and is_terminal(STDIN),
        model=checked_model(model) if model is not None else None,
        agent=arguments.get("--agent"),
        test=not arguments.has("--no-test"),
        for_project=arguments.has("--project"),
        json=arguments.has("--json"),
        yes=arguments.has("--yes"),
    )
    if provider == EMBEDDED and (wish.key or wish.asks_key or base_url or api or model):
        raise usage("setup", "The embedded model takes no key, base URL, API or model.")
    return wish


def not_enough(wish: Wish) -> ConfigError:
    """The error of a command line that leaves something open where nobody can be asked: it tells the right one."""
    if wish.provider is None:
        message = "There is nobody to ask, and the command line does not say which provider to set up."
        command = "agi setup --provider anthropic --key-env ANTHROPIC_API_KEY"
    elif wish.provider in VARIABLES:
        message = f"There is no key for {wish.provider}, and nobody to ask for it."
        command = f"agi setup --provider {wish.provider} --key-env {VARIABLES[wish.provider][0]}"
    else:
        message = f"There is no base URL for {wish.provider}, and nobody to ask for it."
        command = f"agi setup --provider {wish.provider} --base-url http://localhost:11434/v1 --model NAME"
    options = " Instead of --key-env: --key-file FILE, or --key - on stdin." if "--key-env" in command else ""
    return ConfigError(message, hint=f"Run `{command}`.{options}", code="setup_incomplete")


def _provider(arguments: Arguments, api: Api | None) -> tuple[str | None, str | None]:
    """Which provider, and its address; `--name` is the same for servers of one's own."""
    named, name, url = arguments.get("--provider"), arguments.get("--name"), arguments.get("--base-url")
    if named is not None and name is not None and named != name:
        raise usage("setup", "--provider and --name say different names; --name is for a server of your own.")
    provider = named if named is not None else name
    base_url = checked_url(url, api) if url is not None else None
    if provider is None:
        return (name_for(base_url), base_url) if base_url else (None, None)
    return checked_name(provider), base_url


def name_for(base_url: str) -> str:
    """A name for a server nobody has named: that of the program that usually answers there, or `local`."""
    address = base_url.partition("://")[2]
    for name, server in SERVERS.items():
        if address.replace("127.0.0.1", "localhost").split("/")[0] == server.url.partition("://")[2].split("/")[0]:
            return name
    return "local"


def _key(arguments: Arguments, env: Mapping[str, str]) -> Secret | None:
    given = [option for option in KEY_OPTIONS if arguments.has(option)]
    if len(given) > 1:
        raise usage("setup", f"{' and '.join(given)} exclude each other.")
    if not given:
        return None
    value = arguments.get(given[0]) or ""
    if given[0] == "--key-env":
        return _from_variable(value, env)
    if given[0] == "--key-file":
        return _from_file(value)
    if value != "-":
        raise _refused()
    return None if is_terminal(STDIN) else checked_key(_one_line(_stdin(), "stdin"))


def _refused() -> ConfigError:
    message = "A key on the command line can be read by every process here, and stays in the shell's history."
    hint = "`--key -` reads it from stdin or asks for it; --key-env NAME and --key-file FILE work too."
    return ConfigError(message, hint=f"{hint} Best replace the one you just typed.", code="usage")


def _from_variable(name: str, env: Mapping[str, str]) -> Secret:
    if not _VARIABLE.fullmatch(name) or not env.get(name, "").strip():
        # Not repeated: it may be the key itself.
        raise usage("setup", "--key-env takes the name of a variable, and there is none of that name with a key in it.")
    return checked_key(env[name])


def _from_file(name: str) -> Secret:
    content = read_file(Path(os.path.expanduser(name)), limit=LONGEST_KEY) if name and "\0" not in name else None
    if content is None:
        raise usage("setup", "--key-file takes the path of a file, and there is none.")
    return checked_key(_one_line(content, "the file"))


def _stdin() -> bytes:
    data = b""
    while len(data) <= LONGEST_KEY and (piece := os.read(STDIN, LONGEST_KEY)):
        data += piece
    return data


def _one_line(content: bytes, source: str) -> str:
    text = content.decode(errors="replace").strip()
    if not text:
        raise usage("setup", f"There is no key in {source}: it is empty.")
    if len(content) > LONGEST_KEY or len(text.splitlines()) > 1:
        raise usage("setup", f"What {source} holds is no key: a key is one line.")
    return text
