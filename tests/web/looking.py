"""Looking at the page as people and their tools do: by name and role, by contrast, by what fits on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.async_api import Page

INTERACTIVE = {
    *("button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox", "switch", "slider", "spinbutton"),
    *("menuitem", "tab", "option", "dialog", "DisclosureTriangle"),
}
LANDMARKS = {"main", "navigation", "complementary", "banner"}

_IN_THE_PAGE = (Path(__file__).parent / "looking.js").read_text()


async def look(page: Page, what: str, given: object = None) -> Any:
    """Ask the page one of the things in `looking.js`."""
    return await page.evaluate(f"given => ({_IN_THE_PAGE}).{what}(given)", given)


async def tree(page: Page) -> list[dict[str, Any]]:
    """What a screen reader is told: the browser's own accessibility tree, without what it ignores."""
    session = await page.context.new_cdp_session(page)
    found = await session.send("Accessibility.getFullAXTree")
    await session.detach()
    return [node for node in found["nodes"] if not node.get("ignored")]


def role(node: dict[str, Any]) -> str:
    """What it is."""
    return str(node.get("role", {}).get("value", ""))


def name(node: dict[str, Any]) -> str:
    """What it is called."""
    return str(node.get("name", {}).get("value", "")).strip()


async def nameless(page: Page) -> list[str]:
    """What one can act on without being told what it is."""
    return [str(node) for node in await tree(page) if role(node) in INTERACTIVE and not name(node)]


async def landmarks(page: Page) -> set[str]:
    """The regions one can jump to."""
    return {role(node) for node in await tree(page)} & LANDMARKS
