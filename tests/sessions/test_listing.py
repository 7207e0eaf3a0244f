"""The models that can be asked at a site."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agi.config import Flags
from agi.models.listing import ModelList
from agi.redaction import Redactor
from agi.sessions.listing import models_at
from agi.sessions.sites import Sites
from agi.testing.model_server import ModelServer

LISTED = {"object": "list", "data": [{"id": "qwen", "max_model_len": 8000}]}


async def listed(tmp_path: Path, env: Mapping[str, str], url: str) -> ModelList:
    """What is offered in a folder, to a user whose settings name one server."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    (home / "config.json").write_text(f'{{"providers": {{"lab": {{"baseUrl": "{url}"}}}}, "defaultModel": "qwen"}}')
    sites = Sites(home_config=home, env=env, flags=Flags(), redactor=Redactor())
    try:
        return await models_at(sites.get(project), env)
    finally:
        await sites.close()


async def test_a_server_of_the_users_settings_is_asked(tmp_path: Path) -> None:
    """Its model is there, with the window it gives, and answers by default."""
    async with ModelServer({"/v1/models": LISTED}) as server:
        found = await listed(tmp_path, {}, f"{server.url}/v1")

    assert [(one.provider, one.id, one.context_window) for one in found.models] == [("lab", "qwen", 8000)]
    assert found.default is not None
    assert found.default.model == "qwen"


async def test_a_server_elsewhere_is_asked_through_the_proxy(tmp_path: Path) -> None:
    """As models themselves are."""
    url = "http://models.example/v1"
    async with ModelServer({f"{url}/models": LISTED}) as proxy:
        found = await listed(tmp_path, {"HTTP_PROXY": proxy.url}, url)

    assert [one.context_window for one in found.models] == [8000]
    assert proxy.asked[0] == f"{url}/models"
