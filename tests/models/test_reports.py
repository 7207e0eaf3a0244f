"""What servers say about their models, in each dialect, and what becomes of nonsense."""

from __future__ import annotations

import msgspec
import pytest

from agi.models.prices import Rates
from agi.models.reports import (
    LONGEST,
    MOST,
    Reported,
    merged,
    read_anthropic,
    read_gemini,
    read_lmstudio,
    read_models,
    read_props,
    read_running,
    read_shown,
    read_tags,
)

encode = msgspec.json.encode

OPENROUTER = {
    "id": "anthropic/claude-sonnet-5.5",
    "context_length": 1_000_000,
    "architecture": {"input_modalities": ["text", "image", "file"], "output_modalities": ["text"]},
    "pricing": {
        "prompt": "0.000002",
        "completion": "0.00001",
        "input_cache_read": "0.0000001",
        "input_cache_write": "0.0000025",
        "request": "0",
    },
    "top_provider": {"context_length": 900_000, "max_completion_tokens": 64_000},
    "supported_parameters": ["tools", "tool_choice", "reasoning", "structured_outputs", "max_tokens"],
}


def only(entry: dict[str, object]) -> Reported | None:
    """What is read from a list with one model."""
    found = read_models(encode({"object": "list", "data": [entry]}))
    assert found is not None
    return found[0] if found else None


def test_openrouter_tells_windows_prices_and_abilities():
    """The smaller of two windows counts; prices are for a million tokens, as everywhere here."""
    assert only(OPENROUTER) == Reported(
        id="anthropic/claude-sonnet-5.5",
        context_window=900_000,
        max_output_tokens=64_000,
        rates=Rates(input=2, output=10, read=0.1, write=2.5),
        capabilities=("tools", "images", "files", "reasoning", "schema"),
        lacks=("audio",),
    )


@pytest.mark.parametrize(
    ("entry", "window", "answer", "can"),
    [
        ({"id": "m", "owned_by": "vllm", "max_model_len": 32768}, 32768, None, ()),
        ({"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx": 8192, "n_ctx_train": 40960}}, 8192, None, ()),
        ({"id": "m", "context_window": 131072, "max_completion_tokens": 32768, "active": True}, 131072, 32768, ()),
        (
            {"id": "m", "max_context_length": 128000, "capabilities": {"function_calling": True, "vision": False}},
            *(128000, None, ("tools",)),
        ),
        ({"id": "m", "owned_by": "library"}, None, None, ()),
        ({"id": "m", "meta": {"n_ctx_train": 40960}}, None, None, ()),
    ],
    ids=["vllm", "llama.cpp", "groq", "mistral", "ollama", "trained only"],
)
def test_other_servers_add_to_the_list_in_their_own_way(entry, window, answer, can):
    """What a model was trained for is not what its server gives it."""
    found = only(entry)

    assert found == Reported(
        id="m", context_window=window, max_output_tokens=answer, capabilities=can, lacks=found.lacks
    )
    assert found.lacks == (("images",) if "vision" in str(entry) else ())


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "flux", "architecture": {"output_modalities": ["image"]}},
        {"id": "embed", "capabilities": {"completion_chat": False}},
        {"id": "gone", "active": False},
    ],
)
def test_a_model_that_says_it_does_not_talk_is_left_out(entry):
    """Only by what the server says, never by a name."""
    assert only(entry) is None


@pytest.mark.parametrize("price", ["-1", "nan", "inf", "1e9", "", "free", "0" * 50, None, 3, ["1"]])
def test_a_price_that_is_none_is_unknown(price):
    """A router that chooses the model says -1: it depends."""
    found = only({"id": "m", "pricing": {"prompt": price, "completion": "0.1"}})

    assert found is not None
    assert found.rates is None


def test_a_price_of_nothing_is_said_by_the_server():
    """Then it is known to be 0."""
    found = only({"id": "m:free", "pricing": {"prompt": "0", "completion": "0"}})

    assert found is not None
    assert found.rates == Rates(input=0, output=0)


@pytest.mark.parametrize("window", [0, -5, True, 1.5, "4096", None, 10**10, [4096], {"n": 1}])
def test_a_window_that_is_none_is_unknown(window):
    """A number of tokens is a whole number above 0."""
    found = only({"id": "m", "context_length": window})

    assert found == Reported(id="m")


def test_anthropic_tells_limits_and_abilities():
    """A retired model answers nobody; one on its way out says so."""
    body = encode(
        {
            "data": [
                {
                    "id": "claude-x",
                    "lifecycle": "active",
                    "max_input_tokens": 1_000_000,
                    "max_tokens": 128_000,
                    "capabilities": {
                        "image_input": {"supported": True},
                        "pdf_input": {"supported": True},
                        "thinking": {"supported": True},
                        "structured_outputs": {"supported": False},
                        "batch": {"supported": True},
                    },
                },
                {"id": "claude-old", "lifecycle": "deprecated"},
                {"id": "claude-gone", "lifecycle": "retired"},
            ]
        }
    )

    assert read_anthropic(body) == (
        Reported(
            id="claude-x",
            context_window=1_000_000,
            max_output_tokens=128_000,
            capabilities=("images", "files", "reasoning"),
        ),
        Reported(id="claude-old", note="deprecated"),
    )


def test_gemini_tells_limits_of_those_that_answer():
    """Names come without their `models/`."""
    body = encode(
        {
            "models": [
                {
                    "name": "models/gemini-x",
                    "inputTokenLimit": 1048576,
                    "outputTokenLimit": 65536,
                    "supportedGenerationMethods": ["generateContent"],
                    "thinking": True,
                },
                {"name": "models/embedding-x", "supportedGenerationMethods": ["embedContent"]},
            ]
        }
    )

    assert read_gemini(body) == (
        Reported(id="gemini-x", context_window=1048576, max_output_tokens=65536, capabilities=("reasoning",)),
    )


def test_lm_studio_gives_a_window_once_a_model_is_loaded():
    """Until then it is only known what it could take."""
    body = encode(
        {
            "data": [
                {
                    "id": "qwen3-vl",
                    "type": "vlm",
                    "state": "loaded",
                    "max_context_length": 262144,
                    "loaded_context_length": 8192,
                    "capabilities": ["tool_use"],
                },
                {"id": "gemma", "type": "llm", "state": "not-loaded", "max_context_length": 131072},
                {"id": "nomic", "type": "embeddings", "max_context_length": 2048},
            ]
        }
    )

    assert read_lmstudio(body) == (
        Reported(id="qwen3-vl", context_window=8192, capabilities=("tools", "images")),
        Reported(id="gemma", lacks=("images",), note="not loaded; takes up to 131,072 tokens"),
    )


@pytest.mark.parametrize(
    ("parameters", "loaded", "window"),
    [
        ("", None, 4096),
        ("temperature 0.7\nnum_ctx 16384\n", None, 16384),
        ("num_ctx                        16384", 32768, 32768),
        ("num_ctx lots", None, 4096),
        ("num_ctx 99999999999999999999", None, 4096),
        (None, None, 4096),
    ],
)
def test_ollama_gives_what_is_loaded_or_set_else_its_small_default(parameters, loaded, window):
    """What the model could take is a note: Ollama cuts off what is beyond the window without a word."""
    shown = {
        "parameters": parameters,
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
        "capabilities": ["completion", "tools", "thinking"],
    }

    assert read_shown("qwen3:8b", encode(shown), loaded) == Reported(
        id="qwen3:8b",
        context_window=window,
        capabilities=("tools", "reasoning"),
        lacks=("images", "audio", "files"),
        note="takes up to 40,960 tokens with num_ctx",
    )


def test_ollama_s_default_is_not_more_than_the_model_takes():
    """And there is nothing to note then."""
    shown = {"model_info": {"phi.context_length": 2048}, "capabilities": ["completion"]}

    none = ("images", "audio", "files")
    assert read_shown("phi", encode(shown), None) == Reported(id="phi", context_window=2048, lacks=none)
    assert read_shown("old", encode({}), None) == Reported(id="old", context_window=4096)
    assert read_shown("embed", encode({"capabilities": ["embedding"]}), None) is None
    assert read_running(encode({"models": [{"name": "a", "context_length": 4096}, {"name": "b"}, 3]})) == {"a": 4096}
    assert read_tags(encode({"models": [{"name": "b"}, {"name": "a"}, {"name": "b"}]})) == ("b", "a")


def test_llama_cpp_tells_the_window_of_a_slot_and_what_else_it_takes():
    """A router that has loaded nothing says 0, which is no window."""
    told = {"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": True, "audio": False}}

    assert read_props(encode(told)) == Reported(
        id="", context_window=4096, capabilities=("images",), lacks=("audio", "files")
    )
    assert read_props(encode({"default_generation_settings": {"n_ctx": 0}})) is None


def test_two_answers_of_one_server_are_put_together():
    """The first counts where both say something."""
    first, second = Reported(id="m", context_window=1), Reported(id="x", context_window=2, capabilities=("tools",))

    assert merged(first, second) == Reported(id="m", context_window=1, capabilities=("tools",))


@pytest.mark.parametrize("read", [read_models, read_anthropic, read_gemini, read_lmstudio, read_tags, read_props])
@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"\xff", b"null", b"3", b'"x"', b"{}", b'{"data":{}}', b'{"models":3}', b"[" * 100_000],
)
def test_what_is_no_list_is_none(read, body):
    """HTML, half a document, another program's words, nesting without end."""
    assert read(body) is None


def test_entries_that_are_none_are_left_out():
    """Names that are too long, hide something or come twice; and of an endless list only so many are read."""
    names = ["", "x" * (LONGEST + 1), "a\x1b[2J", "a\u202e", 5, None, "ok", "ok"]
    found = read_models(encode({"data": [3, None, *({"id": name} for name in names)]}))
    many = read_models(encode({"data": [{"id": f"m{number}"} for number in range(MOST + 50)]}))

    assert found == (Reported(id="ok"),)
    assert many is not None
    assert len(many) == MOST


def test_a_bare_list_is_understood():
    """One provider sends the list without anything around it."""
    assert read_models(encode([{"id": "m", "context_length": 5}])) == (Reported(id="m", context_window=5),)
