"""Does a provider answer, before anything is written down? One tiny question, through the harness that later works.

It lives in a folder of its own that is gone afterwards, with settings that hold this one provider; the user's own are
neither read nor touched, and the key is in no file. To be imported late. May import: errors, protocol, config, client.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from agi.client.base import Client, ModelOffer
from agi.client.find import open_in_process
from agi.client.listing import list_models
from agi.client.settings import ClientSettings
from agi.config import ProviderSettings
from agi.config.files import CONFIG_NAME, PROJECT_DIR
from agi.config.load import VARIABLES
from agi.errors import AgiError, ModelError
from agi.protocol import events as ev
from agi.protocol.commands import Cancel, CreateSession, PostMessage
from agi.protocol.parts import Json, Text

LIMIT_S = 120.0
"""How long to wait for the answer: a server of one's own may have to load the model first."""
PROMPT = "Reply with OK."
OPTIONS: Json = {"max_tokens": 256}
"""Little, but enough for models that think first: some of them refuse to begin with less."""
AGENT = "trial"
_AGENT = {"description": "Answers with a word.", "tools": [], "prompt": "prompt.txt", "maxSteps": 1}
_NAMES = frozenset(name for names in VARIABLES.values() for name in names)
_WAIT = "The provider limits how often it is asked: wait a little, then try again."
_REACH = "Check the address and the network, and that it runs; else try again a little later."


class Offered(Struct, frozen=True, kw_only=True):
    """The models of a provider, and the one that answers if nobody chooses; empty if somebody must."""

    models: tuple[ModelOffer, ...]
    first: str


class Trial:
    """One provider that can be tried."""

    def __init__(self, client: Client, project: Path, provider: str) -> None:
        self._client = client
        self._project = project
        self._provider = provider

    async def models(self) -> Offered:
        """The provider's models that are known here, the first choice first."""
        listed = await self._client.models()
        default = listed.default.model if listed.default and listed.default.provider == self._provider else ""
        known = [one for one in listed.models if one.provider == self._provider]
        return Offered(models=tuple(sorted(known, key=lambda one: one.id != default)), first=default)

    async def check(self, model: str | None) -> str:
        """Begin a session with a model, without asking it anything; raises Invalid where that cannot be."""
        command = CreateSession(workspace_path=str(self._project), agent=AGENT, provider=self._provider, model=model)
        return (await self._client.create_session(command)).id

    async def ask(self, model: str) -> float:
        """Ask a model for a word; gives the seconds it took, raises AgiError with the reason if none came."""
        session_id = await self.check(model)
        began = time.monotonic()
        post = PostMessage(parts=[Text(text=PROMPT)], auto_run=True, options=OPTIONS, on_ask="deny", preflight=False)
        posted = await self._client.post_message(session_id, post)
        try:
            async with asyncio.timeout(LIMIT_S):
                await self._answered(session_id)
        except TimeoutError:
            text = f"{self._provider} ({model}) has not answered within {LIMIT_S:g} s."
            raise ModelError(text, hint="Try again; a server may still be loading the model.") from None
        finally:
            with suppress(AgiError):  # it is over already
                await self._client.cancel(session_id, Cancel(turn_id=posted.turn_id))
        return time.monotonic() - began

    async def _answered(self, session_id: str) -> None:
        """Wait for the end; the first failure counts, since nobody wants to wait here until it passes."""
        async with aclosing(self._client.follow(session_id)) as events:
            async for event in events:
                match event.data:
                    case ev.TurnCompleted():
                        return
                    case ev.TurnFailed(error=error):
                        raise ModelError(error.message, hint=error.hint, code=error.code)
                    case ev.ModelBackedOff(reason=reason, code=code):
                        raise ModelError(reason, hint=_WAIT if code == "rate_limited" else _REACH, code=code)
                    case ev.TurnCanceled():
                        raise ModelError("The question was canceled.")
        raise ModelError("The session ended without an answer.")


@asynccontextmanager
async def open_trial(provider: str, settings: ProviderSettings, env: Mapping[str, str]) -> AsyncIterator[Trial]:
    """Give a provider to try, as it would be with these settings."""
    with tempfile.TemporaryDirectory(prefix="agi-") as folder, _furnished(Path(folder), provider, settings) as project:
        quiet = {name: value for name, value in env.items() if name not in _NAMES}
        client = open_in_process(ClientSettings(project=project, home_config=Path(folder, "home"), env=quiet))
        try:
            yield Trial(client, project, provider)
        finally:
            await client.close()


async def offered(provider: str, settings: ProviderSettings, env: Mapping[str, str]) -> Offered:
    """The models of a provider: those that are known here, else those that its server lists."""
    async with open_trial(provider, settings, env) as trial:
        known = await trial.models()
    if known.models or not settings.base_url:
        return known
    names = await list_models(provider, settings, env)
    return Offered(models=tuple(ModelOffer(provider=provider, id=name) for name in names), first="")


async def ask_once(provider: str, settings: ProviderSettings, env: Mapping[str, str], model: str) -> float:
    """Ask a model for a word; gives the seconds it took, raises AgiError with the reason if none came."""
    async with open_trial(provider, settings, env) as trial:
        return await trial.ask(model)


async def check_model(provider: str, settings: ProviderSettings, env: Mapping[str, str], model: str) -> float | None:
    """Raise Invalid if the provider is known to have no such model; nothing is sent anywhere."""
    async with open_trial(provider, settings, env) as trial:
        await trial.check(model)
    return None


@contextmanager
def _furnished(folder: Path, provider: str, settings: ProviderSettings) -> Iterator[Path]:
    """Put settings and a project with one small agent into a folder; gives the project."""
    home, project = folder / "home", folder / "project"
    home.mkdir()
    (project / PROJECT_DIR).mkdir(parents=True, mode=0o700)
    (project / PROJECT_DIR / "agents.json").write_bytes(msgspec.json.encode({AGENT: _AGENT}))
    (project / "prompt.txt").write_text("You answer with one word.")
    kept = _place_unseen(home / CONFIG_NAME, _document(provider, settings))
    try:
        yield project
    finally:
        if kept is not None:
            os.close(kept)


def _document(provider: str, settings: ProviderSettings) -> bytes:
    section = {
        "baseUrl": settings.base_url,
        "api": settings.api,
        "apiKey": settings.api_key.reveal() if settings.api_key else None,
    }
    said = {key: value for key, value in section.items() if value is not None}
    document = {"defaultProvider": provider, "providers": {provider: said}, "local": {"probe": False}}
    return msgspec.json.encode(document)


def _place_unseen(path: Path, content: bytes) -> int | None:
    """Put settings with a key where only this process finds them: in memory, behind a link.

    Whatever kills us, no key stays behind. Where there is no such memory, a file of the owner's own must do.
    """
    if not hasattr(os, "memfd_create"):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        return None
    kept = os.memfd_create("agi-settings")
    os.fchmod(kept, 0o600)
    os.write(kept, content)
    path.symlink_to(f"/proc/self/fd/{kept}")
    return kept
