"""Which model answers: asked for, configured, found, or the scripted demo; and what is said when none can."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agi.config.values import Config, ProviderSettings, Secret
from agi.errors import Invalid
from agi.models.anthropic import Anthropic
from agi.models.base import ModelRequest, TextDelta
from agi.models.demo import DemoModel
from agi.models.gemini import Gemini
from agi.models.openai_chat import OpenAIChat
from agi.models.openai_responses import OpenAIResponses
from agi.models.resolve import Models
from agi.models.scripted import ScriptedModel
from agi.testing.provider import ProviderServer
from agi.testing.replies import says

KEYED = ProviderSettings(api_key=Secret("sk-test-123456"))
LOCAL = ProviderSettings(base_url="http://127.0.0.1:11434/v1")
NOTHING = ProviderSettings()
BUILT_IN = {"openai": NOTHING, "anthropic": NOTHING, "google": NOTHING}


def models(*, default_provider: str | None = None, default_model: str | None = None, **providers: ProviderSettings):
    return Models(
        Config(default_provider=default_provider, default_model=default_model, providers={**BUILT_IN, **providers})
    )


def chosen(made: Models, *asked: str | None, **defaults: str | None) -> tuple[str, str, str]:
    choice = made.describe(*asked, **defaults)
    return choice.provider, choice.model, choice.reason


def refusal(made: Models, *asked: str | None) -> Invalid:
    with pytest.raises(Invalid) as caught:
        made.resolve(*asked)
    assert caught.value.hint
    return caught.value


def test_with_nothing_configured_the_demo_answers():
    """It is named as scripted, and why is said."""
    made = models()

    assert chosen(made) == ("scripted", "demo", "nothing_configured")
    assert isinstance(made.resolve(), DemoModel)
    assert made.describe().because == "no provider is set up"


@pytest.mark.parametrize(
    ("provider", "settings", "adapter"),
    [
        ("openai", KEYED, OpenAIChat),
        ("openai", ProviderSettings(api_key=Secret("sk-test-123456"), api="responses"), OpenAIResponses),
        ("anthropic", KEYED, Anthropic),
        ("google", KEYED, Gemini),
        ("lab", ProviderSettings(base_url="http://127.0.0.1:1/v1", api="messages"), Anthropic),
    ],
)
def test_each_provider_is_spoken_to_in_its_own_way(provider, settings, adapter):
    """A built-in provider by its name, any other by `api`; a key is enough to be found."""
    made = models(**{provider: settings}, default_model=None if provider != "lab" else "m")

    assert isinstance(made.resolve(provider, None if provider != "lab" else "m"), adapter)
    assert made.describe().provider == provider
    assert made.describe().reason == "detected"


def test_an_openai_key_is_enough():
    """Its first choice answers, and any known name, snapshot or tuned model may be asked for."""
    made = models(openai=KEYED)

    assert chosen(made) == ("openai", "gpt-5-mini", "detected")
    assert "OPENAI_API_KEY" in made.describe().because
    for name in ("gpt-4o", "gpt-4o-2024-08-06", "ft:gpt-4o-mini:acme::x1"):
        assert chosen(made, None, name) == ("openai", name, "detected")


def test_what_was_asked_for_comes_first():
    """Then the agent's own choice, then the configuration, then what is found."""
    made = models(default_provider="lab", default_model="llama", openai=KEYED, lab=LOCAL, home=LOCAL)

    assert chosen(made) == ("lab", "llama", "configured")
    assert chosen(made, "home", "qwen") == ("home", "qwen", "asked")
    assert chosen(made, None, "qwen") == ("lab", "qwen", "configured")
    assert chosen(made, default_provider="home", default_model="phi") == ("home", "phi", "configured")
    assert chosen(made, default_model="phi") == ("lab", "phi", "configured")
    assert chosen(made, "home", None, default_provider="home", default_model="phi") == ("home", "phi", "asked")
    assert chosen(made, "scripted", None) == ("scripted", "demo", "asked")


def test_the_default_model_is_not_asked_of_another_provider():
    """`defaultModel` belongs to the default provider, or to the one found without asking."""
    made = models(default_provider="lab", default_model="llama", openai=KEYED, lab=LOCAL, home=LOCAL)

    assert chosen(made, "openai") == ("openai", "gpt-5-mini", "asked")
    assert refusal(made, "home").code == "missing_model"
    assert chosen(made, "lab") == ("lab", "llama", "asked")
    assert chosen(models(default_model="llama", lab=LOCAL), "lab") == ("lab", "llama", "asked")


def test_a_base_url_takes_any_name_and_needs_no_key():
    """The server's own answer is surfaced if it does not know the name."""
    made = models(lab=LOCAL)

    assert chosen(made, "lab", "whatever:7b") == ("lab", "whatever:7b", "asked")
    assert isinstance(made.resolve("lab", "whatever:7b"), OpenAIChat)
    assert chosen(models(openai=LOCAL), None, "x") == ("openai", "x", "detected")
    assert chosen(models(google=LOCAL), "google", "x") == ("google", "x", "asked")


def test_a_base_url_of_another_format_is_not_found_without_asking():
    """`ANTHROPIC_BASE_URL` is set for other programs too."""
    assert chosen(models(anthropic=LOCAL)) == ("scripted", "demo", "nothing_configured")


def test_openai_s_own_address_is_not_another_server():
    """Written out, it still needs a key and known names."""
    made = models(openai=ProviderSettings(base_url="https://api.openai.com/v1/"))

    assert refusal(made, "openai").code == "missing_key"


@pytest.mark.parametrize(
    ("made", "asked", "code", "named"),
    [
        (models(), ("openai",), "missing_key", "OPENAI_API_KEY"),
        (models(), (None, "gpt-5"), "missing_key", "providers.openai.apiKey"),
        (models(default_model="gpt-5"), (), "missing_key", "OPENAI_API_KEY"),
        (models(), ("nope",), "unknown_provider", "openai, anthropic, google, scripted"),
        (models(lab=LOCAL), ("nope",), "unknown_provider", "openai, anthropic, google, lab, scripted"),
        (models(lab=NOTHING), ("lab",), "unknown_provider", "providers.<name>.baseUrl"),
        (models(openai=ProviderSettings(enabled=False)), ("openai",), "provider_disabled", "providers.openai.enabled"),
        (models(), ("anthropic",), "missing_key", "ANTHROPIC_API_KEY"),
        (models(), ("google",), "missing_key", "GOOGLE_GENERATIVE_AI_API_KEY"),
        (models(anthropic=KEYED), (None, "claude-sonet-5"), "unknown_model", "claude-sonnet-5"),
        (models(openai=KEYED), (None, "gpt-5-minni"), "unknown_model", "gpt-5-mini"),
        (models(openai=KEYED), (None, "zzz"), "unknown_model", "Nearest names: none"),
        (models(), ("scripted", "gpt-5"), "unknown_model", "demo"),
        (models(lab=LOCAL), (), "missing_model", "defaultModel"),
        (models(lab=ProviderSettings(base_url="ftp://x")), ("lab", "m"), "base_url_invalid", "http"),
    ],
)
def test_what_cannot_answer_is_refused_with_what_to_do(made, asked, code, named):
    """Each refusal has its code and names the setting, the variable or the names to choose from."""
    error = refusal(made, *asked)

    assert error.code == code
    assert named in error.message + error.hint


def test_a_disabled_provider_is_not_found():
    """Switched off means not used, key or no key."""
    off = ProviderSettings(enabled=False, api_key=Secret("sk-test-123456"))

    assert chosen(models(openai=off))[0] == "scripted"


def test_the_list_holds_what_may_be_chosen():
    """Known models of a keyed provider, the default of a server of one's own, and always the scripted one."""
    keyed = {(info.provider, info.id) for info in models(openai=KEYED).list()}

    assert {("openai", "gpt-5"), ("scripted", "demo")} <= keyed
    assert [(i.provider, i.id) for i in models(lab=LOCAL, default_model="llama").list()] == [
        ("lab", "llama"),
        ("scripted", "demo"),
    ]
    assert [info.provider for info in models().list()] == ["scripted"]


def test_a_test_may_put_a_model_in_the_demo_s_place():
    """So that everything above runs as it does, with a script of its own."""
    script = ScriptedModel(name="play")
    made = Models(Config(providers=BUILT_IN), stand_in=script)

    assert made.resolve() is script
    assert made.resolve("scripted", "play") is script
    assert chosen(made) == ("scripted", "play", "nothing_configured")


async def test_models_share_one_client_and_close_it():
    """Two models, one connection; after closing, the next use opens a new one."""
    async with ProviderServer([says("a"), says("b")]) as server:
        made = models(lab=ProviderSettings(base_url=server.base_url))
        for name, text in (("m1", "a"), ("m2", "b")):
            request = ModelRequest(system="hi", messages=())
            items = [item async for item in made.resolve("lab", name).stream(request)]
            assert items[0] == TextDelta(text)
        assert server.connections == 1
        assert [asked.json["model"] for asked in server.requests] == ["m1", "m2"]
        await made.close()


def test_the_demo_needs_no_network_code():
    """A one-shot without a provider does not pay for a client it never uses."""
    code = (
        "import sys; from agi.config.values import Config; from agi.models.resolve import Models; "
        "Models(Config()).resolve(); "
        "print([name for name in ('agi.net', 'httptools', 'difflib', 'email') if name in sys.modules])"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)

    assert ran.stdout.strip() == "[]"
