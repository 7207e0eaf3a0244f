"""The beginning of every conversation, kept in a file; the runtime is scripted and only notes what it is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agi.models.embedded_kept import Kept
from agi.models.embedded_runtime import RuntimeSettings


class ScriptedRuntime:
    """Writes and takes up states without having any."""

    def __init__(self, version: str = "1") -> None:
        self.version = version
        self.fits = True
        self.restored: list[bytes] = []

    def ask(self, body: bytes, heard: Callable[[bytes], bool]) -> None:
        raise AssertionError("nothing is asked here")

    def save(self, path: Path) -> bool:
        if self.fits:
            path.write_bytes(b"state of the model")
        return self.fits

    def restore(self, path: Path) -> bool:
        self.restored.append(path.read_bytes())
        return self.fits

    def close(self) -> None:
        return


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    path.write_bytes(b"GGUF")
    return path


def kept(weights: Path, tokens: int = 4096) -> Kept:
    return Kept(weights.parent, RuntimeSettings(weights=weights, threads=1, context_tokens=tokens))


def test_what_was_written_is_taken_up(weights: Path) -> None:
    """By another process, for the same beginning only."""
    runtime = ScriptedRuntime()
    kept(weights).write(runtime, b"beginning")

    assert kept(weights).take_up(runtime, b"beginning")
    assert not kept(weights).take_up(runtime, b"another")
    assert runtime.restored == [b"state of the model"]


def test_nothing_is_taken_up_that_was_written_for_something_else(weights: Path) -> None:
    """Another runtime, another size, other weights: the numbers would mean something else."""
    runtime = ScriptedRuntime()
    kept(weights).write(runtime, b"beginning")

    assert not kept(weights).take_up(ScriptedRuntime("2"), b"beginning")
    assert not kept(weights, 8192).take_up(runtime, b"beginning")
    os.utime(weights, (1, 1))
    assert not kept(weights).take_up(runtime, b"beginning")
    assert runtime.restored == []


@pytest.mark.parametrize("damage", [b"", b"state", b"state of the modeL"])
def test_a_damaged_file_never_reaches_the_runtime(weights: Path, damage: bytes) -> None:
    """It is not made to read what was not written by it."""
    runtime = ScriptedRuntime()
    kept(weights).write(runtime, b"beginning")
    (weights.parent / "small.begun").write_bytes(damage)

    assert not kept(weights).take_up(runtime, b"beginning")
    assert runtime.restored == []


def test_without_a_file_or_a_label_there_is_nothing_to_take_up(weights: Path) -> None:
    """As at the very first start."""
    runtime = ScriptedRuntime()
    assert not kept(weights).take_up(runtime, b"beginning")
    kept(weights).write(runtime, b"beginning")
    (weights.parent / "small.begun.txt").write_bytes(b"\xff\xfe")

    assert not kept(weights).take_up(runtime, b"beginning")


def test_a_state_that_cannot_be_written_leaves_no_label(weights: Path) -> None:
    """An old one neither: it would stand beside another file."""
    runtime = ScriptedRuntime()
    kept(weights).write(runtime, b"beginning")
    runtime.fits = False

    kept(weights).write(runtime, b"another")

    assert not kept(weights).take_up(ScriptedRuntime(), b"beginning")
    assert not (weights.parent / "small.begun.txt").exists()


def test_a_folder_that_cannot_be_written_to_costs_only_time(weights: Path) -> None:
    """No error reaches anybody."""
    missing = Kept(weights.parent / "gone", RuntimeSettings(weights=weights, threads=1))

    class Failing(ScriptedRuntime):
        def save(self, path: Path) -> bool:
            raise OSError("no such folder")

    missing.write(Failing(), b"beginning")
    assert not missing.take_up(Failing(), b"beginning")
