"""Who gets to see the page's contents: a browser that was given a code, once, and nobody else."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, expect
from tests.web.conftest import Opening, sign_in_url

from agi.server.request import AppSettings
from agi.testing.box import Daemon, daemon_in_a_box

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_code_signs_in_and_leaves_the_address(daemon: Daemon, opened: Opening, context: BrowserContext) -> None:
    """The page loads, the code is gone from the address bar, and no script can read the cookie."""
    page = await opened()
    await expect(page.locator("#connection")).to_contain_text("connected")

    assert page.url == f"{daemon.url}/#/"
    assert await page.evaluate("document.cookie") == ""
    (cookie,) = await context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    assert cookie["name"] == f"agi_{daemon.url.rpartition(':')[2]}"


async def test_a_page_that_is_not_signed_in_says_how_and_nothing_else(daemon: Daemon, context: BrowserContext) -> None:
    """Whoever finds the address learns only how its user signs in."""
    await daemon.begin(title="secret plans")
    page = await context.new_page()
    await page.goto(daemon.url)

    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert "agi open" in await page.inner_text("main")
    assert "secret" not in await page.content()


async def test_a_code_works_once(daemon: Daemon, browser: Browser) -> None:
    """Whoever finds it in a history later gets nothing, and is told what to do."""
    url = await sign_in_url(daemon)
    first, second = await browser.new_context(), await browser.new_context()
    try:
        page = await first.new_page()
        await page.goto(url)
        await expect(page.locator("#connection")).to_contain_text("connected")
        late = await second.new_page()
        await late.goto(url)

        await expect(late.get_by_role("alert").first).to_contain_text("This code was used, or is too old.")
        await expect(late.locator("#list")).to_be_hidden()
    finally:
        await first.close()
        await second.close()


async def test_a_wrong_code_is_refused(daemon: Daemon, context: BrowserContext) -> None:
    """A guess opens nothing."""
    page = await context.new_page()
    await page.goto(f"{daemon.url}/#code=a-guess")

    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert await context.cookies() == []


async def test_another_tab_of_a_signed_in_browser_is_signed_in(opened: Opening, context: BrowserContext) -> None:
    """Signing in is the browser's, not the tab's."""
    page = await opened()
    await expect(page.locator("#connection")).to_contain_text("connected")
    other = await context.new_page()
    await other.goto(page.url)

    await expect(other.locator("#connection")).to_contain_text("connected")


async def test_a_browser_that_the_daemon_started_cannot_sign_in(tmp_path: Path, context: BrowserContext) -> None:
    """Here the browser descends from the daemon, as an agent's command would: its code is good, and it gets nothing."""
    async with daemon_in_a_box(tmp_path, auth="auto") as box:
        page = await context.new_page()
        await page.goto(await sign_in_url(box))

        await expect(page.get_by_role("alert").first).to_contain_text("none that the daemon's commands started")
        assert await context.cookies() == []


async def test_a_command_of_the_daemon_gets_neither_code_nor_cookie(tmp_path: Path) -> None:
    """Not even with a code that it has seen somewhere."""
    async with daemon_in_a_box(tmp_path, auth="auto") as box:
        code = (await box.post("/v1/sign-in/codes")).json()["code"]
        asks = (
            "import sys, urllib.request, urllib.error\n"
            "for path, body in (('/v1/sign-in/codes', b''), ('/v1/sign-in', sys.argv[2].encode())):\n"
            "    asked = urllib.request.Request(sys.argv[1] + path, data=body, method='POST')\n"
            "    asked.add_header('content-type', 'application/json')\n"
            "    try: print(urllib.request.urlopen(asked).status)\n"
            "    except urllib.error.HTTPError as error: print(error.code)\n"
        )
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", asks, box.url, f'{{"code": "{code}"}}'), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await child.communicate()

        assert out.split() == [b"401", b"401"]
        assert (await box.post("/v1/sign-in", {"code": code})).status == 200


class Proxy:
    """One that speaks https in front of a daemon, and passes everything on as it is."""

    def __init__(self) -> None:
        self.port = self.behind = 0

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Both ways, until either side has enough."""
        inner, outer = await asyncio.open_connection("127.0.0.1", self.behind)
        ways = [asyncio.create_task(_pour(*way)) for way in ((reader, outer), (inner, writer))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for end in (writer, outer):
            end.close()


async def _pour(source: asyncio.StreamReader, drain: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await source.read(65536):
            drain.write(piece)
            await drain.drain()


@contextlib.asynccontextmanager
async def https_proxy(folder: Path) -> AsyncIterator[Proxy]:
    """A proxy with a certificate of its own making."""
    made = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem"
    openssl = await asyncio.create_subprocess_exec(
        "openssl", *made.split(), cwd=folder, stderr=asyncio.subprocess.DEVNULL
    )
    assert await openssl.wait() == 0
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    proxy = Proxy()
    server = await asyncio.start_server(proxy.pass_on, "127.0.0.1", 0, ssl=tls)
    proxy.port = server.sockets[0].getsockname()[1]
    async with server:
        yield proxy


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make a certificate with")
async def test_the_page_works_behind_a_proxy_that_speaks_https(tmp_path: Path, browser: Browser) -> None:
    """At `publicUrl`: signed in with a cookie for https alone, told what happens, and able to answer."""
    async with https_proxy(tmp_path) as proxy:
        public = f"https://localhost:{proxy.port}"
        settings = AppSettings(public_url=public)
        context = await browser.new_context(ignore_https_errors=True)
        async with daemon_in_a_box(tmp_path, trusted=True, auth="token", settings=settings) as box:
            proxy.behind = int(box.url.rpartition(":")[2])
            told = (await box.post("/v1/sign-in/codes")).json()
            page = await context.new_page()
            await page.goto(told["public_url"] + told["path"] + "&to=/new")
            box.model.calls("shell", command="touch made.txt").then_says("Done from afar.")
            await page.get_by_label("Message", exact=True).fill("do it")
            await page.keyboard.press("Enter")
            await expect(page.locator(".approval")).to_have_attribute("data-ready", "yes")
            await page.get_by_role("button", name="Allow once").click()

            await expect(page.locator("article.assistant").last).to_contain_text("Done from afar.")
            (cookie,) = await context.cookies()
            assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")
            await context.close()
