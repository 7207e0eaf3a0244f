"""Bringing the embedded model's weights onto this machine, for a face that shows how far it is. To be imported late.

Needs no daemon and opens no log. May import: errors, config, trust, net, models, client.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from agi.client.settings import ClientSettings
from agi.config import Config, load_config
from agi.models.weights import cached
from agi.models.weights_fetch import Progress, fetch
from agi.models.weights_pin import PIN
from agi.net.http import HttpClient, Proxies
from agi.trust import trust_state

__all__ = ["PIN", "Plan", "Progress", "bring", "plan"]


class Plan(Struct, frozen=True, kw_only=True):
    """What would be fetched, and what is here already."""

    title: str
    maker: str
    licence: str
    size: int
    here: Path | None
    """The file, if it is on this machine and was verified."""
    runs: bool
    """Whether what runs it is installed."""
    configured: str | None


def plan(settings: ClientSettings) -> Plan:
    """Look what there is; raises what is wrong with the settings."""
    configured = _config(settings).local.weights
    here = cached(settings.env, configured)
    runs = find_spec("xllamacpp") is not None
    return Plan(
        title=PIN.title,
        maker=PIN.maker,
        licence=PIN.licence,
        size=PIN.size,
        here=here,
        runs=runs,
        configured=configured,
    )


async def bring(settings: ClientSettings, configured: str | None, tell: Callable[[Progress], None]) -> Path:
    """Fetch and verify; returns the file. Canceling keeps what has come."""
    async with HttpClient(proxies=Proxies.from_env(settings.env)) as client:
        return await fetch(settings.env, configured=configured, client=client, tell=tell)


def _config(settings: ClientSettings) -> Config:
    return load_config(
        project=settings.project,
        home_config=settings.home_config,
        env=settings.env,
        trusted=settings.trust_once or trust_state(settings.project, settings.home_config).trusted,
    )
