"""The one list of what may stand in rendered HTML, and the door that everything rendered goes through.

No script, style, event, form, frame or id; links lead to the web or to mail, pictures come from sessions' own files.
Pure. May import: nothing of ours.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import nh3

TAGS = frozenset(
    {"a", "blockquote", "br", "code", "del", "div", "em", "h3", "h4", "h5", "h6", "hr", "img", "li", "mark"}
    | {"ol", "p", "pre", "s", "section", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
)
ATTRIBUTES: dict[str, set[str]] = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title"},
    "h6": {"aria-level"},
    "ol": {"start"},
    "td": {"class"},
    "th": {"class", "scope"},
    "tr": {"class"},
    "table": {"class"},
    "section": {"class", "data-path", "data-hunk"},
    "div": {"class", "data-view"},
    "p": {"class"},
    "pre": {"class", "data-language"},
    "code": {"class"},
    "span": {"class"},
    "mark": {"class"},
}
"""Beside these, links have `rel` and `target`, as set here. Nothing that names or styles something is among them.

The first two levels of headings are the page's own.
"""
REL = "noopener noreferrer nofollow"
SCHEMES = frozenset({"http", "https", "mailto"})
_LINK = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
PICTURE = re.compile(
    r"/v1/sessions/sess_[0-9a-f]{32}/(?:attachments|artifacts/turn_[0-9a-f]{32})/[A-Za-z0-9_%][A-Za-z0-9._%-]{0,300}"
)
"""Where pictures may come from: what sessions keep, on this daemon."""


def sanitised(html: str) -> str:
    """The HTML without anything that is not on the list."""
    try:
        return _cleaner().clean(html)
    except UnicodeEncodeError:  # half of a character, which no page can show
        return _cleaner().clean(html.encode(errors="replace").decode())


@cache
def _cleaner() -> nh3.Cleaner:
    import nh3  # late: only a page needs it

    return nh3.Cleaner(
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        attribute_filter=_allowed,
        url_schemes=set(SCHEMES),
        link_rel=REL,
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def _allowed(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "href":
        return value if _LINK.match(value.strip()) else None
    if attribute == "src":
        return value if PICTURE.fullmatch(value) and "%2" not in value and "%5" not in value else None
    return value
