"""Every other provider: one that has no adapter of our own is spoken to through pydantic-ai, if the extra is installed.

Which names it knows is found without importing it; it is imported, and its objects are made, in a thread when a model
is first asked, since that takes seconds of CPU. What is said is `bridge_talk`'s business.
May import: errors, extras, config, models.base, models.failures, models.limits, models.streaming; late, its own parts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from agi.errors import Invalid, ModelError
from agi.extras import how_to_add
from agi.models.base import ModelRequest, StreamItem
from agi.models.failures import Failures
from agi.models.limits import PATIENT, Limits
from agi.models.streaming import key_text

if TYPE_CHECKING:
    from pydantic_ai.models import Model as ForeignModel

    from agi.config import Secret

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", re.ASCII)
_OURS = frozenset(("openai", "anthropic", "google"))
_NO_CHAT = frozenset(
    ("elevenlabs", "openai-decisions", "sentence-transformers", "system-one", "typesafe", "voyageai", "github")
)
"""They embed, speak or judge but do not answer; the last one was retired by its maker."""
_NO_KEY = frozenset(("gateway", "openai-chatgpt", "openai-codex", "openai-compatible"))
"""No provider by itself, or one that wants a login in a browser, or reads what another program keeps about it."""
_LEFT_OUT = _OURS | _NO_CHAT | _NO_KEY
_ALSO = {"azure-responses": "azure"}
"""A second name for one provider, by the API it is spoken to in."""


def is_installed() -> bool:
    """Whether the extra is there."""
    return _folder() is not None


def knows(name: str) -> bool:
    """Whether a provider of this name can be reached over the bridge; never without the extra."""
    folder = _folder()
    if folder is None or name in _LEFT_OUT or not _NAME.fullmatch(name) or len(name) > 80:
        return False
    return (folder / f"{_ALSO.get(name, name).replace('-', '_')}.py").is_file()


def names() -> tuple[str, ...]:
    """Every name the bridge knows, in order; none without the extra."""
    folder = _folder()
    found = () if folder is None else (path.stem.replace("_", "-") for path in folder.glob("[a-z]*.py"))
    return tuple(sorted(name for name in (*found, *_ALSO) if knows(name)))


def _folder() -> Path | None:
    """Where pydantic-ai keeps one file a provider."""
    try:
        spec = find_spec("pydantic_ai")
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) / "providers" if places else None


class Bridged:
    """One model of a provider that pydantic-ai knows. Raises Invalid where the extra or the provider is missing."""

    def __init__(
        self, *, provider: str, name: str, api_key: Secret | None, base_url: str | None, limits: Limits = PATIENT
    ) -> None:
        if not is_installed():
            message = f"The provider {provider[:80]} needs an extra that is not installed."
            raise Invalid(message, hint=f"Run `{how_to_add('providers')}`.", code="missing_extra")
        if not knows(provider):
            hint = f"The extra knows: {', '.join(names())}."
            raise Invalid(f"There is no provider {provider[:80]!r}.", hint=hint, code="unknown_provider")
        self._provider = provider
        self._name = name
        self._key = api_key
        self._base_url = base_url
        self._failures = Failures(provider, name, api_key, api=f"the API of {provider}")
        self._limits = limits

    @property
    def provider(self) -> str:
        """The provider's name in the configuration."""
        return self._provider

    @property
    def name(self) -> str:
        """The model's name as the provider spells it."""
        return self._name

    def takes_schema(self, *, with_tools: bool) -> bool:
        """Whether it does is known only once pydantic-ai is loaded: a model that does not then refuses the schema."""
        return True

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Ask; closing the generator early hangs up. Raises ModelError, before or in the middle of the stream."""
        # Made anew for each call: its connections end with the call, since nobody tells a model when it is not
        # needed any more. In a thread, because the import and the certificates would hold up everyone else.
        model = await asyncio.to_thread(self._make)
        from agi.models.bridge_talk import converse  # late: it imports pydantic-ai, which is there by now

        talk = converse(model, request, (self._provider, self._name), self._failures, self._limits)
        async with aclosing(talk) as items:
            async for item in items:
                yield item

    def _make(self) -> ForeignModel:
        try:
            from agi.models.bridge_making import make_model  # late: it imports pydantic-ai
        except ImportError as error:
            message = f"The extra for {self._provider} is installed, but cannot be loaded: {error.name or 'unknown'}."
            hint = f"Run `{how_to_add('providers', anew=True)}`."
            raise ModelError(message, hint=hint, code="missing_extra") from error
        return make_model(self._provider, self._name, key_text(self._key), self._base_url, self._failures)
