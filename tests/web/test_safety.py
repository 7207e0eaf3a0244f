"""Nothing that a model, a file, a tool, a name or an attachment says ever runs, loads or navigates in the page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, FilePayload, Page, Request, expect
from tests.web.conftest import Opening, sign_in_url
from tests.web.payloads import payloads

from agi.models.scripted import Say, Wait
from agi.testing.box import Daemon, eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")
PAYLOADS = payloads()
HOSTILE = '"><img src=x onerror=window.pwned=1>.svg'
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
FOUND = """() => {
  const bad = [];
  const forbidden = "script, iframe, object, embed, style, link, meta, base, form, svg, math, template, video, audio";
  for (const node of document.querySelectorAll("#main *")) {
    if (node.matches(forbidden) && !node.closest("[data-own]")) bad.push(node.outerHTML.slice(0, 120));
    for (const { name, value } of node.attributes) {
      if (name.startsWith("on")) bad.push(`${name}=${value}`);
      if (/^(href|src|action|formaction|xlink:href|srcdoc|poster|data)$/.test(name)
          && !/^(https?:\\/\\/|mailto:|#|\\/web\\/|blob:)/.test(value)) bad.push(`${name}=${value}`);
      if (name === "style") bad.push(`style=${value}`);
    }
  }
  return { bad, pwned: window.pwned ?? null };
}"""


def seen(text: str) -> str:
    """A text as the page shows it: characters that steer how others are shown are written out."""
    steering = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
    return re.sub(steering, lambda found: f"\\u{{{ord(found[0]):x}}}", text)


class Watched:
    """A page, and what it asked the network for."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.foreign: list[str] = []
        self.dialogs: list[str] = []
        page.on("request", lambda request: self._ask(request.url, url))
        page.on("dialog", lambda dialog: self.dialogs.append(dialog.message))
        page.on("popup", lambda popup: self.dialogs.append(f"popup {popup.url}"))

    def _ask(self, asked: str, url: str) -> None:
        if not asked.startswith((url + "/", "blob:", "data:image/png")):
            self.foreign.append(asked)

    async def check(self, url: str) -> None:
        """Nothing ran, nothing was loaded from elsewhere, nothing in the page could."""
        told = await self.page.evaluate(FOUND)
        assert told == {"bad": [], "pwned": None}
        assert (self.foreign, self.dialogs) == ([], [])
        assert self.page.url.startswith(url + "/")


@pytest_asyncio.fixture(loop_scope="session")
async def watched(daemon: Daemon, opened: Opening) -> AsyncIterator[Watched]:
    page = await opened("/new")
    yield Watched(page, daemon.url)


async def answered(daemon: Daemon, page: Page, session_id: str, text: str) -> None:
    """A turn in the session that is open in the page, heard to its end."""
    turn = await daemon.ask(text, session_id=session_id)
    await turn.ended()
    await expect(page.locator("#polite")).not_to_be_empty()


async def test_there_are_enough_of_them() -> None:
    """Three hundred and more, each once."""
    assert len(PAYLOADS) > 300


@pytest.mark.threat("T38")
async def test_what_a_model_says_stays_text(daemon: Daemon, watched: Watched) -> None:
    """As an answer, streamed and then rendered, each payload in a block of its own; and as thoughts."""
    session_id = await daemon.begin(title="payloads")
    page = watched.page
    await page.goto(f"{daemon.url}/#/s/{session_id}")
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
    for start in range(0, len(PAYLOADS), 60):
        some = PAYLOADS[start : start + 60]
        daemon.model.says("\n\n".join(some) + "\n\nend of it", size=997)
        await answered(daemon, page, session_id, f"from {start}")
        await expect(page.locator("article.assistant").last).to_contain_text("end of it")
        await watched.check(daemon.url)
    await page.reload()
    await expect(page.locator("article.assistant").last).to_contain_text("end of it")
    await watched.check(daemon.url)


@pytest.mark.threat("T38")
async def test_what_people_files_and_commands_say_stays_text(daemon: Daemon, watched: Watched) -> None:
    """The user's own words, a file that was read, a command's output, an error, a name of a file, a diff."""
    session_id = await daemon.begin(title="payloads")
    page = watched.page
    await page.goto(f"{daemon.url}/#/s/{session_id}")
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
    for start in range(0, len(PAYLOADS), 130):
        text = "\n\n".join(PAYLOADS[start : start + 130])
        daemon.workspace.write(f"in-{start}.html", text)
        (
            daemon.model.calls("read_file", path=f"in-{start}.html")
            .calls("read_file", path=PAYLOADS[start][:80].replace("/", "∕"))
            .calls("write_file", path=f"<img src=x onerror=window.pwned=1>-{start}.md", content=text)
            .then_says("done with it")
        )
        turn = await daemon.ask(text, session_id=session_id)
        await turn.question()
        await expect(page.locator(".approval")).to_be_visible()
        await watched.check(daemon.url)
        await turn.approve()
        await turn.ended()
        await expect(page.locator("article.assistant").last).to_contain_text("done with it")
        closed = page.locator("details.call:not([open]) > summary")
        while await closed.count():
            await closed.first.click()
        await watched.check(daemon.url)


@pytest.mark.threat("T38")
async def test_names_stay_text(daemon: Daemon, watched: Watched) -> None:
    """Titles of sessions, in the list, above the conversation and in the window's title."""
    page = watched.page
    for text in PAYLOADS:
        await daemon.post("/v1/sessions", {"title": text[:190].replace("\n", " ")})
    first = await daemon.begin(title=HOSTILE)
    await page.goto(f"{daemon.url}/#/s/{first}")
    await expect(page.locator("#list")).to_contain_text(HOSTILE)
    await expect(page.get_by_role("heading", name=HOSTILE, level=1)).to_be_visible()
    await watched.check(daemon.url)
    await page.goto(f"{daemon.url}/#/dashboard")
    await expect(page.locator("#main")).not_to_be_empty()
    await watched.check(daemon.url)


@pytest.mark.threat("T38")
async def test_names_of_attachments_stay_text(daemon: Daemon, watched: Watched) -> None:
    """Before they are sent, in the conversation, as what a picture is called, and while the message waits."""
    session_id = await daemon.begin(title="files")
    page = watched.page
    await page.goto(f"{daemon.url}/#/s/{session_id}")
    await expect(page.locator(".transcript")).to_have_attribute("data-ready", "yes")
    given: FilePayload = {"name": HOSTILE, "mimeType": "image/svg+xml", "buffer": b"<svg onload=window.pwned=1/>"}
    await page.locator("input[type=file]").set_input_files([given])
    await expect(page.locator(".attachments .chip[data-state=stored]")).to_contain_text(HOSTILE)
    await watched.check(daemon.url)

    waiting = asyncio.Event()
    daemon.model.plays(Wait(waiting), Say("Seen."))
    await page.get_by_label("Message", exact=True).fill("look")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name=f"Save {HOSTILE}")).to_be_visible()
    (file,) = (await daemon.get(f"/v1/sessions/{session_id}/attachments")).json()["attachments"]
    body = {"filename": "x.png", "mime_type": "image/png", "data": PNG}
    picture = (await daemon.post(f"/v1/sessions/{session_id}/attachments", body)).json()
    names = [text[:255] for text in PAYLOADS]
    parts = [{"type": "file", "ref": file["ref"], "mime_type": "image/svg+xml", "name": name} for name in names]
    parts.append({"type": "image", "ref": picture["ref"], "mime_type": "image/png", "name": HOSTILE})
    for start in range(0, len(parts), 200):
        daemon.model.says("Seen, too.")
        posted = await daemon.post(f"/v1/sessions/{session_id}/messages", {"parts": parts[start : start + 200]})
        assert posted.status == 202
    await expect(page.get_by_text(f"[{HOSTILE}]")).to_be_visible()
    await watched.check(daemon.url)

    waiting.set()
    await expect(page.locator("article.assistant").last).to_contain_text("Seen, too.")
    await expect(page.locator("article.user img")).to_have_attribute("alt", HOSTILE)
    shown = await page.locator("article.user button.file").all_text_contents()
    assert shown == [f"↓ {seen(name)}" for name in (HOSTILE, *names)]
    await watched.check(daemon.url)


@pytest.mark.threat("T38")
async def test_the_page_itself_keeps_scripts_out(daemon: Daemon, watched: Watched) -> None:
    """Were something to get in, the browser would refuse it: no inline script, no string as code, no foreign host."""
    reply = await daemon.get("/")
    policy = reply.headers["content-security-policy"]
    tries = """async () => {
      const seen = [];
      document.addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
      const script = document.createElement("script");
      try { script.textContent = "window.pwned = 1"; document.body.append(script); } catch { seen.push("typed"); }
      try { document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.pwned=1'>"); }
      catch { seen.push("typed html"); }
      try { setTimeout("window.pwned = 1", 0); } catch { seen.push("code"); }
      try { await fetch("http://localhost:1/"); } catch { seen.push("fetch"); }
      await new Promise((done) => setTimeout(done, 100));
      return { seen: [...new Set(seen)].sort(), pwned: window.pwned ?? null, cookie: document.cookie };
    }"""
    context = await watched.page.context.browser.new_context()  # type: ignore[union-attr]
    page = await context.new_page()
    await page.goto(await sign_in_url(daemon, "/new"))
    await expect(page.get_by_label("Message", exact=True)).to_be_visible()
    told = await page.evaluate(tries)
    held = await page.evaluate("() => JSON.stringify([{...localStorage}, {...sessionStorage}, location.href])")
    await context.close()

    assert "unsafe" not in policy
    assert told["pwned"] is None
    assert told["cookie"] == ""
    assert {"typed", "typed html", "code", "fetch"} <= set(told["seen"])
    assert "a-token-for-tests" not in held


STRANGER = (Path(__file__).parent / "stranger.html").read_bytes()
"""A page of another origin that tries everything a browser lets it try."""


@pytest.mark.threat("T8")
@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
async def test_another_origin_gets_nothing_from_a_signed_in_browser(
    daemon: Daemon, context: BrowserContext, name: str
) -> None:
    """The same machine, the same browser, another port: nothing readable comes back, and nothing changes.

    Whatever it asks is refused, and what it would show in a frame is not shown; a third origin that allows it is.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):  # browsers connect before they know that they will ask
            await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: "
        writer.write(head + str(len(STRANGER)).encode() + b"\r\n\r\n" + STRANGER)
        await writer.drain()
        writer.close()

    session_id = await daemon.begin(title="mine")
    page = await context.new_page()
    await page.goto(await sign_in_url(daemon, f"/s/{session_id}"))
    await expect(page.get_by_label("Message", exact=True)).to_be_visible()
    server, third = [await asyncio.start_server(serve, "127.0.0.1", 0) for _ in range(2)]
    another = f"http://127.0.0.1:{third.sockets[0].getsockname()[1]}/"
    before = (await daemon.get("/v1/sessions")).json()
    daemon.lines.clear()
    blocked: list[tuple[str, str]] = []

    def note(request: Request) -> None:
        if request.resource_type == "document" and request.failure == "net::ERR_BLOCKED_BY_RESPONSE":
            blocked.append((request.method, request.url))

    async with server, third:
        stranger = await context.new_page()
        stranger.on("requestfailed", note)
        await stranger.goto(f"http://{name}:{server.sockets[0].getsockname()[1]}/")
        got = await stranger.evaluate("all => tries(...all)", [daemon.url, session_id, another])
        shown = {frame.name: (frame.url, await frame.title()) for frame in stranger.frames[1:]}
        await stranger.close()

    await eventually(lambda: sum(line.how != "page" for line in daemon.lines) >= 10)
    assert {key: value for key, value in got.items() if value not in ("refused", "")} == {}
    assert [shown[f"{way} elsewhere"] for way in ("frame", "form")] == [(another, "elsewhere")] * 2
    assert [shown[way][0] for way in ("frame", "form")] == ["chrome-error://chromewebdata/"] * 2
    assert blocked == [("GET", f"{daemon.url}/"), ("POST", f"{daemon.url}/v1/sessions")]
    asked = [line for line in daemon.lines if line.how != "page"]
    assert {(line.status, line.how) for line in asked} == {(403, "refused:origin_refused")}
    assert [(line.method, line.path) for line in asked[-2:]] == [("GET", "/"), ("POST", "/v1/sessions")]
    assert (await daemon.get("/v1/sessions")).json() == before
