"""The models people can choose from: what is offered, what servers list, what is known of each."""

from __future__ import annotations

from agi.config.values import Config, ModelSettings, ProviderSettings, Secret
from agi.models.base import Price
from agi.models.listing import ModelList, list_models
from agi.models.resolve import Models
from agi.testing.model_server import ModelServer, Refusal

KEYED = ProviderSettings(api_key=Secret("sk-test-123456"))
LISTED = {
    "object": "list",
    "data": [{"id": "small", "max_model_len": 4000}, {"id": "large", "max_model_len": 64000}],
}


async def listed(config: Config, ports: dict[str, int] | None = None) -> ModelList:
    """What clients are told with these settings."""
    models = Models(config, probe_ports=ports or {})
    try:
        return await list_models(models, config, ports=ports)
    finally:
        await models.close()


def named(found: ModelList) -> list[tuple[str, str, int | None]]:
    return [(one.provider, one.id, one.context_window) for one in found.models]


async def test_a_keyed_provider_offers_the_table_s_models():
    """With window and price; nobody is asked for it."""
    found = await listed(Config(providers={"openai": KEYED}))

    assert found.models[0].id == "gpt-5-mini"
    assert found.models[0].price == Price(input_usd=0.25, output_usd=2, cache_read_usd=0.025)
    assert found.default is not None
    assert found.default.model == "gpt-5-mini"
    assert (found.problem, found.notes) == ("", ())
    assert all(one.price and one.price.input_usd != 0 for one in found.models if one.price)


async def test_a_server_lists_its_own_models():
    """The default one first, then those the user's settings name, then the rest as the server lists them."""
    async with ModelServer({"/v1/models": LISTED}) as server:
        lab = ProviderSettings(
            base_url=f"{server.url}/v1", models={"mine": ModelSettings(context_window=99), "small": ModelSettings()}
        )
        found = await listed(Config(providers={"lab": lab}, default_model="large"))

    assert named(found) == [("lab", "large", 64000), ("lab", "mine", 99), ("lab", "small", 4000)]
    assert found.models[0].note == "defaultModel"
    assert found.models[0].price is None


async def test_a_server_that_fails_is_a_note_and_the_rest_is_listed():
    """What the settings name is still there to choose."""
    async with ModelServer({"/v1/models": Refusal(401)}) as server:
        lab = ProviderSettings(base_url=f"{server.url}/v1", models={"mine": ModelSettings()})
        found = await listed(Config(providers={"openai": KEYED, "lab": lab}))

    assert found.models[0].provider == "openai"
    assert named(found)[-1] == ("lab", "mine", None)
    assert len(found.notes) == 1
    assert found.notes[0].startswith("lab: ")
    assert "401" in found.notes[0]


async def test_a_provider_that_is_switched_off_is_not_asked():
    """Off means not used."""
    async with ModelServer({"/v1/models": LISTED}) as server:
        off = ProviderSettings(base_url=f"{server.url}/v1", enabled=False)
        found = await listed(Config(providers={"lab": off}, default_provider="scripted"))

    assert [one.provider for one in found.models] == ["scripted"]
    assert server.asked == []


async def test_a_server_found_on_this_machine_is_listed_with_what_it_says():
    """Only what can be talked to, as it is offered anyway."""
    entries = [{"id": "qwen3", "max_model_len": 8000}, {"id": "nomic-embed-text", "max_model_len": 2000}]
    async with ModelServer({"/v1/models": {"object": "list", "data": entries}}) as server:
        found = await listed(Config(), {"vllm": server.port})

    assert named(found)[0] == ("vllm", "qwen3", 8000)
    assert "nomic-embed-text" not in [one.id for one in found.models]
    assert found.default is not None
    assert (found.default.provider, found.default.model) == ("vllm", "qwen3")


async def test_no_default_is_a_problem_that_is_told():
    """The list is there all the same."""
    found = await listed(Config(providers={"openai": ProviderSettings()}, default_provider="openai"))

    assert found.default is None
    assert "OPENAI_API_KEY" in found.problem
