"""What servers say about their models, read from their own words: windows, prices, abilities.

Each kind of server has its own dialect. Everything is hostile until checked: what has not the form it should have is
not known, and nothing is guessed from a name. Only values; asking is `servers`' business. May import: models.prices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agi.models.prices import Rates

MOST = 1000
"""Models a list may hold; more are left out."""
LONGEST = 200
OLLAMA_WINDOW = 4096
"""What Ollama gives a model for which nobody set `num_ctx`, whatever it could take; larger on large machines."""
_LARGEST_WINDOW = 10**9
_WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens")
_ANSWERS = ("max_completion_tokens", "max_output_tokens")
_ABILITIES = {
    "tools": ("tools", "tool_use", "function_calling"),
    "images": ("vision", "image", "image_input"),
    "audio": ("audio",),
    "files": ("file", "pdf_input"),
    "reasoning": ("reasoning", "thinking"),
    "schema": ("structured_outputs",),
}
"""Our words for what a model can, and those of servers."""
Entry = Mapping[str, object]
"""One model in a list."""


class Reported(Struct, frozen=True, kw_only=True):
    """What a server says about one of its models; what is missing it did not say."""

    id: str
    context_window: int | None = None
    max_output_tokens: int | None = None
    rates: Rates | None = None
    capabilities: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    """What of `images`, `audio` and `files` it does not take, where the server says so outright."""
    note: str = ""


def read_models(body: bytes) -> tuple[Reported, ...] | None:
    """Read `GET /v1/models` of OpenAI's kind, with what vLLM, llama.cpp, OpenRouter, Groq and others add to it."""
    told = _decode(body)
    return _each(told if isinstance(told, list) else _field(told, "data"), _model)


def read_anthropic(body: bytes) -> tuple[Reported, ...] | None:
    """Read `GET /v1/models` of Anthropic's kind."""
    return _each(_field(_decode(body), "data"), _anthropic)


def read_gemini(body: bytes) -> tuple[Reported, ...] | None:
    """Read `GET /v1beta/models`: those that answer."""
    return _each(_field(_decode(body), "models"), _gemini)


def read_lmstudio(body: bytes) -> tuple[Reported, ...] | None:
    """Read LM Studio's `GET /api/v0/models`: a model has a window once it is loaded, and only then."""
    return _each(_field(_decode(body), "data"), _lmstudio)


def read_props(body: bytes) -> Reported | None:
    """Read llama.cpp's `GET /props`: the window of one slot, and what else than text it takes."""
    told = _decode(body)
    window = _window(_field(_field(told, "default_generation_settings"), "n_ctx"))
    abilities = _abilities(name for name, has in _items(_field(told, "modalities")) if has is True)
    denied = [name for name, has in _items(_field(told, "modalities")) if has is False]
    lacks = _lacking(images="vision" in denied, audio="audio" in denied, files=bool(denied or abilities))
    return Reported(id="", context_window=window, capabilities=abilities, lacks=lacks) if window or abilities else None


def read_tags(body: bytes) -> tuple[str, ...] | None:
    """Read Ollama's `GET /api/tags`: the names of its models."""
    models = _field(_decode(body), "models")
    if not isinstance(models, list):
        return None
    return tuple(dict.fromkeys(name for one in models[:MOST] if (name := _name(_field(one, "name")))))


def read_running(body: bytes) -> dict[str, int]:
    """Read Ollama's `GET /api/ps`: the windows of the models that are loaded, as they are."""
    models = _field(_decode(body), "models")
    found = {_name(_field(one, "name")): _window(_field(one, "context_length")) for one in _some(models)}
    return {name: window for name, window in found.items() if name and window}


def read_shown(name: str, body: bytes, loaded: int | None) -> Reported | None:
    """Read Ollama's `POST /api/show`; None if the model does not answer. `loaded` is its window if it is running."""
    told = _decode(body)
    can = _words(_field(told, "capabilities"))
    if can and "completion" not in can:
        return None
    able = next((value for key, value in _items(_field(told, "model_info")) if key.endswith(".context_length")), None)
    takes, chosen = _window(able), _num_ctx(_field(told, "parameters"))
    window = loaded or chosen or min(OLLAMA_WINDOW, takes or OLLAMA_WINDOW)
    note = f"takes up to {takes:,} tokens with num_ctx" if takes and takes > window else ""
    lacks = _lacking(images="vision" not in can, audio="audio" not in can, files=True) if can else ()
    return Reported(id=name, context_window=window, capabilities=_abilities(can), lacks=lacks, note=note)


def merged(first: Reported, second: Reported) -> Reported:
    """What two answers of one server say together; the first counts where both say something."""
    return replace(
        first,
        context_window=first.context_window or second.context_window,
        max_output_tokens=first.max_output_tokens or second.max_output_tokens,
        rates=first.rates or second.rates,
        capabilities=first.capabilities or second.capabilities,
        lacks=first.lacks or second.lacks,
        note=first.note or second.note,
    )


def _model(name: str, entry: Entry) -> Reported | None:
    architecture, offered = _field(entry, "architecture"), _field(entry, "top_provider")
    made, can = _some(_field(architecture, "output_modalities")), _field(entry, "capabilities")
    if (made and "text" not in made) or _field(can, "completion_chat") is False or entry.get("active") is False:
        return None
    window = next((entry[key] for key in _WINDOWS if key in entry), None)
    answer = next((entry[key] for key in _ANSWERS if key in entry), None)
    takes = _words(_field(architecture, "input_modalities"))
    said = (_field(entry, "supported_parameters"), takes, can)
    return Reported(
        id=name,
        context_window=_least(window, _field(offered, "context_length"), _field(_field(entry, "meta"), "n_ctx")),
        max_output_tokens=_least(answer, _field(offered, "max_completion_tokens")),
        rates=_per_token(_field(entry, "pricing")),
        capabilities=_abilities(
            [*(word for words in said for word in _words(words)), *(name for name, has in _items(can) if has is True)]
        ),
        lacks=_lacking(
            images=_field(can, "vision") is False or ("text" in takes and "image" not in takes),
            audio="text" in takes and "audio" not in takes,
        ),
    )


def _anthropic(name: str, entry: Entry) -> Reported | None:
    if entry.get("lifecycle") == "retired":
        return None
    said = _items(entry.get("capabilities"))
    can = [name for name, has in said if _field(has, "supported") is True]
    denied = [name for name, has in said if _field(has, "supported") is False]
    return Reported(
        id=name,
        context_window=_window(entry.get("max_input_tokens")),
        max_output_tokens=_window(entry.get("max_tokens")),
        capabilities=_abilities(can),
        lacks=_lacking(images="image_input" in denied, files="pdf_input" in denied),
        note="deprecated" if entry.get("lifecycle") == "deprecated" else "",
    )


def _gemini(name: str, entry: Entry) -> Reported | None:
    methods = entry.get("supportedGenerationMethods")
    if isinstance(methods, list) and "generateContent" not in methods:
        return None
    return Reported(
        id=name,
        context_window=_window(entry.get("inputTokenLimit")),
        max_output_tokens=_window(entry.get("outputTokenLimit")),
        capabilities=("reasoning",) if entry.get("thinking") is True else (),
    )


def _lmstudio(name: str, entry: Entry) -> Reported | None:
    if entry.get("type") == "embeddings":
        return None
    loaded = _window(entry.get("loaded_context_length"))
    takes = _window(entry.get("max_context_length"))
    can = _words(entry.get("capabilities"))
    note = f"not loaded; takes up to {takes:,} tokens" if takes and not loaded else ""
    vision = ["vision"] if entry.get("type") == "vlm" else []
    lacks = _lacking(images=entry.get("type") == "llm" and "vision" not in can)
    return Reported(id=name, context_window=loaded, capabilities=_abilities([*can, *vision]), lacks=lacks, note=note)


def _each(entries: object, read: Callable[[str, Entry], Reported | None]) -> tuple[Reported, ...] | None:
    if not isinstance(entries, list):
        return None
    found: dict[str, Reported | None] = {}
    for entry in entries[:MOST]:
        name = _name(_field(entry, "id")) or _name(_field(entry, "name")).removeprefix("models/")
        if isinstance(entry, dict) and name and name not in found:
            found[name] = read(name, entry)
    return tuple(told for told in found.values() if told is not None)


def _per_token(pricing: object) -> Rates | None:
    """OpenRouter's prices: text, in USD for one token. A negative one means that it depends."""
    rates = Rates(
        input=_usd(_field(pricing, "prompt")),
        output=_usd(_field(pricing, "completion")),
        read=_usd(_field(pricing, "input_cache_read")),
        write=_usd(_field(pricing, "input_cache_write")),
    )
    return rates if rates.input is not None and rates.output is not None else None


def _usd(text: object) -> float | None:
    try:
        value = float(text) if isinstance(text, str) and len(text) < 40 else -1.0
    except ValueError:
        return None
    return round(value * 1e6, 9) if 0 <= value <= 1 else None


def _num_ctx(parameters: object) -> int | None:
    """The window that the model's own file sets, in a text of `name value` lines."""
    lines = parameters.splitlines()[:1000] if isinstance(parameters, str) else []
    words = (line.split() for line in lines)
    numbers = [word[1] for word in words if len(word) == 2 and word[0] == "num_ctx"]
    return _window(int(numbers[-1])) if numbers and numbers[-1].isdecimal() and len(numbers[-1]) < 10 else None


def _abilities(names: Iterable[str]) -> tuple[str, ...]:
    said = set(names)
    return tuple(ours for ours, theirs in _ABILITIES.items() if not said.isdisjoint(theirs))


def _lacking(**lacks: bool) -> tuple[str, ...]:
    return tuple(name for name, lacking in lacks.items() if lacking)


def _least(*windows: object) -> int | None:
    return min((window for one in windows if (window := _window(one))), default=None)


def _window(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 < value <= _LARGEST_WINDOW else None


def _name(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return value if 0 < len(value) <= LONGEST and value.isprintable() else ""


def _decode(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _items(value: object) -> list[tuple[str, object]]:
    return list(value.items())[:MOST] if isinstance(value, dict) else []


def _some(value: object) -> list[object]:
    return value[:MOST] if isinstance(value, list) else []


def _words(value: object) -> list[str]:
    return [one for one in _some(value) if isinstance(one, str)]
