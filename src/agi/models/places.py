"""The usual places of model servers on this machine: which program answers at which port of loopback.

Only a table; looking there is `nearby`'s business. May import: nothing of ours.
"""

from __future__ import annotations

from msgspec import Struct


class Place(Struct, frozen=True):
    """Where a model server usually is."""

    title: str
    """The program, as people call it."""
    port: int


PLACES: dict[str, Place] = {
    "ollama": Place("Ollama", 11434),
    "lmstudio": Place("LM Studio", 1234),
    "llamacpp": Place("llama.cpp", 8080),
    "vllm": Place("vLLM", 8000),
    "jan": Place("Jan", 1337),
    "koboldcpp": Place("KoboldCpp", 5001),
}
"""By the provider's name; the first that answers is taken. llamafile and LocalAI share llama.cpp's port."""
