"""The web page in a real browser: first paint, bytes, a long session, scrolling through it, and words at 200 a second.

Needs Chromium (`scripts/system-tools`). The daemon is a process of its own; where words are streamed they come from a
loopback provider that sends them at that pace.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, sync_playwright

from bench.measures import Ground, Row
from bench.processes import Daemon, daemon, stamped_provider
from bench.screen import MESSAGES, long_session

DELTAS, A_SECOND = 5000, 200
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
SCROLL = """async pages => {
    const box = document.querySelector(".transcript"), gaps = [];
    let last = performance.now(), most = 0;
    for (let n = 0; n < pages; n++) {
        box.dispatchEvent(new WheelEvent("wheel", {deltaY: -600}));
        box.scrollTop -= 600;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        gaps.push(now - last);
        last = now;
        most = Math.max(most, document.querySelectorAll("[data-row]").length);
    }
    return {gaps, most};
}"""
STALLS = """() => {
    window.stalls = [0];
    const keep = all => window.stalls.push(...all.getEntries().map(one => one.duration));
    new PerformanceObserver(keep).observe({type: "longtask"});
}"""


def web() -> list[Row]:
    """Everything about the page."""
    ground = Ground()
    session = asyncio.run(long_session(ground))
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        rows = [*_opened(browser), *_long(browser, ground, session), *_streamed(browser, 40), *_streamed(browser, 0)]
        browser.close()
    return rows


@contextmanager
def _signed_in(browser: Browser, running: Daemon, to: str) -> Iterator[tuple[BrowserContext, Page]]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    asked = httpx2.post(f"{running.url}/v1/sign-in/codes", headers={"Authorization": f"Bearer {running.token}"})
    page = context.new_page()
    page.goto(f"{running.url}{asked.json()['path']}&to={to}")
    page.wait_for_selector("#list a")
    yield context, page
    context.close()


def _opened(browser: Browser) -> list[Row]:
    ground = Ground()
    paints, sizes = [], []
    with daemon(ground.project, ground.env) as running:
        for _ in range(7):
            with _signed_in(browser, running, "/new") as (context, page):
                page.close()
                again = context.new_page()
                cdp = context.new_cdp_session(again)
                cdp.send("Network.enable")
                cdp.send("Network.setCacheDisabled", {"cacheDisabled": True})
                came: list[float] = []
                cdp.on("Network.loadingFinished", lambda done, came=came: came.append(done["encodedDataLength"]))
                again.goto(f"{running.url}/#/new")
                again.wait_for_selector("#message")
                again.wait_for_function(f"({PAINT})() !== undefined")
                paints.append(float(again.evaluate(PAINT)))
                sizes.append(sum(came) / 1000)
    note = f"median of {len(paints)}, nothing cached; worst {max(paints):.0f} ms"
    return [
        Row("web first contentful paint", statistics.median(paints), "ms", None, "< 300 ms", note),
        Row("web bytes to a usable page", max(sizes), "kB", None, "< 100 kB", "on the wire, headers included"),
    ]


def _long(browser: Browser, ground: Ground, session: str) -> list[Row]:
    shown = (
        f"() => document.querySelector('.rows')?.textContent.includes('Message {MESSAGES - 1}') && performance.now()"
    )
    times = []
    with daemon(ground.project, ground.env) as running, _signed_in(browser, running, "/new") as (context, page):
        for _ in range(5):
            page.close()
            page = context.new_page()
            page.goto(f"{running.url}/#/s/{session}")
            times.append(float(page.wait_for_function(shown).json_value()))
        cdp = context.new_cdp_session(page)
        before = _busy(cdp)
        told = page.evaluate(SCROLL, 300)
        busy = _busy(cdp) - before
    gaps = sorted(told["gaps"])
    note = f"300 steps of 600 px; worst {gaps[-1]:.0f} ms, main thread {busy * 100_000 / sum(gaps):.0f} %"
    return [
        Row(
            "web opens a long session",
            statistics.median(times),
            "ms",
            None,
            "< 1000 ms",
            f"{MESSAGES:,} messages, from the address on",
        ),
        Row(
            "web scrolling back, frame p95",
            gaps[int(len(gaps) * 0.95)],
            "ms",
            None,
            "< 50 ms",
            f"{note}, {told['most']} rows at most",
        ),
    ]


def _streamed(browser: Browser, block: int) -> list[Row]:
    with stamped_provider(DELTAS, 1 / A_SECOND, block) as url:
        ground = Ground(url)
        with daemon(ground.project, ground.env) as running, _signed_in(browser, running, "/new") as (context, page):
            page.fill("#message", "go")
            page.keyboard.press("Enter")
            page.wait_for_selector("article.assistant .prose")
            page.evaluate(STALLS)
            cdp = context.new_cdp_session(page)
            began, before = float(page.evaluate("performance.now()")), _busy(cdp)
            page.wait_for_selector("article.assistant .prose:not([aria-busy])", timeout=120_000)
            took, busy = float(page.evaluate("performance.now()")) - began, (_busy(cdp) - before) * 1000
            worst = float(page.evaluate("Math.max(...window.stalls)"))
            words = int(
                page.evaluate(
                    "document.querySelector('article.assistant .prose').textContent.trim().split(/\\s+/).length"
                )
            )
    if words != DELTAS:
        raise RuntimeError(f"{words} of {DELTAS} words are on the page")
    kind = "web streaming" if block else "web streaming one paragraph"
    note = f"{DELTAS} deltas in {took / 1000:.1f} s, all {words} words on the page"
    return [
        Row(f"{kind}, main thread", busy * 100 / took, "%", None, "< 50 %", note),
        Row(
            f"{kind}, worst stall", worst, "ms", None, "< 100 ms" if block else "", "longest task; 0 is none over 50 ms"
        ),
    ]


def _busy(cdp: CDPSession) -> float:
    """Seconds the page's main thread has worked so far."""
    cdp.send("Performance.enable")
    return float({one["name"]: one["value"] for one in cdp.send("Performance.getMetrics")["metrics"]}["TaskDuration"])
