"""A turn's attachments, read from the session's folder and fitted to whoever is asked. The work is done in a thread.

May import: protocol, context, media, models, sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from agi.models.base import Model, ModelRequest
from agi.protocol.known import Known
from agi.protocol.messages import Message
from agi.protocol.parts import refs_in

if TYPE_CHECKING:
    from agi.context.media import Showing
    from agi.net.http import Proxies
    from agi.sessions.sites import Site


class TurnMedia:
    """What models are shown of the files in one turn's conversation."""

    def __init__(self, site: Site, read: Callable[[str], bytes | None], proxies: Proxies | None) -> None:
        self._site = site
        self._read = read
        self._proxies = proxies
        self._refs: Known[Message, tuple[str, ...]] = Known()
        self._showing: dict[tuple[str, str], Showing] = {}

    async def shown(self, request: ModelRequest, model: Model) -> ModelRequest:
        """The request with its attachments as this model can be shown them; most requests have none."""
        if not any(self._refs.of(request.messages, lambda message: refs_in(message.parts))):
            return request
        showing = await self._for(model.provider, model.name)
        return await asyncio.to_thread(showing.fitted, request)

    async def _for(self, provider: str, model: str) -> Showing:
        if (provider, model) not in self._showing:
            from agi.context.media import Showing  # late: most turns have no attachments
            from agi.media.kept import kept
            from agi.models.media import without

            await self._site.facts.learn(provider, proxies=self._proxies)
            limits = without(self._site.models.media(provider, model), self._site.facts.lacks(provider, model))
            self._showing[provider, model] = Showing(limits, self._read, kept())
        return self._showing[provider, model]
