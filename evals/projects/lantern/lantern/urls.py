"""Links are found in text and made comparable."""

import re
from urllib.parse import urlsplit, urlunsplit

INLINE = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s+(\S+)$", re.MULTILINE)
MAX_URL_LENGTH = 2048


def find_links(text: str) -> list[str]:
    """Every link of a Markdown text, in order, each once."""
    found = INLINE.findall(text) + REFERENCE.findall(text)
    return list(dict.fromkeys(link for link in found if len(link) <= MAX_URL_LENGTH))


def normalise(url: str) -> str:
    """A URL without its fragment and with its host in lower case."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.lower(), parts.path or "/", parts.query, ""))


def host_of(url: str) -> str:
    """The host a URL leads to."""
    return urlsplit(url).hostname or ""
