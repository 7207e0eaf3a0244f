"""Which settings do not count, told before a question is asked and not only in a session's log.

May import: errors, config, trust, client.
"""

from __future__ import annotations

from agi.client.settings import ClientSettings
from agi.config import load_config
from agi.errors import ConfigError
from agi.trust import trust_state


def ignored_settings(settings: ClientSettings) -> tuple[str, ...]:
    """Say what is ignored or looks wrong, one sentence each, as the project stands with its user."""
    trusted = settings.trust_once or trust_state(settings.project, settings.home_config).trusted
    return _warnings(settings, trusted)


def waiting_for_trust(settings: ClientSettings) -> tuple[str, ...]:
    """Say what is ignored only because the project is not trusted: what trusting it would change."""
    otherwise = _warnings(settings, True)
    waiting = tuple(warning for warning in _warnings(settings, False) if warning not in otherwise)
    return (*waiting, *_waiting_servers(settings))


def _waiting_servers(settings: ClientSettings) -> tuple[str, ...]:
    """MCP servers are started once the project is trusted, and not before."""
    if not any((settings.project / name).is_file() for name in (".agi/mcp.json", ".mcp.json")):
        return ()
    from agi.config.servers import project_servers  # late: most projects have none

    files = project_servers(settings.project)
    return tuple(f"{file.path}: the MCP server {name} is not started." for file in files for name in file.servers)


def _warnings(settings: ClientSettings, trusted: bool) -> tuple[str, ...]:
    """A file that cannot be read at all has nothing to warn of; whoever uses it says what is wrong with it."""
    try:
        config = load_config(
            project=settings.project, home_config=settings.home_config, env=settings.env, trusted=trusted
        )
    except ConfigError:
        return ()
    return config.warnings
