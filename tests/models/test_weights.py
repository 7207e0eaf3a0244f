"""Where the weights lie, and whether they are the right ones; with a small stand-in, pinned like the real file."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from agi.errors import Invalid
from agi.models import weights
from agi.models.weights import cache_folder, cached, is_ours
from agi.models.weights_pin import PIN, Pin

CONTENT = b"GGUF and so on" * 100


def stand_in() -> Pin:
    return Pin(
        title="Stand-in",
        maker="nobody",
        licence="none",
        file="stand-in.gguf",
        size=len(CONTENT),
        sha256=sha256(CONTENT).hexdigest(),
        url="",
    )


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / ".cache/agi/models/stand-in.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    return path


def count_hashing(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    hashed: list[Path] = []
    real = weights.digest_of

    def counted(path: Path) -> str:
        hashed.append(path)
        return real(path)

    monkeypatch.setattr(weights, "digest_of", counted)
    return hashed


def test_the_real_file_is_pinned_to_the_byte() -> None:
    """Its parts in the mirror add up to it, and each is pinned too."""
    assert sum(wheel.size for wheel in PIN.wheels) == PIN.size == 1_117_320_768
    assert len(PIN.wheels) == len({wheel.sha256 for wheel in PIN.wheels}) == 22
    assert all(len(digest) == 64 for digest in (PIN.sha256, *(wheel.sha256 for wheel in PIN.wheels)))
    assert (PIN.licence, PIN.maker) == ("Apache-2.0", "Alibaba Cloud")
    assert PIN.url.startswith("https://")


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"HOME": "/h"}, "/h/.cache/agi/models"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/c"}, "/c/agi/models"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "relative"}, "/h/.cache/agi/models"),
        ({"XDG_CACHE_HOME": ""}, None),
        ({"HOME": "here"}, None),
        ({}, None),
    ],
)
def test_weights_are_kept_in_the_users_cache(env: dict[str, str], folder: str | None) -> None:
    """By the usual rules; without a home there is no place for them."""
    found = cache_folder(env)

    assert (str(found) if found else None) == folder


def test_a_file_is_hashed_once_and_then_known_by_its_stamp(
    env: dict[str, str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gigabyte is not read at every start."""
    hashed = count_hashing(monkeypatch)

    assert cached(env, pin=stand_in()) == cached(env, pin=stand_in()) == file
    assert hashed == [file]
    assert is_ours(file)
    assert (file.parent / "stand-in.gguf.verified").stat().st_mode & 0o777 == 0o600


def test_a_file_that_changed_is_hashed_again(env: dict[str, str], file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time tells; the same bytes at another time are fine, other bytes are not."""
    cached(env, pin=stand_in())
    hashed = count_hashing(monkeypatch)

    os.utime(file, (1, 1))
    assert cached(env, pin=stand_in()) == file
    file.write_bytes(b"X" + CONTENT[1:])
    assert cached(env, pin=stand_in()) is None
    assert hashed == [file, file]


@pytest.mark.parametrize("content", [b"", CONTENT[:-1], CONTENT + b"x"])
def test_a_file_of_another_size_is_not_even_hashed(
    env: dict[str, str], file: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part is not the file."""
    file.write_bytes(content)
    hashed = count_hashing(monkeypatch)

    assert cached(env, pin=stand_in()) is None
    assert hashed == []


@pytest.mark.parametrize("stamp", [b"", b"\xff\xfe", b"x" * 10_000, b"0 0 0\n"])
def test_a_stamp_that_says_nothing_is_passed_over(env: dict[str, str], file: Path, stamp: bytes) -> None:
    """The file is looked at instead, and stamped anew."""
    (file.parent / "stand-in.gguf.verified").write_bytes(stamp)

    assert cached(env, pin=stand_in()) == file


def test_without_the_file_there_is_none(env: dict[str, str]) -> None:
    """Nor without a place for it."""
    assert cached(env, pin=stand_in()) is None
    assert cached({}, pin=stand_in()) is None
    assert cached(env, "https://mirror.example/file.gguf", pin=stand_in()) is None


def test_a_file_of_ones_own_may_be_any_model(env: dict[str, str], tmp_path: Path) -> None:
    """It is named by `local.weights`, and only looked at for being a model at all."""
    own = tmp_path / "other.gguf"
    own.write_bytes(b"GGUF something else")

    assert cached(env, str(own), pin=stand_in()) == own
    assert cached(env, "~/other.gguf", pin=stand_in()) == own
    assert not is_ours(own)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"GGU"])
def test_a_file_of_ones_own_that_is_no_model_is_refused(env: dict[str, str], tmp_path: Path, content: bytes) -> None:
    """With the setting's name and what to do."""
    own = tmp_path / "other.gguf"
    own.write_bytes(content)

    with pytest.raises(Invalid, match=r"local\.weights names .* not a GGUF file") as caught:
        cached(env, str(own), pin=stand_in())
    assert "agi models fetch" in caught.value.hint


@pytest.mark.parametrize("name", ["gone.gguf", "", "a\0b"])
def test_a_file_of_ones_own_that_cannot_be_read_is_refused(env: dict[str, str], tmp_path: Path, name: str) -> None:
    """A missing file and a folder alike."""
    with pytest.raises(Invalid, match="cannot be read"):
        cached(env, str(tmp_path / name), pin=stand_in())
