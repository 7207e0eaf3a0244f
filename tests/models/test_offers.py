"""What a server lists: which of its models talk, which run here, and which of them to take first."""

from __future__ import annotations

import json

import pytest

from agi.models.offers import in_order_of_use, read_abilities, read_list


def listed(*entries: object) -> bytes:
    return json.dumps({"object": "list", "data": entries}).encode()


@pytest.mark.parametrize(
    "name",
    [
        "nomic-embed-text:latest",
        "text-embedding-nomic-embed-text-v1.5",
        "mxbai-embed-large",
        "bge-m3",
        "BAAI/bge-reranker-v2-m3",
        "intfloat/e5-large",
        "all-minilm:22m",
        "whisper-1",
        "openai/whisper-large-v3",
        "tts-1-hd",
        "kokoro",
        "llama-guard3:8b",
        "shieldgemma",
        "stable-diffusion-xl",
        "black-forest/flux.1-dev",
        "gpt-oss:120b-cloud",
        "qwen3-coder:cloud",
    ],
)
def test_a_model_that_does_not_talk_or_is_elsewhere_is_not_taken_unasked(name):
    """It stays in the list of names, for whoever asks for it."""
    found = read_list(listed({"id": name}, {"id": "qwen3:8b"}))

    assert found is not None
    assert (found.names, found.chat) == ((name, "qwen3:8b"), ("qwen3:8b",))


@pytest.mark.parametrize(
    "name",
    [
        "qwen2.5-coder:7b",
        "llama3.2:3b-instruct-q4_K_M",
        "gpt-oss:20b",
        "mistralai/Mistral-7B-Instruct-v0.3",
        "koboldcpp/L3-8B-Stheno",
        "/models/some file.gguf",
        "deepseek-r1:8b",
        "phi4",
        "gemma-3-4b-it",
        "mattsstories-7b",
        "cloudy-7b",
        "safeguarding-writer",
    ],
)
def test_a_model_that_talks_is_taken(name):
    """A word inside another one says nothing."""
    found = read_list(listed({"id": name}))

    assert found is not None
    assert found.chat == (name,)


def test_names_that_cannot_be_shown_and_repetitions_are_left_out():
    """A list may hold anything."""
    found = read_list(listed({"id": "a"}, {"id": "b\x1b[2J"}, {"id": "a"}, {"id": "c", "more": {"deep": [1]}}))

    assert found is not None
    assert found.names == ("a", "c")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"capabilities": ["completion", "tools"]}', frozenset({"completion", "tools"})),
        (b'{"capabilities": ["completion"], "remote_host": "https://x"}', frozenset({"completion", "remote"})),
        (b"{}", None),
        (b'{"capabilities": "tools"}', None),
        (b"[" * 100_000, None),
        (b"<html>", None),
    ],
)
def test_abilities_are_read_or_not_known(body, told):
    """What is not said is not guessed."""
    assert read_abilities(body) == told


def test_models_that_call_tools_come_first_in_the_server_s_own_order():
    """Those that do not talk, or run elsewhere, do not come at all."""
    abilities = {
        "plain": frozenset({"completion"}),
        "tools": frozenset({"completion", "tools"}),
        "away": frozenset({"completion", "tools", "remote"}),
        "vectors": frozenset({"embedding"}),
        "other": frozenset({"completion", "tools", "vision"}),
    }

    assert in_order_of_use(("plain", "new", "tools", "away", "vectors", "other"), abilities) == (
        "tools",
        "other",
        "new",
        "plain",
    )
