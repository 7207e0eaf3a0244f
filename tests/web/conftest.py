"""A real browser at a real daemon: one Chromium for the tests of a file, a context of its own for each.

The daemon runs in the test's own loop with a scripted model, so its children are the test's; it is therefore closed to
all but the token (`auth: token`) unless a test wants the kernel asked. Screenshots go to `AGI_SCREENSHOTS`, if set.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from agi.testing.box import Daemon, daemon_in_a_box

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

Opening = Callable[..., Awaitable[Page]]
PATIENCE_MS = 30_000
"""How long something may take to be seen: a busy machine is slow, and that is no fault of the page."""
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where there is no browser, say so; in CI nothing is skipped for it, and the tests fail."""
    if CHROMIUM is None and "CI" not in os.environ:
        here = Path(__file__).parent
        for item in items:
            if here in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="there is no chromium; scripts/system-tools installs it"))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The one browser of a file; it does not outlive it, since other tests count their children."""
    if CHROMIUM is None:
        pytest.fail("There is no chromium, and CI must have one: scripts/system-tools installs it.")
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, headless=True)
        yield running
        await running.close()


@pytest_asyncio.fixture(loop_scope="session")
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """A daemon whose user trusts the workspace, for whoever has the token."""
    async with daemon_in_a_box(tmp_path, trusted=True, auth="token") as box:
        yield box


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    """A browser profile of its own, at a desk's width."""
    made = await browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
    made.set_default_timeout(PATIENCE_MS)
    yield made
    await made.close()


async def sign_in_url(daemon: Daemon, to: str = "") -> str:
    """Where `agi open` would send the browser."""
    code = (await daemon.post("/v1/sign-in/codes")).json()
    return daemon.url + code["path"] + (f"&to={to}" if to else "")


@pytest_asyncio.fixture(loop_scope="session")
async def opened(daemon: Daemon, context: BrowserContext) -> AsyncIterator[Opening]:
    """Open the page, signed in, at a place; whatever a page logs as an error fails the test."""
    problems: list[str] = []

    async def make(to: str = "/", *, within: BrowserContext | None = None) -> Page:
        page = await (within or context).new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda told: problems.append(told.text) if told.type == "error" else None)
        await page.goto(await sign_in_url(daemon, to))
        return page

    make.problems = problems  # type: ignore[attr-defined]
    yield make
    assert problems == []


async def keep_screenshot(page: Page, name: str) -> None:
    """Keep what is on screen, where somebody asked for it."""
    if folder := os.environ.get("AGI_SCREENSHOTS"):
        await page.screenshot(path=Path(folder) / f"{name}.png")
