"""What this shell says and another process does not hear."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agi.client.environment import unheard

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="the system does not tell")


@contextmanager
def running(**env: str) -> Iterator[int]:
    """A process with this environment; gives its id."""
    command = [sys.executable, "-S", "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def test_only_what_differs_is_named():
    """The same value is heard; another one, or one that is missing there, is not."""
    here = {"OPENAI_API_KEY": "a", "OPENAI_BASE_URL": "http://x", "ANTHROPIC_API_KEY": "k", "PATH": "/bin"}
    with running(OPENAI_API_KEY="a", OPENAI_BASE_URL="http://y", GOOGLE_GENERATIVE_AI_API_KEY="g") as pid:
        assert unheard(here, pid) == ("OPENAI_BASE_URL", "ANTHROPIC_API_KEY")


def test_what_is_not_set_here_is_not_missed():
    """An empty value says nothing."""
    assert unheard({"OPENAI_API_KEY": "", "PATH": "/bin"}, os.getpid()) == ()


def test_where_the_other_environment_is_not_known_nothing_is_taken_for_granted():
    """A process that is gone hears nothing."""
    assert unheard({"OPENAI_API_KEY": "a"}, 2**22 + 12345) == ("OPENAI_API_KEY",)
