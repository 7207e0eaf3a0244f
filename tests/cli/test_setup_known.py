"""What people type for an address, a name, a key: completed where it is obvious, refused where it cannot be meant."""

from __future__ import annotations

import json

import pytest

from agi.cli.setup_flags import name_for
from agi.cli.setup_known import agents_of, checked_key, checked_name, checked_url, title_of
from agi.errors import ConfigError


@pytest.mark.parametrize(
    ("typed", "api", "url"),
    [
        ("http://localhost:11434/v1", None, "http://localhost:11434/v1"),
        ("http://localhost:11434/v1/", None, "http://localhost:11434/v1"),
        ("localhost:11434", None, "http://localhost:11434/v1"),
        (" 127.0.0.1:8080 ", "chat", "http://127.0.0.1:8080/v1"),
        ("[::1]:8080", "responses", "http://[::1]:8080/v1"),
        ("api.example.com", None, "https://api.example.com/v1"),
        ("https://openrouter.ai/api/v1", None, "https://openrouter.ai/api/v1"),
        ("https://proxy.example.com/", "messages", "https://proxy.example.com"),
        ("https://proxy.example.com", "gemini", "https://proxy.example.com"),
    ],
)
def test_an_address_is_completed_where_people_leave_out_the_obvious(typed, api, url):
    """The scheme, and the path where servers that speak OpenAI's API have it."""
    assert checked_url(typed, api) == url


@pytest.mark.parametrize(
    "typed", ["", "http://", "ftp://x/v1", "http://a b", "http://x:99999", "http://me:pw@x", "ü.de"]
)
def test_an_address_that_cannot_be_meant_is_refused_without_being_repeated(typed):
    """It may hold a password."""
    with pytest.raises(ConfigError) as caught:
        checked_url(typed)

    assert "pw" not in caught.value.message
    assert "http://localhost:11434/v1" in caught.value.hint


@pytest.mark.parametrize("text", ["", " ", "two\nlines", "schlüssel", "a\0b", "\x1b[A"])
def test_what_cannot_be_sent_in_a_header_is_no_key(text):
    """And is not repeated."""
    with pytest.raises(ConfigError) as caught:
        checked_key(text)

    assert "schlüssel" not in caught.value.message
    assert checked_key(" sk-1 ").reveal() == "sk-1"


@pytest.mark.parametrize("name", ["", "scripted", "a b", "ä", "-x", "x" * 65, "a/b"])
def test_a_name_is_one_that_can_be_typed_everywhere(name):
    """In a file, in an option, in `provider/model`."""
    with pytest.raises(ConfigError):
        checked_name(name)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://localhost:11434/v1", "ollama"),
        ("http://127.0.0.1:1234/v1", "lmstudio"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("http://localhost:5555/v1", "local"),
    ],
)
def test_a_server_is_named_by_what_usually_answers_there(url, name):
    """And `local` where nobody knows."""
    assert name_for(url) == name


def test_providers_have_names_as_people_write_them():
    """A name that is not known stays as it is."""
    assert [title_of(name) for name in ("openai", "ollama", "embedded", "mine")] == [
        "OpenAI",
        "Ollama",
        "The embedded model",
        "mine",
    ]


def test_a_projects_agents_count_only_there(tmp_path):
    """The user's own default must exist everywhere."""
    (tmp_path / ".agi").mkdir()
    (tmp_path / ".agi" / "agents.json").write_text(json.dumps({"reviewer": {}, "plan": {}}))

    assert list(agents_of(None)) == ["build", "general", "plan"]
    assert list(agents_of(tmp_path)) == ["build", "general", "plan", "reviewer"]
