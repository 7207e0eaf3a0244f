"""Keys a daemon was started with: which they are, that they go, and that who needs them gets them for a moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import agi
from agi import environment
from agi.environment import lent, secrets_in

KEY = "sk-planted-0123456789"


def test_a_secret_is_known_by_its_name_and_then_by_its_value():
    """A second variable with the same key in it is one too; what everything needs is not, whatever it holds."""
    env = {
        "OPENAI_API_KEY": KEY,
        "my_Token": "short",
        "LLM": KEY,
        "URL": f"https://user:{KEY}@host/",
        "PATH": "/bin",
        "HOME": "/home/me",
        "USER": "postgres1",
        "DB_PASSWORD": "postgres1",
        "SIGNING_KEY": "/home/me",
        "MODE": "short",
    }

    assert secrets_in(env).keys() == {"OPENAI_API_KEY", "my_Token", "LLM", "URL", "DB_PASSWORD", "SIGNING_KEY"}


def test_where_a_file_with_a_key_is_stays_and_a_key_that_looks_like_a_path_goes(tmp_path: Path):
    """A library may open it long after it was lent its keys, as Google's does for the first request."""
    file = tmp_path / "service-account.json"
    file.write_text("{}")
    env = {"GOOGLE_APPLICATION_CREDENTIALS": str(file), "AWS_SECRET_ACCESS_KEY": "/aGVsbG8+d29ybGQ=", "OLD": str(file)}

    assert secrets_in(env).keys() == {"AWS_SECRET_ACCESS_KEY"}


STARTED = """
import json, os, subprocess
from pathlib import Path
from agi.environment import forget_keys, lent

before = Path("/proc/self/environ").read_bytes()
forget_keys()
after = Path("/proc/self/environ").read_bytes()
with lent():
    lent_to = os.environ["PLANTED_API_KEY"]
    meanwhile = subprocess.check_output(["env"]).decode()
import resource
assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
child = subprocess.check_output(["env"]).decode()
print(json.dumps([before.decode(), after.decode(), dict(os.environ), lent_to, meanwhile + child]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_is_forgotten_is_seen_neither_by_the_process_nor_by_who_looks_at_it():
    """Not in its environment, nor where the system shows what it was started with, nor by a child, even one of then."""
    env = {"PATH": os.environ["PATH"], "PLANTED_API_KEY": KEY, "COPY": f"={KEY}=", "HARMLESS": "ünï"}
    env["PYTHONPATH"] = str(Path(agi.__file__).parent.parent)
    said = subprocess.run([sys.executable, "-c", STARTED], env=env, capture_output=True, text=True, check=True)
    before, after, own, lent_to, child = json.loads(said.stdout)

    assert (KEY in before, lent_to) == (True, KEY)
    assert KEY not in after + json.dumps(own) + child
    for kept in (own, dict(line.split("=", 1) for line in child.splitlines())):
        assert (kept["HARMLESS"], kept["PATH"]) == ("ünï", os.environ["PATH"])
    assert "HARMLESS=ünï" in after


def test_what_was_lent_is_taken_back_also_after_a_failure(monkeypatch):
    """And what stands there in its own right is left alone."""
    monkeypatch.setattr(environment, "_kept", {"LENT_KEY": KEY, "SET_KEY": "old"})
    monkeypatch.setenv("SET_KEY", "new")
    seen: list[str] = []

    def look() -> None:
        with lent():
            seen.extend([os.environ["LENT_KEY"], os.environ["SET_KEY"]])
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        look()

    assert seen == [KEY, "new"]
    assert "LENT_KEY" not in os.environ
    assert os.environ["SET_KEY"] == "new"
