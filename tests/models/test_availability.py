"""Who can be asked here: servers found on this machine, the model inside this process, and what only a bridge knows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agi.config.values import Config, LocalSettings, ProviderSettings, Secret
from agi.errors import Invalid
from agi.extras import how_to_add
from agi.models import availability, embedded, weights
from agi.models.base import ModelRequest, TextDelta
from agi.models.bridge import Bridged
from agi.models.embedded import Embedded
from agi.models.openai_chat import OpenAIChat
from agi.models.openai_responses import OpenAIResponses
from agi.models.resolve import Models
from agi.models.scripted import ScriptedModel
from agi.models.small import SmallModel
from agi.models.weights_pin import PIN
from agi.testing.provider import ProviderServer
from agi.testing.replies import says

KEYED = ProviderSettings(api_key=Secret("sk-test-123456"))
LOCAL = ProviderSettings(base_url="http://127.0.0.1:11434/v1")
OFF = ProviderSettings(enabled=False)
BUILT_IN = dict.fromkeys(("openai", "anthropic", "google"), ProviderSettings())


def models(
    *,
    default_provider: str | None = None,
    default_model: str | None = None,
    probe: bool = True,
    ports: dict[str, int] | None = None,
    **providers: ProviderSettings,
) -> Models:
    config = Config(
        default_provider=default_provider,
        default_model=default_model,
        local=LocalSettings(probe=probe),
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


class TestServersOfThisMachine:
    """Where nothing is configured, what answers on loopback does."""

    async def test_a_server_that_answers_is_chosen(self):
        """With its first model that talks; the reason names it, and it is really asked."""
        async with ProviderServer([says("hi")], models=("text-embedding-x", "qwen3-8b")) as server:
            made = models(ports={"lmstudio": port_of(server)})
            before = refusal(made).code
            await made.look_around()
            choice = made.describe()
            items = [item async for item in made.resolve().stream(ModelRequest(system="hi", messages=()))]
            await made.close()

        assert before == "no_model"
        assert (choice.provider, choice.model, choice.reason) == ("lmstudio", "qwen3-8b", "detected")
        assert choice.because == f"LM Studio answers at 127.0.0.1:{port_of(server)}"
        assert items[0] == TextDelta("hi")
        assert server.requests[0].json["model"] == "qwen3-8b"
        assert [(i.provider, i.id, i.note) for i in made.list()] == [
            ("lmstudio", "qwen3-8b", f"found at 127.0.0.1:{port_of(server)}")
        ]

    @pytest.mark.parametrize(
        "settings",
        [
            {"openai": KEYED},
            {"lab": LOCAL, "default_model": "m"},
            {"default_provider": "scripted"},
            {"probe": False},
            {"vllm": ProviderSettings(base_url="http://127.0.0.1:9/v1"), "default_model": "m"},
        ],
        ids=str,
    )
    async def test_nobody_is_looked_for_where_something_explicit_decides(self, settings):
        """Nor where looking is switched off."""
        async with ProviderServer([]) as server:
            made = models(ports={"vllm": port_of(server)}, **settings)
            await made.look_around()
            await made.look_around("openai")
            await made.look_around(default_provider="scripted")

        assert server.connections == 0

    async def test_a_stand_in_needs_no_server(self):
        """Tests never look at the machine they run on."""
        async with ProviderServer([]) as server:
            made = Models(Config(), stand_in=ScriptedModel(), probe_ports={"vllm": port_of(server)})
            await made.look_around()

        assert server.connections == 0

    async def test_a_named_model_goes_to_the_server_that_has_it(self):
        """Else to the provider that is known for it, else it is said what there is."""
        async with ProviderServer([], models=("a", "b:latest")) as one, ProviderServer([], models=("c",)) as two:
            made = models(ports={"llamacpp": port_of(one), "vllm": port_of(two)})
            await made.look_around()

        assert chosen(made, None, "c") == ("vllm", "c", "detected")
        assert chosen(made, None, "b") == ("llamacpp", "b", "detected")
        assert refusal(made, None, "gpt-5").code == "missing_key"
        unknown = refusal(made, None, "d")
        assert (unknown.code, unknown.message) == (
            "unknown_model",
            f"llama.cpp at 127.0.0.1:{port_of(one)} has no model 'd'.",
        )
        assert "It has a, b:latest." in unknown.hint

    async def test_one_may_be_asked_for_by_its_name(self):
        """No base URL is needed, and any model's name is passed on; settings may still shape how it is asked."""
        async with ProviderServer([], models=("a",)) as server:
            keyed = models(openai=KEYED, vllm=ProviderSettings(api="responses"), ports={"vllm": port_of(server)})
            await keyed.look_around("vllm")
            unasked = models(probe=False, ports={"vllm": port_of(server)})
            await unasked.look_around(default_provider="vllm")

        assert chosen(keyed, "vllm") == ("vllm", "a", "asked")
        assert chosen(keyed, "vllm", "other") == ("vllm", "other", "asked")
        assert isinstance(keyed.resolve("vllm"), OpenAIResponses)
        assert chosen(unasked, default_provider="vllm") == ("vllm", "a", "configured")
        assert chosen(keyed) == ("openai", "gpt-5-mini", "detected")

    async def test_one_that_is_named_and_not_there_is_an_error_with_its_address(self):
        """And what to do."""
        async with ProviderServer([]) as server:
            port = port_of(server)
        made = models(ports={"ollama": port})
        await made.look_around("ollama")
        error = refusal(made, "ollama", "qwen3:8b")

        assert error.code == "provider_unreachable"
        assert error.message == f"Ollama cannot be asked: Nothing answers at 127.0.0.1:{port}."
        assert "Start Ollama" in error.hint
        assert "providers.ollama.baseUrl" in error.hint

    async def test_one_that_is_switched_off_is_not_chosen(self):
        """Found or not."""
        async with ProviderServer([]) as server:
            made = models(vllm=OFF, ports={"vllm": port_of(server)})
            await made.look_around()
            await made.look_around("vllm")

        assert refusal(made).code == "no_model"
        assert refusal(made, "vllm").code == "provider_disabled"
        assert made.list() == ()

    async def test_one_without_a_model_is_named_where_none_is_set_up(self):
        """So that nobody wonders why it is not used."""
        async with ProviderServer([], models=("nomic-embed-text",)) as server:
            made = models(ports={"ollama": port_of(server)})
            await made.look_around()
        error = refusal(made)

        assert error.code == "no_model"
        assert error.hint.startswith(f"Ollama answers at 127.0.0.1:{port_of(server)}, but has no model to talk to.")


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs the embedded model can be imported, as far as looking tells."""
    (tmp_path / "packages" / "xllamacpp").mkdir(parents=True)
    (tmp_path / "packages" / "xllamacpp" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "packages")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A home with the embedded model's file, which was verified; it is all holes."""
    env = {"HOME": str(tmp_path / "home")}
    folder = weights.cache_folder(env)
    assert folder is not None
    folder.mkdir(parents=True)
    with (folder / PIN.file).open("wb") as file:
        file.truncate(PIN.size)
    weights.write_stamp(folder / PIN.file, PIN.sha256)
    return env


@pytest.mark.usefixtures("runtime")
class TestEmbedded:
    """The model inside this process answers where nobody else does, and is called what it is."""

    def test_it_answers_where_nothing_is_configured_and_nobody_found(self, home):
        """Led as a small model, with its limits told."""
        made = Models(Config(providers=BUILT_IN), env=home)
        choice = made.describe()

        assert (choice.provider, choice.model, choice.reason) == (
            "embedded",
            "qwen2.5-coder-1.5b",
            "nothing_configured",
        )
        assert choice.because == (
            "no provider is set up; the embedded 1.5B model is fine for looking things up, not for real coding"
        )
        assert isinstance(made.resolve(), SmallModel)
        assert (made.resolve().provider, made.resolve().name) == ("embedded", embedded.NAME)
        assert made.describe(None, embedded.NAME).provider == "embedded"
        assert [(one.provider, one.id) for one in made.list()] == [("embedded", embedded.NAME)]

    async def test_a_server_of_this_machine_comes_first(self, home):
        """It is larger, as a rule; the embedded one may still be asked for."""
        async with ProviderServer([], models=("m",)) as server:
            made = Models(Config(), env=home, probe_ports={"vllm": port_of(server)})
            await made.look_around()

        assert chosen(made) == ("vllm", "m", "detected")
        assert chosen(made, "embedded") == ("embedded", embedded.NAME, "asked")
        assert chosen(made, None, embedded.NAME) == ("embedded", embedded.NAME, "nothing_configured")

    def test_a_profile_of_its_own_may_be_chosen(self, home):
        """And one for small models of other providers."""
        full = ProviderSettings(profile="full")
        small = ProviderSettings(base_url="http://127.0.0.1:9/v1", profile="small")

        assert isinstance(Models(Config(providers={"embedded": full}), env=home).resolve(), Embedded)
        assert isinstance(models(lab=small).resolve("lab", "tiny"), SmallModel)

    def test_a_file_of_the_user_s_own_keeps_its_name(self, tmp_path):
        """Any GGUF file will do; it is not called what it is not."""
        (tmp_path / "Tiny-3B.gguf").write_bytes(b"GGUF rest")
        made = Models(Config(local=LocalSettings(weights=str(tmp_path / "Tiny-3B.gguf"))))

        assert chosen(made) == ("embedded", "Tiny-3B", "nothing_configured")
        assert "1.5B" not in made.describe().because
        assert made.resolve().name == "Tiny-3B"
        assert refusal(made, "embedded", embedded.NAME).code == "unknown_model"

    def test_a_file_that_cannot_be_used_is_named(self, tmp_path):
        """Not passed over in silence."""
        (tmp_path / "notes.txt").write_text("hello")
        made = Models(Config(local=LocalSettings(weights=str(tmp_path / "notes.txt"))))

        assert refusal(made).code == "weights_unusable"
        assert refusal(made, "embedded").code == "weights_unusable"

    def test_asked_for_without_its_weights_the_command_is_said(self):
        """1.1 GB are not fetched unasked."""
        error = refusal(models(), "embedded")

        assert (error.code, "`agi models fetch`" in error.hint) == ("missing_weights", True)

    def test_asked_for_without_its_runtime_the_extra_is_said(self, home, monkeypatch):
        """And unasked it is not chosen."""
        monkeypatch.setitem(sys.modules, "xllamacpp", None)
        made = Models(Config(), env=home)
        error = refusal(made, "embedded")

        assert (error.code, error.hint) == ("missing_runtime", f"Run `{how_to_add('local')}`.")
        assert refusal(made).code == "no_model"
        assert made.list() == ()

    def test_switched_off_it_does_not_answer(self, home):
        """Like any other provider."""
        made = Models(Config(providers={"embedded": OFF}), env=home)

        assert refusal(made).code == "no_model"
        assert refusal(made, "embedded").code == "provider_disabled"

    def test_it_never_takes_a_stand_in_s_place(self, home):
        """Tests run as they are told, whatever lies on the machine."""
        made = Models(Config(), env=home, stand_in=ScriptedModel(name="play"))

        assert chosen(made) == ("scripted", "play", "nothing_configured")
        assert [one.provider for one in made.list()] == ["scripted"]


class TestBridge:
    """Providers that only the extra knows."""

    @pytest.fixture(autouse=True)
    def extra(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As far as looking tells: one file a provider."""
        folder = tmp_path / "extra" / "pydantic_ai"
        (folder / "providers").mkdir(parents=True)
        for path in ("__init__.py", "providers/__init__.py", "providers/groq.py", "providers/ollama.py"):
            (folder / path).touch()
        monkeypatch.syspath_prepend(tmp_path / "extra")
        monkeypatch.delitem(sys.modules, "pydantic_ai", raising=False)

    def test_a_name_that_is_not_ours_may_be_the_bridge_s(self):
        """With a key it is set up; without one it may still be asked for, since some find theirs elsewhere."""
        keyed = models(groq=KEYED, default_model="llama-x")

        assert chosen(keyed) == ("groq", "llama-x", "detected")
        assert isinstance(keyed.resolve(), Bridged)
        assert isinstance(models().resolve("groq", "llama-x"), Bridged)
        assert refusal(models(), "groq").code == "missing_model"
        assert refusal(models(), "gorq", "m").code == "unknown_provider"

    def test_an_address_of_its_own_needs_no_bridge(self):
        """It is spoken to in the format that is set."""
        assert isinstance(models(groq=LOCAL).resolve("groq", "m"), OpenAIChat)

    def test_servers_of_this_machine_are_ours(self):
        """Whatever else knows their names."""
        assert refusal(models(ollama=KEYED), "ollama", "m").code == "unknown_provider"


def test_the_embedded_model_goes_by_one_name():
    """Written down twice, since choosing must not load what runs it."""
    assert (availability.EMBEDDED, availability.EMBEDDED_MODEL) == (embedded.PROVIDER, embedded.NAME)
