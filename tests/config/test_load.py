"""Settings from flags, files and the environment become one value; the nearer voice wins, key by key."""

from __future__ import annotations

import os

import msgspec
import pytest

from agi.config import AgentSettings, Config, Flags, ProviderSettings, SandboxSettings, Secret
from agi.config.values import LocalSettings, ModelSettings, TimeoutSettings
from agi.errors import ConfigError
from agi.protocol.policies import ApprovalPolicy, Budget, PatchReviewPolicy, VerifyPolicy
from agi.protocol.tools import ToolKind

EVERYTHING = {
    "defaultAgent": "general",
    "defaultProvider": "openai",
    "defaultModel": "gpt-4o-mini",
    "providers": {"openai": {"enabled": False, "baseUrl": "http://127.0.0.1:9/v1", "apiKey": "sk-user"}},
    "approval": {"requireForKinds": ["exec"], "requireForTools": ["search"], "timeoutSeconds": 60},
    "verify": {"autoVerify": False, "commands": ["make check"], "requireClean": True, "maxAttempts": 5},
    "patchReview": {"mode": "request"},
    "budget": {"perTurn": {"usd": 1.5, "tokens": 1000}, "perSession": {"steps": 7, "seconds": 90}},
    "sandbox": {"mode": "require", "network": True},
    "agents": {"build": {"maxSteps": 20}},
    "auth": "token",
}


def test_without_files_there_are_the_defaults(places):
    """A user who configured nothing gets the documented defaults and no warnings."""
    config = places.load()

    assert config.approval == ApprovalPolicy(require_for_kinds=(ToolKind.WRITE, ToolKind.EXEC, ToolKind.NET))
    assert config.verify == VerifyPolicy(auto_verify=True, commands=("make test",), require_clean=False, max_attempts=3)
    assert config.patch_review == PatchReviewPolicy(mode="off")
    assert config.sandbox == SandboxSettings(mode="auto", network=False)
    assert (config.default_agent, config.default_provider, config.default_model) == (None, None, None)
    assert (config.budget_per_turn, config.budget_per_session) == (Budget(), Budget())
    assert (config.approval_timeout_s, config.auth, config.trusted) == (None, "auto", False)
    assert (config.warnings, config.ignored) == ((), ())
    assert dict(config.providers) == dict.fromkeys(("openai", "anthropic", "google"), ProviderSettings())


@pytest.mark.parametrize("where", ["user", "trusted project"])
def test_every_documented_key_is_read(places, where):
    """Each key of the contract lands in its field, from the user's file and from a trusted project's."""
    if where == "user":
        places.user_says(EVERYTHING)
    else:
        places.project_says(EVERYTHING)
    config = places.load(trusted=where != "user")

    assert (config.default_agent, config.default_provider, config.default_model) == ("general", "openai", "gpt-4o-mini")
    openai = ProviderSettings(enabled=False, base_url="http://127.0.0.1:9/v1", api_key=Secret("sk-user"))
    assert config.provider("openai") == openai
    assert config.approval == ApprovalPolicy(require_for_kinds=(ToolKind.EXEC,), require_for_tools=("search",))
    assert config.approval_timeout_s == 60
    assert config.verify == VerifyPolicy(
        auto_verify=False, commands=("make check",), require_clean=True, max_attempts=5
    )
    assert config.patch_review == PatchReviewPolicy(mode="request")
    assert config.budget_per_turn == Budget(usd=1.5, tokens=1000)
    assert config.budget_per_session == Budget(steps=7, seconds=90)
    assert config.sandbox == SandboxSettings(mode="require", network=True)
    assert config.agents == {"build": AgentSettings(max_steps=20)}
    assert config.max_steps("build") == 20
    assert config.max_steps("plan") is None
    assert config.auth == "token"


@pytest.mark.parametrize(
    ("flag", "project", "user", "expected"),
    [
        (None, None, None, None),
        (None, None, "user", "user"),
        (None, "project", None, "project"),
        (None, "project", "user", "project"),
        ("flag", None, "user", "flag"),
        ("flag", "project", "user", "flag"),
    ],
)
@pytest.mark.parametrize("trusted", [False, True])
def test_flag_beats_project_beats_user(places, flag, project, user, expected, trusted):
    """What only chooses has the seed's precedence, whether the project is trusted or not."""
    if project:
        places.project_says({"defaultAgent": project, "defaultModel": project})
    if user:
        places.user_says({"defaultAgent": user, "defaultModel": user})
    config = places.load(trusted=trusted, flags=Flags(agent=flag, model=flag))

    assert (config.default_agent, config.default_model) == (expected, expected)


@pytest.mark.parametrize(
    ("project", "user", "env", "expected"),
    [
        (None, None, "env", "env"),
        (None, "user", "env", "user"),
        ("project", None, "env", "project"),
        ("project", "user", "env", "project"),
        (None, None, "", None),
    ],
)
@pytest.mark.parametrize(
    ("name", "key_variable", "url_variable"),
    [
        ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        ("google", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    ],
)
def test_files_beat_the_environment(places, name, key_variable, url_variable, project, user, env, expected):
    """Keys and base URLs come from a trusted project, else the user's file, else the environment."""
    for says, voice in ((places.project_says, project), (places.user_says, user)):
        if voice:
            says({"providers": {name: {"apiKey": voice, "baseUrl": f"https://{voice}.test"}}})
    places.env = {key_variable: env, url_variable: f"https://{env}.test" if env else " "}
    settings = places.load(trusted=True).provider(name)

    assert settings.api_key == (Secret(expected) if expected else None)
    assert settings.base_url == (f"https://{expected}.test" if expected else None)


def test_files_are_laid_over_each_other_key_by_key(places):
    """A project that sets one key of a section leaves the others as the user set them."""
    places.env = {"OPENAI_API_KEY": "sk-env"}
    places.user_says(
        {
            "providers": {"openai": {"baseUrl": "https://user.test"}, "local": {"baseUrl": "http://localhost:1"}},
            "verify": {"commands": ["make user"], "maxAttempts": 2},
            "budget": {"perTurn": {"usd": 3, "steps": 9}},
        }
    )
    places.project_says(
        {
            "providers": {"openai": {"enabled": False}},
            "verify": {"maxAttempts": 1},
            "budget": {"perTurn": {"steps": None}, "perSession": {"usd": 8}},
        }
    )
    config = places.load(trusted=True)

    openai = ProviderSettings(enabled=False, base_url="https://user.test", api_key=Secret("sk-env"))
    assert config.provider("openai") == openai
    assert config.provider("local") == ProviderSettings(base_url="http://localhost:1")
    assert config.verify == VerifyPolicy(commands=("make user",), max_attempts=1)
    assert (config.budget_per_turn, config.budget_per_session) == (Budget(usd=3, steps=None), Budget(usd=8))


def test_limits_that_stand_directly_in_budget_are_per_turn(places):
    """The flat form is short for `perTurn`, which wins where both are given."""
    places.user_says({"budget": {"usd": 2, "tokens": 50, "perTurn": {"usd": 1}}})

    assert places.load().budget_per_turn == Budget(usd=1, tokens=50)


def test_a_provider_asked_for_by_flag_is_not_given_another_providers_model(places):
    """`--provider` without `--model` leaves the choice of the model to that provider."""
    places.user_says({"defaultProvider": "anthropic", "defaultModel": "claude"})

    assert places.load(flags=Flags(provider="openai")).default_model is None
    assert places.load(flags=Flags(provider="anthropic")).default_model == "claude"
    assert places.load(flags=Flags(provider="openai", model="gpt")).default_model == "gpt"


def test_a_model_does_not_follow_to_a_provider_that_a_project_names(places):
    """The user's model is meant for the user's provider."""
    places.user_says({"defaultProvider": "openai", "defaultModel": "gpt-5"})
    places.project_says({"defaultProvider": "anthropic"})

    assert (places.load().default_provider, places.load().default_model) == ("anthropic", None)


def test_models_of_a_provider_are_described_by_name(places):
    """Windows, prices and time limits of one's own, and who stands by when a model fails."""
    places.user_says(
        {
            "providers": {
                "local": {
                    "baseUrl": "http://127.0.0.1:9/v1",
                    "profile": "small",
                    "timeouts": {"idleSeconds": 7, "thinkingSeconds": 70},
                    "models": {"qwen3:8b": {"contextWindow": 32768, "inputUsd": 0, "outputUsd": 0.5}},
                }
            },
            "fallbackModels": ["anthropic/claude-x", "local/qwen3:8b"],
            "local": {"weights": "/w.gguf", "threads": 3, "probe": False},
        }
    )
    config = places.load()

    assert config.provider("local").profile == "small"
    assert config.provider("local").timeouts == TimeoutSettings(idle_seconds=7, thinking_seconds=70)
    told = ModelSettings(context_window=32768, input_usd=0, output_usd=0.5)
    assert dict(config.provider("local").models) == {"qwen3:8b": told}
    assert config.fallback_models == ("anthropic/claude-x", "local/qwen3:8b")
    assert config.local == LocalSettings(weights="/w.gguf", threads=3, probe=False)
    assert config.warnings == ()


def test_a_misspelt_fact_about_a_model_is_a_warning(places):
    """A price nobody reads would be a budget that does not hold."""
    places.user_says({"providers": {"x": {"models": {"m": {"inputUSD": 1}}}}})

    (warning,) = places.load().warnings
    assert "`providers.x.models.m.inputUSD`" in warning
    assert "inputUsd" in warning


@pytest.mark.parametrize(
    "wrong",
    [
        {"fallbackModels": ["just-a-model"]},
        {"fallbackModels": "a/b"},
        {"providers": {"x": {"profile": "tiny"}}},
        {"providers": {"x": {"timeouts": {"idleSeconds": 0}}}},
        {"providers": {"x": {"models": {"m": {"inputUsd": -1}}}}},
        {"local": {"threads": 0}},
    ],
)
def test_a_wrong_value_is_refused_with_its_key(places, wrong):
    """Nothing is guessed."""
    places.user_says(wrong)

    with pytest.raises(ConfigError) as caught:
        places.load()
    assert next(iter(wrong)) in caught.value.message


def test_verification_commands_come_from_agents_md_where_trusted(places):
    """AGENTS.md names the commands, unless a `config.json` does."""
    (places.project / "AGENTS.md").write_text("# Rules\n\n## Verification\n\n```sh\nmake check\n```\n")

    assert places.load(trusted=True).verify.commands == ("make check",)
    places.user_says({"verify": {"commands": ["make all"]}})
    assert places.load(trusted=True).verify.commands == ("make all",)


@pytest.mark.parametrize("file", ["project_says", "user_says"])
def test_an_unknown_key_is_a_warning(places, file):
    """A typing mistake or a newer version's key is named with the nearest there is, and does not stop anything."""
    getattr(places, file)(
        {
            "defaultAgnet": "x",
            "verify": {"command": "x"},
            "budget": {"perTurn": {"Tokens": 1}},
            "providers": {"local": {"baseurl": "x", "api_key": "sk-1", "zzz": 1}},
            "agents": {"a": {"b": 1}},
        }
    )
    warnings = places.load(trusted=True).warnings

    meant = {
        "defaultAgnet": "defaultAgent",
        "verify.command": "verify.commands",
        "budget.perTurn.Tokens": "budget.perTurn.tokens",
        "providers.local.baseurl": "providers.local.baseUrl",
        "providers.local.api_key": "providers.local.apiKey",
        "providers.local.zzz": "",
        "agents.a.b": "",
    }
    path = places.project_file if file == "project_says" else places.user_file
    assert warnings == tuple(
        f"{path}: `{key}` is not a known setting and is ignored." + (f" Did you mean `{near}`?" if near else "")
        for key, near in meant.items()
    )


def test_many_unknown_keys_are_counted_not_listed(places):
    """A hostile file cannot flood a log, or steer a terminal."""
    places.project_says({f"\x1b[2Jkey{number}": 1 for number in range(1000)})
    warnings = places.load().warnings

    assert len(warnings) == 21
    assert "980 more settings" in warnings[-1]
    assert all(warning.isprintable() for warning in warnings)


def test_a_key_in_a_trusted_projects_file_is_used_with_a_warning(places):
    """Somebody put it there, so it works; but it may be committed, so it is said."""
    places.project_says({"providers": {"openai": {"apiKey": "sk-project"}}})
    config = places.load(trusted=True)

    assert config.provider("openai").api_key == Secret("sk-project")
    assert len(config.warnings) == 1
    assert "`providers.openai.apiKey`" in config.warnings[0]
    assert "agi setup" in config.warnings[0]
    assert "sk-project" not in config.warnings[0]


def test_keys_in_a_file_others_can_read_are_warned_about(places):
    """The user's file should be for the user alone."""
    places.user_says({"providers": {"openai": {"apiKey": "sk-user"}}})
    places.user_file.chmod(0o644)

    assert f"chmod 600 {places.user_file}" in places.load().warnings[0]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OPENAI_BASE_URL", "file:///etc/passwd"),
        ("ANTHROPIC_BASE_URL", "https://user:pass@host"),
        ("GOOGLE_GEMINI_BASE_URL", "nonsense"),
        ("OPENAI_API_KEY", "sk-a\r\nX-Evil: 1"),
        ("ANTHROPIC_API_KEY", "sk-ключ"),
    ],
)
def test_a_wrong_variable_is_named_but_not_quoted(places, variable, value):
    """What could not be sent, or would be sent to no server, is refused by the variable's name."""
    places.env = {variable: value}
    with pytest.raises(ConfigError) as raised:
        places.load()

    assert variable in raised.value.message
    assert value not in raised.value.message
    assert raised.value.hint


def test_a_symlinked_user_file_is_followed(places, tmp_path):
    """People keep their settings in a folder of their own and link to them."""
    (tmp_path / "dotfiles.json").write_text('{"defaultAgent": "plan"}')
    places.user_file.symlink_to(tmp_path / "dotfiles.json")

    assert places.load().default_agent == "plan"


def test_no_key_lands_in_text_or_json(places):
    """A config can be printed, formatted and encoded by mistake without giving a key away."""
    places.user_says(EVERYTHING)
    places.env = {"ANTHROPIC_API_KEY": "sk-env"}
    config = places.load()

    for text in (repr(config), str(config), f"{config.provider('openai')}", repr(config.provider("anthropic").api_key)):
        assert "sk-" not in text
    for write in (msgspec.json.encode, msgspec.msgpack.encode, msgspec.to_builtins):
        with pytest.raises(TypeError):
            write(config.provider("openai"))


def test_a_config_cannot_be_changed(places):
    """What was loaded stays as it was."""
    config = places.load()

    with pytest.raises(AttributeError):
        config.auth = "token"
    with pytest.raises(TypeError):
        config.providers["openai"] = ProviderSettings()
    assert config == places.load()
    assert isinstance(config, Config)


def test_the_working_directory_and_real_environment_do_not_matter(places, monkeypatch):
    """Only what is passed in counts."""
    monkeypatch.setitem(os.environ, "OPENAI_API_KEY", "sk-real")

    assert places.load().provider("openai").api_key is None
