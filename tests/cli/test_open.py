"""`agi open`: an address with a code for the browser, from the daemon that runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agi.cli.main import main
from agi.server.daemon import Berth
from agi.server.request import AppSettings
from agi.testing.box import TOKEN, Daemon, daemon_in_a_box


def test_without_a_daemon_it_says_how_to_start_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is started behind the user's back."""
    assert main(["open", "--project", str(tmp_path)]) != 0
    assert "agi serve --open" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


async def run(*argv: str) -> int:
    return await asyncio.to_thread(main, list(argv))


async def announced(box: Daemon) -> Berth:
    """Let the daemon in the box be found, as a real one is."""
    berth = Berth(box.workspace.path / ".agi")
    berth.announce(box.url, TOKEN)
    return berth


async def test_the_address_signs_one_browser_in(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Printed where there is no screen; the code in it works once."""
    async with daemon_in_a_box(tmp_path, auth="token") as box:
        berth = await announced(box)
        try:
            assert await run("open", "--print", "--project", str(box.workspace.path)) == 0
        finally:
            berth.leave()
        address = capfd.readouterr().out.strip()
        path, _, code = address.partition("#code=")

        assert path == f"{box.url}/"
        assert box.app.passes.redeem(code) is not None


async def test_behind_a_proxy_the_address_is_the_public_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whoever reads it elsewhere can open it."""
    settings = AppSettings(public_url="https://agi.example")
    async with daemon_in_a_box(tmp_path, auth="token", settings=settings) as box:
        berth = await announced(box)
        try:
            assert await run("open", "--print", "--project", str(box.workspace.path)) == 0
        finally:
            berth.leave()

        assert capfd.readouterr().out.startswith("https://agi.example/#code=")


async def test_a_session_is_named_by_a_part_of_its_id(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The page opens there."""
    async with daemon_in_a_box(tmp_path, auth="token") as box:
        session_id = await box.begin()
        berth = await announced(box)
        try:
            assert await run("open", session_id[-8:], "--print", "--project", str(box.workspace.path)) == 0
        finally:
            berth.leave()

        assert capfd.readouterr().out.strip().endswith(f"&to=/s/{session_id}")
