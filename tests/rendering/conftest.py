"""What may stand in rendered HTML, seen with a parser that has nothing to do with the one that cleaned it."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from agi.rendering.sanitising import ATTRIBUTES, PICTURE, REL, TAGS

VOID = {"br", "hr", "img"}


class Looker(HTMLParser):
    """Collects every element, and whatever is not on the list."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in TAGS:
            self.wrong.append(f"<{tag}>")
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if not self._may_have(tag, name, value or ""):
                self.wrong.append(f"<{tag} {name}={value!r}>")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> out of place")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.wrong.append("a comment")

    def handle_decl(self, decl: str) -> None:
        self.wrong.append("a declaration")

    def handle_pi(self, data: str) -> None:
        self.wrong.append("an instruction")

    @staticmethod
    def _may_have(tag: str, name: str, value: str) -> bool:
        if tag == "a" and name in ("rel", "target"):
            return value == {"rel": REL, "target": "_blank"}[name]
        if name == "href":
            return value.lower().startswith(("http://", "https://", "http:", "https:", "mailto:"))
        if name == "src":
            return PICTURE.fullmatch(value) is not None
        return name in ATTRIBUTES.get(tag, ())


@pytest.fixture(scope="session")
def look() -> Callable[[str], Looker]:
    """How HTML is looked at."""
    return _look


def _look(html: str) -> Looker:
    """The HTML as a parser sees it; fails on anything that may not be there."""
    seen = Looker()
    seen.feed(html)
    seen.close()
    assert not seen.wrong, (seen.wrong, html[:2000])
    assert not seen.open, seen.open
    return seen
