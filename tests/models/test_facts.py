"""What is known about a model: the user's word, then the server's, then the table's; each fact on its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agi.config.values import Config, ModelSettings, ProviderSettings, Secret
from agi.models import nearby
from agi.models.base import ModelInfo, Price
from agi.models.facts import Facts
from agi.models.prices import find
from agi.protocol.messages import Usage
from agi.testing.model_server import ModelServer

MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
KEYED = ProviderSettings(api_key=Secret("sk-test-123456"))


def facts(**providers: ProviderSettings) -> Facts:
    return Facts(Config(providers=providers))


def own(url: str, **models: ModelSettings) -> ProviderSettings:
    """A server at an address of its own, and what the user says about its models."""
    return ProviderSettings(base_url=url, models=models)


def test_the_table_knows_the_built_in_providers():
    """Window and price without anybody being asked."""
    known = facts(openai=KEYED)

    assert known.window("openai", "gpt-5-mini") == 400_000
    assert known.cost("openai", "gpt-5-mini", MILLION) == pytest.approx(2.25)
    assert known.price("openai", "gpt-5-mini") == Price(input_usd=0.25, output_usd=2, cache_read_usd=0.025)
    assert known.max_output("openai", "gpt-5-mini") is None


def test_the_users_word_comes_first_fact_by_fact():
    """Who sets a window keeps the table's prices, and the other way round."""
    said = ProviderSettings(
        models={"gpt-5-mini": ModelSettings(context_window=50_000), "gpt-5": ModelSettings(input_usd=1, output_usd=0)}
    )
    known = facts(openai=said)

    assert known.window("openai", "gpt-5-mini") == 50_000
    assert known.cost("openai", "gpt-5-mini", MILLION) == pytest.approx(2.25)
    assert known.window("openai", "gpt-5") == 400_000
    assert known.cost("openai", "gpt-5", MILLION) == 1
    assert known.cost("openai", "gpt-5", Usage(input_tokens=10**6, cached_tokens=10**6)) == pytest.approx(0.125)


def test_a_server_of_ones_own_has_no_price_until_someone_says_one():
    """Whatever its models are called; 0 is a price, and must be said."""
    url = "http://127.0.0.1:9/v1"
    silent = facts(lab=own(url), openai=own(url))
    said = facts(lab=own(url, **{"gpt-5": ModelSettings(input_usd=0, output_usd=0, max_output_tokens=7)}))

    assert silent.cost("lab", "gpt-5", MILLION) is None
    assert silent.cost("openai", "gpt-5", MILLION) is None
    assert silent.window("openai", "gpt-5") is None
    assert said.cost("lab", "gpt-5", MILLION) == 0
    assert said.max_output("lab", "gpt-5") == 7
    assert facts(lab=own(url, x=ModelSettings(input_usd=1))).cost("lab", "x", MILLION) is None


def test_a_seller_is_known_by_its_address_or_its_name():
    """Under any name in the settings; the bridge to other providers has none but the name."""
    known = facts(router=own("https://openrouter.ai/api/v1"), groq=KEYED)
    price = find("openrouter", "anthropic/claude-sonnet-4.5")

    assert price is not None
    assert price.rates is not None
    assert known.cost("router", "anthropic/claude-sonnet-4.5", MILLION) == price.rates.cost(MILLION)
    assert known.window("groq", "openai/gpt-oss-20b") == 131_072


@pytest.mark.parametrize("provider", ["scripted", "embedded", "ollama", "nobody"])
def test_nobody_knows_what_runs_on_this_machine(provider):
    """A model here may be called as one that is sold elsewhere."""
    assert facts().cost(provider, "gpt-5", MILLION) is None
    assert facts().window(provider, "gpt-5") is None


def test_a_snapshot_nobody_knows_has_its_models_window_and_no_price():
    """Snapshots differ in price, as one of them shows."""
    known = facts(openai=KEYED)

    assert known.window("openai", "gpt-5-2031-01-01") == 400_000
    assert known.cost("openai", "gpt-5-2031-01-01", MILLION) is None


async def test_what_a_server_says_comes_before_the_table_and_after_the_user():
    """It is asked once, and everybody with these settings knows."""
    entry = {
        "id": "m",
        "context_length": 8000,
        "top_provider": {"max_completion_tokens": 500},
        "pricing": {"prompt": "0.000001", "completion": "0.000002"},
        "supported_parameters": ["tools"],
    }
    async with ModelServer({"/v1/models": {"data": [entry, {"id": "other"}]}}) as server:
        settings = own(f"{server.url}/v1")
        known = facts(lab=settings)
        assert known.window("lab", "m") is None

        await known.learn("lab", "openai", "nobody")

    again = facts(lab=settings)
    users = facts(lab=own(f"{server.url}/v1", m=ModelSettings(context_window=100, output_usd=5)))
    assert again.window("lab", "m") == 8000
    assert again.max_output("lab", "m") == 500
    assert again.cost("lab", "m", MILLION) == pytest.approx(3)
    assert again.window("lab", "other") is None
    assert users.window("lab", "m") == 100
    assert users.cost("lab", "m", MILLION) == pytest.approx(6)
    assert again.about("lab", "m", "a note") == ModelInfo(
        provider="lab",
        id="m",
        context_window=8000,
        max_output_tokens=500,
        price=Price(input_usd=1, output_usd=2),
        capabilities=("tools",),
        note="a note",
    )


async def test_a_server_found_on_this_machine_tells_its_window():
    """Where nobody set an address."""
    answers = {"/v1/models": {"object": "list", "data": [{"id": "m", "max_model_len": 4000}]}}
    async with ModelServer(answers) as server:
        ports = {"vllm": server.port}
        await nearby.around(ports).look_for("vllm")
        known = Facts(Config(), ports=ports)
        await known.learn("vllm")

    assert known.window("vllm", "m") == 4000
    assert known.cost("vllm", "m", MILLION) is None


async def test_learning_from_a_server_that_is_not_there_changes_nothing():
    """It raises nothing either: a turn does not depend on it."""
    async with ModelServer({}) as server:
        known = facts(lab=own(f"{server.url}/v1"))
    await known.learn("lab")

    assert known.window("lab", "m") is None


def test_a_rising_price_is_noted_and_survives_being_repeated():
    """A user or server that repeats the rate of a short prompt has not said that a long one costs the same."""
    repeated = ProviderSettings(models={"gpt-5.4": ModelSettings(input_usd=2.5, output_usd=15)})
    dear = Usage(input_tokens=300_000)

    assert facts(openai=KEYED).about("openai", "gpt-5.4").note == "costs more above 272,000 tokens"
    assert facts(openai=repeated).cost("openai", "gpt-5.4", dear) == facts(openai=KEYED).cost("openai", "gpt-5.4", dear)


def test_making_facts_reads_nothing():
    """A one-shot with a model of this machine pays for no table and no network."""
    code = (
        "import sys; from agi.config.values import Config; from agi.models.facts import Facts; "
        "from agi.protocol.messages import Usage; Facts(Config()).cost('scripted', 'demo', Usage()); "
        "from agi.models import prices; print(prices._table.cache_info().currsize, "
        "[name for name in ('agi.net', 'agi.models.servers', 'difflib') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "0 []"
