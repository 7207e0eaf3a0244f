"""Uvicorn's WebSockets without its command line, and with it for whoever asks."""

from __future__ import annotations

import asyncio
import sys

import pytest

PARTS = "import sys; from agi.server import uvicorn_parts as parts; assert 'click' not in sys.modules;"


@pytest.mark.parametrize(
    "use",
    [
        "import uvicorn; assert uvicorn.Server is parts.Server",
        "from uvicorn import Config, run; assert Config is parts.Config and callable(run)",
        "import uvicorn; assert uvicorn.__version__ and not hasattr(uvicorn, 'nothing_of_the_kind')",
        "import uvicorn.main; assert uvicorn.main.Server is parts.Server",
    ],
)
async def test_whoever_asks_the_package_itself_gets_all_of_it(use):
    """A library that runs in the same process finds uvicorn as it knows it, made of the same parts."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", PARTS + use, stderr=-1)
    _, err = await process.communicate()

    assert (process.returncode, err.decode()) == (0, "")


async def test_a_package_that_is_there_already_is_left_as_it_is():
    """Where uvicorn came first, nothing is put in its place."""
    code = "import uvicorn; from agi.server import uvicorn_parts as parts; import uvicorn as now;"
    code += "assert now is uvicorn and now.Server is parts.Server"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stderr=-1)
    _, err = await process.communicate()

    assert (process.returncode, err.decode()) == (0, "")
