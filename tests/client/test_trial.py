"""Trying a provider out: one tiny question over the real wire format, and no trace of it."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from agi.client import trial
from agi.client.trial import ask_once, check_model, offered, open_trial
from agi.config import ProviderSettings, Secret
from agi.errors import Invalid, ModelError
from agi.testing.provider import ProviderServer, calls, fails, says
from agi.testing.replies import never_begins

KEY = Secret("sk-canary-0123456789")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def server_of(provider: ProviderServer, **fields: object) -> ProviderSettings:
    return ProviderSettings(base_url=provider.base_url, api_key=KEY, **fields)


async def test_one_small_question_is_asked_with_the_key(folder):
    """Few words, few tokens, no tools; nothing is left of it."""
    async with ProviderServer([says("OK")]) as provider:
        seconds = await ask_once("mine", server_of(provider), os.environ, "m")
    sent = json.loads(provider.requests[0].body)

    assert 0 <= seconds < 60
    assert len(provider.requests) == 1
    assert len(provider.requests[0].body) < 1000
    assert (sent["model"], sent["max_tokens"], sent["messages"][-1]["content"]) == ("m", 256, "Reply with OK.")
    assert "tools" not in sent
    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY.reveal()}"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "reply", [says("", finish="length"), says("No.", finish="content_filter"), calls(("shell", {"command": "ls"}))]
)
async def test_any_whole_answer_proves_the_key(reply):
    """A model that thinks too long, refuses or wants a tool has answered all the same."""
    async with ProviderServer([reply, says("OK")]) as provider:
        assert await ask_once("mine", server_of(provider), os.environ, "m") < 60


@pytest.mark.parametrize(
    ("reply", "code", "words"),
    [
        (fails(401, f"Bad key {KEY.reveal()}"), "provider_auth", "answered 401"),
        (fails(404, "no such model"), "model_not_found", "answered 404"),
        (fails(429, "slow down", headers={"retry-after": "600"}), "rate_limited", "answered 429"),
        (fails(500, "sorry"), "provider_failed", "answered 500"),
        (fails(200, body=b"<html>hello</html>", content_type="text/html"), "provider_failed", "mine (m)"),
    ],
)
async def test_the_first_failure_is_the_answer(reply, code, words):
    """Nobody waits here until it passes; the reason comes with a hint and without the key."""
    async with ProviderServer([reply] * 3) as provider:
        with pytest.raises(ModelError) as caught:
            await ask_once("mine", server_of(provider), os.environ, "m")

    assert caught.value.code == code
    assert words in caught.value.message
    assert caught.value.hint
    assert KEY.reveal() not in caught.value.message


async def test_a_server_that_says_nothing_is_left_after_a_while(monkeypatch):
    """With a reason."""
    monkeypatch.setattr(trial, "LIMIT_S", 0.2)
    async with ProviderServer([never_begins()]) as provider:
        with pytest.raises(ModelError, match=r"has not answered within 0\.2 s"):
            await ask_once("mine", server_of(provider), os.environ, "m")


async def test_neither_the_users_settings_nor_the_environments_keys_are_used(here):
    """What is tried is what will be written, and nothing else."""
    here.home.mkdir(parents=True, exist_ok=True)
    (here.home / "config.json").write_text('{"providers": {"mine": {"apiKey": "other"}}, "defaultModel": "other"}')
    env = {**here.env, "OPENAI_API_KEY": "other", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    async with ProviderServer([says("OK")]) as provider:
        await ask_once("openai", server_of(provider), env, "m")

    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY.reveal()}"
    assert not here.data.exists()


async def test_no_file_holds_the_key_meanwhile(folder):
    """Whatever kills the process, no key stays behind."""
    async with ProviderServer([says("OK")]) as provider, open_trial("mine", server_of(provider), os.environ) as made:
        await made.ask("m")
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        found = [path for path in files if KEY.reveal().encode() in path.read_bytes()]

    assert files
    assert found == []


async def test_without_such_memory_a_file_of_the_owners_own_must_do(folder, monkeypatch):
    """It is gone afterwards."""
    monkeypatch.delattr(os, "memfd_create")
    async with ProviderServer([says("OK")]) as provider, open_trial("mine", server_of(provider), os.environ) as made:
        [file] = folder.rglob("home/config.json")
        mode = file.stat().st_mode & 0o777
        await made.ask("m")

    assert mode == 0o600
    assert list(folder.iterdir()) == []


async def test_a_known_providers_models_are_offered_without_asking_it():
    """The first choice first, with what is known of it."""
    offers = await offered("anthropic", ProviderSettings(api_key=KEY), {"HTTPS_PROXY": "http://127.0.0.1:1"})

    assert offers.first == offers.models[0].id
    assert offers.models[0].context_window
    assert len({one.id for one in offers.models}) == len(offers.models) > 5
    assert {one.provider for one in offers.models} == {"anthropic"}


async def test_a_servers_models_are_those_it_lists():
    """None of them is the first choice."""
    async with ProviderServer([], models=("b", "a")) as provider:
        offers = await offered("mine", server_of(provider), os.environ)

    assert sorted(one.id for one in offers.models) == ["a", "b"]
    assert offers.first == ""


async def test_a_server_that_is_not_there_is_a_reason():
    """It is told, not passed over."""
    with pytest.raises(ModelError, match="could not be reached"):
        await offered("mine", ProviderSettings(base_url="http://127.0.0.1:1/v1"), os.environ)


async def test_a_model_that_is_known_not_to_be_there_is_refused_without_asking():
    """A server's own names are its own."""
    with pytest.raises(Invalid, match="has no model 'gpt-5'"):
        await check_model("anthropic", ProviderSettings(api_key=KEY), {}, "gpt-5")

    await check_model("mine", ProviderSettings(base_url="http://127.0.0.1:1/v1"), {}, "anything")
