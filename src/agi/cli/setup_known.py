"""What setup knows by heart: the names of providers, where their keys are had, the usual servers, the agents.

Only tables, and the checks of what people type. May import: errors, config, net, cli.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple, cast, get_args

from agi.cli.options import nearest, usage
from agi.client.setup import EMBEDDED
from agi.config.files import CONFIG_LIMIT, read_inside
from agi.config.parse import parse_json, secret
from agi.config.values import Api, Secret
from agi.errors import ConfigError, Invalid
from agi.net.url import split_url

TITLES = {"openai": "OpenAI", "anthropic": "Anthropic", "google": "Google"}
KEY_PAGES = {
    "openai": "https://platform.openai.com/api-keys",
    "anthropic": "https://console.anthropic.com/settings/keys",
    "google": "https://aistudio.google.com/apikey",
    "openrouter": "https://openrouter.ai/settings/keys",
}
EMBEDDED_NOTE = "runs on this machine, needs no key; 1.1 GB, fetched once"
EMBEDDED_MORE = (
    "It is Qwen2.5-Coder with 1.5 billion parameters, run by agi itself on this machine.\n"
    "Good for looking things up in a project, not for real coding.\n"
    "`agi models fetch` gets its 1.1 GB, once."
)
AGENTS = {
    "build": "edits code, runs commands, checks the result; asks first",
    "general": "answers questions, changes nothing",
    "plan": "breaks a task down, changes nothing",
}
APIS: dict[Api, tuple[str, str]] = {
    "chat": ("Chat Completions", "OpenAI's, which most servers speak"),
    "responses": ("Responses", "OpenAI's newer one"),
    "messages": ("Messages", "Anthropic's"),
    "gemini": ("Gemini", "Google's"),
}
LONGEST_NAME = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_LOOPBACK = ("localhost", "127.", "[::1]")
_HINT_URL = "Such as http://localhost:11434/v1."


class Server(NamedTuple):
    """A model server as it usually is."""

    title: str
    url: str


SERVERS = {
    "ollama": Server("Ollama", "http://localhost:11434/v1"),
    "lmstudio": Server("LM Studio", "http://localhost:1234/v1"),
    "llamacpp": Server("llama.cpp", "http://localhost:8080/v1"),
    "vllm": Server("vLLM", "http://localhost:8000/v1"),
    "openrouter": Server("OpenRouter", "https://openrouter.ai/api/v1"),
}
"""Servers that speak OpenAI's API, by the name such a provider goes by."""


def title_of(provider: str) -> str:
    """A provider's name as people write it."""
    if provider == EMBEDDED:
        return "The embedded model"
    return TITLES.get(provider) or (SERVERS[provider].title if provider in SERVERS else provider)


def checked_key(text: str) -> Secret:
    """Make a key of what was given; raises ConfigError, which never repeats it."""
    try:
        return secret(text)
    except ValueError as error:
        raise usage("setup", "That is no key: a key is one line of printable ASCII characters.") from error


def checked_url(text: str, api: Api | None = None) -> str:
    """An address that requests can be sent to, completed where people leave out the obvious; raises ConfigError."""
    scheme, found, rest = text.strip().rpartition("://")
    rest = rest.rstrip("/")
    if not found:
        scheme = "http" if rest.startswith(_LOOPBACK) else "https"
    if rest and "/" not in rest and api in (None, "chat", "responses"):
        rest += "/v1"  # where servers that speak OpenAI's API have it
    url = f"{scheme}://{rest}"
    try:
        split_url(url)
        if "@" in url:
            raise Invalid("This URL cannot be used: it holds a user name.")
    except Invalid as error:
        raise ConfigError(error.message.replace("This URL", "The base URL"), hint=_HINT_URL, code="usage") from error
    return url


def checked_name(text: str) -> str:
    """A name a server of one's own can go by; raises ConfigError."""
    if not _NAME.fullmatch(text) or text == "scripted":
        message = "A provider's name is 1 to 64 letters, digits, dashes, dots and underscores, and not `scripted`."
        raise usage("setup", message)
    return text


def checked_model(text: str) -> str:
    """A name a model can have; raises ConfigError."""
    if not 0 < len(text) <= LONGEST_NAME or not text.isprintable() or " " in text:
        raise usage("setup", f"A model's name is 1 to {LONGEST_NAME} printable characters without a blank.")
    return text


def checked_api(text: str) -> Api:
    """A wire format by its name; raises ConfigError."""
    if text not in get_args(Api):
        raise usage("setup", f"--api is one of {', '.join(get_args(Api))}.")
    return cast(Api, text)


def agents_of(project: Path | None) -> dict[str, str]:
    """The agents that can be the default, with a word about each; with a project, also its own."""
    content = read_inside(project, ".agi/agents.json", limit=CONFIG_LIMIT) if project else None
    named = parse_json(content, ".agi/agents.json") if content is not None else {}
    return AGENTS | {name: "an agent of this project" for name in named if name not in AGENTS}


def checked_agent(name: str, project: Path | None) -> str:
    """An agent that exists; raises ConfigError."""
    known = agents_of(project)
    if name not in known:
        error = usage("setup", f"There is no agent {name[:80]!r}.")
        error.hint = f"{nearest(name, known)}There are: {', '.join(known)}."
        raise error
    return name
