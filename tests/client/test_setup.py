"""What is set up, and how choices are written down: never a key to see, never a byte that was not meant."""

from __future__ import annotations

import json
import os

import pytest
from msgspec.structs import replace

from agi.client.setup import Choices, ProviderState, save, shadowed, survey
from agi.config import Secret
from agi.errors import ConfigError
from agi.trust import set_trust, trust_state

KEY = Secret("sk-canary-0123456789")


@pytest.fixture
def fresh(here):
    """A folder and a home where nothing was ever set up."""
    (here.home / "config.json").unlink(missing_ok=True)
    return here


def configure(here, settings: dict[str, object], *, own: bool = True) -> None:
    folder = here.home if own else here.data
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(settings))


def test_a_survey_tells_where_keys_come_from_and_holds_none_that_prints(fresh):
    """The file beats the environment."""
    configure(fresh, {"providers": {"openai": {"apiKey": "a"}, "mine": {"baseUrl": "http://x/v1", "enabled": False}}})
    settings = replace(fresh.settings, env={"OPENAI_API_KEY": "b", "GOOGLE_GENERATIVE_AI_API_KEY": "secret-c"})
    found = survey(settings)

    assert found.provider("openai").key_from == str(fresh.home / "config.json")
    assert found.provider("google").key_from == "GOOGLE_GENERATIVE_AI_API_KEY"
    assert not found.provider("anthropic").has_key
    assert found.provider("mine") == ProviderState(name="mine", base_url="http://x/v1", enabled=False)
    assert found.provider("nobody") == ProviderState(name="nobody")
    assert "secret-c" not in repr(found)


def test_a_trusted_projects_key_counts_and_anothers_does_not(fresh):
    """As it does when a question is asked."""
    configure(fresh, {"providers": {"openai": {"apiKey": "a"}}}, own=False)
    before = survey(fresh.settings).provider("openai")
    set_trust(fresh.project, fresh.home, True)
    after = survey(fresh.settings).provider("openai")

    assert not before.has_key
    assert after.key_from == str(fresh.data / "config.json")


def test_choices_lie_over_what_is_known(fresh):
    """What they leave open stays as it is."""
    configure(fresh, {"providers": {"mine": {"baseUrl": "http://x/v1", "apiKey": "a", "api": "messages"}}})
    found = survey(fresh.settings)

    reached = found.with_choices(Choices(provider="mine", key=KEY))
    assert (reached.base_url, reached.api_key, reached.api) == ("http://x/v1", KEY, "messages")


def test_what_is_written_is_told_file_by_file(fresh):
    """Keys and addresses into the user's file, what chooses into the project's."""
    choices = Choices(provider="mine", model="m", agent="plan", base_url="http://x/v1", api="messages", key=KEY)
    written = save(fresh.settings, choices, for_project=True)

    assert [(one.path, one.keys) for one in written] == [
        (fresh.home / "config.json", ("providers.mine.baseUrl", "providers.mine.api", "providers.mine.apiKey")),
        (fresh.data / "config.json", ("defaultProvider", "defaultModel", "defaultAgent")),
    ]
    assert KEY.reveal() not in (fresh.data / "config.json").read_text()
    assert KEY.reveal() not in repr(choices)
    assert sorted(os.listdir(fresh.data)) == ["config.json"]


def test_a_project_that_needs_no_key_leaves_the_users_file_alone(fresh):
    """Not even an empty one is made."""
    save(fresh.settings, Choices(provider="openai", model="m"), for_project=True)

    assert not (fresh.home / "config.json").exists()


@pytest.mark.parametrize("for_project", [True, False])
def test_a_model_of_another_provider_does_not_stay_and_an_agent_does(fresh, for_project):
    """What was chosen together is replaced together."""
    configure(fresh, {"defaultModel": "old", "defaultAgent": "plan", "x": 1}, own=not for_project)
    save(fresh.settings, Choices(provider="embedded"), for_project=for_project)

    file = (fresh.data if for_project else fresh.home) / "config.json"
    assert json.loads(file.read_text()) == {"defaultAgent": "plan", "x": 1, "defaultProvider": "embedded"}


def test_trust_stays_only_if_nothing_else_changed(fresh):
    """A tool that appeared meanwhile is not trusted on the side."""
    configure(fresh, {"verify": {"commands": ["make"]}}, own=False)
    set_trust(fresh.project, fresh.home, True)
    save(fresh.settings, Choices(provider="embedded"), for_project=True)
    kept = trust_state(fresh.project, fresh.home).trusted
    (fresh.data / "agents.json").write_text("{}")
    save(fresh.settings, Choices(provider="openai"), for_project=True)

    assert kept
    assert not trust_state(fresh.project, fresh.home).trusted


def test_what_a_project_overrules_is_named(fresh):
    """Its key and address only where it is trusted, since only then they count."""
    theirs = {
        "defaultProvider": "mine",
        "defaultModel": "b",
        "providers": {"mine": {"apiKey": "x", "baseUrl": "http://y"}},
    }
    configure(fresh, theirs, own=False)
    choices = Choices(provider="mine", model="a", base_url="http://x", key=KEY)
    before = shadowed(fresh.settings, choices)
    set_trust(fresh.project, fresh.home, True)

    assert before == ("defaultModel",)
    assert shadowed(fresh.settings, choices) == ("defaultModel", "providers.mine.baseUrl", "providers.mine.apiKey")
    assert shadowed(fresh.settings, Choices(provider="mine", model="b")) == ()


@pytest.mark.parametrize("content", ['{"providers": []}', '{"providers": {"mine": 7}}', "{"])
def test_a_file_that_is_wrong_stays_as_it_is(fresh, content):
    """And is named."""
    fresh.home.mkdir(parents=True, exist_ok=True)
    (fresh.home / "config.json").write_text(content)
    with pytest.raises(ConfigError, match=r"config\.json"):
        save(fresh.settings, Choices(provider="mine", key=KEY), for_project=False)

    assert (fresh.home / "config.json").read_text() == content


def test_a_project_that_cannot_be_written_leaves_the_users_file_alone(fresh):
    """Either both are written or none is."""
    fresh.data.write_text("a file")
    with pytest.raises(ConfigError, match="cannot be written"):
        save(fresh.settings, Choices(provider="mine", key=KEY), for_project=True)

    assert not (fresh.home / "config.json").exists()
