"""The models people can choose from, each with what is known of it, and the one that answers by default.

Servers with an address of their own are asked for their models; that one does not answer is a note. To be imported
late: only who wants to choose needs it. May import: errors, config, net and its siblings in models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from agi.errors import Invalid
from agi.models.base import ModelInfo
from agi.models.choosing import Choice
from agi.models.facts import Facts
from agi.models.servers import Report, reported, server_of

if TYPE_CHECKING:
    from agi.config import Config
    from agi.models.resolve import Models
    from agi.net.http import Proxies


class ModelList(Struct, frozen=True, kw_only=True):
    """The models there are and the one that answers by default; where there is none, `problem` says why."""

    models: tuple[ModelInfo, ...]
    default: Choice | None
    agent: str = ""
    """Whose default it is."""
    problem: str = ""
    notes: tuple[str, ...] = ()
    """Which servers said nothing about their models, one sentence each."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What a session names itself, and what its agent prefers."""

    provider: str | None = None
    model: str | None = None
    default_provider: str | None = None
    default_model: str | None = None


ANYBODY = Wanted()


async def list_models(
    models: Models,
    config: Config,
    wanted: Wanted = ANYBODY,
    *,
    proxies: Proxies | None = None,
    ports: Mapping[str, int] | None = None,
) -> ModelList:
    """Look around, ask the servers, and put together what is known. Raises nothing for a server that fails."""
    await models.look_around()
    if wanted.provider or wanted.default_provider:
        await models.look_around(wanted.provider, default_provider=wanted.default_provider)
    offered = models.list()
    facts = Facts(config, ports=ports)
    own = [name for name, settings in config.providers.items() if settings.enabled]
    asked = tuple(dict.fromkeys((*own, *(info.provider for info in offered))))
    await facts.learn(*asked, proxies=proxies)
    reports = {name: report for name in asked if (report := _report(config, name, ports)) is not None}
    default, problem = default_choice(models, wanted)
    return ModelList(
        models=tuple(_together(offered, config, facts, reports)),
        default=default,
        problem=problem,
        notes=tuple(f"{name}: {report.problem}" for name, report in reports.items() if report.problem),
    )


def default_choice(models: Models, wanted: Wanted = ANYBODY) -> tuple[Choice | None, str]:
    """The model that answers by default, or why none does."""
    try:
        choice = models.describe(
            wanted.provider,
            wanted.model,
            default_provider=wanted.default_provider,
            default_model=wanted.default_model,
        )
        return choice, ""
    except Invalid as error:
        return None, f"{error.message} {error.hint}"


def _report(config: Config, provider: str, ports: Mapping[str, int] | None) -> Report | None:
    server = server_of(config, provider, ports)
    return reported().last(server) if server else None


def _together(
    offered: Iterable[ModelInfo], config: Config, facts: Facts, reports: Mapping[str, Report]
) -> Iterator[ModelInfo]:
    """What is offered anyway, by provider; then what the user's settings name, then what the server lists."""
    by_provider: dict[str, dict[str, ModelInfo]] = {name: {} for name in config.providers}
    for info in offered:
        by_provider.setdefault(info.provider, {})[info.id] = _filled(info, facts)
    for name, infos in by_provider.items():
        yield from infos.values()
        if name in reports and config.provider(name).base_url:  # what was found by looking around is offered already
            more = (*config.provider(name).models, *(one.id for one in reports[name].models))
            yield from (facts.about(name, model) for model in dict.fromkeys(more) if model not in infos)


def _filled(info: ModelInfo, facts: Facts) -> ModelInfo:
    known = facts.about(info.provider, info.id, info.note)
    return replace(
        known,
        context_window=known.context_window or info.context_window,
        max_output_tokens=known.max_output_tokens or info.max_output_tokens,
        capabilities=known.capabilities or info.capabilities,
    )
