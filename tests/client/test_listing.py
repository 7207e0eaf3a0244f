"""A server's own list of models, asked for in the way of its API and read with care."""

from __future__ import annotations

import os

import pytest

from agi.client.listing import LARGEST, list_models
from agi.config import ProviderSettings, Secret
from agi.errors import AgiError, ModelError
from agi.testing.asked import Asked
from agi.testing.provider import ProviderServer, Reply

KEY = Secret("sk-canary")


class Lister(ProviderServer):
    """A server that answers requests for its list with what it is told to."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        super().__init__([])
        self._body, self._status = body, status
        self.heard: list[Asked] = []

    def _reply(self, asked, spoken):
        self.heard.append(asked)
        return Reply(status=self._status, content_type="application/json", frames=(self._body,))


@pytest.mark.parametrize(
    ("api", "path", "header", "body"),
    [
        (None, "/v1/models", "authorization", b'{"object": "list", "data": [{"id": "a"}, {"id": "b"}]}'),
        ("responses", "/v1/models", "authorization", b'{"data": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}'),
        ("messages", "/v1/models?limit=1000", "x-api-key", b'{"data": [{"id": "a", "type": "model"}, {"id": "b"}]}'),
        (
            "gemini",
            "/v1beta/models?pageSize=1000",
            "x-goog-api-key",
            b'{"models": [{"name": "models/a"}, {"name": "b"}]}',
        ),
    ],
)
async def test_every_api_has_its_own_way(api, path, header, body):
    """Path, header and shape differ; the names come out alike, each once."""
    async with Lister(body) as server:
        url = server.url if api == "gemini" else server.base_url
        names = await list_models("mine", ProviderSettings(base_url=url, api=api, api_key=KEY), os.environ)

    assert names == ("a", "b")
    assert server.heard[0].path == path
    assert KEY.reveal() in server.heard[0].headers[header]


async def test_without_a_key_none_is_sent():
    """Servers of one's own often need none."""
    async with Lister(b'{"data": []}') as server:
        assert await list_models("mine", ProviderSettings(base_url=server.base_url), os.environ) == ()

    assert "authorization" not in server.heard[0].headers


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"<html>", 200),
        (b"", 200),
        (b"[]", 200),
        (b'{"data": 3}', 200),
        (b'{"data": [{"id": ""}, {"id": "a\\u001b[2J"}, {}]}', 200),
        (b'{"data": null}', 200),
        (b"\xff", 200),
        (b"[" * 5000, 200),
        (b'{"data": [{"id": "a"}]}', 404),
    ],
)
async def test_whatever_else_it_answers_is_no_list(body, status):
    """Its models are not told then, which is no failure; names that could act on a screen are left out."""
    async with Lister(body, status) as server:
        assert await list_models("mine", ProviderSettings(base_url=server.base_url), os.environ) == ()


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_is_not_accepted_is_said(status):
    """That is the thing to mend."""
    async with Lister(b"{}", status) as server:
        with pytest.raises(ModelError, match="not accepted") as caught:
            await list_models("mine", ProviderSettings(base_url=server.base_url, api_key=KEY), os.environ)

    assert caught.value.code == "provider_auth"


async def test_a_list_without_an_end_is_not_read_to_it():
    """Nobody has so many models."""
    async with Lister(b" " * (LARGEST + 1)) as server:
        with pytest.raises(AgiError, match="more than"):
            await list_models("mine", ProviderSettings(base_url=server.base_url), os.environ)
