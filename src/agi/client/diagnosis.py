"""Is everything in order here: one finding a subject, each with what to do about it. Looks, and changes nothing.

To be imported late. May import: errors, config, trust, client.
"""

from __future__ import annotations

from collections.abc import Iterator

from agi.client import machine
from agi.client.base import ModelChoice
from agi.client.find import open_daemon
from agi.client.findings import Finding, broken, note, ok, warning
from agi.client.inprocess import answering_model, offered_skills, sandbox, tool_names
from agi.client.reaching import reach
from agi.client.running import running_daemon
from agi.client.settings import ClientSettings
from agi.config import Config, load_config
from agi.config.files import CONFIG_LIMIT, CONFIG_NAME, PROJECT_DIR, read_inside
from agi.config.fingerprint import NOTHING
from agi.config.parse import parse_json
from agi.errors import AgiError, ConfigError, Unavailable
from agi.trust import TrustState, trust_state

__all__ = ["Finding", "diagnose"]

AGENTS_FILE = ".agi/agents.json"
SCRIPTED = "scripted"
SHOWN = 10


async def diagnose(settings: ClientSettings) -> list[Finding]:
    """Look at everything a first run, or a strange one, may stumble over."""
    project = settings.project
    found = [machine.python(), machine.sqlite(), *machine.folders(project), machine.database(project)]
    found += [machine.sync_time(project), await _daemon(settings), _sandbox(settings)]
    found += await _configured(settings)
    found += [machine.program("git", "changes cannot be shown")]
    found += [machine.program("rg", "searches are slower", "ripgrep")]
    return [*found, *machine.extras()]


async def _daemon(settings: ClientSettings) -> Finding:
    daemon = running_daemon(settings.project)
    if daemon is None:
        return ok("daemon", "none is running; commands work without one")
    client = await open_daemon(settings)
    if client is None:
        return broken("daemon", f"process {daemon.pid} at {daemon.url} does not answer.", "Stop it and start it again.")
    await client.close()
    host = daemon.url.partition("//")[2].rpartition(":")[0]
    reach = "loopback only" if host in ("127.0.0.1", "localhost", "[::1]") else "reachable from other machines"
    text = f"process {daemon.pid} at {daemon.url} ({reach})"
    return warning("daemon", f"{text}. {client.notice}") if client.notice else ok("daemon", text)


async def _configured(settings: ClientSettings) -> list[Finding]:
    """What the settings say, and what comes of it; where they cannot be read, nothing does."""
    try:
        trust = trust_state(settings.project, settings.home_config)
        config = load_config(
            project=settings.project, home_config=settings.home_config, env=settings.env, trusted=trust.trusted
        )
    except ConfigError as error:
        return [broken("config", error.message, error.hint)]
    found = [*_settings(settings, config), _trust(trust)]
    choice: ModelChoice | None = None
    try:
        agent, choice = await answering_model(settings)
        found.append(_model(agent, choice))
    except AgiError as error:
        found.append(broken("model", error.message, error.hint))
    provider, model = (choice.provider, choice.model) if choice else (config.default_provider or "", "")
    return [*found, *await reach(config, settings.env, provider, model), *_tools(settings), *_skills(settings)]


def _settings(settings: ClientSettings, config: Config) -> Iterator[Finding]:
    files = [settings.home_config / CONFIG_NAME, settings.project / PROJECT_DIR / CONFIG_NAME]
    there = [str(path) for path in files if path.exists()]
    yield ok("config", ", ".join(there) or "no files; the defaults count")
    for text in config.warnings:
        yield warning("config", text)


def _trust(trust: TrustState) -> Finding:
    if trust.trusted:
        return ok("trust", "this workspace is trusted as it is")
    if trust.fingerprint == NOTHING:
        return ok("trust", "not trusted, and nothing in it needs trust")
    why = {"changed": "has changed since it was trusted"}.get(trust.reason, "is not trusted")
    return note("trust", f"this workspace {why}. {trust.problem}".strip(), "Look at it, then run `agi trust`.")


def _model(agent: str, choice: ModelChoice) -> Finding:
    """Which model a question without any option goes to."""
    text = f"{choice.model} of {choice.provider} would answer as the agent {agent}: {choice.because}"
    if choice.provider == SCRIPTED:
        return note("model", f"{text}. It plays a script and is no AI model.", "`agi setup` sets a provider up.")
    if choice.reason == "nothing_configured":
        return note("model", text, "`agi setup` sets a provider up; a model server on this machine is found by itself.")
    return ok("model", text)


def _tools(settings: ClientSettings) -> Iterator[Finding]:
    """Tools that the project's agents name and that do not exist; what else is wrong there is said of the model."""
    try:
        content = read_inside(settings.project, AGENTS_FILE, limit=CONFIG_LIMIT)
        entries = parse_json(content, AGENTS_FILE) if content is not None else {}
    except ConfigError:
        return
    known = tool_names()
    for agent, entry in entries.items():
        named = entry.get("tools") if isinstance(entry, dict) else None
        unknown = [str(tool) for tool in named if tool not in known] if isinstance(named, list) else []
        if unknown:
            text = f"{agent} names tools that do not exist: {', '.join(unknown[:SHOWN])}"
            yield warning("agents", text, f"They are left out. Correct {AGENTS_FILE}.")


def _skills(settings: ClientSettings) -> Iterator[Finding]:
    """Skills that are there and do not count; where there are none at all, nothing is said."""
    try:
        listed = offered_skills(settings)
    except AgiError:
        return  # said of the settings already
    wrong = [problem.name for problem in listed.problems]
    if wrong:
        text = f"{len(listed.skills)} can be used, {len(wrong)} do not count: {', '.join(wrong[:SHOWN])}"
        yield warning("skills", text, "`agi skills` says why.")
    elif listed.skills:
        yield ok("skills", f"{len(listed.skills)} can be used")


def _sandbox(settings: ClientSettings) -> Finding:
    try:
        held = sandbox(settings)
    except Unavailable as error:
        return broken("sandbox", error.message, error.hint)
    except AgiError:
        return note("sandbox", "not known: the settings cannot be read")
    if held.no_commands:
        return broken("sandbox", held.no_commands, "Set sandbox.mode to `auto` to let commands run without one.")
    if held.rung == "none":
        text = f"none: commands run as you, once approved ({'; '.join(held.why)})"
        return warning("sandbox", text, "On Linux, allow user namespaces or install bubblewrap; see docs/sandbox.md.")
    text = f"{held.rung}; network {held.network}; {len(held.gaps)} known gaps (docs/sandbox.md)"
    if held.rung != "landlock":
        return ok("sandbox", text)
    hint = "A better one: allow user namespaces, or install bubblewrap."
    return warning("sandbox", f"{text} ({'; '.join(held.why)})", hint)
