"""A page of HTML as readable text: headings, lists, links, tables and code in the marks that markdown uses.

Scripts, styles and buttons are left out; nothing is run or loaded. Bounded in time, whatever the page is made of.
May import: nothing of ours.
"""

from __future__ import annotations

import re
import threading
import time
from html.parser import HTMLParser
from urllib.parse import urljoin

from msgspec import Struct

TIME_LIMIT_S = 5.0
_PIECE = 16 * 1024
_LONGEST_LINK = 500
_ENOUGH = 200
"""How much text the main part of a page must have to be shown alone."""

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "select", "button"})
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "dd", "div", "dl", "dt", "fieldset", "figure", "footer", "header"}
    | {"main", "nav", "ol", "p", "section", "table", "ul", "figcaption", "details", "summary", "body"}
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\r\n\f]+")
_GAPS = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


class Page(Struct, frozen=True):
    """A page as text."""

    title: str
    text: str
    whole: bool = True
    """Whether there was time for all of it."""


def page_text(source: str, url: str, stop: threading.Event | None = None) -> Page:
    """Read a page; links are written out from `url`."""
    reader = _Reader(url)
    until = time.monotonic() + TIME_LIMIT_S
    # In pieces, and without `close`: what never ends is then looked at again a few times, not once for every character.
    for at in range(0, len(source), _PIECE):
        if time.monotonic() > until or (stop is not None and stop.is_set()):
            return Page(reader.title, reader.text(), whole=False)
        reader.feed(source[at : at + _PIECE])
    return Page(reader.title, reader.text())


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._url = url
        self._out: list[str] = []
        self._skipping: list[str] = []
        self._in_title = False
        self._title: list[str] = []
        self._pre = 0
        self._link = ""
        self._begun: dict[str, int] = {}
        self._parts: dict[str, list[tuple[int, int]]] = {"main": [], "article": []}

    @property
    def title(self) -> str:
        return _SPACE.sub(" ", "".join(self._title)).strip()[:300]

    def text(self) -> str:
        """All of it, or the main part if the page says which that is."""
        for parts in self._parts.values():
            if len(parts) == 1:
                main = _tidy("".join(self._out[slice(*parts[0])]))
                if len(main) >= _ENOUGH:
                    return main
        return _tidy("".join(self._out))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipping:
            self._skipping += [tag] * (tag == self._skipping[0])
        elif tag in _SKIPPED:
            self._skipping.append(tag)
        elif tag == "title":
            self._in_title = not self._title
        else:
            self._open(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _SKIPPED:  # an empty one has nothing to skip
            self.handle_starttag(tag, attrs)

    def _open(self, tag: str, attrs: dict[str, str | None]) -> None:
        if tag in self._parts:
            self._begun.setdefault(tag, len(self._out))
        if tag in _HEADINGS:
            self._say(f"\n\n{_HEADINGS[tag]} ")
        elif tag == "pre":
            self._say("\n```\n")
            self._pre += 1
        elif tag == "a":
            self._link = self._target(attrs.get("href") or "")
            self._say("[" if self._link else "")
        elif tag == "img":
            self._say(f"![{_SPACE.sub(' ', attrs.get('alt') or '')}]" if attrs.get("alt") else "")
        else:
            self._say(_OPENING.get(tag, "\n\n" if tag in _BLOCKS else ""))

    def handle_endtag(self, tag: str) -> None:
        if self._skipping:
            if tag == self._skipping[0]:
                self._skipping.pop()
            return
        if tag == "title":
            self._in_title = False
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._say("\n```\n")
        elif tag == "a" and self._link:
            self._say(f"]({self._link})")
            self._link = ""
        else:
            self._say(_CLOSING.get(tag, "\n\n" if tag in _BLOCKS or tag in _HEADINGS else ""))
        if tag in self._begun:
            self._parts[tag].append((self._begun.pop(tag), len(self._out)))

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data[:300])
        elif not self._skipping:
            self._say(data if self._pre else _SPACE.sub(" ", data))

    def _say(self, text: str) -> None:
        if text:
            self._out.append(text)

    def _target(self, href: str) -> str:
        """Where a link leads, written out; nothing for one that leads to no page."""
        href = href.strip()
        if not href or href.startswith("#") or len(href) > _LONGEST_LINK:
            return ""
        try:
            target = urljoin(self._url, href)
        except ValueError:
            return ""
        return target if target.startswith(("http://", "https://", "mailto:")) else ""


_OPENING = {
    "br": "\n",
    "hr": "\n\n---\n\n",
    "li": "\n- ",
    "tr": "\n",
    "td": " | ",
    "th": " | ",
    "code": "`",
    "strong": "**",
    "b": "**",
    "dt": "\n\n",
    "dd": "\n  ",
}
_CLOSING = {"code": "`", "strong": "**", "b": "**", "li": "", "tr": "", "td": "", "th": ""}


def _tidy(text: str) -> str:
    """Without blank lines in a row, blanks at the ends of lines, and marks around nothing; code stays as it is."""
    parts = text.split("\n```\n")
    for number in range(0, len(parts), 2):
        lines = (line.strip() if not line.startswith("  ") else line.rstrip() for line in parts[number].split("\n"))
        parts[number] = "\n".join(lines).replace("****", "").replace("``", "")
    return _GAPS.sub("\n\n", "\n```\n".join(parts)).strip()
