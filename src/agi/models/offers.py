"""What a model server on this machine offers, read from its own words: is this a list of models, and which can talk?

Other programs use the same ports, so nothing counts that is not exactly a list. Only values; asking is `nearby`'s
business. May import: nothing of ours.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

MOST = 1000
"""Models a list may hold."""
_TALKS_NOT = re.compile(
    r"embed|rerank|whisper|minilm|diffusion|colbert|moderation|mmproj|llama-?guard|shield"
    r"|(?<![a-z])(tts|stt|asr|ocr|bge|gte|e5|clip|bark|flux|sdxl|kokoro|piper|parakeet|guard|reward)(?![a-z])",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"[-:]cloud$", re.IGNORECASE)
_OF_THIS_MACHINE = ("llama", "cortex", "nitro", "onnx", "tensorrt", "mlx")


class _Entry(Struct):
    id: Annotated[str, Meta(min_length=1, max_length=300)]
    engine: object = None
    """What runs it, where the server says so: Jan lists the models of remote services too."""


class _List(Struct):
    object: Literal["list"]
    data: Annotated[list[_Entry], Meta(max_length=MOST)] | None
    """None where Ollama has no model yet."""


class _Shown(Struct):
    capabilities: list[str] = []
    remote_host: str = ""


class Listed(Struct, frozen=True):
    """The models of one server: all names, and those that talk and run on this machine."""

    names: tuple[str, ...]
    chat: tuple[str, ...]


def read_list(body: bytes) -> Listed | None:
    """Read the answer to `GET /v1/models`; None if it is something else."""
    try:
        entries = msgspec.json.decode(body, type=_List).data or []
    except (ValueError, RecursionError):
        return None
    told = [entry for entry in entries if entry.id.isprintable()]
    names = tuple(dict.fromkeys(entry.id for entry in told))
    chat = tuple(dict.fromkeys(entry.id for entry in told if _talks(entry.id) and _is_here(entry)))
    return Listed(names, chat)


def read_abilities(body: bytes) -> frozenset[str] | None:
    """Read what Ollama's `/api/show` says a model can do; `remote` among it if it runs elsewhere. None: not said."""
    try:
        shown = msgspec.json.decode(body, type=_Shown)
    except (ValueError, RecursionError):
        return None
    if shown.remote_host:
        return frozenset({*shown.capabilities, "remote"})
    return frozenset(shown.capabilities) or None


def in_order_of_use(names: tuple[str, ...], abilities: dict[str, frozenset[str] | None]) -> tuple[str, ...]:
    """Models that call tools first, then those nothing is known of, then those that only talk; others not at all."""
    ranks = {name: _rank(abilities.get(name)) for name in names}
    return tuple(sorted((name for name in names if ranks[name] < 3), key=ranks.__getitem__))


def _rank(abilities: frozenset[str] | None) -> int:
    if abilities is None:
        return 1
    if "remote" in abilities or "completion" not in abilities:
        return 3
    return 0 if "tools" in abilities else 2


def _talks(name: str) -> bool:
    return _TALKS_NOT.search(name) is None


def _is_here(entry: _Entry) -> bool:
    """Whether it runs on this machine: what nobody chose must not send a project's text elsewhere."""
    if _ELSEWHERE.search(entry.id):
        return False
    engine = entry.engine.lower() if isinstance(entry.engine, str) else ""
    return not engine or any(one in engine for one in _OF_THIS_MACHINE)
