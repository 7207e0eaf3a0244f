"""A secret does not print, is not encoded, and cannot be pickled; it is given only when asked for."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import msgspec
import pytest

from agi.config import Config, ProviderSettings, Secret


def test_a_secret_prints_as_stars():
    """However it is turned into text."""
    secret = Secret("sk-1234")

    assert {repr(secret), str(secret), f"{secret}", f"{secret!r}", str([secret])[1:-1]} == {"Secret(***)"}
    assert secret.reveal() == "sk-1234"


@pytest.mark.parametrize(
    "write", [msgspec.json.encode, msgspec.msgpack.encode, msgspec.to_builtins, pickle.dumps, vars]
)
@pytest.mark.parametrize("value", [Secret("sk-1234"), ProviderSettings(api_key=Secret("sk-1234"))])
def test_a_secret_is_not_written(write, value):
    """An encoder that meets one stops."""
    with pytest.raises(TypeError):
        write(value)


def test_a_hook_that_prints_unknown_values_prints_stars():
    """The usual `enc_hook=str` gives nothing away."""
    assert msgspec.json.encode({"key": Secret("sk-1234")}, enc_hook=str) == b'{"key":"Secret(***)"}'


def test_secrets_compare_by_value():
    """So that configs can be compared."""
    assert Secret("a") == Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1
    with pytest.raises(TypeError):
        copy.copy(Secret("a"))


def test_an_unconfigured_provider_has_default_settings():
    """Whoever asks for one need not care whether somebody configured it."""
    assert Config().provider("anything") == ProviderSettings(enabled=True, base_url=None, api_key=None)


def test_importing_the_settings_loads_nothing_heavy():
    """Every command pays for this import."""
    heavy = "argparse, logging, dataclasses, asyncio, hashlib, difflib, ssl, urllib.request, email, sqlite3"
    code = (
        "import sys, msgspec, pathlib; before = set(sys.modules); "
        "import agi.config, agi.trust, agi.policy.approval, agi.agents.load, agi.context.rules; "
        f"print(*sorted(set(sys.modules) - before & set('{heavy}'.split(', '))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())

    assert not loaded & set(heavy.split(", "))
