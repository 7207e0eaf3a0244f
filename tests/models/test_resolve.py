"""Which model answers: asked for, configured, found on this machine, or none; and what is said when none can."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agi.config.values import Config, ProviderSettings, Secret, TimeoutSettings
from agi.errors import Invalid, ModelError
from agi.extras import how_to_add
from agi.models.anthropic import Anthropic
from agi.models.base import ModelRequest, TextDelta
from agi.models.demo import DemoModel
from agi.models.gemini import Gemini
from agi.models.openai_chat import OpenAIChat
from agi.models.openai_responses import OpenAIResponses
from agi.models.resolve import Models
from agi.models.scripted import ScriptedModel
from agi.testing.provider import ProviderServer
from agi.testing.replies import never_begins, says

KEYED = ProviderSettings(api_key=Secret("sk-test-123456"))
LOCAL = ProviderSettings(base_url="http://127.0.0.1:11434/v1")
NOTHING = ProviderSettings()
OFF = ProviderSettings(enabled=False)
BUILT_IN = {"openai": NOTHING, "anthropic": NOTHING, "google": NOTHING}


def models(
    *,
    default_provider: str | None = None,
    default_model: str | None = None,
    fallbacks: tuple[str, ...] = (),
    ports: dict[str, int] | None = None,
    **providers: ProviderSettings,
) -> Models:
    config = Config(
        default_provider=default_provider,
        default_model=default_model,
        fallback_models=fallbacks,
        providers={**BUILT_IN, **providers},
    )
    return Models(config, probe_ports=ports)


def port_of(server: ProviderServer) -> int:
    return int(server.url.rpartition(":")[2])


def chosen(made: Models, *asked: str | None, **defaults: str | None) -> tuple[str, str, str]:
    choice = made.describe(*asked, **defaults)
    return choice.provider, choice.model, choice.reason


def refusal(made: Models, *asked: str | None) -> Invalid:
    with pytest.raises(Invalid) as caught:
        made.resolve(*asked)
    assert caught.value.hint
    return caught.value


def test_with_nothing_configured_the_ways_to_a_model_are_said():
    """One command each; a script is never passed off as a model."""
    error = refusal(models())

    assert (error.code, error.message) == ("no_model", "No model is set up.")
    for way in ("`agi setup`", "`agi models fetch`", "1.1 GB", "start Ollama"):
        assert way in error.hint


def test_the_script_answers_only_when_asked_for():
    """By its name, in a command, an agent or the configuration."""
    assert isinstance(models().resolve("scripted"), DemoModel)
    assert chosen(models(default_provider="scripted")) == ("scripted", "demo", "configured")
    assert chosen(models(), default_provider="scripted") == ("scripted", "demo", "configured")


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
    assert refusal(models(anthropic=LOCAL)).code == "no_model"


def test_openai_s_own_address_is_not_another_server():
    """Written out, it still needs a key and known names."""
    made = models(openai=ProviderSettings(base_url="https://api.openai.com/v1/"))

    assert refusal(made, "openai").code == "missing_key"


@pytest.mark.parametrize(
    ("made", "asked", "code", "named"),
    [
        (models(), ("openai",), "missing_key", "OPENAI_API_KEY"),
        (models(), (None, "gpt-5"), "missing_key", "providers.openai.apiKey"),
        (models(default_model="gpt-5"), (), "missing_key", "`agi setup --provider openai`"),
        (models(), (None, "claude-sonnet-5"), "missing_key", "`agi setup --provider anthropic`"),
        (models(), (None, "zzz"), "no_model", "`agi setup`"),
        (models(), ("nope",), "unknown_provider", "Known: openai, anthropic, google, ollama"),
        (models(lab=LOCAL), ("nope",), "unknown_provider", "openai, anthropic, google, lab, ollama"),
        (models(), ("nope",), "unknown_provider", "embedded, scripted"),
        (models(lab=NOTHING), ("lab",), "unknown_provider", "providers.<name>.baseUrl"),
        (models(openai=OFF), ("openai",), "provider_disabled", "providers.openai.enabled"),
        (models(openai=OFF), ("openai",), "provider_disabled", "`agi setup`"),
        (models(), ("anthropic",), "missing_key", "ANTHROPIC_API_KEY"),
        (models(), ("google",), "missing_key", "GOOGLE_GENERATIVE_AI_API_KEY"),
        (models(anthropic=KEYED), (None, "claude-sonet-5"), "unknown_model", "claude-sonnet-5"),
        (models(openai=KEYED), (None, "gpt-5-minni"), "unknown_model", "gpt-5-mini"),
        (models(openai=KEYED), (None, "gpt-5-minni"), "unknown_model", "`agi models`"),
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


@pytest.mark.parametrize("there", [True, False])
def test_the_extra_for_more_providers_is_offered_only_where_it_is_not_there(there, monkeypatch):
    """Nobody is told to install what is installed."""
    monkeypatch.setattr("agi.models.bridge.is_installed", lambda: there)

    assert (how_to_add("providers") in refusal(models(), "nope").hint) is not there


def test_a_disabled_provider_is_not_found():
    """Switched off means not used, key or no key."""
    off = ProviderSettings(enabled=False, api_key=Secret("sk-test-123456"))

    assert refusal(models(openai=off)).code == "no_model"


def test_the_list_holds_what_may_be_chosen():
    """Known models of a keyed provider, the default of a server of one's own, a script only where one is set."""
    keyed = {(info.provider, info.id) for info in models(openai=KEYED).list()}

    assert ("openai", "gpt-5") in keyed
    assert [(i.provider, i.id) for i in models(lab=LOCAL, default_model="llama").list()] == [("lab", "llama")]
    assert models().list() == ()
    (script,) = models(default_provider="scripted").list()
    assert (script.provider, script.id, script.note) == ("scripted", "demo", "plays a script; not an AI model")


def test_a_test_may_put_a_model_in_every_other_s_place():
    """So that everything above runs as it does, with a script of its own."""
    script = ScriptedModel(name="play")
    made = Models(Config(providers=BUILT_IN), stand_in=script)

    assert made.resolve() is script
    assert made.resolve("scripted", "play") is script
    assert made.resolve(None, "play") is script
    assert chosen(made) == ("scripted", "play", "nothing_configured")
    assert [info.id for info in made.list()] == ["play"]


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


async def test_a_provider_is_given_up_when_its_settings_say_so():
    """`providers.<name>.timeouts` reach the one who waits."""
    async with ProviderServer([never_begins()]) as server:
        hasty = ProviderSettings(base_url=server.base_url, timeouts=TimeoutSettings(first_byte_seconds=0.05))
        made = models(lab=hasty)
        with pytest.raises(ModelError, match=r"0\.05"):
            await anext(made.resolve("lab", "m").stream(ModelRequest(system="hi", messages=())))
        await made.close()


class TestFallbacks:
    """Who is asked when a model cannot answer."""

    async def test_they_come_in_order_without_the_one_that_failed(self):
        """Those before it in the list had their turn."""
        names = ("openai/gpt-5", "lab/qwen3:8b", "lab/a/b", "lab/qwen3:8b")
        made = models(openai=KEYED, lab=LOCAL, fallbacks=names)

        def after(provider: str, model: str) -> list[tuple[str, str]]:
            return [(one.provider, one.model) for one in made.fallbacks(provider, model)]

        assert after("anthropic", "x") == [("openai", "gpt-5"), ("lab", "qwen3:8b"), ("lab", "a/b")]
        assert after("openai", "gpt-5") == [("lab", "qwen3:8b"), ("lab", "a/b")]
        assert after("lab", "a/b") == []
        assert made.fallbacks("x", "y")[0].because == "fallbackModels names it"
        assert made.fallback_problems("x", "y") == ()

    async def test_those_that_cannot_be_asked_are_skipped_with_a_reason(self):
        """A notice can tell it."""
        names = ("anthropic/claude-sonnet-5", "openai/gpt-5", "nope/m", "google/nix", "bad/m", "off/m")
        bad, off = ProviderSettings(base_url="http://x y"), ProviderSettings(enabled=False, base_url="http://x")
        made = models(openai=KEYED, google=KEYED, bad=bad, off=off, fallbacks=names)

        assert [one.provider for one in made.fallbacks("x", "y")] == ["openai"]
        told = made.fallback_problems("x", "y")
        assert [one.split(" ")[0] for one in told] == [
            "anthropic/claude-sonnet-5",
            "nope/m",
            "google/nix",
            "bad/m",
            "off/m",
        ]
        assert "agi setup --provider anthropic" in told[0]

    async def test_a_server_of_this_machine_may_stand_by(self):
        """It is looked for when it is named, whatever else is configured."""
        async with ProviderServer([], models=("a",)) as server:
            ports = {"vllm": port_of(server)}
            made = models(openai=KEYED, fallbacks=("vllm/a",), ports=ports)
            before = made.fallbacks("openai", "gpt-5")
            await made.look_around()
            after = made.fallbacks("openai", "gpt-5")

            await made.look_around()

        assert server.connections == 1
        assert (before, [one.provider for one in after]) == ((), ["vllm"])
        assert chosen(made)[0] == "openai"


def loaded_by(code: str) -> str:
    """Which of the heavy or needless modules a new process has after running this."""
    names = "'agi.net', 'httptools', 'difflib', 'agi.models.nearby', 'agi.models.bridge', 'agi.models.weights'"
    program = (
        "import sys; from agi.config.values import *; from agi.models.resolve import Models; "
        f"{code}; print([name for name in ({names}) if name in sys.modules])"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return ran.stdout.strip()


def test_a_script_needs_no_network_code():
    """Who asks for it does not pay for a client."""
    assert loaded_by("Models(Config()).resolve('scripted')") == "[]"


def test_where_a_provider_is_configured_nothing_is_looked_for_and_nothing_loaded_for_it():
    """A one-shot pays only for what it uses."""
    settings = "Config(providers={'openai': ProviderSettings(api_key=Secret('sk-test-123456'))})"
    looked = f"import asyncio; made = Models({settings}); asyncio.run(made.look_around()); made.describe()"

    assert loaded_by(looked) == "[]"
    assert loaded_by(f"{looked}; made.resolve()") == "['agi.net', 'httptools']"
